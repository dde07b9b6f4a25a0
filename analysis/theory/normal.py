"""The standard normal distribution function: the one special function that the theory needs, typed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr  # type: ignore[import-untyped]

Array = NDArray[np.float64]


def cdf(x: Array) -> Array:
    """Phi(x) = P(z <= x), z ~ N(0, 1)."""
    return np.asarray(ndtr(x), dtype=np.float64)
