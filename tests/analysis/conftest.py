from __future__ import annotations

from pathlib import Path

import pytest

from analysis import __main__ as everything
from analysis import synthetic


@pytest.fixture(scope="session")
def synthetic_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole paper's study with short runs, analysed once for all tests that only look at the result."""
    directory = tmp_path_factory.mktemp("results") / "synthetic"
    synthetic.write_study(directory, synthetic.study_json(steps=4000))
    assert everything.main([str(directory)]) == 0
    return directory
