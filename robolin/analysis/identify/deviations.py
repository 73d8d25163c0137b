"""Standard deviations of fitted parameters: scatter of the data, and bias of the prior.

Residuals of neighbouring rows are correlated, since the model has errors of its own, so the
textbook σ² (WᵀW)⁻¹ is far too small.  Rows are grouped in consecutive blocks of time.  Without
block b, the fit changes by Δ_b = (A - D_b)⁻¹ g_b, where D_b = W_bᵀ W_b, the score g_b is the sum
of weighted rows times residuals, Λ is the weight of the prior, and A = WᵀW + Λ.  Then

    data  = t² (G - 1)/G Σ_b (Δ_b - mean Δ)(Δ_b - mean Δ)ᵀ      (delete-one-block jackknife)
    prior = A⁻¹ (Σ_i s_i² Λ_i) A⁻¹                              (the file may be wrong)
    covariance = data + prior

The jackknife corrects for the residuals that the fit has made small (estimator CR3 of clustered
data).  t replaces two normal deviations by those of Student's distribution with G - 1 degrees of
freedom.  s_i ≥ 1 says by how much the data contradict the file in body i: its change in units of
the prior, per parameter that the data determine.

A direction that one block alone determines (more than `ONE_BLOCK` of A) has no scatter: without the
block, the fit goes wherever the weak prior and the bounds are.  Its variance is instead that of
independent rows, times the ratio φ ≥ 1 of observed and independent scores in all other directions.

The number of blocks stays between 16 and 32 for every recording longer than 16 s: when there are
more, neighbours join.  Blocks thus grow with the recording and exceed every correlation, and
memory does not grow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np

from robolin.core.arrays import Floats, Indices, Mask
from robolin.core.records import dataclass
from robolin.core.text import join_and

# length of the first blocks, and the number of blocks at which neighbours join
BLOCK_SECONDS, MOST_BLOCKS = 1.0, 32
# share of a block in a direction from which on the other blocks do not determine it
ONE_BLOCK = 0.999
# shares of blocks in a direction below which a score is mostly rounding
_NO_BLOCK = 0.01
# shares from which on the data determine a parameter well, and up to which not at all
WELL, BY_FILE = 0.95, 0.05


class BlockSum(NamedTuple):
    """Sums of one block: WᵀW (p, p) and Wᵀ z (p,), with the weighted torques z."""

    square: Floats
    torque: Floats


@dataclass(eq=False)
class BlockSums:
    """Sums of consecutive blocks of time, at most `MOST_BLOCKS` of them."""

    size: int
    blocks: list[BlockSum] = field(default_factory=list)
    _second: float | None = None
    # seconds in every block, and in the last one
    _length: int = 1
    _filled: int = 0

    def add(self, time: Floats, columns: Floats, torques: Floats) -> None:
        """Add weighted rows: times (m,), columns (m, n, p), torques (m, n), in order of time."""
        seconds = np.floor(time / BLOCK_SECONDS)
        starts = np.flatnonzero(np.concatenate([[True], np.diff(seconds) != 0.0]))
        for first, last in zip(starts, [*starts[1:], len(time)], strict=True):
            rows = columns[first:last].reshape(-1, self.size)
            self._begin(float(seconds[first]))
            square, torque = self.blocks[-1]
            square += rows.T @ rows
            torque += rows.T @ torques[first:last].ravel()

    def divided(self, inflation: float) -> BlockSums:
        """The sums of rows of which `inflation` count as one."""
        fewer = [BlockSum(b.square / inflation, b.torque / inflation) for b in self.blocks]
        return BlockSums(self.size, fewer)

    def _begin(self, second: float) -> None:
        """Begin another block if the last one is full."""
        if second == self._second:
            return
        self._second = second
        if self._filled == self._length or not self.blocks:
            if len(self.blocks) == MOST_BLOCKS:
                pairs = zip(self.blocks[::2], self.blocks[1::2], strict=True)
                self.blocks = [BlockSum(a.square + b.square, a.torque + b.torque) for a, b in pairs]
                self._length *= 2
            self.blocks.append(BlockSum(np.zeros((self.size, self.size)), np.zeros(self.size)))
            self._filled = 0
        self._filled += 1


class Uncertainty(NamedTuple):
    """Covariances (p, p) by the scatter of the data and by the prior, and shares (p,).

    one_block: whether the deviation (p,) is mostly of directions that one block alone determines
    """

    data: Floats
    prior: Floats
    share: Floats
    one_block: Mask

    def notes(self, names: Sequence[str]) -> Iterator[str]:
        """A note about parameters that one block alone determines."""
        alone = [name for name, one in zip(names, self.one_block, strict=True) if one]
        if alone:
            yield (
                f"only one short part of the recordings determines {join_and(alone)}: their "
                "standard deviations are estimated from the scatter of the other parameters "
                "between parts"
            )

    @property
    def covariance(self) -> Floats:
        return self.data + self.prior

    @property
    def deviations(self) -> Floats:
        return _roots(self.covariance)

    @property
    def prior_deviations(self) -> Floats:
        """Part of the deviations that is due to the prior (p,)."""
        return _roots(self.prior)


def _roots(covariance: Floats) -> Floats:
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))


class Prior(NamedTuple):
    """Weight Λ (f, f) and centre (f,) of the free parameters, and the indices of every body."""

    weight: Floats
    centre: Floats
    bodies: Sequence[slice]


def uncertainty(sums: BlockSums, x: Floats, prior: Prior, free: Indices) -> Uncertainty:
    """Deviations of the parameters that are free, zero for all others.

    x:    identified values (p,)
    free: indices of the parameters that are fitted
    """
    grid = np.ix_(free, free)
    scale, weight, squares, scores = _scaled(sums, x, prior.weight, free)
    A = np.sum(squares, axis=0) + weight
    changes, alone = _changes(A, squares, scores)
    inverse = np.linalg.pinv(A, rcond=1e-13, hermitian=True)
    change = (x[free] - prior.centre) / scale
    bias = inverse @ _contradicted(inverse, A - weight, weight, change, prior.bodies) @ inverse
    p = len(x)
    data, file, share = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p)
    scatter = _scatter(changes) + alone
    data[grid] = scale[:, None] * scatter * scale
    file[grid] = scale[:, None] * bias * scale
    share[free] = _shares(inverse, weight)
    one_block = np.zeros(p, dtype=bool)
    one_block[free] = np.diag(alone) > 0.5 * np.diag(scatter)
    return Uncertainty(data, file, share, one_block)


def _shares(inverse: Floats, weight: Floats) -> Floats:
    """The part of the variance of the prior Λ⁻¹ that the data remove: 1 - (A⁻¹)ᵢᵢ / (Λ⁻¹)ᵢᵢ."""
    before = np.full(len(weight), np.inf)
    known = np.diag(weight) > 0.0
    before[known] = np.diag(np.linalg.pinv(weight[np.ix_(known, known)], hermitian=True))
    return np.asarray(np.clip(1.0 - np.diag(inverse) / np.maximum(before, 1e-300), 0.0, 1.0))


class _Scaled(NamedTuple):
    """Factors (f,) that make the diagonal of A one; Λ, D_b and g_b with these factors."""

    scale: Floats
    weight: Floats
    squares: list[Floats]
    scores: list[Floats]


def _scaled(sums: BlockSums, x: Floats, weight: Floats, free: Indices) -> _Scaled:
    """Squares and scores of all blocks for the free parameters."""
    grid = np.ix_(free, free)
    total = np.sum([block.square for block in sums.blocks], axis=0)[grid]
    scale = 1.0 / np.sqrt(np.maximum(np.diag(total + weight), 1e-300))
    squares = [scale[:, None] * block.square[grid] * scale for block in sums.blocks]
    scores = [scale * (block.torque - block.square @ x)[free] for block in sums.blocks]
    return _Scaled(scale, scale[:, None] * weight * scale, squares, scores)


def score_inflation(sums: BlockSums, x: Floats, weight: Floats, free: Indices) -> float:
    """φ ≥ 1: Σ_b g_bᵀ A⁻¹ g_b, divided by its value Σ_b tr(P_b - P_b²) for independent rows.

    P_b = A⁻¹ D_b is the part of A that block b contributes.

    x:      fitted values (p,)
    weight: Λ (f, f), relative to independent rows
    """
    _, prior, squares, scores = _scaled(sums, x, weight, free)
    inverse = np.linalg.pinv(np.sum(squares, axis=0) + prior, rcond=1e-13, hermitian=True)
    observed = independent = 0.0
    for own, score in zip(squares, scores, strict=True):
        part = inverse @ own
        observed += float(score @ inverse @ score)
        independent += float(np.trace(part) - np.sum(part * part.T))
    return max(1.0, observed / independent) if independent > 0.0 else 1.0


def _changes(
    A: Floats, squares: Sequence[Floats], scores: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Changes (G, f) without each block, and the covariance (f, f) of what one block determines."""
    values, vectors = np.linalg.eigh(A)
    kept = values > 1e-13 * values[-1]
    white = vectors[:, kept] / np.sqrt(values[kept])
    changes, lone, ratios = [], [np.zeros((len(A), 0))], [np.zeros(0)]
    for own, score in zip(squares, scores, strict=True):
        part, axes = np.linalg.eigh(white.T @ own @ white)
        axes, own_score = white @ axes, axes.T @ (white.T @ score)
        usual = part <= ONE_BLOCK
        seen = usual & (part > _NO_BLOCK)
        ratios.append(own_score[seen] ** 2 / (part[seen] * (1.0 - part[seen])))
        if len(squares) < 3 or usual.all():
            changes.append(np.linalg.lstsq(A - own, score, rcond=1e-13)[0])
        else:
            changes.append(axes[:, usual] @ (own_score[usual] / (1.0 - part[usual])))
            lone.append(axes[:, ~usual])
    basis, ratio = np.hstack(lone), np.concatenate(ratios)
    inflation = max(1.0, float(ratio.mean())) if ratio.size else 1.0
    factor = student_factor(max(len(squares) - 1, 1)) ** 2
    return np.array(changes), factor * inflation * basis @ basis.T


def _scatter(changes: Floats) -> Floats:
    """Jackknife covariance of the changes (G, f), with Student's factor."""
    count = len(changes)
    if count < 3:
        # one or two blocks show no scatter: the largest change is the best guess
        return np.asarray(changes.T @ changes)
    centred = changes - changes.mean(axis=0)
    return np.asarray(student_factor(count - 1) ** 2 * (count - 1) / count * centred.T @ centred)


def student_factor(freedom: int) -> float:
    """Half of the deviation that Student's distribution exceeds as often as a normal one 2σ.

    The expansion of Cornish and Fisher; within 1 % from five degrees of freedom on.
    """
    z, v = 2.0, float(freedom)
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    third = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0
    return (z + first / v + second / v**2 + third / v**3) / 2.0


def _contradicted(
    inverse: Floats, data: Floats, weight: Floats, change: Floats, bodies: Sequence[slice]
) -> Floats:
    """Λ of the bodies times s², the squared change per parameter that the data determine."""
    scaled = weight.copy()
    for body in bodies:
        own = weight[body, body]
        cost = float(change[body] @ own @ change[body])
        determined = float(np.trace(inverse[body] @ data[:, body]))
        scaled[body, body] = own * max(1.0, cost / max(determined, 1.0))
    return scaled
