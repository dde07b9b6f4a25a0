"""Networks of the SAC family, with their backward passes written out.

At 256 x 256 the arithmetic of an update takes no longer than autograd's bookkeeping for it, so the agents do
without autograd: `value, tape = net.forward(x)`, and later `net.backward(tape, d_value)` with just the gradients that
are wanted: none for frozen parameters, none for inputs that need none. All parameters of a network are one
tensor, so that an optimiser step or a momentum update is one kernel call. The tests compare every pass with autograd.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

_threshold_backward = torch.ops.aten.threshold_backward.grad_input
_elu_backward = torch.ops.aten.elu_backward.grad_input

Layers = list[list[tuple[Tensor, Tensor]]]  # depth -> member -> (weight [in, out], bias [out])


class Tape(NamedTuple):
    """What a backward pass needs to know of its forward pass."""

    inputs: tuple[Tensor, ...]
    hidden: list[Tensor]
    serial: int


class _Buffers(NamedTuple):
    """Hidden activations and their gradients for one batch size, whole and by member."""

    hidden: list[Tensor]
    hidden_by_member: list[list[Tensor]]
    gradient: list[Tensor]
    gradient_by_member: list[list[Tensor]]


class MLP:
    """`members` perceptrons of the same shape, all parameters in `theta`, [members, P].

    It is called with one or more inputs, which are read as if concatenated: [B, d] (shared by the members)
    or [members, B, d], and returns [members, B, out]. Hidden activations live in buffers that the next
    forward pass on a batch of that size overwrites; a tape that has become invalid so is refused.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        *,
        generator: torch.Generator | None,
        members: int = 1,
        activation: str = "relu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        if activation not in ("relu", "elu"):
            raise ValueError(f"activation must be relu or elu, not {activation!r}")
        self.sizes, self.members, self.activation = tuple(sizes), members, activation
        self._splits = [n for i, o in pairwise(sizes) for n in (i * o, o)]
        self.theta = torch.zeros(members, sum(self._splits), dtype=dtype)
        self.grad = torch.zeros_like(self.theta)
        self.layers, self._grad_layers = self.views(self.theta), self.views(self.grad)
        if generator is not None:
            for layer in self.layers:  # U(-1/sqrt(fan_in), 1/sqrt(fan_in)), as torch.nn.Linear
                for weight, bias in layer:
                    bound = 1.0 / math.sqrt(weight.shape[0])
                    weight.uniform_(-bound, bound, generator=generator)
                    bias.uniform_(-bound, bound, generator=generator)
        self._buffers: dict[int, _Buffers] = {}
        self._serial = 0

    def views(self, theta: Tensor) -> Layers:
        """`theta` as weights and biases, without copying."""
        layers: Layers = [[] for _ in self.sizes[1:]]
        for member in theta:
            parts = member.split(self._splits)
            for depth, layer in enumerate(layers):
                fan_in, fan_out = self.sizes[depth : depth + 2]
                weight, bias = parts[2 * depth], parts[2 * depth + 1]
                # a narrow matrix is several times faster to multiply with when its long side is contiguous
                narrow = fan_out < 16
                layer.append(
                    (weight.view(fan_out, fan_in).t() if narrow else weight.view(fan_in, fan_out), bias)
                )
        return layers

    def copy(self) -> MLP:
        """A twin with the same values: a target or momentum network."""
        twin = MLP(
            self.sizes,
            generator=None,
            members=self.members,
            activation=self.activation,
            dtype=self.theta.dtype,
        )
        twin.theta.copy_(self.theta)
        return twin

    def __call__(self, *inputs: Tensor) -> Tensor:
        return self.forward(*inputs)[0]

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tape]:
        batch = inputs[0].shape[-2]
        buffers = self._buffers.get(batch) or self._make_buffers(batch)
        out = self.theta.new_empty(self.members, batch, self.sizes[-1])
        last = len(self.layers) - 1
        for depth, layer in enumerate(self.layers):
            targets = list(out) if depth == last else buffers.hidden_by_member[depth]
            for k, (weight, bias) in enumerate(layer):
                if depth:
                    torch.addmm(bias, buffers.hidden_by_member[depth - 1][k], weight, out=targets[k])
                elif len(inputs) == 1:
                    torch.addmm(bias, _of_member(inputs[0], k), weight, out=targets[k])
                else:
                    start = 0
                    for x in inputs:
                        stop = start + x.shape[-1]
                        if start:
                            targets[k].addmm_(_of_member(x, k), weight[start:stop])
                        else:
                            torch.addmm(bias, _of_member(x, k), weight[:stop], out=targets[k])
                        start = stop
            if depth != last:
                hidden = buffers.hidden[depth]
                torch.relu_(hidden) if self.activation == "relu" else torch.nn.functional.elu_(hidden)
        self._serial += 1
        return out, Tape(inputs, buffers.hidden, self._serial)

    def backward(
        self, tape: Tape, d_out: Tensor, *, parameters: bool = False, wanted_input: int | None = None
    ) -> Tensor | None:
        """Gradients for d_out = dL/d value: of the parameters into `self.grad`, of one input as the result."""
        if tape.serial != self._serial:
            raise RuntimeError("this tape is of an earlier forward pass, whose activations are overwritten")
        buffers = self._buffers[tape.inputs[0].shape[-2]]
        gradient: Sequence[Tensor] = list(d_out)
        for depth in range(len(self.layers) - 1, 0, -1):
            hidden, by_member = buffers.hidden[depth - 1], buffers.hidden_by_member[depth - 1]
            below, below_by_member = buffers.gradient[depth - 1], buffers.gradient_by_member[depth - 1]
            for k, (weight, _) in enumerate(self.layers[depth]):
                if parameters:
                    grad_weight, grad_bias = self._grad_layers[depth][k]
                    torch.mm(by_member[k].t(), gradient[k], out=grad_weight)
                    torch.sum(gradient[k], 0, out=grad_bias)
                torch.mm(gradient[k], weight.t(), out=below_by_member[k])
            if self.activation == "relu":
                _threshold_backward(below, hidden, 0.0, grad_input=below)
            else:
                _elu_backward(below, 1.0, 1.0, 1.0, True, hidden, grad_input=below)
            gradient = below_by_member
        if parameters:
            for k, (grad_weight, grad_bias) in enumerate(self._grad_layers[0]):
                start = 0
                for x in tape.inputs:
                    stop = start + x.shape[-1]
                    torch.mm(_of_member(x, k).t(), gradient[k], out=grad_weight[start:stop])
                    start = stop
                torch.sum(gradient[k], 0, out=grad_bias)
        return None if wanted_input is None else self._input_gradient(tape, gradient, wanted_input)

    def _input_gradient(self, tape: Tape, gradient: Sequence[Tensor], which: int) -> Tensor:
        start = sum(x.shape[-1] for x in tape.inputs[:which])
        stop = start + tape.inputs[which].shape[-1]
        parts = [
            torch.mm(gradient[k], weight[start:stop].t()) for k, (weight, _) in enumerate(self.layers[0])
        ]
        if tape.inputs[which].dim() == 3:
            return torch.stack(parts)
        for part in parts[1:]:
            parts[0].add_(part)
        return parts[0]

    def _make_buffers(self, batch: int) -> _Buffers:
        hidden, gradient = (
            [self.theta.new_empty(self.members, batch, size) for size in self.sizes[1:-1]] for _ in range(2)
        )
        buffers = _Buffers(hidden, [list(h) for h in hidden], gradient, [list(g) for g in gradient])
        self._buffers[batch] = buffers
        return buffers

    def state_dict(self) -> dict[str, Tensor]:
        return {"theta": self.theta}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.theta.copy_(state["theta"])


def _of_member(x: Tensor, k: int) -> Tensor:
    return x if x.dim() == 2 else x[k]


LOG_4 = math.log(4.0)
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)

Pullback = Callable[[Tensor, Tensor], Tensor]


def squashed_gaussian(
    out: Tensor, noise: Tensor, log_std_range: tuple[float, float]
) -> tuple[Tensor, Tensor, Pullback]:
    """a = tanh(u), u = mean + std eps, log pi(a), and the pullback (dL/da, dL/dlog pi) -> dL/dout.

    `out` is the actor's output [B, 2 d_a]: the mean, and log std before a tanh that maps it into its range.

        log pi = sum_i [-eps^2/2 - log std - log(2 pi)/2 - log(1 - tanh(u)^2)]
        at fixed eps:  d log pi / du = 2 tanh(u),   du/dmean = 1,   du/dlog std = std eps
    """
    low, high = log_std_range
    half = 0.5 * (high - low)
    mean, raw = out.chunk(2, -1)
    squashed = torch.tanh(raw)
    log_std = (squashed + 1.0).mul_(half).add_(low)
    spread = torch.exp(log_std).mul_(noise)
    u = mean + spread
    action = torch.tanh(u)
    # log(1 - tanh(u)^2) = log 4 - 2u - 2 softplus(-2u), exact also where tanh saturates
    minus_2u = u.mul_(-2.0)
    density = log_std.add_(HALF_LOG_2PI + LOG_4).addcmul_(noise, noise, value=0.5).add_(minus_2u)
    density.sub_(torch.nn.functional.softplus(minus_2u), alpha=2.0)

    def pullback(d_action: Tensor, d_log_prob: Tensor) -> Tensor:
        """`d_log_prob`: [B, 1], or a scalar that is the same for all rows."""
        du = (2.0 * d_log_prob) * action
        du.addcmul_(d_action, 1.0 - action.square())
        d_raw = (du * spread).sub_(d_log_prob).mul_((1.0 - squashed.square()).mul_(half))
        return torch.cat((du, d_raw), -1)

    return action, density.sum(-1).neg_(), pullback
