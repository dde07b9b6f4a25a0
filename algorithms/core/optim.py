"""Adam on flat parameters, and stochastic gradient Langevin dynamics."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.autograd.graph import increment_version

NOISE_DAMPING = 1e-4  # keeps the noise finite on parameters that get no gradient (dead units)
_ONE = torch.ones(())  # a Python number would be made into a tensor at each step


class Adam:
    """Adam (Kingma and Ba 2015) on one tensor: PyTorch's fused kernel without the optimiser object around it.

    `torch.optim.Adam(fused=True)` gives the same bytes; its bookkeeping alone takes as long as a small update.
    """

    betas = (0.9, 0.999)
    eps = 1e-8

    def __init__(self, theta: Tensor, lr: float) -> None:
        self.theta, self.lr = theta, lr
        self.mean, self.square = torch.zeros_like(theta), torch.zeros_like(theta)
        self.count = torch.zeros(())

    def step(self, grad: Tensor) -> None:
        self.count.add_(_ONE)
        torch._fused_adam_(
            [self.theta],
            [grad],
            [self.mean],
            [self.square],
            [],
            [self.count],
            lr=self.lr,
            beta1=self.betas[0],
            beta2=self.betas[1],
            weight_decay=0.0,
            eps=self.eps,
            amsgrad=False,
            maximize=False,
        )
        increment_version(self.theta)  # who keeps a copy of the parameters sees that they have changed

    def state_dict(self) -> dict[str, Tensor]:
        return {"mean": self.mean, "square": self.square, "count": self.count}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.mean.copy_(state["mean"])
        self.square.copy_(state["square"])
        self.count.copy_(state["count"])


class Langevin:
    """Stochastic gradient Langevin dynamics (Welling and Teh 2011), by default preconditioned.

    With L the mean negative log-likelihood over N samples and T a temperature,

        theta <- theta - lr G dL + sqrt(2 lr T / N) G^(1/2) xi,    xi ~ N(0, I),

    whose stationary law for small lr is proportional to exp(-N L / T): at T = 1 the posterior (a prior is a term
    of L). With `preconditioned` the drift is Adam's step and G = 1 / (sqrt(v_hat) + eps) is Adam's scaling
    (Li et al. 2016, without the curvature term, which vanishes as v settles); else G = I and the drift is plain
    gradient descent. The noise of `every` steps is added at once, which saves most of the random numbers
    and changes nothing to first order in lr. T = 0 leaves the optimiser.
    """

    def __init__(
        self,
        theta: Tensor,
        *,
        lr: float,
        temperature: float,
        generator: torch.Generator,
        preconditioned: bool = True,
        every: int = 1,
    ) -> None:
        self.theta, self.lr, self.temperature = theta, lr, temperature
        self.every, self.generator = every, generator
        self.adam = Adam(theta, lr) if preconditioned else None
        self.steps = 0

    def step(self, grad: Tensor, samples: int) -> None:
        """One step, where `grad` is the gradient of the mean over data of size `samples`."""
        self.steps += 1
        if self.adam is not None:
            self.adam.step(grad)
        else:
            self.theta.sub_(grad, alpha=self.lr)
        if self.temperature == 0.0 or self.steps % self.every:
            return
        noise = torch.randn(self.theta.shape, generator=self.generator, dtype=self.theta.dtype)
        if self.adam is not None:
            second_moment = self.adam.square / (1.0 - self.adam.betas[1] ** self.steps)
            noise.div_(second_moment.sqrt_().add_(NOISE_DAMPING).sqrt_())
        self.theta.add_(noise, alpha=math.sqrt(2.0 * self.lr * self.temperature * self.every / samples))

    def state_dict(self) -> dict[str, object]:
        return {"adam": self.adam.state_dict() if self.adam is not None else None, "steps": self.steps}

    def load_state_dict(self, state: dict[str, object]) -> None:
        if self.adam is not None:
            self.adam.load_state_dict(state["adam"])  # type: ignore[arg-type]
        self.steps = state["steps"]  # type: ignore[assignment]
