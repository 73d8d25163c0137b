"""How many states the inputs reach: the staircase form, by singular values.

    U* B = [R; 0]           what the inputs push directly
    U* A U = [· ·; A₂ A₃]   A₂ passes it on to the rest, on which A₂ acts as B did

and so on until nothing is passed on.  Every step is orthogonal, so that rounding does not grow,
as it does in the powers of A of [B, AB, A²B, …].
"""

from __future__ import annotations

import numpy as np

from robolin.core.arrays import Floats, Integers

# a singular value below this, in units in which A and B have size 1, is taken for nothing
ZERO_SINGULAR_VALUE = 1e-10


def staircase_dimension(A: Floats, B: Floats) -> Integers:
    """The dimension (...) of what is reached, A and B scaled to size 1."""
    N, inputs = B.shape[-2:]
    flat_A, flat_B = A.reshape(-1, N, N), B.reshape(-1, N, inputs)
    found = np.zeros(len(flat_A), dtype=int)
    _count(flat_A, flat_B, np.arange(len(flat_A)), found)
    return found.reshape(A.shape[:-2])


def _count(A: Floats, B: Floats, models: Integers, found: Integers) -> None:
    """Add what B reaches to `found`, then go on with the rest, models of one rank together."""
    if not len(models) or A.shape[-1] == 0:
        return
    U, sizes, _ = np.linalg.svd(B)
    ranks = (sizes > ZERO_SINGULAR_VALUE).sum(axis=-1)
    for rank in np.unique(ranks):
        if rank == 0:
            continue
        some = np.flatnonzero(ranks == rank)
        found[models[some]] += rank
        turned = np.moveaxis(U[some], -1, -2) @ A[some] @ U[some]
        _count(turned[:, rank:, rank:], turned[:, rank:, :rank], models[some], found)
