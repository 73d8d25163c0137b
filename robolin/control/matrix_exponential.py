"""exp(X) of many matrices at once, by scaling, a Padé quotient and squaring."""

from __future__ import annotations

import numpy as np

from robolin.core.arrays import Floats

# numerator of the [13/13] quotient, exact to rounding up to a norm of 5.37 (Higham 2005)
PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
    40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
LARGEST_NORM = 5.371920351148152


def exponential(X: Floats) -> Floats:
    """exp(X) (..., N, N), each matrix scaled by itself so that neighbours change no bit of it."""
    norm = np.abs(X).sum(axis=-2).max(axis=-1)
    ratio = np.maximum(norm / LARGEST_NORM, 1.0)
    halvings = np.ceil(np.log2(ratio)).astype(int)
    E = _pade(X * (0.5**halvings)[..., None, None])
    for i in range(int(halvings.max(initial=0))):
        E = np.where((halvings > i)[..., None, None], E @ E, E)
    return E


def _pade(X: Floats) -> Floats:
    b = PADE
    one = np.eye(X.shape[-1])
    X2 = X @ X
    X4 = X2 @ X2
    X6 = X2 @ X4
    odd = X6 @ (b[13] * X6 + b[11] * X4 + b[9] * X2) + b[7] * X6 + b[5] * X4 + b[3] * X2
    even = X6 @ (b[12] * X6 + b[10] * X4 + b[8] * X2) + b[6] * X6 + b[4] * X4 + b[2] * X2
    U, V = X @ (odd + b[1] * one), even + b[0] * one
    return np.asarray(np.linalg.solve(V - U, V + U), dtype=np.float64)
