"""Curvature of the mass matrix: test for coordinates in which it is the identity everywhere.

Lemma 2.2 of [D]: they exist if and only if the mass matrix, as a metric, has no curvature.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, as_joint_array, require_arm, require_tree
from robolin.core.configuration import has_groups, kinematic_block
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.evaluation.evaluate import Engine, EngineChoice, evaluate
from robolin.evaluation.methods import Method

# flat arms have at most 1e-14 with exact derivatives; real arms have 0.02 and more
FLAT_BELOW = 1e-8

_AT_ONCE = 64 * 1024 * 1024


@dataclass(frozen=True, eq=False, repr=False)
class Curvature(DisplayMixin):
    """Riemann symbols of the first kind and their size.

    Fields:
        symbols: R(h,i,j,k) (..., n, n, n, n) in units of the mass matrix per rad² or m²
        relative: the largest |R| relative to the largest |𝓜| (...), dimensionless
        flat: whether the curvature is negligible in every configuration
        largest: the joints h, i, j, k of the largest symbol relative to 𝓜
        at: batch index of the configuration with this symbol
        independent: number of symbols that are independent under the symmetries, n²(n²-1)/12

    Example:
        >>> arm = robolin.load("two-link")
        >>> robolin.curvature(arm, [0.3, -0.7]).largest
        ('shoulder', 'elbow', 'shoulder', 'elbow')
    """

    symbols: Floats
    relative: Floats
    flat: bool
    largest: tuple[str, ...]
    at: tuple[int, ...]
    independent: int


def curvature(
    arm: Arm,
    q: JointValues,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
) -> Curvature:
    """Curvature of the mass matrix; zero if some coordinates make the mass matrix constant.

    For multi-DoF joints, the symbols refer to twists of the child links.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        method: algorithm, "auto", "operator" or "conventional"; see docs/reference/algorithms.md
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor

    Returns:
        a `Curvature`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> result = robolin.curvature(arm, [0.3, -0.7])
        >>> result.flat, result.independent
        (False, 1)
        >>> round(float(result.symbols[0, 1, 0, 1]), 5)
        0.24936
    """
    options: EngineChoice = {"method": method, "engine": engine, "jobs": jobs}
    require_arm(arm)
    require_tree(arm, "curvature")
    positions = as_joint_array(arm, "q", q)
    batch, n = positions.shape[:-1], arm.n
    rows = positions.reshape(-1, n)
    symbols, relative = np.empty((len(rows), n, n, n, n)), np.empty(len(rows))
    for part in _parts(len(rows), n):
        symbols[part], size = _symbols(arm, rows[part], options)
        relative[part] = np.abs(symbols[part]).max(axis=(1, 2, 3, 4)) / size
    at = int(np.argmax(relative))
    return Curvature(
        symbols=symbols.reshape(*batch, n, n, n, n),
        relative=relative.reshape(batch),
        flat=bool(relative[at] <= FLAT_BELOW),
        largest=_largest(arm, symbols[at]),
        at=tuple(int(i) for i in np.unravel_index(at, batch)) if batch else (),
        independent=n * n * (n * n - 1) // 12,
    )


def independent_symbols(n: int) -> list[tuple[int, int, int, int]]:
    """Indices h, i, j, k of a set of independent symbols.

    R changes sign if h and i, or j and k, are swapped; it is unchanged if the two pairs are; and
    R(h,i,j,k) + R(h,j,k,i) + R(h,k,i,j) = 0.
    """
    two = [(h, i, h, i) for h, i in combinations(range(n), 2)]
    three = [
        (h, i, h, k) for h in range(n) for i, k in combinations(range(n), 2) if h not in (i, k)
    ]
    four = [
        indices
        for h, i, j, k in combinations(range(n), 4)
        for indices in ((h, i, j, k), (h, j, i, k))
    ]
    return two + three + four


def _symbols(arm: Arm, q: Floats, options: EngineChoice) -> tuple[Floats, Floats]:
    """R (rows, n, n, n, n) from exact derivatives, and the largest |𝓜| (rows,)."""

    def evaluated(verb: str) -> Floats:
        (result,) = evaluate(arm, verb, {"q": q}, **options).values()
        return result

    M, inverse = evaluated("mass-matrix"), evaluated("mass-matrix-inverse")
    first, second = evaluated("mass-matrix-derivative"), evaluated("mass-matrix-second-derivative")
    R = riemann_symbols(M, inverse, first, second, brackets(arm))
    return R, np.abs(M).max(axis=(1, 2))


def _largest(arm: Arm, symbols: Floats) -> tuple[str, ...]:
    """Joints of the largest symbol; among symbols equal by symmetry, the first."""
    size = np.abs(symbols)
    # round-off must not decide between equal symbols
    first_largest = np.argmax(size >= (1.0 - 1e-9) * size.max())
    return tuple(arm.joint_names[int(i)] for i in np.unravel_index(int(first_largest), size.shape))


def _parts(rows: int, n: int) -> Iterator[slice]:
    """Slices of the rows, sized to limit memory."""
    step = max(1, _AT_ONCE // (8 * n**4))
    return (slice(first, min(first + step, rows)) for first in range(0, rows, step))


def brackets(arm: Arm) -> Floats | None:
    """Structure constants c (n, n, n) of the twists, X × Y; None if all are 0."""
    if not has_groups(arm):
        return None
    c: Floats = -np.einsum("ilj->ijl", kinematic_block(arm, np.eye(arm.n)))
    return c


def riemann_symbols(
    M: Floats, inverse: Floats, first: Floats, second: Floats, c: Floats | None
) -> Floats:
    """R (rows, n, n, n, n); indices after a comma are the directions of derivatives.

    [ij,k]    = ½ (𝓜(i,k),j + 𝓜(j,k),i - 𝓜(i,j),k)
    R(h,i,j,k) = ½ (𝓜(h,k),ij + 𝓜(i,j),hk - 𝓜(h,j),ik - 𝓜(i,k),hj)
               + [ij,l] 𝓜⁻¹(l,m) [hk,m] - [ik,l] 𝓜⁻¹(l,m) [hj,m]

    If c is not 0, [ij,k] = ⟨∇_j E_i, E_k⟩ and R have more terms.
    """
    carried = 0.5 * (np.einsum("rikj->rijk", first) + np.einsum("rjki->rijk", first) - first)
    curved = np.einsum("rhkij->rhijk", second) + np.einsum("rijhk->rhijk", second)
    curved -= np.einsum("rhjik->rhijk", second) + np.einsum("rikhj->rhijk", second)
    if c is not None:
        carried += _koszul_terms(c, M)
    raised = np.einsum("rijl,rlm->rijm", carried, inverse)
    product = np.einsum("rijm,rhkm->rhijk", raised, carried, optimize=True)
    R: Floats = 0.5 * curved + product - np.einsum("rhikj->rhijk", product)
    return R if c is None else R + _by_brackets(c, carried, first)


def _koszul_terms(c: Floats, M: Floats) -> Floats:
    """Terms of Koszul's formula in [ij,k] due to c; linear in 𝓜, as are their derivatives.

    ½ (c(j,i,l) 𝓜(l,k) - c(j,k,l) 𝓜(l,i) - c(i,k,l) 𝓜(l,j))
    """
    lowered = np.einsum("ijl,rlk->rijk", c, M)
    rotated = np.einsum("rjik->rijk", lowered) - np.einsum("rjki->rijk", lowered)
    half: Floats = 0.5 * (rotated - np.einsum("rikj->rijk", lowered))
    return half


def _by_brackets(c: Floats, carried: Floats, first: Floats) -> Floats:
    """Terms of R due to c: [ik,h],j - [ij,h],k - c(j,k,l) [il,h], minus the ½ (…) above.

    Second derivatives are the means of both orders: 𝓜,ij is E_j E_i 𝓜 minus ½ c(j,i,l) 𝓜,l.
    """
    # commutator of two derivatives, axes i, h, j, k
    crossed = np.einsum("jkl,rihl->rihjk", c, first)
    order = np.einsum("rihjk->rhijk", crossed) + 0.5 * (
        np.einsum("rkhji->rhijk", crossed)
        - np.einsum("rkijh->rhijk", crossed)
        - np.einsum("rjhki->rhijk", crossed)
        + np.einsum("rjikh->rhijk", crossed)
    )
    # derivatives of the terms of c, axes i, k, h and the derivative's
    koszul_rates = np.stack([_koszul_terms(c, first[..., j]) for j in range(len(c))], axis=-1)
    change = np.einsum("rikhj->rhijk", koszul_rates) - np.einsum("rijhk->rhijk", koszul_rates)
    left: Floats = 0.5 * order + change - np.einsum("jkl,rilh->rhijk", c, carried)
    return left
