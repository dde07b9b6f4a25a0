"""The theory of SPEDE, made runnable: its identities, its two algorithms and its lemmas, checked by numbers.

Stands alone: it imports neither the environments nor the algorithms. Symbols are the paper's
(phi, omega, sigma, f, mu, theta); equation numbers and labels are those of the paper. Arrays carry their
axes in their names:

    I  prior draws (independent repetitions)      S, C  cells of the state, now and next
    A  actions      H  steps of an episode        D  features of the regulator (d_varphi)
    M  random Fourier features                    N  models of a finite class

Each experiment is a module with a `main`, run as `python -m analysis.theory.<experiment> --out <folder>`.
"""
