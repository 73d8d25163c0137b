"""What a regulator is to care about, as typed: weights by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from robolin.core.number_parsing import FlagText, named, number
from robolin.queries.question import Question

if TYPE_CHECKING:
    from robolin.control.state_space import StateSpace

FORM = "NAME=WEIGHT"


def state_weights(question: Question) -> dict[str, float]:
    """Weights of positions and velocities, of all joints or of one."""
    found: dict[str, float] = {}
    for text in question.texts("weight"):
        found |= _named(FlagText("--weight", text), found)
    return found


def effort_weights(question: Question, model: StateSpace) -> dict[str, float]:
    """Weights of torques by joint; a number without a name is for all of them."""
    every: dict[str, float] = {}
    found: dict[str, float] = {}
    for text in question.texts("effort"):
        typed = FlagText("--effort", text)
        if "=" in text:
            found |= _named(typed, found)
        elif every:
            raise typed.wrong("there is a weight for all motors already", "keep one of them")
        else:
            motors = [name.removesuffix("/effort") for name in model.inputs]
            every = dict.fromkeys(motors, number(typed, text))
    return {**every, **found}


def integrals(question: Question, joints: Sequence[str]) -> list[str]:
    """The outputs to integrate; the name of a joint stands for its position."""
    text = question.text("integral")
    names = [] if text is None else [name.strip() for name in text.split(",")]
    return [f"{name}/position" if name in joints else name for name in names]


def require_weights_typed(question: Question) -> None:
    """Refuse weights that are no numbers."""
    state_weights(question)
    for text in question.texts("effort"):
        typed = FlagText("--effort", text)
        if "=" in text:
            _named(typed, {})
        else:
            number(typed, text)


def _named(typed: FlagText, before: dict[str, float]) -> dict[str, float]:
    found = {}
    for name, (value, degrees) in named(typed, FORM).items():
        if degrees:
            raise typed.wrong(f"the weight of '{name}' is no angle", "leave out 'deg'")
        if name in before:
            raise typed.wrong(f"'{name}' is there twice", "keep one of them")
        found[name] = value
    return found
