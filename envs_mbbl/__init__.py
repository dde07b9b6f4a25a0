"""The MBBL benchmark (Wang et al. 2019) on current gymnasium and MuJoCo. See docs/environments.md.

    import envs_mbbl
    env = envs_mbbl.make("Hopper-ET")       # or gymnasium.make("mbbl/Hopper-ET-v0")
    task = envs_mbbl.TASKS["Hopper-ET"]     # reward and termination as array functions

Importing this loads neither gymnasium nor MuJoCo: the table of tasks is useful without them.
"""

from typing import TYPE_CHECKING, Any

from envs_mbbl.registration import register_with_gymnasium
from envs_mbbl.tasks import TASKS, Task

if TYPE_CHECKING:
    from envs_mbbl.base import MbblEnv
    from envs_mbbl.factory import make

__all__ = ["TASKS", "MbblEnv", "Task", "make"]


def __getattr__(name: str) -> Any:
    if name == "make":
        from envs_mbbl.factory import make

        return make
    if name == "MbblEnv":
        from envs_mbbl.base import MbblEnv

        return MbblEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


register_with_gymnasium()
