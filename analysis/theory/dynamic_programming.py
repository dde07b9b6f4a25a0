"""Algorithm 2 and policy evaluation on finite tables, for many models at once.

The tables are exact, not an approximation: see `regulator`, whose features look at the state through cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Actions = NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """The optimal values V_h (h = 0..H, V_H = 0), action values Q_h and policy pi_h of each model."""

    V_HIS: Array
    Q_HISA: Array
    pi_HIS: Actions


def expected_value(T_ISAC: Array, V_IC: Array) -> Array:
    """E[V(s')] for each model, state and action."""
    models, states, actions, cells = T_ISAC.shape
    flat = T_ISAC.reshape(models, states * actions, cells) @ V_IC[:, :, None]
    return flat.reshape(models, states, actions)


def plan(T_ISAC: Array, r_ISA: Array, horizon: int) -> Plan:
    """Algorithm 2: Q_h = r + E[V_{h+1}], V_h = max_a Q_h, backwards from V_H = 0.

    `r_ISA` may lack the axis of models (one reward for all) and `T_ISAC` may hold kernel estimates that do
    not sum to one.
    """
    models, states, _, _ = T_ISAC.shape
    V_HIS = np.zeros((horizon + 1, models, states))
    Q_HISA = np.zeros((horizon, *T_ISAC.shape[:3]))
    for h in reversed(range(horizon)):
        Q_HISA[h] = r_ISA + expected_value(T_ISAC, V_HIS[h + 1])
        V_HIS[h] = Q_HISA[h].max(axis=-1)
    return Plan(V_HIS, Q_HISA, Q_HISA.argmax(axis=-1))


def evaluate(T_ISAC: Array, r_SA: Array, pi_HIS: Actions) -> Array:
    """V^pi_h of a deterministic policy, h = 0..H, by backward recursion."""
    horizon, models, states = pi_HIS.shape
    V_HIS = np.zeros((horizon + 1, models, states))
    model_I1, state_1S = np.arange(models)[:, None], np.arange(states)[None, :]
    for h in reversed(range(horizon)):
        T_ISC = T_ISAC[model_I1, state_1S, pi_HIS[h]]
        V_HIS[h] = r_SA[state_1S, pi_HIS[h]] + (T_ISC @ V_HIS[h + 1][:, :, None])[:, :, 0]
    return V_HIS


def evaluate_stochastic(T_ISAC: Array, r_SA: Array, pi_HSA: Array) -> Array:
    """V^pi_h of a policy that draws its actions, the same policy for all models."""
    horizon = pi_HSA.shape[0]
    V_HIS = np.zeros((horizon + 1, *T_ISAC.shape[:2]))
    for h in reversed(range(horizon)):
        Q_ISA = r_SA + expected_value(T_ISAC, V_HIS[h + 1])
        V_HIS[h] = np.sum(pi_HSA[h] * Q_ISA, axis=-1)
    return V_HIS
