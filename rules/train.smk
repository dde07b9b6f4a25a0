localrules:
    plan,


rule plan:
    """The validated study with all its runs: what the analysis expects to find."""
    output:
        f"{STUDY_DIR}/study.json",
    params:
        study=f"{json.dumps(STUDY.to_json(), indent=2)}\n",
    log:
        f"{STUDY_DIR}/logs/plan.log",
    priority: 100
    run:
        Path(output[0]).write_text(params.study)


rule train:
    """One run. Its checkpoint is not declared, so that it survives a failure and a retry continues from it."""
    input:
        train_sources,
    output:
        episodes=f"{RUN_DIR}/episodes.csv",
        evaluations=f"{RUN_DIR}/evaluations.csv",
        manifest=f"{RUN_DIR}/manifest.json",
    params:
        arguments=train_arguments,
        directory=subpath(output.manifest, parent=True),
    log:
        f"{STUDY_DIR}/logs/{{label}}/{{task}}/seed-{{seed}}.log",
    benchmark:
        f"{STUDY_DIR}/benchmarks/{{label}}/{{task}}/seed-{{seed}}.tsv"
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=train_memory,
        runtime=train_minutes,
    retries: TRAINING_ATTEMPTS - 1
    shell:
        "python -m algorithms.core.train {params.arguments} --out {params.directory} 2> {log}"
