"""Steps per second of every task, beside the nearest environment of gymnasium.

    python -m benchmarks.envs [--rounds 20] [--steps 200] [task ...]

Both are bare (`.unwrapped`) and take turns within one run: each round starts both from the same physical
state and gives both the same actions, so that they meet the same contacts. The ratio is the median over the
rounds of gymnasium's time divided by ours: above 1 we are faster. Time is that of the processor, so that other
programs disturb little; resets are not timed. Exit status 1 if a task is slower than its counterpart.
"""

import argparse
import sys
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

import gymnasium
import mujoco
import numpy as np

import envs_mbbl
from envs_mbbl.classic import ClassicEnv
from envs_mbbl.simulation import MujocoEnv

NO_STOP: dict[str, Any] = {"terminate_when_unhealthy": False}
SLIM: dict[str, Any] = {
    "include_cinert_in_observation": False,
    "include_cvel_in_observation": False,
    "include_qfrc_actuator_in_observation": False,
    "include_cfrc_ext_in_observation": False,
}
WALKER: dict[str, Any] = {"xml_file": "walker2d.xml"}
ANT: dict[str, Any] = {"include_cfrc_ext_in_observation": False}

COUNTERPARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "Pendulum": ("Pendulum-v1", {}),
    "InvertedPendulum": ("InvertedPendulum-v5", {}),
    "Acrobot": ("Acrobot-v1", {}),
    "CartPole": ("CartPole-v1", {}),
    "MountainCar": ("MountainCarContinuous-v0", {}),
    "Reacher": ("Reacher-v5", {}),
    "HalfCheetah": ("HalfCheetah-v5", {}),
    "Swimmer-v0": ("Swimmer-v5", {}),
    "Swimmer": ("Swimmer-v5", {}),  # ours has a sensor more
    "Ant": ("Ant-v5", ANT | NO_STOP),
    "Ant-ET": ("Ant-v5", ANT),
    "Walker2D": ("Walker2d-v5", WALKER | NO_STOP),
    "Walker2D-ET": ("Walker2d-v5", WALKER),
    "Hopper": ("Hopper-v5", NO_STOP),
    "Hopper-ET": ("Hopper-v5", {}),
    "SlimHumanoid": ("Humanoid-v5", SLIM | NO_STOP),
    "SlimHumanoid-ET": ("Humanoid-v5", SLIM),
    "Humanoid-ET": ("Humanoid-v5", {}),
}


def their_action(env: gymnasium.Env[Any, Any], action: np.ndarray) -> Any:
    space = env.action_space
    if isinstance(space, gymnasium.spaces.Discrete):
        return int(np.clip((action[0] + 1) / 2 * space.n, 0, space.n - 1))
    assert isinstance(space, gymnasium.spaces.Box)
    return action * space.high


def start_alike(ours: envs_mbbl.MbblEnv, theirs: Any) -> None:
    """Give gymnasium's environment the state of ours."""
    theirs.reset()
    if isinstance(ours, MujocoEnv):
        mujoco.mj_resetData(theirs.model, theirs.data)  # also the solver's warm start
        theirs.set_state(ours.data.qpos.copy(), ours.data.qvel.copy())
    else:
        assert isinstance(ours, ClassicEnv)
        theirs.state = ours.get_state()["physics"]
        if hasattr(theirs, "theta_threshold_radians"):  # CartPole: it complains of every step after a fall
            theirs.theta_threshold_radians = theirs.x_threshold = np.inf


def timed(step: Callable[[Any], Any], actions: list[Any]) -> float:
    start = process_time()
    for action in actions:
        step(action)
    return process_time() - start


def measure(name: str, rounds: int, steps: int) -> tuple[float, float, float]:
    """Our steps per second, theirs, and the median ratio of times."""
    ours = envs_mbbl.make(name)
    gymnasium_id, options = COUNTERPARTS[name]
    theirs: Any = gymnasium.make(gymnasium_id, **options).unwrapped
    rng = np.random.default_rng(0)
    our_times, their_times = [], []
    for number in range(rounds):
        ours.reset(seed=number)
        start = ours.get_state()
        actions = []
        for _ in range(steps):  # a rehearsal: how far does the episode go?
            actions.append(rng.uniform(-1, 1, ours.task.action_dim).astype(np.float32))
            _, _, terminated, truncated, _ = ours.step(actions[-1])
            if terminated or truncated:
                break
        their_actions = [their_action(theirs, action) for action in actions]
        ours.set_state(start)
        start_alike(ours, theirs)
        if number % 2:
            their_time = timed(theirs.step, their_actions)
            our_time = timed(ours.step, actions)
        else:
            our_time = timed(ours.step, actions)
            their_time = timed(theirs.step, their_actions)
        our_times.append(our_time / len(actions))
        their_times.append(their_time / len(actions))
    ours.close()
    theirs.close()
    ratio = median(their / our for our, their in zip(our_times, their_times, strict=True))
    return 1 / median(our_times), 1 / median(their_times), ratio


def main() -> int:
    parser = argparse.ArgumentParser(description="Steps per second, beside gymnasium's environments.")
    parser.add_argument("tasks", nargs="*", default=list(COUNTERPARTS), metavar="task")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=200, help="at most so many per round (default: 200)")
    args = parser.parse_args()
    # gymnasium's cheetah makes MuJoCo warn, on stderr and in a log file in the working directory.
    mujoco.set_mju_user_warning(lambda message: None)
    print(f"{'task':<17}{'steps/s':>10}{'gymnasium':>12}{'ratio':>8}   counterpart")
    slower = []
    for name in args.tasks:
        ours, theirs, ratio = measure(name, args.rounds, args.steps)
        gymnasium_id, options = COUNTERPARTS[name]
        shown = (f"{key}={value}" for key, value in options.items() if key not in SLIM)
        what = " ".join([gymnasium_id, *shown])
        print(f"{name:<17}{ours:>10,.0f}{theirs:>12,.0f}{ratio:>8.2f}   {what}", flush=True)
        if ratio < 1:
            slower.append(name)
    if slower:
        print(f"slower than gymnasium: {', '.join(slower)}", file=sys.stderr)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
