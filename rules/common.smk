# Discovery, the run matrix, and what each training job needs. The work is in algorithms/core/study.py,
# where it is typed and tested; here is only what speaks Snakemake.
import json
import re
import shlex
import sys
from math import ceil
from pathlib import Path

from snakemake.exceptions import WorkflowError

sys.path.insert(0, str(workflow.basedir))  # the checkout's own packages, not an installed copy

from algorithms.core.config import ConfigError, load_algorithm
from algorithms.core.sources import source_files
from algorithms.core.study import Study, use_this_python

use_this_python()

try:
    STUDY = Study.from_config(config)
except ConfigError as error:
    raise WorkflowError(str(error))

STUDY_DIR = f"results/{STUDY.name}"
RUN_DIR = f"{STUDY_DIR}/runs/{{label}}/{{task}}/seed-{{seed}}"
RUNS = {(run.label, run.task, str(run.seed)): run for run in STUDY.runs}
TRAINING_ATTEMPTS = 3
SCHEDULING_MARGIN = 3.0  # a machine may be this much slower than the one the costs were measured on


wildcard_constraints:
    label="|".join(re.escape(label) for label in STUDY.labels),
    task="|".join(re.escape(task) for task in dict.fromkeys(run.task for run in STUDY.runs)),
    seed=r"\d+",


def all_manifests():
    return [f"{STUDY_DIR}/{run.path}/manifest.json" for run in STUDY.runs]


def planned_run(wildcards):
    return RUNS[(wildcards.label, wildcards.task, wildcards.seed)]


def train_sources(wildcards):
    """Exactly the files that can change the run's result: an edit of any of them retrains it."""
    return [path.as_posix() for path in source_files(STUDY.labels[wildcards.label].algorithm, wildcards.task)]


def train_arguments(wildcards):
    """The run's own settings and nothing else: a change elsewhere in the config must not retrain it."""
    run, label = planned_run(wildcards), STUDY.labels[wildcards.label]
    words = ["--algorithm", label.algorithm, "--task", run.task, "--seed", str(run.seed)]
    words += ["--steps", str(run.steps), "--scale", STUDY.scale]
    words += ["--evaluate-every", str(STUDY.evaluation["every"])]
    words += ["--evaluation-episodes", str(STUDY.evaluation["episodes"])]
    if label.variant is not None:
        words += ["--variant", label.variant]
    for key, value in sorted(label.overrides.items()):
        words += ["--set", f"{key}={json.dumps(value)}"]
    return shlex.join(words)


def train_memory(wildcards):
    return int(load_algorithm(STUDY.labels[wildcards.label].algorithm).cost["mem_mb"])


def train_minutes(wildcards):
    cost = load_algorithm(STUDY.labels[wildcards.label].algorithm).cost
    minutes = planned_run(wildcards).steps * cost["ms_per_step"] / 60_000
    return ceil(10 + SCHEDULING_MARGIN * minutes)
