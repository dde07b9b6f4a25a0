"""The MBBL benchmark (Wang et al. 2019) on current gymnasium and MuJoCo. See docs/environments.md.

    import envs_mbbl
    env = envs_mbbl.make("Hopper-ET")       # or gymnasium.make("mbbl/Hopper-ET-v0")
    task = envs_mbbl.TASKS["Hopper-ET"]     # reward and termination as array functions

Importing this loads neither gymnasium nor MuJoCo: the table of tasks is useful without them.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from envs_mbbl.tasks import TASKS, Task

if TYPE_CHECKING:
    from envs_mbbl.base import MbblEnv
    from envs_mbbl.registration import make

__all__ = ["TASKS", "MbblEnv", "Task", "make"]


def __getattr__(name: str) -> Any:
    if name == "make":
        from envs_mbbl.registration import make

        return make
    if name == "MbblEnv":
        from envs_mbbl.base import MbblEnv

        return MbblEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _RegisterAfterGymnasium(importlib.abc.MetaPathFinder):
    """Registers the tasks as soon as gymnasium has been imported, however late that is."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("gymnasium")
        if spec is not None and spec.loader is not None:
            loader, run = spec.loader, spec.loader.exec_module

            def run_and_register(module: ModuleType) -> None:
                run(module)
                _register()

            loader.exec_module = run_and_register  # type: ignore[method-assign]
        return spec


def _register() -> None:
    from envs_mbbl.registration import register

    register()


if "gymnasium" in sys.modules:
    _register()
else:
    sys.meta_path.insert(0, _RegisterAfterGymnasium())
