"""`make`: from the name of a task to its environment."""

from importlib import import_module

from envs_mbbl.base import MbblEnv
from envs_mbbl.tasks import TASKS


def make(name: str, render_mode: str | None = None, raw_actions: bool = False) -> MbblEnv:
    """The environment of a task, bare: it needs no wrapper for the order of calls or for the time limit.

    With `raw_actions` the action is in MBBL's units, neither scaled nor clipped, as MBBL's own agents saw it.
    """
    if name not in TASKS:
        raise ValueError(f"unknown task {name!r}; there are {', '.join(TASKS)}")
    task = TASKS[name]
    module, simulator = task.simulator.split(":")
    env: MbblEnv = getattr(import_module(f"envs_mbbl.{module}"), simulator)(task, render_mode, raw_actions)
    return env
