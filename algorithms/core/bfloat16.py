"""Perceptrons whose large products are in bfloat16, for processors that multiply it faster (`precision: bfloat16`).

On a processor with AVX512-BF16 such a product takes half the time. Only the products between hidden layers are in
bfloat16; the first and the last layer (the state's digits, and Q's), all parameters, their gradients and the
optimisers stay in float32.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from algorithms.core.networks import MLP, scratch

LOW = torch.bfloat16

PROBE = """
import torch
torch.set_num_threads(1)
x = torch.linspace(-1.0, 1.0, 256 * 256).view(256, 256)
exact = x @ x.t()
error = (x.bfloat16() @ x.bfloat16().t()).float() - exact
assert error.abs().max() < 0.02 * exact.abs().max()
"""


@cache
def bfloat16_works() -> bool:
    """Tried in a process of its own: on some virtual machines the product ends in an illegal instruction."""
    return subprocess.run([sys.executable, "-c", PROBE], capture_output=True, check=False).returncode == 0


class Bfloat16MLP(MLP):
    """An MLP with the products between its hidden layers in bfloat16."""

    def __init__(self, sizes: Sequence[int], **settings: Any) -> None:
        super().__init__(sizes, **settings)
        self.hidden_dtype = LOW
        self._low_theta = self.theta.to(LOW)
        self._low_layers = self.views(self._low_theta)
        self._version = self.theta._version

    def _low(self, depth: int, k: int) -> tuple[Tensor, Tensor]:
        """A layer's weight and bias in bfloat16, as they are now: every change in place counts up the version."""
        if self._version != self.theta._version:
            self._low_theta.copy_(self.theta)
            self._version = self.theta._version
        return self._low_layers[depth][k]

    def _hidden_layer(self, depth: int, k: int, value: Tensor, out: Tensor) -> Tensor:
        if depth == 0:
            weight, bias = self.layers[0][k]
            room = _room(out, 3)
            return self._activate_(out.copy_(torch.addmm(bias, value, weight, out=room)))
        weight, bias = self._low(depth, k)
        return self._activate_(torch.addmm(bias, value, weight, out=out))

    def _last_layer(self, k: int, value: Tensor, out: Tensor) -> None:
        weight, bias = self.layers[-1][k]
        torch.addmm(bias, self._float(value), weight, out=out)

    def _set_gradient(self, depth: int, k: int, x: Tensor, gradient: Tensor) -> None:
        grad_weight, grad_bias = self._grad_layers[depth][k]
        if gradient.dtype == LOW:
            grad_weight.copy_(torch.mm(x.t(), gradient))
            torch.sum(gradient, 0, dtype=torch.float32, out=grad_bias)
        else:
            super()._set_gradient(depth, k, self._float(x), gradient)

    def _gradient_below(self, depth: int, k: int, hidden: Tensor, gradient: Tensor, out: Tensor) -> Tensor:
        if depth == len(self.layers) - 1:
            room = _room(out, 3)
            out.copy_(torch.mm(gradient, self._transposed[depth][k], out=room))
        else:
            torch.mm(gradient, self._low(depth, k)[0].t(), out=out)
        self._activation_backward_(out, hidden)
        return self._float(out) if depth == 1 else out  # what is below is the first layer

    @staticmethod
    def _float(x: Tensor) -> Tensor:
        return x if x.dtype == torch.float32 else _room(x, 4).copy_(x)


def _room(like: Tensor, slot: int) -> Tensor:
    """Of as many rows as a power of two has: the number of rows with a gradient differs from batch to batch."""
    rows, columns = like.shape
    return scratch(1 << (rows - 1).bit_length(), columns, torch.float32, slot)[:rows]
