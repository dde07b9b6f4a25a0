"""What each figure shows, in words, with the numbers read from the tables of this very run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.theory import planning, tables


@dataclass(frozen=True)
class Text:
    """A section before its figures are embedded; figures are paths relative to the theory's folder."""

    id: str
    title: str
    html: str
    figures: tuple[str, ...]


def _cell(table: pd.DataFrame, column: str, **where: object) -> float:
    """The one value of `column` in the row that matches."""
    for key, value in where.items():
        table = table[table[key] == value]
    return float(table[column].iloc[0])


def _thousands(value: float) -> str:
    return f"{value:,.0f}".replace(",", "\u202f")  # a narrow space that does not break


def _power(value: float) -> str:
    mantissa, exponent = f"{value:.0e}".split("e")
    return f"{mantissa} · 10<sup>{int(exponent)}</sup>"


def kernel(out: Path) -> Text:
    table = tables.read(out, "kernel")
    slopes = [
        tables.log_slope(part.m.to_numpy(float), part.rmse.to_numpy(float))
        for _, part in table.groupby(["noise", "d"])
    ]
    ratio = table.rmse / table.rmse_exact
    return Text(
        "kernel",
        "The key observation: the noise gives the features (Eqs. 3–6)",
        f"""<p>The mean over m of φ(x)φ(y) with φ(x) = √2 cos(ωᵀx + b) estimates the kernel k(x, y) without
        bias. Its error falls as m<sup>−1/2</sup>: fitted slopes lie between {min(slopes):.2f} and
        {max(slopes):.2f} for three noise models in 1, 3 and 11 dimensions. Lines are the closed form √((1 +
        k(2δ)/2 − k(δ)²)/m), δ = x − y; measured values are {ratio.min():.2f} to {ratio.max():.2f} times it.
        The error of the <em>kernel</em> hardly depends on the dimension; that of the <em>value</em> does,
        see below. Bars: standard errors over 16 draws of the features.</p>""",
        ("figures/kernel.svg",),
    )


def noises(_: Path) -> Text:
    return Text(
        "noises",
        "Other noises: Laplace and Cauchy",
        """<p>The paper remarks that other noise models factorise as well. Laplace noise needs Cauchy
        frequencies and Cauchy noise needs Laplace frequencies, since each density is, up to scale, the
        other's Fourier transform. Top: the transition density from 64 and from 4096 features beside the
        exact one. It can be negative: a finite number of features does not give a probability. Bottom: the
        law of ω beside the drawn frequencies. In several dimensions the coordinates of the noise are taken
        as independent.</p>""",
        ("figures/noises.svg",),
    )


def dimension(out: Path) -> Text:
    table = tables.read(out, "dimension")
    at = {"sigma": 0.3, "d": 11}
    growth = _cell(table, "weight_largest", sigma=0.3, d=1)
    return Text(
        "dimension",
        "Why a fixed number of features cannot hold in high dimension",
        f"""<p>Q − r = ⟨φ(s, a), ∫ V μ⟩, and μ carries the factor (2πσ²)<sup>−d/2</sup>. For V = 1 on [−1,
        1]<sup>d</sup> everything is known in closed form. With σ = 0.3 the largest weight grows by a factor
        of {growth:.2f} with each dimension ({_thousands(_cell(table, "weight_largest", **at))} at d = 11)
        and its RKHS norm by {_cell(table, "weight_norm", sigma=0.3, d=1):.2f}. So at m = 1024, the paper's
        number of features, the error of the value is {_cell(table, "value_rmse", sigma=0.3, d=1):.3f} at d
        = 1 and {_cell(table, "value_rmse", **at):.1f} at d = 11, where the value itself is
        {_cell(table, "value_exact", **at):.2f}, while the error of the kernel stays at
        {_cell(table, "kernel_rmse_exact", **at):.3f}. A relative error of 10 % would need
        {_thousands(_cell(table, "features_needed", **at))} features there. What counts is the noise
        relative to the region that matters: with σ = 1 the need grows only to
        {_cell(table, "features_needed", sigma=1.0, d=11):.0f}. This is about features with weights fixed by
        the integral; a head fitted by regression may do better.</p>""",
        ("figures/dimension.svg",),
    )


def plan(out: Path) -> Text:
    table = tables.read(out, "planning")
    slopes = [planning.slope(table, horizon) for horizon in planning.HORIZONS]
    return Text(
        "planning",
        "Algorithm 2: Q from features against exact dynamic programming",
        f"""<p>Planning with m features on problem B, over {planning.DRAWS} draws of the model and of the
        features. The largest error of Q over all states, actions and steps falls with slopes
        {", ".join(f"{s:.2f}" for s in slopes)} for H = 2, 5, 10 (fitted from m = 1024), so Q from features
        does tend to the exact Q. But the constant grows quickly with the horizon, since each step
        multiplies the error of the one after it by the same noisy operator: at m = 1024 it is
        {_cell(table, "q_error", horizon=2, m=1024):.3f}, {_cell(table, "q_error", horizon=5, m=1024):.2f}
        and {_cell(table, "q_error", horizon=10, m=1024):.2f}. The policy suffers far less: at m = 1024 and
        H = 10 it loses {_cell(table, "policy_loss", horizon=10, m=1024):.3f} ±
        {_cell(table, "policy_loss_se", horizon=10, m=1024):.3f} of reward, because an error that all
        actions share does not change their order. Bars: standard errors.</p>""",
        ("figures/planning.svg",),
    )


def _regret(table: pd.DataFrame, variant: str, agent: str) -> str:
    where = {"variant": variant, "agent": agent}
    return f"{_cell(table, 'regret', **where):.1f} ± {_cell(table, 'regret_se', **where):.1f}"


def _regret_rows(table: pd.DataFrame, agents: dict[str, str]) -> str:
    head = "".join(f"<th>{title}</th>" for title in agents.values())
    rows = "".join(
        f"<tr><th>{variant}</th>"
        + "".join(f"<td>{_regret(table, variant, agent)}</td>" for agent in agents)
        + "</tr>"
        for variant in table.variant.unique()
    )
    return f"<table><thead><tr><th>problem</th>{head}</tr></thead><tbody>{rows}</tbody></table>"


def regret_linear(out: Path) -> Text:
    table = tables.read(out, "regret_linear_summary")
    thompson, greedy = table[table.agent == "thompson"], table[table.agent == "greedy"].set_index("variant")
    excess = {v: f"{greedy.excess_over_thompson[v]:+.1f} ± {greedy.excess_se[v]:.1f}" for v in ("B", "C")}
    rows = _regret_rows(table, {"thompson": "Thompson sampling", "greedy": "greedy", "random": "random play"})
    return Text(
        "regret-linear",
        "Regret of Algorithm 1 on the linear class",
        f"""<p>Cumulative regret V*(s₀) − V<sup>π</sup>(s₀) under the true model, computed exactly, over
        {int(thompson.draws.iloc[0])} draws from the prior; the posterior is exact. Bands: ± 2 standard
        errors; the dotted line c√K passes through Thompson sampling at K = 10. After
        {int(thompson.episodes.iloc[0])} episodes:</p>{rows} <p>Thompson sampling is sublinear on all four
        problems; the log-log slope after episode 30 lies between {thompson.slope.min():.2f} and
        {thompson.slope.max():.2f}, below the bound's 1/2. That agrees with an upper bound; it is no
        evidence that √K is the rate. <strong>Greedy fails on A and D by construction</strong>: a = 0 earns
        a bonus and tells nothing about the actions, so the greedy agent kept one policy in
        {100.0 * greedy.one_policy_share["A"]:.0f} % (A) and {100.0 * greedy.one_policy_share["D"]:.0f} %
        (D) of the draws. On B and C nothing is hidden and greedy is <em>better</em> than Thompson sampling,
        by a paired difference of {excess["B"]} and {excess["C"]}: it does not pay for exploring. So
        exploration matters where a problem hides information from greedy play, and costs a little where it
        does not.</p>""",
        ("figures/regret_linear.svg",),
    )


def regret_finite(out: Path) -> Text:
    table = tables.read(out, "regret_finite_summary")
    rows = _regret_rows(
        table,
        {
            "thompson": "Thompson sampling",
            "ucb": "UCB, β of the lemma",
            "ucb_tuned": "UCB, β / 16",
            "greedy": "greedy",
            "random": "random play",
        },
    )
    return Text(
        "regret-finite",
        "The upper-confidence algorithm of the appendix, on a class small enough to maximise over",
        f"""<p>The same problems with {int(table.draws.iloc[0])} models known to the agents, each of them
        the truth once (a uniform prior). UCB plays the optimal policy of the most promising model within
        the confidence set ‖f − f̂‖² ≤ β, β = 8σ² log(|F|/δ), δ = 1/(4K): a finite class covers itself, so α
        = 0. After {int(table.episodes.iloc[0])} episodes:</p>{rows} <p>UCB is sublinear too and did not
        lock itself in, but with the lemma's constant it stays optimistic much longer than Thompson
        sampling; with β divided by 16 the two are alike (no guarantee is claimed for that). On D greedy
        escapes here, because with finitely many models the drift it does observe tells the models apart.
        Regret becomes constant once the truth is identified, so these curves say nothing about √K
        either.</p>""",
        ("figures/regret_finite.svg",),
    )


def lemmas(out: Path) -> Text:
    table, expectation = tables.read(out, "lemmas"), tables.read(out, "lemmas_expectation")
    positive = table[table.value_difference > 1e-9]
    ratio = positive.value_difference / positive.simulation_bound
    medians = ratio.groupby(positive.horizon).median()
    tight = positive.value_difference / positive.optional_stopping
    broken = int(np.sum(table.value_difference > table.simulation_bound))
    wrong = int(np.sum(expectation.lhs > np.minimum(2.0 * expectation.shift_sigma**2, 1.0)))
    held = expectation.lhs / np.minimum(np.sqrt(2.0) * expectation.shift_sigma, 1.0)
    return Text(
        "lemmas",
        "The lemmas behind the bound, and how loose they are",
        f"""<p>Left: for g ≥ 0 and two Gaussians at distance x, (E₁g − E₂g)/√E₁g² against min{{√2 x, 1}}.
        None of {len(expectation)} functions exceeds it; the largest ratio is {held.max():.2f}, and the best
        possible factor (green, attained by g = (1 − ρ)₊) is half of it for small x. The last line of the
        printed proof has 2x² instead of √2 x; {wrong} of the functions (half of them are near the extremal
        one) break that, so we read it as a missing root. Middle and right: the simulation lemma for
        {len(table)} pairs of models, {broken} violations. It is loose: the median of lhs/rhs is
        {medians.iloc[0]:.4f} at H = 2 and {medians.iloc[-1]:.4f} at H = 20, the largest {ratio.max():.2f}.
        The optional-stopping lemma it rests on is nearly tight (median {tight.median():.2f}), so the loss
        comes after it: in the lemma on the left, the Cauchy–Schwarz steps and V ≤ H.</p>""",
        ("figures/lemmas.svg",),
    )


def complexity(out: Path) -> Text:
    eluder, bound = tables.read(out, "complexity_eluder"), tables.read(out, "complexity_bound")
    covering = tables.read(out, "complexity_covering")
    useful = bound[bound.bound < bound.trivial].episodes.min()
    ratio = (eluder.stated / eluder.lower)[eluder.ratio > 30.0]
    return Text(
        "complexity",
        "Eluder dimension, covering number, and the size of the bound",
        f"""<p>Left: the bound on the eluder dimension of the linear class holds, and cannot be improved by
        more than a small factor: a sequence of doubling lengths, each ε-independent of its predecessors
        (checked with exact widths), comes within a factor of {ratio.min():.1f} to {ratio.max():.1f}.
        Middle: the covering number for one feature and d outputs, where the class is a ball in
        R<sup>d</sup>. The marks count points no two of which fit in one ε-ball: every cover is at least as
        large. For d ≥ 2 they exceed (1 + 2BW/ε)<sup>d<sub>φ</sub></sup>, e.g.
        {_cell(covering, "packing", d=2, ratio=8.0):.0f} > {_cell(covering, "stated", d=2, ratio=8.0):.0f}
        at WB/ε = 8, so we read the exponent as d<sub>φ</sub>d. Right: the last line of the regret proof
        with every constant, for problem B; it falls below the trivial H K only after about {_power(useful)}
        episodes. The theorem speaks about a rate, not about numbers.</p>""",
        ("figures/complexity.svg",),
    )


def confidence(out: Path) -> Text:
    rich, walks = tables.read(out, "confidence"), tables.read(out, "confidence_concentration")
    linear, last = tables.read(out, "confidence_linear"), rich.iloc[-1]
    lost = int(rich[rich.lost_displayed > 0.5].episodes.min())
    return Text(
        "confidence",
        "The confidence set: a factor K",
        f"""<p>Left: a class that satisfies every assumption, whose α-cover is one function (α =
        T<sup>−1/2</sup>, δ = 1/4, as in the regret proof), yet which is rich below the scale α. The
        distance of least squares from the truth grows like K H α². The radius β as displayed, with H α, is
        passed at about K = {lost}; at K = {int(last.episodes)} the truth is outside in
        {100.0 * last.lost_displayed:.0f} % of 20 runs, where the lemma allows 50 %. With K H α, the number
        of terms that the discretisation error sums, it is never lost. On the linear class either radius is
        ample: the largest distance in 64 runs is {linear.largest.max():.2f} of the displayed one. Right:
        the concentration lemma holds (its largest failure rate is {np.max(walks.chance / walks.delta):.2f}
        δ) and is nearly sharp for small steps.</p>""",
        ("figures/confidence.svg",),
    )


ALL = (kernel, noises, dimension, plan, regret_linear, regret_finite, lemmas, complexity, confidence)
