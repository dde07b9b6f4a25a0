"""`python -m analysis results/<study>`: all steps in order, in one process.

Also for a study in which some runs crashed or are not finished: what is missing is shown as missing.
"""

from __future__ import annotations

from analysis import aggregate, audit, curves, reliability, tables, verdicts
from analysis.files import study_main
from analysis.report import __main__ as report
from analysis.study import Study


def run_all(study: Study) -> None:
    frames = aggregate.run_step(study)
    tables.run_step(study, frames)
    curves.run_step(study, frames)
    overall = reliability.run_step(study, frames)
    verdict_rows = verdicts.run_step(study, frames)
    audit.run_step(study)
    report.run_step(study, frames, overall, verdict_rows)
    shown = frames.finals[frames.finals["metric"] == study.metric]
    missing = int((shown["status"] != "ok").sum())
    if missing:
        print(f"{missing} of {len(shown)} runs have no usable result; the page lists them")
    print(f"{study.directory / 'report' / 'index.html'}")


def main(arguments: list[str] | None = None) -> int:
    return study_main(run_all, __doc__, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
