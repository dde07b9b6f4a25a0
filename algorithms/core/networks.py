"""Networks of the SAC family: perceptrons whose parameters are one flat tensor, and a squashed Gaussian.

At 256 x 256 the arithmetic of an update takes about as long as autograd's bookkeeping for it, so a whole
perceptron is one node of the graph with its backward pass written out. It computes only the gradients that
are asked for: none for frozen parameters, none for inputs that do not need them. One flat tensor per network
makes an optimiser step and a momentum update one kernel call each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

_threshold_backward = torch.ops.aten.threshold_backward.grad_input
_elu_backward = torch.ops.aten.elu_backward.grad_input


class _Perceptron(Function):
    """y = W_L act(... act(W_1 [x_1, x_2, ...] + b_1)) + b_L for each member of a `MLP`, as one graph node."""

    @staticmethod
    def forward(ctx: Any, net: MLP, theta: Tensor, *inputs: Tensor) -> Tensor:
        layers = net.layers
        batch = inputs[0].shape[-2]
        hidden: list[Tensor] = []
        h: Tensor | None = None
        for depth, layer in enumerate(layers):
            out = theta.new_empty(net.members, batch, net.sizes[depth + 1])
            for k, (weight, bias) in enumerate(layer):
                if h is None:
                    start = 0
                    for x in inputs:
                        stop = start + x.shape[-1]
                        x_k = x if x.dim() == 2 else x[k]
                        if start == 0:
                            torch.addmm(bias, x_k, weight[:stop], out=out[k])
                        else:
                            out[k].addmm_(x_k, weight[start:stop])
                        start = stop
                else:
                    torch.addmm(bias, h[k], weight, out=out[k])
            if depth < len(layers) - 1:
                h = torch.relu_(out) if net.activation == "relu" else nn.functional.elu_(out)
                hidden.append(h)
            else:
                h = out
        assert h is not None
        ctx.net, ctx.inputs, ctx.hidden = net, inputs, hidden
        ctx.shape = theta.shape
        return h

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (dy,) = grads
        net: MLP = ctx.net
        inputs: tuple[Tensor, ...] = ctx.inputs
        want_theta, want_inputs = ctx.needs_input_grad[1], ctx.needs_input_grad[2:]
        grad_theta = dy.new_empty(ctx.shape) if want_theta else None
        views = net.views(grad_theta) if grad_theta is not None else None
        for depth in range(len(net.layers) - 1, 0, -1):
            h = ctx.hidden[depth - 1]
            dh = torch.empty_like(h)
            for k, (weight, _) in enumerate(net.layers[depth]):
                if views is not None:
                    grad_weight, grad_bias = views[depth][k]
                    torch.mm(h[k].t(), dy[k], out=grad_weight)
                    torch.sum(dy[k], 0, out=grad_bias)
                torch.mm(dy[k], weight.t(), out=dh[k])
            if net.activation == "relu":
                _threshold_backward(dh, h, 0.0, grad_input=dh)
            else:
                _elu_backward(dh, 1.0, 1.0, 1.0, True, h, grad_input=dh)
            dy = dh
        grad_inputs: list[Tensor | None] = []
        start = 0
        for x, wanted in zip(inputs, want_inputs, strict=True):
            stop = start + x.shape[-1]
            dx: Tensor | None = None
            for k, (weight, _) in enumerate(net.layers[0]):
                if views is not None:
                    x_k = x if x.dim() == 2 else x[k]
                    torch.mm(x_k.t(), dy[k], out=views[0][k][0][start:stop])
                if not wanted:
                    continue
                if x.dim() == 3:
                    dx = torch.empty_like(x) if dx is None else dx
                    torch.mm(dy[k], weight[start:stop].t(), out=dx[k])
                elif dx is None:
                    dx = torch.mm(dy[k], weight[start:stop].t())
                else:
                    dx.addmm_(dy[k], weight[start:stop].t())
            grad_inputs.append(dx)
            start = stop
        if views is not None:
            for k in range(net.members):
                torch.sum(dy[k], 0, out=views[0][k][1])
        return None, grad_theta, *grad_inputs


class MLP(nn.Module):
    """`members` perceptrons of the same shape, with all parameters in `theta` of shape [members, P].

    Called with one or more inputs, which are read as if concatenated: [B, d] (shared by the members) or
    [members, B, d]. Returns [members, B, out]. `frozen` passes gradients to the inputs only.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        *,
        generator: torch.Generator,
        members: int = 1,
        activation: str = "relu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        if activation not in ("relu", "elu"):
            raise ValueError(f"activation must be relu or elu, not {activation!r}")
        self.sizes, self.members, self.activation = tuple(sizes), members, activation
        self.splits = [n for i, o in zip(sizes[:-1], sizes[1:], strict=True) for n in (i * o, o)]
        theta = torch.empty(members, sum(self.splits), dtype=dtype)
        for layer in self.views(theta):
            for weight, bias in layer:             # U(-1/sqrt(fan_in), 1/sqrt(fan_in)), as torch.nn.Linear
                bound = 1.0 / math.sqrt(weight.shape[0])
                weight.uniform_(-bound, bound, generator=generator)
                bias.uniform_(-bound, bound, generator=generator)
        self.theta = nn.Parameter(theta)
        self.layers = self.views(self.theta.detach())

    def views(self, theta: Tensor) -> list[list[tuple[Tensor, Tensor]]]:
        """`theta` as layers -> members -> (weight [in, out], bias [out]), without copying."""
        layers: list[list[tuple[Tensor, Tensor]]] = [[] for _ in self.sizes[1:]]
        for member in theta:
            parts = member.split(self.splits)
            for depth, layer in enumerate(layers):
                layer.append((parts[2 * depth].view(self.sizes[depth], -1), parts[2 * depth + 1]))
        return layers

    def forward(self, *inputs: Tensor, frozen: bool = False) -> Tensor:
        result: Tensor = _Perceptron.apply(self, self.theta.detach() if frozen else self.theta, *inputs)
        return result

    def copy(self) -> MLP:
        """A frozen twin with the same values: a target or momentum network."""
        twin = MLP.__new__(MLP)
        nn.Module.__init__(twin)
        twin.sizes, twin.members, twin.activation = self.sizes, self.members, self.activation
        twin.splits = self.splits
        twin.theta = nn.Parameter(self.theta.detach().clone(), requires_grad=False)
        twin.layers = twin.views(twin.theta.detach())
        return twin


@torch.no_grad()
def track(target: Sequence[Tensor], source: Sequence[Tensor], tau: float) -> None:
    """target <- (1 - tau) target + tau source: target networks and momentum copies."""
    torch._foreach_lerp_([t.detach() for t in target], [s.detach() for s in source], tau)


LOG_2 = math.log(2.0)
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


class _SquashedGaussian(Function):
    """(a, log pi(a)) with a = tanh(mean + std eps), as one graph node.

    log pi = sum_i [-eps^2/2 - log std - log(2 pi)/2 - log(1 - tanh(u)^2)], and at fixed eps
    d log pi / du = 2 tanh(u), du/dmean = 1, du/dlog_std = std eps.
    """

    @staticmethod
    def forward(ctx: Any, out: Tensor, noise: Tensor, low: float, high: float) -> tuple[Tensor, Tensor]:
        mean, raw = out.chunk(2, -1)
        squashed = torch.tanh(raw)
        half = 0.5 * (high - low)
        log_std = (squashed + 1.0).mul_(half).add_(low)
        spread = torch.exp(log_std).mul_(noise)
        u = mean + spread
        action = torch.tanh(u)
        # log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2u)), exact also where tanh saturates
        density = noise.square().mul_(0.5).add_(log_std).add_(HALF_LOG_2PI + 2.0 * LOG_2)
        density.sub_(nn.functional.softplus(u.mul_(-2.0)).mul_(2.0)).add_(u)
        ctx.half, ctx.tensors = half, (squashed, spread, action)
        return action, density.sum(-1).neg_()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad_action, grad_log_prob = grads
        squashed, spread, action = ctx.tensors
        grad_log_prob = grad_log_prob.unsqueeze(-1)
        du = grad_action * (1.0 - action.square()) + grad_log_prob * (2.0 * action)
        draw = (du * spread - grad_log_prob) * (1.0 - squashed.square()).mul_(ctx.half)
        return torch.cat((du, draw), -1), None, None, None


def squashed_gaussian(
    out: Tensor, noise: Tensor, log_std_range: tuple[float, float]
) -> tuple[Tensor, Tensor]:
    """Reparametrised action in (-1, 1) and its log density, from the actor's output [B, 2 d_a]."""
    low, high = log_std_range
    action, log_prob = _SquashedGaussian.apply(out, noise, low, high)
    return action, log_prob
