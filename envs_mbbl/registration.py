"""The names that `gymnasium.make` knows, without importing gymnasium for those who do not use it."""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

from envs_mbbl.tasks import TASKS


def register_with_gymnasium() -> None:
    """Now, or as soon as gymnasium is imported, however late that is."""
    if "gymnasium" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _RegisterAfterImport())


def _register() -> None:
    import gymnasium

    for name in TASKS:
        # No max_episode_steps: the environment truncates by itself. gymnasium's TimeLimit would call the last
        # step truncated even if it is a fall.
        gymnasium.register(f"mbbl/{name}-v0", "envs_mbbl.factory:make", kwargs={"name": name})


class _RegisterAfterImport(importlib.abc.MetaPathFinder):
    """Finds gymnasium as usual, and adds the registration to what its import does."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                sys.meta_path.remove(self)
                load(module)
                _register()

            spec.loader.exec_module = load_and_register  # type: ignore[method-assign]
        return spec
