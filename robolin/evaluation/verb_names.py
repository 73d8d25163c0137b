"""Names of functions to compile or generate, and the options that apply to them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from robolin.core.text import did_you_mean
from robolin.errors import UsageError
from robolin.evaluation.frames import reject_unused_frame
from robolin.evaluation.methods import reject_unused_method
from robolin.evaluation.prescribed_joints import JointsNamed, require_prescribed_of_use


def reject_unused_options(
    verbs: Sequence[str],
    method: str,
    frame: str | None,
    point: Sequence[float],
    prescribe: JointsNamed | None,
) -> None:
    """Reject a frame, prescribed joints or a method that none of the verbs uses."""
    reject_unused_frame(verbs, frame, point)
    require_prescribed_of_use(verbs, prescribe, method)
    reject_unused_method(verbs, method)


def resolve_verb(
    verb: object, known: Sequence[str], end: str, algorithms: Collection[str] = ()
) -> str:
    """Validate the name of a function, written with - or _, and return it with -.

    end:        end of the error message, such as 'to compile'
    algorithms: other accepted names, which hints do not list
    """
    if not isinstance(verb, str):
        hint = "pass the name of a function as a string, such as 'inverse'"
        raise UsageError(f"unknown function {verb!r} {end}", hint=hint)
    spelt = verb.replace("_", "-")
    if spelt not in known and spelt not in algorithms:
        require_prescribed_of_use([spelt], None)
        hint = did_you_mean(spelt, known, f"choose one of {', '.join(known)}")
        raise UsageError(f"unknown function '{verb}' {end}", hint=hint)
    return spelt
