# From finished runs to tables, figures, statistics and the page. Every rule is one command of the package
# `analysis`; its sources are inputs, so that editing them renders again and retrains nothing.
from functools import partial

from analysis import workflow as products

STUDY_FILE = f"{STUDY_DIR}/study.json"
FRAMES = products.statistics_files(STUDY_DIR, products.FRAMES)
TABLE_IDS = [*(table["id"] for table in STUDY.tables), "hyperparameters"]
FIGURE_IDS = [figure["id"] for figure in STUDY.figures]
OVERALL_IDS = products.OVERALL_FIGURES
ANALYSIS_SOURCES = products.source_files(Path(workflow.basedir))
analysis_targets = partial(products.target_files, STUDY_DIR, TABLE_IDS, FIGURE_IDS)


localrules:
    aggregate,
    tables,
    curves,
    reliability,
    verdicts,
    audit,
    page,


rule aggregate:
    """Run directories to tidy frames: final performance, curves, costs, problems."""
    input:
        study=STUDY_FILE,
        manifests=all_manifests(),
        sources=ANALYSIS_SOURCES,
    output:
        FRAMES,
    params:
        study=subpath(input.study, parent=True),
    log:
        f"{STUDY_DIR}/logs/analysis/aggregate.log",
    conda:
        "../environment.yml"
    shell:
        "python -m analysis.aggregate {params.study} 2> {log}"


rule tables:
    """The paper's tables with our figures beside the paper's and MBBL's."""
    input:
        study=STUDY_FILE,
        frames=FRAMES,
        sources=ANALYSIS_SOURCES,
    output:
        html=report(
            products.table_files(STUDY_DIR, TABLE_IDS, ["html"]),
            caption="../analysis/captions/table.rst",
            category="Tables",
        ),
        others=products.table_files(STUDY_DIR, TABLE_IDS, ["md", "tex", "csv"]),
    params:
        study=subpath(input.study, parent=True),
    log:
        f"{STUDY_DIR}/logs/analysis/tables.log",
    conda:
        "../environment.yml"
    shell:
        "python -m analysis.tables {params.study} 2> {log}"


rule curves:
    """Return against environment steps."""
    input:
        study=STUDY_FILE,
        frames=FRAMES,
        sources=ANALYSIS_SOURCES,
    output:
        svg=report(
            products.figure_files(STUDY_DIR, FIGURE_IDS, ["svg"]),
            caption="../analysis/captions/curves.rst",
            category="Curves",
        ),
        others=products.figure_files(STUDY_DIR, FIGURE_IDS, ["pdf", "png"]),
    params:
        study=subpath(input.study, parent=True),
    log:
        f"{STUDY_DIR}/logs/analysis/curves.log",
    conda:
        "../environment.yml"
    shell:
        "python -m analysis.curves {params.study} 2> {log}"


rule reliability:
    """Aggregates over tasks with stratified bootstrap intervals (rliable)."""
    input:
        study=STUDY_FILE,
        frames=FRAMES,
        sources=ANALYSIS_SOURCES,
    output:
        svg=report(
            products.figure_files(STUDY_DIR, OVERALL_IDS, ["svg"]),
            caption="../analysis/captions/reliability.rst",
            category="Overall",
        ),
        others=products.figure_files(STUDY_DIR, OVERALL_IDS, ["pdf", "png"]),
        statistics=products.statistics_files(STUDY_DIR, [f"{name}.csv" for name in products.OVERALL_STATISTICS]),
    params:
        study=subpath(input.study, parent=True),
    log:
        f"{STUDY_DIR}/logs/analysis/reliability.log",
    conda:
        "../environment.yml"
    shell:
        "python -m analysis.reliability {params.study} 2> {log}"


rule verdicts:
    """Reproduced, better, worse, inconclusive or not run: one verdict per published figure."""
    input:
        study=STUDY_FILE,
        frames=FRAMES,
        sources=ANALYSIS_SOURCES,
    output:
        svg=report(
            f"{STUDY_DIR}/figures/verdicts.svg",
            caption="../analysis/captions/verdicts.rst",
            category="Verdicts",
        ),
        others=products.figure_files(STUDY_DIR, ["verdicts"], ["pdf", "png"]),
        verdicts=f"{STUDY_DIR}/statistics/verdicts.csv",
        counts=f"{STUDY_DIR}/statistics/verdict_counts.csv",
    params:
        study=subpath(input.study, parent=True),
    log:
        f"{STUDY_DIR}/logs/analysis/verdicts.log",
    conda:
        "../environment.yml"
    shell:
        "python -m analysis.verdicts {params.study} 2> {log}"


rule audit:
    """Where the paper disagrees with MBBL, with itself and with its own text."""
    input:
        study=STUDY_FILE,
        sources=ANALYSIS_SOURCES,
    output:
        html=report(
            f"{STUDY_DIR}/tables/audit.html",
            caption="../analysis/captions/audit.rst",
            category="Audit",
        ),
        markdown=f"{STUDY_DIR}/tables/audit.md",
        findings=f"{STUDY_DIR}/statistics/audit.csv",
        claims=f"{STUDY_DIR}/statistics/claims.csv",
    params:
        study=subpath(input.study, parent=True),
    log:
        f"{STUDY_DIR}/logs/analysis/audit.log",
    conda:
        "../environment.yml"
    shell:
        "python -m analysis.audit {params.study} 2> {log}"


rule page:
    """The report page: one self-contained file."""
    input:
        study=STUDY_FILE,
        frames=FRAMES,
        reliability=rules.reliability.output.statistics,
        verdicts=rules.verdicts.output.verdicts,
        theory="results/theory/sections.json" if STUDY.theory else [],
        sources=ANALYSIS_SOURCES,
    output:
        report(
            f"{STUDY_DIR}/report/index.html",
            caption="../analysis/captions/page.rst",
            category="Page",
        ),
    params:
        study=subpath(input.study, parent=True),
    log:
        f"{STUDY_DIR}/logs/analysis/page.log",
    conda:
        "../environment.yml"
    shell:
        "python -m analysis.report {params.study} 2> {log}"
