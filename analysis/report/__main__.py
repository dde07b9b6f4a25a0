"""`python -m analysis.report results/<study>`: write `report/index.html`."""

from __future__ import annotations

import pandas as pd

from analysis import reliability, report
from analysis.aggregate import Frames, read_frames
from analysis.files import read_csv, study_main, write_text
from analysis.report.build import read_reliability, render
from analysis.study import Study


def run_step(
    study: Study,
    frames: Frames | None = None,
    overall: reliability.Reliability | None = None,
    verdict_rows: pd.DataFrame | None = None,
) -> None:
    frames = frames or read_frames(study)
    overall = overall or read_reliability(study)
    if verdict_rows is None:
        verdict_rows = read_csv(study.directory / "statistics" / "verdicts.csv")
    write_text(study.directory / "report" / "index.html", render(study, frames, overall, verdict_rows))


def main(arguments: list[str] | None = None) -> int:
    return study_main(run_step, report.__doc__, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
