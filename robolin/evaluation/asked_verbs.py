"""Verbs that are to become functions or programs: their names, and the choices about them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from robolin.core.text import did_you_mean
from robolin.errors import UsageError
from robolin.evaluation.frames import require_frame_of_use
from robolin.evaluation.methods import require_method_of_use
from robolin.evaluation.prescribed_joints import JointsNamed, require_prescribed_of_use


def require_choices_of_use(
    verbs: Sequence[str],
    method: str,
    frame: str | None,
    point: Sequence[float],
    prescribe: JointsNamed | None,
) -> None:
    """Refuse a frame, joints that move as told, or a method that none of the verbs asks for."""
    require_frame_of_use(verbs, frame, point)
    require_prescribed_of_use(verbs, prescribe, method)
    require_method_of_use(verbs, method)


def known_verb(
    verb: object, known: Sequence[str], end: str, algorithms: Collection[str] = ()
) -> str:
    """A verb among those known, spelt with - as they are, whether given with - or with _.

    end:        what there is no other verb for: 'to compile'
    algorithms: what may be asked for by its own name besides, and is not offered
    """
    if not isinstance(verb, str):
        hint = "verbs are texts, such as 'inverse'"
        raise UsageError(f"there is no verb {verb!r} {end}", hint=hint)
    spelt = verb.replace("_", "-")
    if spelt not in known and spelt not in algorithms:
        require_prescribed_of_use([spelt], None)
        hint = did_you_mean(spelt, known, f"there are {', '.join(known)}")
        raise UsageError(f"there is no verb '{verb}' {end}", hint=hint)
    return spelt
