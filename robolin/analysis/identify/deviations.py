"""Standard deviations of fitted parameters from blocks of rows, and the share of the data.

Residuals of neighbouring rows are correlated, so the textbook σ² (WᵀW)⁻¹ is far too small.
Blocks of one second are nearly independent.  With the sum g_b of weighted residuals times rows
of block b, the data W, the prior weight Λ, and A = WᵀW + Λ,

    covariance = A⁻¹ (Σ_b g_b g_bᵀ + Λ) A⁻¹           (the sandwich estimate)
    share      = diag(A⁻¹ WᵀW)                        1: by the data alone, 0: by the file alone
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robolin.analysis.identify.design_rows import DesignRows
from robolin.core.arrays import Floats, Indices

BLOCK_SECONDS = 1.0
# shares above and below which a parameter counts as determined by the data or the file alone
ALONE, BY_FILE = 0.95, 0.05


class Uncertainty(NamedTuple):
    """covariance: (p, p); share: (p,); inflation: variance of blocks over that of single rows."""

    covariance: Floats
    share: Floats
    inflation: float

    @property
    def deviations(self) -> Floats:
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def uncertainty(
    design: DesignRows,
    v0: Floats,
    weights: Floats,
    residuals: Floats,
    prior: Floats,
    free: Indices,
) -> Uncertainty:
    """Deviations of the parameters that are free, zero for all others.

    weights, residuals: (rows, n)
    prior: second derivative of the prior (p, p)
    free:  indices of the parameters that are fitted
    """
    size = len(free)
    data, scores = np.zeros((size, size)), np.zeros((size, size))
    score, block, number = np.zeros(size), None, 0
    for part, columns in design.blocks(v0):
        weighted = columns[..., free] * weights[part, :, None]
        data += np.einsum("mja,mjb->ab", weighted, weighted, optimize=True)
        rows = np.einsum("mja,mj->ma", weighted, weights[part] * residuals[part])
        seconds = np.floor(design.rows.time[part] / BLOCK_SECONDS)
        for second in np.unique(seconds):
            if second != block:
                scores += np.outer(score, score)
                score, block, number = np.zeros(size), second, number + 1
            score = score + rows[seconds == second].sum(axis=0)
    scores += np.outer(score, score)
    if number > 1:
        scores *= number / (number - 1.0)
    return _combined(data, scores, prior[np.ix_(free, free)], free, len(design.listed.names))


def _combined(data: Floats, scores: Floats, prior: Floats, free: Indices, p: int) -> Uncertainty:
    scale = 1.0 / np.sqrt(np.maximum(np.diag(data + prior), 1e-300))
    data, scores, prior = (scale[:, None] * each * scale for each in (data, scores, prior))
    # rows count less than independent ones: weigh data and prior as they really inform
    inverse = np.linalg.pinv(data + prior, hermitian=True)
    inflation = max(1.0, float(np.trace(inverse @ scores) / max(np.trace(inverse @ data), 1e-12)))
    A = np.linalg.pinv(data / inflation + prior, hermitian=True)
    covariance = np.zeros((p, p))
    spread = A @ (scores / inflation**2 + prior) @ A
    covariance[np.ix_(free, free)] = scale[:, None] * spread * scale
    share = np.zeros(p)
    share[free] = np.clip(np.diag(A @ data) / inflation, 0.0, 1.0)
    return Uncertainty(covariance, share, inflation)
