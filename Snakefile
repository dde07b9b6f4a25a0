# SPEDE: from one config to the paper's tables. `snakemake --cores 32` runs the paper's study,
# `--configfile config/smoke.yaml` the quick one; README.md says what to expect.
from snakemake.utils import min_version

min_version("9.0")


configfile: "config/paper.yaml"


include: "rules/common.smk"
include: "rules/train.smk"
include: "rules/analysis.smk"
include: "rules/theory.smk"


onerror:
    # runs have failed: show what there is, with the gaps marked, rather than nothing
    shell(f"python -m analysis {STUDY_DIR}")


rule all:
    default_target: True
    input:
        all_manifests(),
        analysis_targets(),
