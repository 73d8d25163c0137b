"""The `excite` query: a motion from rest to rest that determines the dynamic parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from robolin.analysis.excitation import Excitation, excite
from robolin.core.arrays import Floats
from robolin.core.quantity_table import COLUMN_WORDS, unit_of
from robolin.core.result import Array, Result
from robolin.core.text_parsing import FlagText, number, parse_per_joint, parse_seconds
from robolin.queries.question import Question
from robolin.queries.request import QueryContext

_LIMITED = ("position", "velocity", "acceleration", "effort")
# condition number of the regressor above which measurement noise spoils the parameters
_POOR_CONDITION = 100.0


def answer_excite(context: QueryContext) -> Result:
    """Search a motion; report what it determines and how much of the limits it uses."""
    context.emit_arm_notes()
    motion = excite(context.arm, **_arguments(context))
    arm, identifiable = context.arm, motion.identifiable
    kinds = [joint.kind for joint in arm.joints]
    arrays = tuple(
        Array(name, getattr(motion, name), (arm.joint_names,), unit_of(name, kinds), word)
        for name, word in COLUMN_WORDS.items()
    )
    determined = (
        f"the motion determines {identifiable.rank} of {motion.possible} identifiable parameters, "
        f"condition number {identifiable.condition:.3g}"
    )
    used = _tightest(context, motion)
    context.settings.notify("summary", f"{determined}; used limits: {used}")
    if identifiable.rank < motion.possible:
        context.warn("not all parameters are determined: use more --iterations or --harmonics")
    elif identifiable.condition > _POOR_CONDITION:
        context.warn(
            f"condition number {identifiable.condition:.3g} is poor (good: below "
            f"{_POOR_CONDITION:g}): "
            "use more --iterations, a longer --duration or larger limits"
        )
    lines = {
        "motion": f"Fourier series of {context.question.count('harmonics') or 5} harmonics, "
        "at rest at the start and the end",
        "algorithm": "D-optimal random search",
        "identifiable": f"{identifiable.rank} numbers of {len(identifiable.names)} parameters; "
        f"{motion.possible} for random motions",
        "condition": f"{identifiable.condition:.3g}",
        "used limits": used,
    }
    return context.result(arrays, lines, time=motion.time)


def _tightest(context: QueryContext, motion: Excitation) -> str:
    """The largest used fraction of each kind of limit, and its joint."""
    return "; ".join(
        f"{word} {100.0 * used[i]:.0f} % ({context.arm.joint_names[i]})"
        for word, used in zip(_LIMITED, motion.used.T, strict=True)
        if used[i := int(np.argmax(used))]
    )


def _arguments(context: QueryContext) -> dict[str, Any]:
    """Options of the question as arguments of `excite`."""
    question = context.question
    arguments: dict[str, Any] = {name: question.count(name) for name in ("harmonics", "iterations")}
    arguments["seed"] = question.count("seed")
    arguments |= {name: _seconds(question, name) for name in ("duration", "period", "dt")}
    if (text := question.text("margin")) is not None:
        arguments["margin"] = number(FlagText("--margin", text))
    for name in ("max-velocity", "max-acceleration"):
        arguments[name.replace("-", "_")] = _per_joint(context, name)
    return {name: value for name, value in arguments.items() if value is not None}


def _seconds(question: Question, name: str) -> float | None:
    text = question.text(name)
    return None if text is None else parse_seconds(FlagText(f"--{name}", text))


def _per_joint(context: QueryContext, name: str) -> Floats | None:
    text = context.question.text(name)
    if text is None:
        return None
    return np.array(parse_per_joint(FlagText(f"--{name}", text), context.arm, angular=True))
