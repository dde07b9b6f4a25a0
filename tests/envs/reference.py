"""The rewards once more, independently: sums of a coefficient times a term. And what a mistake would be.

Written from MBBL's description, not from `envs_mbbl.formulas`; the tests compare the two.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Term = Callable[[Floats, Floats], Floats]  # of start states (steps, dim) and of actions in MBBL's units
Terms = dict[str, tuple[float, Term]]


def squares(a: Floats) -> Floats:
    return np.square(a).sum(axis=-1)


def entry(index: int) -> Term:
    return lambda s, a: s[..., index]


def control(s: Floats, a: Floats) -> Floats:
    return squares(a)


def one(s: Floats, a: Floats) -> Floats:
    return np.ones(s.shape[:-1])


def walker(velocity: int, height: float) -> Terms:
    return {
        "velocity": (1.0, entry(velocity)),
        "height": (-3.0, lambda s, a: (s[..., 0] - height) ** 2),
        "control": (-0.1, control),
        "alive": (1.0, one),
    }


SLIM: Terms = {
    "velocity": (0.25 / 0.015, entry(22)),
    "control": (-0.1, control),
    "alive": (5.0, lambda s, a: ((s[..., 0] >= 1.0) & (s[..., 0] <= 2.0)).astype(float)),
}
IMPACT: Terms = {"impact": (-1.0, lambda s, a: np.minimum(5e-7 * squares(s[..., 292:376]), 10.0))}

TERMS: dict[str, Terms] = {
    "Pendulum": {
        "height": (-1.0, entry(0)),
        "sideways": (-0.1, lambda s, a: np.abs(s[..., 1])),
        "velocity": (-0.1, lambda s, a: s[..., 2] ** 2),
        "control": (-0.001, lambda s, a: (2 * a[..., 0]) ** 2),
    },
    "InvertedPendulum": {"angle": (-1.0, lambda s, a: s[..., 1] ** 2)},
    "Acrobot": {
        "first link": (-1.0, entry(0)),
        "second link": (
            -1.0,
            lambda s, a: np.cos(np.arctan2(s[..., 1], s[..., 0]) + np.arctan2(s[..., 3], s[..., 2])),
        ),
    },
    "CartPole": {
        "angle": (1.0, lambda s, a: np.cos(s[..., 2])),
        "position": (-0.01, lambda s, a: s[..., 0] ** 2),
    },
    "MountainCar": {"position": (1.0, entry(0))},
    "Reacher": {
        "distance": (-1.0, lambda s, a: np.linalg.norm(s[..., -3:], axis=-1)),
        "control": (-1.0, control),
    },
    "HalfCheetah": {"velocity": (1.0, entry(8)), "control": (-0.1, control)},
    "Swimmer-v0": {"velocity": (1.0, entry(3)), "control": (-1e-4, control)},
    "Swimmer": {"velocity": (1.0, entry(-1)), "control": (-1e-4, control)},
    "Ant": walker(13, 0.57),
    "Ant-ET": walker(13, 0.57),
    "Walker2D": walker(8, 1.3),
    "Walker2D-ET": walker(8, 1.3),
    "Hopper": walker(5, 1.3),
    "Hopper-ET": walker(5, 1.3),
    "SlimHumanoid": SLIM,
    "SlimHumanoid-ET": SLIM,
    "Humanoid-ET": SLIM | IMPACT,
}

MISTAKES: dict[str, float] = {"sign": -1.0, "dropped": 0.0, "halved": 0.5, "doubled": 2.0, "tenfold": 10.0}


def reward(terms: Terms, s: Floats, a: Floats, factors: dict[str, float] | None = None) -> Floats:
    """`factors` multiply the coefficients of the terms they name."""
    factors = factors or {}
    return sum(
        (factors.get(name, 1.0) * c * term(s, a) for name, (c, term) in terms.items()), np.zeros(s.shape[:-1])
    )
