"""Replay that stores each observation once and hands out a batch with one gather.

Row t holds (s_t, a_t, r_t, end_t); s_{t+1} is the observation of row t + 1. The last observation of an episode
is a row of its own that is never the start of a sampled transition.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorithms.core.loop import Transition

# the column `end` of a row; a fall at the time limit is TERMINATED + TRUNCATED
GOES_ON, TRUNCATED, TERMINATED, LAST_OBSERVATION = 0.0, 0.25, 1.0, -1.0


class Batch(NamedTuple):
    """A minibatch. `state_action` is [s, a] in one piece, `states` is s above s'."""

    observation: Tensor
    action: Tensor
    reward: Tensor
    continues: Tensor  # 1 where the value of s' counts, 0 after a fall
    next_observation: Tensor
    state_action: Tensor
    states: Tensor


class Replay:
    """All transitions of a run, in the order in which they came. A `GrowingLog`: it only ever grows.

    `bootstrap_time_limits=False` treats the time limit like a fall, as MBBL's SAC and TD3 did.
    """

    def __init__(
        self,
        observation_dim: int,
        action_dim: int,
        steps: int,
        *,
        seed: int,
        bootstrap_time_limits: bool = True,
    ) -> None:
        self.observation_dim, self.action_dim = observation_dim, action_dim
        self.bootstrap_time_limits = bootstrap_time_limits
        self.generator = torch.Generator().manual_seed(seed)
        self._row_dtype = np.dtype(
            [
                ("observation", np.float32, (observation_dim,)),
                ("action", np.float32, (action_dim,)),
                ("reward", np.float32),
                ("end", np.float32),
            ]
        )
        # Every episode costs one row more than it has steps, and might be one step long. The memory is
        # not touched before it is used, so room for the worst case costs nothing.
        width = observation_dim + action_dim + 2
        self._data = torch.empty(2 * steps + 2, width)
        self._array = self._data.numpy()
        self._starts = torch.empty(steps, dtype=torch.int64)  # transition number -> row
        self._starts_array = self._starts.numpy()
        self._filled = 0
        self.transitions = 0

    # --- filling and sampling -------------------------------------------------------------------------

    def add(self, transition: Transition) -> None:
        d, k = self.observation_dim, self.action_dim
        row = self._array[self._filled]
        row[:d] = transition.observation
        row[d : d + k] = transition.action
        row[d + k] = transition.reward
        row[d + k + 1] = TERMINATED * transition.terminated + TRUNCATED * transition.truncated
        self._starts_array[self.transitions] = self._filled
        self.transitions += 1
        self._filled += 1
        following = self._array[self._filled]
        following[:d] = transition.next_observation
        if transition.terminated or transition.truncated:
            following[d:] = 0.0
            following[d + k + 1] = LAST_OBSERVATION
            self._filled += 1

    def sample(self, size: int) -> Batch:
        """`size` transitions, drawn uniformly with replacement."""
        picks = torch.randint(0, self.transitions, (size,), generator=self.generator)
        rows = self._starts.index_select(0, picks)
        return self._batch(self._data.index_select(0, torch.cat((rows, rows + 1))), size)

    def _batch(self, data: Tensor, size: int) -> Batch:
        d, k = self.observation_dim, self.action_dim
        first, states = data[:size], data[:, :d]
        end = first[:, d + k + 1]
        continues = end < TERMINATED if self.bootstrap_time_limits else end == GOES_ON
        return Batch(
            observation=states[:size],
            action=first[:, d : d + k],
            reward=first[:, d + k],
            continues=continues.float(),
            next_observation=states[size:],
            state_action=first[:, : d + k],
            states=states,
        )

    def observations(self) -> Tensor:
        """Every observation so far, [n, d]."""
        return self._data[: self._filled, : self.observation_dim]

    # --- checkpoints ------------------------------------------------------------------------------------

    @property
    def row_dtype(self) -> np.dtype[Any]:
        return self._row_dtype

    def __len__(self) -> int:
        return self._filled

    def rows(self, start: int, stop: int) -> np.ndarray:
        return self._array[start:stop].reshape(-1).view(self._row_dtype)

    def extend(self, rows: np.ndarray) -> None:
        """Append rows of a checkpoint. s' of the last one, if its episode goes on, comes with the next `add`."""
        stop = self._filled + len(rows)
        self._array[self._filled : stop] = rows.view(np.float32).reshape(len(rows), self._array.shape[1])
        starts = self._filled + np.flatnonzero(rows["end"] != LAST_OBSERVATION)
        self._starts_array[self.transitions : self.transitions + len(starts)] = starts
        self.transitions += len(starts)
        self._filled = stop

    def state_dict(self) -> dict[str, Tensor]:
        return {"generator": self.generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.generator.set_state(state["generator"])
