"""Results whose last digits are not robolin's own."""

from __future__ import annotations

from collections.abc import Mapping
from sys import float_info
from typing import Any

from robolin.checking.tolerance import Tolerance, Tolerances
from robolin.core.results.swept_verbs import asked_verb
from robolin.queries.verbs import VERBS

# a sum over an arm is rounded some tens of times
_ROUNDINGS = 64.0

LIBRARY_NOTE = (
    "a linear-algebra library takes part in these numbers, and its last digits differ between "
    "machines; --rtol and --atol allow for that"
)

# arrays that another algorithm computes than did before, see FORMER_ALGORITHMS of answering
FORMER_ARRAYS = ("mass_matrix_inverse",)

# what rounding leaves of an equation, by verb: an array, and the line of the contract that tells it
_REMAINDERS = {"lqr": ("residual", "Riccati equation")}
# remainders are shares of the largest term, so one that is solved has far less than this left
_SOLVED = 1e-10


def rounding_of(scale: float) -> float:
    """The rounding error to expect in sums of numbers of this size."""
    return _ROUNDINGS * float_info.epsilon * scale


def tolerance_of(verb: str, array: str, asked: Tolerances) -> Tolerance:
    """How far an array may be off; a remainder has no digits that a share of it would allow for."""
    tolerance = asked.of(array)
    remains = array == _REMAINDERS.get(asked_verb(verb), ("",))[0] and array not in asked.by_name
    if not remains or tolerance.exact:
        return tolerance
    return Tolerance(tolerance.rtol, max(tolerance.atol, _SOLVED))


def remainder_lines(verb: str) -> tuple[str, ...]:
    """The lines of a contract that tell nothing but rounding."""
    return _REMAINDERS.get(asked_verb(verb), ())[1:]


def from_a_library(verb: str, options: Mapping[str, Any], model: Mapping[str, Any] | None) -> bool:
    """Whether matrix products or solvers of NumPy or SciPy had a part in a result.

    They answer for closed loops, adapted steps and ranks; all else is robolin's own arithmetic,
    with the same bits everywhere.
    """
    closed = bool((model or {}).get("loops")) and not options.get("open-loops")
    known = VERBS.get(asked_verb(verb))
    fitted = options.get("differentiate") == "savgol"
    return closed or fitted or (known is not None and known.by_library(options))
