# The theory, made runnable: one rule for each experiment, then the page. Needs no training run.
THEORY_DIR = "results/theory"
THEORY_FIGURE = f"{THEORY_DIR}/figures/{{name}}.{{format}}"
THEORY_FORMATS = ["pdf", "svg", "png"]
# the files whose change must repeat an experiment: what it imports, and its own
THEORY_MODULE = "analysis/theory/{module}.py"
THEORY_SHARED = ["__init__", "tables", "figures", "normal"]
THEORY_PROBLEM = [*THEORY_SHARED, "regulator", "dynamic_programming"]
THEORY_FIGURES = [
    "kernel",
    "noises",
    "dimension",
    "planning",
    "regret_linear",
    "regret_finite",
    "lemmas",
    "complexity",
    "confidence",
]


localrules:
    theory,


rule theory:
    """All figures of the theory, and the page that explains them."""
    input:
        f"{THEORY_DIR}/index.html",
        f"{THEORY_DIR}/sections.json",
        expand(THEORY_FIGURE, name=THEORY_FIGURES, format=THEORY_FORMATS),


rule theory_kernel:
    """The kernel from random features, for three noise models."""
    input:
        modules=expand(THEORY_MODULE, module=[*THEORY_SHARED, "kernel", "spectral"]),
    output:
        table=f"{THEORY_DIR}/kernel.csv",
        errors=report(
            expand(THEORY_FIGURE, name="kernel", format=THEORY_FORMATS),
            category="Theory",
            caption="../analysis/theory/captions/kernel.rst",
        ),
        noises=report(
            expand(THEORY_FIGURE, name="noises", format=THEORY_FORMATS),
            category="Theory",
            caption="../analysis/theory/captions/noises.rst",
        ),
    log:
        f"{THEORY_DIR}/logs/kernel.log",
    conda:
        "../environment.yml"
    threads: 1
    shell:
        "python -m analysis.theory.kernel --out results/theory 2> {log}"


rule theory_dimension:
    """The error of the value as the state dimension grows."""
    input:
        modules=expand(THEORY_MODULE, module=[*THEORY_SHARED, "dimension", "kernel", "spectral"]),
    output:
        table=f"{THEORY_DIR}/dimension.csv",
        figure=report(
            expand(THEORY_FIGURE, name="dimension", format=THEORY_FORMATS),
            category="Theory",
            caption="../analysis/theory/captions/dimension.rst",
        ),
    log:
        f"{THEORY_DIR}/logs/dimension.log",
    conda:
        "../environment.yml"
    threads: 1
    shell:
        "python -m analysis.theory.dimension --out results/theory 2> {log}"


rule theory_planning:
    """Q from features against exact dynamic programming."""
    input:
        modules=expand(THEORY_MODULE, module=[*THEORY_PROBLEM, "planning", "feature_planning", "spectral"]),
    output:
        table=f"{THEORY_DIR}/planning.csv",
        figure=report(
            expand(THEORY_FIGURE, name="planning", format=THEORY_FORMATS),
            category="Theory",
            caption="../analysis/theory/captions/planning.rst",
        ),
    log:
        f"{THEORY_DIR}/logs/planning.log",
    conda:
        "../environment.yml"
    threads: 1
    shell:
        "python -m analysis.theory.planning --out results/theory 2> {log}"


rule theory_regret_linear:
    """Bayesian regret on the linear class."""
    input:
        modules=expand(
            THEORY_MODULE,
            module=[*THEORY_PROBLEM, "regret_linear", "regret_tables", "linear_class", "episodes", "posterior"],
        ),
    output:
        table=f"{THEORY_DIR}/regret_linear.csv",
        summary=f"{THEORY_DIR}/regret_linear_summary.csv",
        figure=report(
            expand(THEORY_FIGURE, name="regret_linear", format=THEORY_FORMATS),
            category="Theory",
            caption="../analysis/theory/captions/regret_linear.rst",
        ),
    log:
        f"{THEORY_DIR}/logs/regret_linear.log",
    conda:
        "../environment.yml"
    threads: 1
    shell:
        "python -m analysis.theory.regret_linear --out results/theory 2> {log}"


rule theory_regret_finite:
    """Bayesian regret on a finite class, with the upper-confidence algorithm."""
    input:
        modules=expand(
            THEORY_MODULE,
            module=[*THEORY_PROBLEM, "regret_finite", "regret_tables", "finite_class", "episodes", "bounds"],
        ),
    output:
        table=f"{THEORY_DIR}/regret_finite.csv",
        summary=f"{THEORY_DIR}/regret_finite_summary.csv",
        figure=report(
            expand(THEORY_FIGURE, name="regret_finite", format=THEORY_FORMATS),
            category="Theory",
            caption="../analysis/theory/captions/regret_finite.rst",
        ),
    log:
        f"{THEORY_DIR}/logs/regret_finite.log",
    conda:
        "../environment.yml"
    threads: 1
    shell:
        "python -m analysis.theory.regret_finite --out results/theory 2> {log}"


rule theory_lemmas:
    """The simulation lemma and the expectation-difference lemma."""
    input:
        modules=expand(THEORY_MODULE, module=[*THEORY_PROBLEM, "lemmas", "simulation", "bounds"]),
    output:
        simulation=f"{THEORY_DIR}/lemmas.csv",
        expectation=f"{THEORY_DIR}/lemmas_expectation.csv",
        figure=report(
            expand(THEORY_FIGURE, name="lemmas", format=THEORY_FORMATS),
            category="Theory",
            caption="../analysis/theory/captions/lemmas.rst",
        ),
    log:
        f"{THEORY_DIR}/logs/lemmas.log",
    conda:
        "../environment.yml"
    threads: 1
    shell:
        "python -m analysis.theory.lemmas --out results/theory 2> {log}"


rule theory_complexity:
    """Eluder dimension and covering number of the linear class."""
    input:
        modules=expand(THEORY_MODULE, module=[*THEORY_SHARED, "complexity", "bounds", "regulator"]),
    output:
        eluder=f"{THEORY_DIR}/complexity_eluder.csv",
        covering=f"{THEORY_DIR}/complexity_covering.csv",
        bound=f"{THEORY_DIR}/complexity_bound.csv",
        figure=report(
            expand(THEORY_FIGURE, name="complexity", format=THEORY_FORMATS),
            category="Theory",
            caption="../analysis/theory/captions/complexity.rst",
        ),
    log:
        f"{THEORY_DIR}/logs/complexity.log",
    conda:
        "../environment.yml"
    threads: 1
    shell:
        "python -m analysis.theory.complexity --out results/theory 2> {log}"


rule theory_confidence:
    """The confidence set, as displayed and as we read it."""
    input:
        modules=expand(THEORY_MODULE, module=[*THEORY_SHARED, "confidence", "bounds", "regulator"]),
    output:
        rich=f"{THEORY_DIR}/confidence.csv",
        linear=f"{THEORY_DIR}/confidence_linear.csv",
        concentration=f"{THEORY_DIR}/confidence_concentration.csv",
        figure=report(
            expand(THEORY_FIGURE, name="confidence", format=THEORY_FORMATS),
            category="Theory",
            caption="../analysis/theory/captions/confidence.rst",
        ),
    log:
        f"{THEORY_DIR}/logs/confidence.log",
    conda:
        "../environment.yml"
    threads: 1
    shell:
        "python -m analysis.theory.confidence --out results/theory 2> {log}"


rule theory_page:
    """The page with all figures and what they show, and the same as data for the study's report."""
    input:
        modules=expand(THEORY_MODULE, module=[*THEORY_SHARED, "page", "sections", "planning"]),
        tables=[
            rules.theory_kernel.output.table,
            rules.theory_dimension.output.table,
            rules.theory_planning.output.table,
            rules.theory_regret_linear.output.summary,
            rules.theory_regret_finite.output.summary,
            rules.theory_lemmas.output.simulation,
            rules.theory_lemmas.output.expectation,
            rules.theory_complexity.output.eluder,
            rules.theory_complexity.output.covering,
            rules.theory_complexity.output.bound,
            rules.theory_confidence.output.rich,
            rules.theory_confidence.output.linear,
            rules.theory_confidence.output.concentration,
        ],
        figures=expand(THEORY_FIGURE, name=THEORY_FIGURES, format="svg"),
    output:
        page=report(
            f"{THEORY_DIR}/index.html",
            category="Theory",
            caption="../analysis/theory/captions/page.rst",
        ),
        sections=f"{THEORY_DIR}/sections.json",
    log:
        f"{THEORY_DIR}/logs/page.log",
    conda:
        "../environment.yml"
    threads: 1
    shell:
        "python -m analysis.theory.page --out results/theory 2> {log}"
