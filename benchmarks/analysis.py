"""How long the analysis of a paper-size study takes and how much memory it needs.

    python benchmarks/analysis.py            # made-up runs in a temporary folder, about a minute
    python benchmarks/analysis.py --keep results/synthetic

Writes more than 400 runs of 200K steps with returns drawn around the published figures, then times each step of
`python -m analysis` in a process of its own. Exit code 1 when it needs more than 60 s of CPU time or 2 GB.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_SECONDS, LIMIT_MB = 60.0, 2048.0
STEPS = ("aggregate", "tables", "curves", "reliability", "verdicts", "audit", "report")


def measure(module: str, study: Path) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak memory (MB) of `python -m <module> <study>`."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", module, str(study)], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{module} failed with exit code {process.returncode}")
    scale = 1024.0 if sys.platform != "darwin" else 1024.0**2
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, help="write the study here and keep it")
    parser.add_argument("--steps", action="store_true", help="also measure each step in a process of its own")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        study = chosen.keep or Path(scratch) / "synthetic"
        wall, cpu, memory = measure("analysis.synthetic", study)
        runs = sum(1 for _ in study.glob("runs/*/*/*/manifest.json"))
        size = sum(path.stat().st_size for path in study.glob("runs/*/*/*/*")) / 1e6
        print(f"{runs} runs of 200K steps, {size:.0f} MB, written in {wall:.0f} s")
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print(f"{'step':<22}{'wall s':>8}{'CPU s':>8}{'MB':>8}")
        for step in STEPS if chosen.steps else ():
            wall, cpu, memory = measure(f"analysis.{step}", study)
            print(f"analysis.{step:<13}{wall:8.1f}{cpu:8.1f}{memory:8.0f}")
        wall, cpu, memory = measure("analysis", study)
        print(f"{'analysis (all)':<22}{wall:8.1f}{cpu:8.1f}{memory:8.0f}")
        page = study / "report" / "index.html"
        print(f"the page: {page.stat().st_size / 1e6:.2f} MB")
    # CPU time, because wall time on a shared machine measures the neighbours.
    good = cpu <= LIMIT_SECONDS and memory <= LIMIT_MB and runs > 400
    print("within" if good else "ABOVE", f"the limits of {LIMIT_SECONDS:.0f} s and {LIMIT_MB:.0f} MB")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
