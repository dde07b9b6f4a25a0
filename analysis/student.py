"""Student's t distribution and Welch's comparison of two means: the only place that needs scipy."""

from __future__ import annotations

from typing import Any

from scipy import stats  # type: ignore[import-untyped]


def t_quantile(probability: float, freedom: Any) -> Any:
    """The value that a t variable stays below with this probability; `freedom` may be an array."""
    return stats.t.ppf(probability, freedom)


def two_sided_p(t: float, freedom: float) -> float:
    return float(2 * stats.t.sf(abs(t), freedom))


def welch_freedom(square_error: float, n: int, other_square_error: float, m: int) -> float:
    """Satterthwaite's degrees of freedom for `std**2 / n` on both sides.

    Two figures without any spread leave the smaller sample's.
    """
    if square_error + other_square_error == 0:
        return float(min(n, m) - 1)
    total = (square_error + other_square_error) ** 2
    return total / (square_error**2 / (n - 1) + other_square_error**2 / (m - 1))
