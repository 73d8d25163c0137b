"""One call for every algorithm: a state or a batch in, named arrays in public order out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robolin.algebra.axes import Shape, sizes
from robolin.algebra.scalar import Scalar
from robolin.engine.direct import DirectChain, Shortfall
from robolin.engine.parameters import Parameters
from robolin.errors import RobolinError

Arrays = dict[str, np.ndarray]


def run(
    parameters: Parameters,
    algorithm: Callable[[Any], None],
    gives: Mapping[str, Shape],
    inputs: Mapping[str, np.ndarray],
) -> tuple[Arrays, list[Shortfall]]:
    """Results of shape batch + axes for values (..., n), and the joints that had no inertia.

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

    chain = DirectChain(parameters, given, shapes=gives)
    with np.errstate(all="ignore"):
        algorithm(chain)
    results = {
        name: gathered(
            chain.results.get(name, {}),
            batch,
            sizes(shape, n, parameters.n, parameters.closure_rows),
        )
        for name, shape in gives.items()
    }
    return results, chain.shortfalls


def gathered(
    entries: Mapping[tuple[int, ...], Scalar], batch: tuple[int, ...], shape: tuple[int, ...]
) -> np.ndarray:
    """Entries by public index as one array, batch axes first."""
    result = np.zeros((*shape, int(np.prod(batch))))
    for index, value in entries.items():
        result[index] = value
    # adding nothing turns -0.0 into 0.0: a result has one zero only
    return np.ascontiguousarray(np.moveaxis(result, -1, 0)).reshape(batch + shape) + 0.0


def no_inertia(shortfall: Shortfall, where: str = "") -> RobolinError:
    """The error for a joint that nothing resists: its D(k) is zero, negative or pure rounding."""
    if shortfall.result:
        return _no_result(shortfall, where)
    joint, D = shortfall.joint, complex(shortfall.value).real
    if shortfall.negative:
        return RobolinError(
            f"joint '{joint}' has negative inertia, D = {D:.3g}: a forward result divides by it",
            where=where,
            hint="the links it carries have an impossible mass or inertia; see robolin validate",
        )
    lock = f", or lock the joint (--lock {joint}=0)" if shortfall.alone else ""
    return RobolinError(
        f"joint '{joint}' moves nothing that has inertia, D = {D:.3g}: "
        "a forward result divides by it",
        where=where,
        hint="give the links it carries a mass and an inertia, or add an armature "
        f"(--armature {joint}=VALUE){lock}",
    )


def _no_result(shortfall: Shortfall, where: str) -> RobolinError:
    """The error for a result that would divide by nothing, though every joint has inertia."""
    pivot = complex(shortfall.value).real
    return RobolinError(
        f"{shortfall.result} does not exist in this state: the joints cannot move the frame in all "
        f"six directions, or hardly so (its inverse has lost rank, pivot {pivot:.3g})",
        where=where,
        hint="move away from the singular pose, choose another frame, or ask for the inverse "
        "alone: --operational-space-inverse, or inverse_only=True in Python",
    )
