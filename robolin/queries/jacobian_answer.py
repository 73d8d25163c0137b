"""The `jacobian` query: Jacobian and operational-space inertia of a frame; and `momentum`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from robolin.api.frame_kinematics import DIRECTIONS, require_mass
from robolin.core.arm import Arm, with_load_options
from robolin.core.result import Array, Result, ResultStream
from robolin.core.text_parsing import numbers
from robolin.evaluation.frames import FRAME_SHAPES, at_frame, in_frame_axes, joints_to_frame
from robolin.queries.algorithm_answer import AlgorithmQuery, answer_by_algorithms
from robolin.queries.question import Question, parsed_option
from robolin.queries.request import QueryContext
from robolin.queries.values import Values, named_arrays

_AXES = {"world": "world", "frame": "the frame's own"}
_SINGULAR = "fewer than six joints move {}: operational_inertia and bias_wrench are omitted"


def answer_jacobian(context: QueryContext) -> Result | ResultStream:
    """Compute the Jacobian of a frame, optionally its derivatives and operational space."""
    question, arm = context.question, _with_frame(context.arm, context.question)
    note_frame(context, arm, question.text("frame"))
    names = ["jacobian", *(["frame-derivatives"] if question.flag("derivatives") else [])]
    divides = question.flag("operational-space") or question.flag("operational-space-inverse")
    if divides:
        names.append(_operational(context, arm))
    named = _in_frame_axes if _reference(question) == "frame" else _in_world_axes
    return answer_by_algorithms(
        context, AlgorithmQuery(tuple(names), divides=divides, named=named), arm
    )


def note_frame(context: QueryContext, arm: Arm, named: str | None) -> None:
    """Note the default frame's name, since the columns of a file do not contain it."""
    if not named and arm.tip is not None:
        context.note(f"{arm.name}: the frame is '{arm.tip.name}'")


def _reference(question: Question) -> str:
    return question.text("reference") or "world"


def _with_frame(arm: Arm, question: Question) -> Arm:
    """Return the arm with the selected frame and point as its tip."""
    point = parsed_option(question, "point", numbers, "x, y, z in m", 3) or [0.0, 0.0, 0.0]
    arm = at_frame(arm, question.text("frame"), point)
    axes = f"{arm.contract['frame']}, vectors in {_AXES[_reference(question)]} axes"
    contract = {**arm.contract, "frame": axes}
    if arm.loops:
        contract["loops"] += "; every joint is moved by itself, as in the tree"
    return with_load_options(replace(arm, contract=contract), arm.loaded_with)


def _operational(context: QueryContext, arm: Arm) -> str:
    """Select the operational-space algorithm; note if only the inverse exists."""
    spans, requested = (
        joints_to_frame(arm) >= DIRECTIONS,
        context.question.flag("operational-space"),
    )
    if requested and not spans:
        assert arm.tip is not None, "at_frame sets the tip"
        context.note(_SINGULAR.format(f"'{arm.tip.name}'"))
    return "operational-space" if requested and spans else "operational-space-inverse"


def _in_world_axes(arm: Arm, computed: Values) -> Iterable[Array]:
    return named_arrays(arm, {name: FRAME_SHAPES[name] for name in computed}, computed)


def _in_frame_axes(arm: Arm, computed: Values) -> Iterable[Array]:
    return _in_world_axes(arm, in_frame_axes(computed))


def answer_momentum(context: QueryContext) -> Result | ResultStream:
    """Compute the centre of mass, its Jacobian and the momentum about it."""
    require_mass(context.arm)
    return answer_by_algorithms(context, AlgorithmQuery(("momentum",)))
