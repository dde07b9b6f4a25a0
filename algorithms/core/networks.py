"""Networks of the SAC family, with their backward passes written out.

At 256 x 256 the arithmetic of an update takes no longer than autograd's bookkeeping for it, so the agents do
without autograd: `value, tape = net.forward(x)`, and later `net.backward(tape, d_value)` with just the gradients that
are wanted: none for frozen parameters, none for inputs that need none. All parameters of a network are one
tensor, so that an optimiser step or a momentum update is one kernel call. The tests compare every pass with autograd.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from copy import copy
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

_threshold_backward = torch.ops.aten.threshold_backward.grad_input
_elu_backward = torch.ops.aten.elu_backward.grad_input

Layers = list[list[tuple[Tensor, Tensor]]]  # depth -> member -> (weight [in, out], bias [out])


class Tape(NamedTuple):
    """What a backward pass needs to know of its forward pass."""

    x: Tensor  # all inputs side by side
    widths: tuple[int, ...]  # of the inputs
    hidden: list[list[Tensor]]  # member -> depth -> [B, size]
    serial: int

    def first(self, rows: int) -> tuple[Tensor, list[list[Tensor]]]:
        """The input and the hidden layers in the first rows of the batch."""
        if rows == self.x.shape[-2]:
            return self.x, self.hidden
        return self.x[..., :rows, :], [[h[:rows] for h in layers] for layers in self.hidden]

    def columns(self, which: int) -> slice:
        """Where an input is in `x`."""
        start = sum(self.widths[:which])
        return slice(start, start + self.widths[which])


BLOCK_OF_ROWS = (
    1024  # a large batch goes in such parts, which stay in the processor's cache from one step to the next
)


@cache
def scratch(rows: int, columns: int, dtype: torch.dtype, slot: Hashable) -> Tensor:
    """Room for what is soon forgotten, the same for all networks: it stays in the processor's cache.

    (And memory of this size, if it is asked for anew each time, comes as fresh pages, which cost more than a product.)
    """
    with torch.inference_mode(False):  # to be used in it and outside of it
        return torch.empty(rows, columns, dtype=dtype)


class MLP:
    """`members` perceptrons of the same shape, all parameters in `theta`, [members, P].

    It is called with one or more inputs, which are read as if concatenated: [B, d] (shared by the members)
    or [members, B, d], and returns [members, B, out]. The activations of a `forward` live in buffers that the
    next one on a batch of that size overwrites; a tape that has become invalid so is refused.
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
        self._transposed = [[weight.t() for weight, _ in layer] for layer in self.layers]
        if generator is not None:
            for layer in self.layers:  # U(-1/sqrt(fan_in), 1/sqrt(fan_in)), as torch.nn.Linear
                for weight, bias in layer:
                    bound = 1.0 / math.sqrt(weight.shape[0])
                    weight.uniform_(-bound, bound, generator=generator)
                    bias.uniform_(-bound, bound, generator=generator)
        self.hidden_dtype = dtype
        self._hidden: dict[int, list[list[Tensor]]] = {}  # batch size -> member -> depth
        self._slot: Hashable = None  # of the shared room for hidden layers; None: room of its own
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
        twin = type(self)(
            self.sizes,
            generator=None,
            members=self.members,
            activation=self.activation,
            dtype=self.theta.dtype,
        )
        twin.theta.copy_(self.theta)
        return twin

    def weighted(self, w: Tensor, slot: Hashable) -> MLP:
        """x -> <w, value(x)>, [members, B, 1], on the parameters as they are now; for gradients in the inputs alone.

        A perceptron is linear in its last hidden layer, so that one vector takes the place of the last matrix. Tapes
        are valid until the next `forward` of a network with this slot.
        """
        net = copy(self)
        net.sizes = (*self.sizes[:-1], 1)
        last = [
            (torch.mv(weight, w).unsqueeze(1), torch.dot(bias, w).view(1)) for weight, bias in self.layers[-1]
        ]
        net.layers = [*self.layers[:-1], last]
        net._transposed = [*self._transposed[:-1], [weight.t() for weight, _ in last]]
        net._hidden, net._slot = {}, slot
        return net

    def __call__(self, *inputs: Tensor) -> Tensor:
        """The value alone; tapes stay valid."""
        x = _side_by_side(inputs)
        if x.shape[-2] <= BLOCK_OF_ROWS:
            return self._value_alone(x)
        return torch.cat([self._value_alone(part) for part in x.split(BLOCK_OF_ROWS, -2)], 1)

    def _value_alone(self, x: Tensor) -> Tensor:
        return self._value(x, [self._room_below(x.shape[-2])] * self.members)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tape]:
        x = _side_by_side(inputs)
        rows = x.shape[-2]
        if rows not in self._hidden:
            self._hidden[rows] = self._make_hidden(rows)
        hidden = self._hidden[rows]
        self._serial += 1
        return self._value(x, hidden), Tape(x, tuple(i.shape[-1] for i in inputs), hidden, self._serial)

    @torch.inference_mode(False)  # to be used in it and outside of it
    def _make_hidden(self, rows: int) -> list[list[Tensor]]:
        def room(k: int, depth: int, size: int) -> Tensor:
            if self._slot is None:
                return torch.empty(rows, size, dtype=self.hidden_dtype)
            return scratch(rows, size, self.hidden_dtype, (self._slot, k, depth))

        sizes = self.sizes[1:-1]
        return [[room(k, depth, size) for depth, size in enumerate(sizes)] for k in range(self.members)]

    def _value(self, x: Tensor, hidden: list[list[Tensor]]) -> Tensor:
        """One member after the other, so that the next layer finds its input in the processor's cache."""
        out = self.theta.new_empty(self.members, self.sizes[-1], x.shape[-2]).transpose(1, 2)
        for k, out_of_member in enumerate(out):
            value = x if x.dim() == 2 else x[k]
            for depth, room in enumerate(hidden[k]):
                value = self._hidden_layer(depth, k, value, room)
            self._last_layer(k, value, out_of_member)
        return out

    def _hidden_layer(self, depth: int, k: int, value: Tensor, out: Tensor) -> Tensor:
        weight, bias = self.layers[depth][k]
        return self._activate_(torch.addmm(bias, value, weight, out=out))

    def _last_layer(self, k: int, value: Tensor, out: Tensor) -> None:
        weight, bias = self.layers[-1][k]
        torch.addmm(bias, value, weight, out=out)

    def _activate_(self, value: Tensor) -> Tensor:
        return torch.relu_(value) if self.activation == "relu" else torch.nn.functional.elu_(value)

    def _activation_backward_(self, gradient: Tensor, hidden: Tensor) -> None:
        if self.activation == "relu":
            _threshold_backward(gradient, hidden, 0.0, grad_input=gradient)
        else:
            _elu_backward(gradient, 1.0, 1.0, 1.0, True, hidden, grad_input=gradient)

    def backward(
        self, tape: Tape, d_out: Tensor, *, parameters: bool = False, wanted_input: int | None = None
    ) -> Tensor | None:
        """Gradients for d_out = dL/d value: of the parameters into `self.grad`, of one input as the result.

        If `d_out` has fewer rows than the batch it is that of the first rows, and the others have no gradient.
        """
        self._check(tape)
        rows = d_out.shape[1]
        x, all_hidden = tape.first(rows)
        room = self._room_below(rows)
        parts = []
        for k, gradient in enumerate(d_out):
            for depth in range(len(self.layers) - 1, 0, -1):
                hidden = all_hidden[k][depth - 1]
                if parameters:
                    self._set_gradient(depth, k, hidden, gradient)
                gradient = self._gradient_below(depth, k, hidden, gradient, room[depth - 1])
            if parameters:
                self._set_gradient(0, k, x if x.dim() == 2 else x[k], gradient)
            if wanted_input is not None:
                parts.append(torch.mm(gradient, self._transposed[0][k][:, tape.columns(wanted_input)]))
        if wanted_input is None:
            return None
        return torch.stack(parts) if x.dim() == 3 else _sum_of(parts)

    def input_gradient_of_rows(
        self, tape: Tape, rows_of_members: Sequence[Tensor], d_out: Tensor, wanted_input: int
    ) -> Tensor:
        """What `backward` returns for an input that the members share, where dL/d value is `d_out`, [out], in some
        rows of each member and zero in the others.

        So is the gradient of min_i Q_i, with half of the rows for each Q_i.
        """
        self._check(tape)
        size, columns = tape.x.shape[0], tape.columns(wanted_input)
        room = self._room_below(size)
        total = d_out.new_zeros(size, tape.widths[wanted_input])
        for k, rows in enumerate(rows_of_members):
            gradient = d_out.repeat(len(rows), 1)  # not `expand`, of which a product is slow
            for depth in range(len(self.layers) - 1, 0, -1):
                hidden = tape.hidden[k][depth - 1]
                kept = scratch(*hidden.shape, hidden.dtype, 2)[: len(rows)]
                torch.index_select(hidden, 0, rows, out=kept)
                gradient = self._gradient_below(depth, k, kept, gradient, room[depth - 1][: len(rows)])
            total.index_add_(0, rows, torch.mm(gradient, self._transposed[0][k][:, columns]))
        return total

    def _check(self, tape: Tape) -> None:
        if tape.serial != self._serial:
            raise RuntimeError("this tape is of an earlier forward pass, whose activations are overwritten")

    def _room_below(self, rows: int) -> list[Tensor]:
        """Room for one member's hidden layers, in which no two that are neighbours share memory."""
        return [
            scratch(rows, size, self.hidden_dtype, depth % 2) for depth, size in enumerate(self.sizes[1:-1])
        ]

    def _set_gradient(self, depth: int, k: int, x: Tensor, gradient: Tensor) -> None:
        """Of the parameters of one layer, from its input and the gradient of its output."""
        grad_weight, grad_bias = self._grad_layers[depth][k]
        torch.mm(x.t(), gradient, out=grad_weight)
        torch.sum(gradient, 0, out=grad_bias)

    def _gradient_below(self, depth: int, k: int, hidden: Tensor, gradient: Tensor, out: Tensor) -> Tensor:
        """From the gradient of a layer's output to that of the layer below before its activation."""
        torch.mm(gradient, self._transposed[depth][k], out=out)
        self._activation_backward_(out, hidden)
        return out

    def state_dict(self) -> dict[str, Tensor]:
        return {"theta": self.theta}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.theta.copy_(state["theta"])


def _side_by_side(inputs: Sequence[Tensor]) -> Tensor:
    return inputs[0] if len(inputs) == 1 else torch.cat(list(inputs), -1)


def _sum_of(parts: Sequence[Tensor]) -> Tensor:
    for part in parts[1:]:
        parts[0].add_(part)
    return parts[0]


LOG_4 = math.log(4.0)
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)

Pullback = Callable[[Tensor, Tensor], Tensor]


class LogStd(NamedTuple):
    """How the actor's second output becomes the log standard deviation, which must be within bounds.

    `clamp` cuts it off and starts at a standard deviation of about 1; `tanh` maps the real line into the range and
    starts at its middle.
    """

    kind: str
    low: float
    high: float

    def value(self, raw: Tensor) -> Tensor:
        if self.kind == "clamp":
            return raw.clamp(self.low, self.high)
        return torch.tanh(raw).add_(1.0).mul_(0.5 * (self.high - self.low)).add_(self.low)

    def slope(self, raw: Tensor, value: Tensor) -> Tensor:
        """d value / d raw"""
        if self.kind == "clamp":
            return (raw == value).to(raw.dtype)
        return (value - self.low).mul_(self.high - value).mul_(2.0 / (self.high - self.low))


def squashed_gaussian(out: Tensor, noise: Tensor, bounds: LogStd) -> tuple[Tensor, Tensor, Pullback]:
    """a = tanh(u), u = mean + std eps, log pi(a), and the pullback (dL/da, dL/dlog pi) -> dL/dout.

    `out` is the actor's output [B, 2 d_a]: the mean, and log std before its bounds.

        log pi = sum_i [-eps^2/2 - log std - log(2 pi)/2 - log(1 - tanh(u)^2)]
        at fixed eps:  d log pi / du = 2 tanh(u),   du/dmean = 1,   du/dlog std = std eps
    """
    mean, raw = out.chunk(2, -1)
    log_std = bounds.value(raw)
    spread = torch.exp(log_std).mul_(noise)
    u = mean + spread
    action = torch.tanh(u)
    # log(1 - tanh(u)^2) = log 4 - 2u - 2 log(1 + exp(-2u)), exact also where tanh saturates
    minus_half_softplus = torch.nn.functional.softplus(u, beta=-2.0)
    density = torch.add(log_std, minus_half_softplus, alpha=4.0).sub_(u, alpha=2.0)
    density.addcmul_(noise, noise, value=0.5)
    log_prob = torch.rsub(density.sum(-1), -(HALF_LOG_2PI + LOG_4) * noise.shape[-1])

    def pullback(d_action: Tensor, d_log_prob: Tensor) -> Tensor:
        """`d_log_prob`: [B, 1], or a scalar that is the same for all rows. Maybe of the first rows alone."""
        rows = slice(len(d_action))
        a = action[rows]
        # 2 a dL/dlog pi + (1 - a^2) dL/da
        du = torch.addcmul(d_action, a, (a * d_action).sub_(d_log_prob, alpha=2.0), value=-1.0)
        d_log_std = (du * spread[rows]).sub_(d_log_prob)
        return torch.cat((du, d_log_std.mul_(bounds.slope(raw[rows], log_std[rows]))), -1)

    return action, log_prob, pullback
