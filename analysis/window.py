"""The final performance of a run, defined here and nowhere else.

The window that ends at step `t` is the half-open interval `(t - w, t]` of environment steps. What a run
is worth at `t` is the plain mean of the returns of the episodes that belong to the window:

* an *evaluation* episode belongs to the window when its evaluation was made at a step inside it;
* a *training* episode occupies the steps `(step - length, step]`. One that lies across the window's
  lower edge is treated by the `straddle` rule:

  - `end` (the default): it belongs to the window in which it ends, as a whole. Consecutive windows then
    share no episode and lose none;
  - `inside`: it belongs only when it lies inside entirely;
  - `weighted`: it counts with the share of its steps that lies inside, so the mean is over
    `sum(share * return) / sum(share)`.

An episode that is still going at `t` has no return yet and never counts. Nothing in the window: NaN.
A NaN return in the window makes the value NaN: a diverged run must not look like a good one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
STRADDLE = ("end", "inside", "weighted")


def window_means(
    steps: ArrayLike,
    returns: ArrayLike,
    ends: ArrayLike,
    window: float,
    lengths: ArrayLike | None = None,
    straddle: str = "end",
) -> Floats:
    """The mean return in `(end - window, end]`, for each of `ends`.

    `steps` must not decrease. `lengths` (episode lengths in steps) matter only when `straddle` is not
    `end`; evaluation episodes have none.
    """
    steps_E = np.asarray(steps, dtype=np.float64)
    returns_E = np.asarray(returns, dtype=np.float64)
    ends_W = np.asarray(ends, dtype=np.float64)
    if straddle not in STRADDLE:
        raise ValueError(f"straddle {straddle!r} is none of {', '.join(STRADDLE)}")
    if np.any(np.diff(steps_E) < 0):
        raise ValueError("episode steps decrease")
    if lengths is not None and straddle != "end":
        return _means_with_lengths(
            steps_E, returns_E, ends_W, window, np.asarray(lengths, np.float64), straddle
        )
    first_W = np.searchsorted(steps_E, ends_W - window, side="right")
    last_W = np.searchsorted(steps_E, ends_W, side="right")
    return _slice_means(returns_E, first_W, last_W)


def window_counts(steps: ArrayLike, ends: ArrayLike, window: float) -> NDArray[np.int64]:
    """How many episodes end in `(end - window, end]`, for each of `ends`."""
    steps_E = np.asarray(steps, dtype=np.float64)
    ends_W = np.asarray(ends, dtype=np.float64)
    low = np.searchsorted(steps_E, ends_W - window, side="right")
    return (np.searchsorted(steps_E, ends_W, side="right") - low).astype(np.int64)


def _slice_means(returns_E: Floats, first_W: NDArray[np.intp], last_W: NDArray[np.intp]) -> Floats:
    # Summed slice by slice: differences of one long cumulative sum would lose digits and would let one
    # NaN early in training spoil every later window.
    means = np.full(len(first_W), np.nan)
    for index, (first, last) in enumerate(zip(first_W, last_W, strict=True)):
        if last > first:
            means[index] = returns_E[first:last].mean()
    return means


def _means_with_lengths(
    steps_E: Floats, returns_E: Floats, ends_W: Floats, window: float, lengths_E: Floats, straddle: str
) -> Floats:
    means = np.full(len(ends_W), np.nan)
    starts_E = steps_E - lengths_E
    for index, end in enumerate(ends_W):
        low = end - window
        chosen = (steps_E > low) & (steps_E <= end)
        if straddle == "inside":
            chosen &= starts_E >= low
            weights = np.ones(int(chosen.sum()))
        else:
            inside = steps_E[chosen] - np.maximum(starts_E[chosen], low)
            weights = inside / np.maximum(lengths_E[chosen], 1.0)
        if weights.sum() > 0:
            means[index] = float(np.average(returns_E[chosen], weights=weights))
    return means
