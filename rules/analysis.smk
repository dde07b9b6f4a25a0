# From finished runs to tables, figures, statistics and the page. Every rule is one command of the package
# `analysis`; its sources are inputs, so that editing them renders again and retrains nothing.
localrules:
    aggregate,
    tables,
    curves,
    reliability,
    verdicts,
    audit,
    page,


STATISTICS = f"{STUDY_DIR}/statistics"
FRAMES = [
    f"{STATISTICS}/{name}"
    for name in ("finals.csv", "cells.csv", "curves.csv", "costs.csv", "problems.csv", "provenance.json")
]
TABLE_IDS = [table["id"] for table in STUDY.tables] + ["hyperparameters"]
FIGURE_IDS = [figure["id"] for figure in STUDY.figures]
OVERALL_IDS = ["aggregates", "profiles", "improvement"]


def analysis_sources():
    """All files of the package but the theory, which stands alone, and the made-up study."""
    root = Path(workflow.basedir)
    kinds = (".py", ".csv", ".json", ".j2", ".css", ".js")
    found = (path.relative_to(root) for path in sorted((root / "analysis").rglob("*")) if path.suffix in kinds)
    return [path.as_posix() for path in found if path.parts[1] != "theory" and path.name != "synthetic.py"]


def analysis_targets():
    """What `rule all` asks of the analysis."""
    return [
        f"{STUDY_DIR}/report/index.html",
        expand(f"{STUDY_DIR}/tables/{{id}}.{{kind}}", id=TABLE_IDS, kind=["md", "tex", "csv", "html"]),
        expand(f"{STUDY_DIR}/figures/{{id}}.{{kind}}", id=[*FIGURE_IDS, *OVERALL_IDS, "verdicts"], kind=["pdf", "svg", "png"]),
        f"{STUDY_DIR}/tables/audit.md",
    ]


rule aggregate:
    """Run directories to tidy frames: final performance, curves, costs, problems."""
    input:
        study=f"{STUDY_DIR}/study.json",
        manifests=all_manifests(),
        sources=analysis_sources(),
    output:
        FRAMES,
    params:
        study=STUDY_DIR,
    log:
        f"{STUDY_DIR}/logs/analysis/aggregate.log",
    conda:
        "../environment.yml"
    shell:
        "python -m analysis.aggregate {params.study} 2> {log}"


rule tables:
    """The paper's tables with our figures beside the paper's and MBBL's."""
    input:
        frames=FRAMES,
        sources=analysis_sources(),
    output:
        html=report(
            expand(f"{STUDY_DIR}/tables/{{id}}.html", id=TABLE_IDS),
            caption="../analysis/captions/table.rst",
            category="Tables",
        ),
        others=expand(f"{STUDY_DIR}/tables/{{id}}.{{kind}}", id=TABLE_IDS, kind=["md", "tex", "csv"]),
    params:
        study=STUDY_DIR,
    log:
        f"{STUDY_DIR}/logs/analysis/tables.log",
    conda:
        "../environment.yml"
    shell:
        "python -m analysis.tables {params.study} 2> {log}"


rule curves:
    """Return against environment steps."""
    input:
        frames=FRAMES,
        sources=analysis_sources(),
    output:
        svg=report(
            expand(f"{STUDY_DIR}/figures/{{id}}.svg", id=FIGURE_IDS),
            caption="../analysis/captions/curves.rst",
            category="Curves",
        ),
        others=expand(f"{STUDY_DIR}/figures/{{id}}.{{kind}}", id=FIGURE_IDS, kind=["pdf", "png"]),
    params:
        study=STUDY_DIR,
    log:
        f"{STUDY_DIR}/logs/analysis/curves.log",
    conda:
        "../environment.yml"
    shell:
        "python -m analysis.curves {params.study} 2> {log}"


rule reliability:
    """Aggregates over tasks with stratified bootstrap intervals (rliable)."""
    input:
        frames=FRAMES,
        sources=analysis_sources(),
    output:
        svg=report(
            expand(f"{STUDY_DIR}/figures/{{id}}.svg", id=OVERALL_IDS),
            caption="../analysis/captions/reliability.rst",
            category="Overall",
        ),
        others=expand(f"{STUDY_DIR}/figures/{{id}}.{{kind}}", id=OVERALL_IDS, kind=["pdf", "png"]),
        statistics=expand(
            f"{STATISTICS}/{{name}}.csv",
            name=["aggregates", "profiles", "improvement", "intervals", "normalisation", "left_out"],
        ),
    params:
        study=STUDY_DIR,
    log:
        f"{STUDY_DIR}/logs/analysis/reliability.log",
    conda:
        "../environment.yml"
    shell:
        "python -m analysis.reliability {params.study} 2> {log}"


rule verdicts:
    """Reproduced, better, worse, inconclusive or not run: one verdict per published figure."""
    input:
        frames=FRAMES,
        sources=analysis_sources(),
    output:
        svg=report(
            f"{STUDY_DIR}/figures/verdicts.svg",
            caption="../analysis/captions/verdicts.rst",
            category="Verdicts",
        ),
        others=expand(f"{STUDY_DIR}/figures/verdicts.{{kind}}", kind=["pdf", "png"]),
        verdicts=f"{STATISTICS}/verdicts.csv",
        counts=f"{STATISTICS}/verdict_counts.csv",
    params:
        study=STUDY_DIR,
    log:
        f"{STUDY_DIR}/logs/analysis/verdicts.log",
    conda:
        "../environment.yml"
    shell:
        "python -m analysis.verdicts {params.study} 2> {log}"


rule audit:
    """Where the paper disagrees with MBBL, with itself and with its own text."""
    input:
        study=f"{STUDY_DIR}/study.json",
        sources=analysis_sources(),
    output:
        html=report(
            f"{STUDY_DIR}/tables/audit.html", caption="../analysis/captions/audit.rst", category="Audit"
        ),
        markdown=f"{STUDY_DIR}/tables/audit.md",
        findings=f"{STATISTICS}/audit.csv",
        claims=f"{STATISTICS}/claims.csv",
    params:
        study=STUDY_DIR,
    log:
        f"{STUDY_DIR}/logs/analysis/audit.log",
    conda:
        "../environment.yml"
    shell:
        "python -m analysis.audit {params.study} 2> {log}"


rule page:
    """The report page: one self-contained file."""
    input:
        frames=FRAMES,
        reliability=rules.reliability.output.statistics,
        verdicts=rules.verdicts.output.verdicts,
        sources=analysis_sources(),
    output:
        report(f"{STUDY_DIR}/report/index.html", caption="../analysis/captions/page.rst", category="Page"),
    params:
        study=STUDY_DIR,
    log:
        f"{STUDY_DIR}/logs/analysis/page.log",
    conda:
        "../environment.yml"
    shell:
        "python -m analysis.report {params.study} 2> {log}"
