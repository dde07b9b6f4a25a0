"""Adam on flat parameters, and stochastic gradient Langevin dynamics."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

NOISE_DAMPING = 1e-4  # keeps the noise finite on parameters that get no gradient (dead units)


def adam(parameters: Sequence[Tensor], lr: float) -> torch.optim.Adam:
    """Adam in one fused kernel. Its gradients are written anew each step, so they need no zeroing."""
    return torch.optim.Adam(list(parameters), lr=lr, fused=True)


class Langevin:
    """Stochastic gradient Langevin dynamics (Welling and Teh 2011), optionally preconditioned.

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
        self.preconditioned = preconditioned
        self.optimizer: torch.optim.Optimizer = (
            adam([theta], lr) if preconditioned else torch.optim.SGD([theta], lr=lr)
        )
        self.steps = 0

    @torch.no_grad()
    def step(self, samples: int) -> None:
        """One step, where the gradient in `theta.grad` is that of the mean over data of size `samples`."""
        self.optimizer.step()
        self.steps += 1
        if self.temperature == 0.0 or self.steps % self.every:
            return
        theta = self.theta.detach()
        noise = torch.randn(theta.shape, generator=self.generator, dtype=theta.dtype)
        if self.preconditioned:
            state = self.optimizer.state[self.theta]
            _, beta2 = self.optimizer.defaults["betas"]
            second_moment = state["exp_avg_sq"] / (1.0 - beta2**self.steps)
            noise.div_(second_moment.sqrt_().add_(NOISE_DAMPING).sqrt_())
        theta.add_(noise, alpha=math.sqrt(2.0 * self.lr * self.temperature * self.every / samples))

    def state_dict(self) -> dict[str, object]:
        return {"optimizer": self.optimizer.state_dict(), "steps": self.steps}

    def load_state_dict(self, state: dict[str, object]) -> None:
        self.optimizer.load_state_dict(state["optimizer"])  # type: ignore[arg-type]
        self.steps = state["steps"]  # type: ignore[assignment]
