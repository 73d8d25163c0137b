"""One call for every algorithm: a state or a batch in, named arrays in public order out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robolin.algebra.scalar import Scalar
from robolin.engine.direct import DirectChain, Shortfall
from robolin.engine.parameters import Parameters
from robolin.errors import RobolinError

Arrays = dict[str, np.ndarray]


def run(
    parameters: Parameters,
    algorithm: Callable[[Any], None],
    gives: Mapping[str, int],
    inputs: Mapping[str, np.ndarray],
) -> tuple[Arrays, list[Shortfall]]:
    """Results of shape (..., n, …) for values (..., n), and the joints that had no inertia.

    Leading axes broadcast and come back in front.
    """
    names = list(inputs)
    arrays = np.broadcast_arrays(*inputs.values())
    batch = arrays[0].shape[:-1]
    n = len(parameters.order)
    if not batch:
        given: dict[str, Sequence[Scalar]] = {
            name: array.tolist() for name, array in zip(names, arrays, strict=True)
        }
    else:
        given = {
            name: list(np.ascontiguousarray(array.reshape(-1, n).T))
            for name, array in zip(names, arrays, strict=True)
        }

    chain = DirectChain(parameters, given)
    with np.errstate(all="ignore"):
        algorithm(chain)
    results = {
        name: gathered(chain.results.get(name, {}), batch, n, rank) for name, rank in gives.items()
    }
    return results, chain.shortfalls


def gathered(
    entries: Mapping[tuple[int, ...], Scalar], batch: tuple[int, ...], n: int, rank: int
) -> np.ndarray:
    """Entries by public index as one array, batch axes first."""
    result = np.zeros((n,) * rank + (int(np.prod(batch)),))
    for index, value in entries.items():
        result[index] = value
    # adding nothing turns -0.0 into 0.0: a result has one zero only
    return np.ascontiguousarray(np.moveaxis(result, -1, 0)).reshape(batch + (n,) * rank) + 0.0


def no_inertia(shortfall: Shortfall, where: str = "") -> RobolinError:
    """The error for a joint that nothing resists: its D(k) is zero, negative or pure rounding."""
    joint, D = shortfall.joint, complex(shortfall.value).real
    if shortfall.negative:
        return RobolinError(
            f"joint '{joint}' has negative inertia, D = {D:.3g}: a forward result divides by it",
            where=where,
            hint="the links it carries have an impossible mass or inertia; see robolin validate",
        )
    return RobolinError(
        f"joint '{joint}' moves nothing that has inertia, D = {D:.3g}: "
        "a forward result divides by it",
        where=where,
        hint="give the links it carries a mass and an inertia, add an armature "
        f"(--armature {joint}=VALUE), or lock the joint (--lock {joint}=0)",
    )
