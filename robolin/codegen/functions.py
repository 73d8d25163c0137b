"""Functions available for code generation: all queries that the arm supports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import log
from typing import Any

from robolin.core.arm import ORIGIN, Arm
from robolin.core.arrays import (
    Floats,
    require_arm,
    require_loops,
    require_tree,
)
from robolin.core.records import dataclass
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.algebra.trigonometry import Precision, if_less
from robolin.dynamics.algorithm import Algorithm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.operation_graph import UnrolledProgram, input_name, unrolled_program
from robolin.engine.parameters import Parameters
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.constant_inputs import (
    OBSERVERS,
    PRESCRIBED_VARIANT,
    JointsNamed,
    prescribed_joints,
    prescribed_line,
)
from robolin.evaluation.evaluate import algorithm_for, arm_cache, independent_of_loops
from robolin.evaluation.frames import ABOUT_A_FRAME, at_frame
from robolin.evaluation.methods import Method, require_regressor_kernel
from robolin.evaluation.state_call import reject_unused_options, resolve_verb

# algorithms that divide by every body's own inertia are omitted: forward covers them, also for
# flat bodies; algorithms for prescribed joints have the name of the ones without
QUESTIONS = tuple(
    dict.fromkeys(
        each.verb or name
        for name, each in ALGORITHMS.items()
        if not each.inverts_bodies and "prescribed" not in each.needs
    )
)


@dataclass(frozen=True)
class ChosenQuestion:
    """A query with its algorithm for an arm and frame.

    fixed: inputs (n,) that are the same in every state
    """

    verb: str
    arm: Arm
    algorithm: Algorithm
    fixed: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def parameters(self) -> Parameters:
        return arm_cache(self.arm).parameters

    @property
    def arguments(self) -> dict[str, str]:
        """The inputs of a program and their argument names."""
        needs, gives = self.algorithm.needs, self.algorithm.gives
        return {name: input_name(name, gives) for name in needs if name not in self.fixed}

    @property
    def contract(self) -> Mapping[str, Any]:
        """Model assumptions, as text."""
        lines = {}
        if "prescribed" in self.fixed:
            lines["prescribed"] = prescribed_line(self.arm, self.fixed["prescribed"])
        if "observer_rate" in self.fixed:
            decay, rate = (float(values[0]) for values in self.fixed.values())
            lines["observer"] = f"period {1.0 / rate:.12g} s, gain {-log(decay) * rate:.6g} 1/s"
        return {**self.arm.contract, **lines}

    def unrolled(self, parameters: Parameters) -> UnrolledProgram:
        """Unroll the algorithm for these parameters of the arm."""
        algorithm = self.algorithm
        known = {name: tuple(values.tolist()) for name, values in self.fixed.items()}
        arguments = parameters, algorithm.run, algorithm.needs, algorithm.gives
        return unrolled_program(*arguments, self.arm.source, known)


def chosen_questions(
    arm: Arm,
    verbs: Sequence[str],
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    prescribe: JointsNamed | None = None,
    observer: Mapping[str, Floats] | None = None,
) -> list[ChosenQuestion]:
    """Resolve several verbs; each option must apply to at least one.

    observer: constant inputs of the momentum observer; None if they are arguments
    """
    require_arm(arm)
    known = list(map(_known_verb, verbs))
    reject_unused_options(known, method, frame, point, prescribe)
    if observer and not set(OBSERVERS) & set(known):
        hint = f"add {OBSERVERS[0]}, or remove --dt"
        raise UsageError("has no effect on these functions", where="dt", hint=hint)
    questions = [chosen_question(arm, verb, method, frame, point, prescribe) for verb in known]
    return [
        replace(question, fixed=observer) if observer and question.verb in OBSERVERS else question
        for question in questions
    ]


def chosen_question(
    arm: Arm,
    verb: str,
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    prescribe: JointsNamed | None = None,
) -> ChosenQuestion:
    """Resolve a verb, spelled with - or _, to its algorithm for this arm."""
    require_arm(arm)
    verb = _known_verb(verb)
    if not independent_of_loops(verb):
        if arm.loops and f"{verb}-closed" in ALGORITHMS:
            hint = (
                f"use {verb}-closed, or add --open-loops (open_loops=True) to ignore the loop "
                "constraints"
            )
            raise RobolinError(
                f"{verb} does not support closed loops in generated code",
                where=arm.source,
                hint=hint,
            )
        require_tree(arm, verb)
    if ALGORITHMS.get(verb) is not None and ALGORITHMS[verb].kind == "closed":
        require_loops(arm)
    if verb == "link-accelerations" and arm.groups:
        raise RobolinError(
            f"{verb}: multi-DoF joints have virtual links, which generated code does not support",
            where=arm.source,
            hint="generate frame-motion for each of the frames",
        )
    if verb in ("regressor", "slotine-li-regressor"):
        require_regressor_kernel(arm)
    if verb in ABOUT_A_FRAME:
        arm = at_frame(arm, frame, point)
    fixed: dict[str, Floats] = {}
    if prescribe is not None and verb in PRESCRIBED_VARIANT:
        verb, fixed = PRESCRIBED_VARIANT[verb], {"prescribed": prescribed_joints(arm, prescribe)}
    return ChosenQuestion(verb, arm, ALGORITHMS[algorithm_for(arm, verb, method)], fixed)


def _known_verb(verb: str) -> str:
    return resolve_verb(verb, QUESTIONS, "for generated code")


def root_in(precision: Precision, x: Scalar) -> Scalar:
    """√x of a normal number or zero, correctly rounded.

    Newton's steps come within one ulp.  The exact residual x - y² then decides whether y or a
    neighbour is nearest; a root is never halfway between neighbours.
    """
    within, grown = _between_1_and_4(precision, x)
    y: Scalar = within * (1.0 / 3.0) + 0.7
    for _ in range(5):
        y = 0.5 * (y + within / y)
    y = y + _residual(precision, within, y) / (2.0 * y)
    rest, halfway = _residual(precision, within, y), y * precision.ulp
    y = if_less(halfway, rest, y + precision.ulp, if_less(-halfway, rest, y, y - precision.ulp))
    return if_less(0.0, x, y * grown, x)


def _between_1_and_4(precision: Precision, x: Scalar) -> tuple[Scalar, Scalar]:
    """Scale x by a power of 4; return it with the factor for its root."""
    grown: Scalar = 1.0
    for bits in precision.halvings:
        large, half = 2.0**bits, 2.0 ** (bits // 2)
        grown = if_less(x, large, grown, grown * half)
        x = if_less(x, large, x, x * (1.0 / large))
        grown = if_less(x, 4.0 / large, grown * (1.0 / half), grown)
        x = if_less(x, 4.0 / large, x * large, x)
    return x, grown


def _residual(precision: Precision, x: Scalar, y: Scalar) -> Scalar:
    """x - y², exactly, for y within a few ulps of √x."""
    split = y * (2.0 ** ((precision.digits + 1) // 2) + 1.0)
    high = split - (split - y)
    low = y - high
    square = y * y
    lost = ((high * high - square) + 2.0 * high * low) + low * low
    return (x - square) - lost
