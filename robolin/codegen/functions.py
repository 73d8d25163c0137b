"""What a program can be asked for: every question of the catalogue that the arm can answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from robolin.core.arm import ORIGIN, Arm
from robolin.core.array_checks import (
    require_arm,
    require_loops,
    require_one_friction_column,
    require_tree,
)
from robolin.core.arrays import Floats
from robolin.dynamics.algorithm import Algorithm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.parameters import Parameters
from robolin.engine.unrolled_program import UnrolledProgram, input_name, unrolled_program
from robolin.errors import RobolinError
from robolin.evaluation.asked_verbs import known_verb, require_choices_of_use
from robolin.evaluation.evaluate import arm_cache, same_when_closed
from robolin.evaluation.frames import ABOUT_A_FRAME, at_frame
from robolin.evaluation.methods import Method, algorithm_for
from robolin.evaluation.prescribed_joints import (
    ANSWERED_BY,
    JointsNamed,
    prescribed_joints,
    prescribed_line,
)

# what divides by every body's own inertia is there to be studied: forward has an answer wherever
# they have one, and on flat bodies too; what answers where joints move as prescribed is asked
# under the name of what answers elsewhere
QUESTIONS = tuple(
    dict.fromkeys(
        each.verb or name
        for name, each in ALGORITHMS.items()
        if not each.inverts_bodies and "prescribed" not in each.needs
    )
)


@dataclass(frozen=True)
class ChosenQuestion:
    """A question with the algorithm that answers it on an arm, which has its frame in mind.

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
        """The inputs that a program is handed, and what it calls them."""
        needs, gives = self.algorithm.needs, self.algorithm.gives
        return {name: input_name(name, gives) for name in needs if name not in self.fixed}

    @property
    def contract(self) -> Mapping[str, Any]:
        """What is included, in words."""
        told = {name: prescribed_line(self.arm, which) for name, which in self.fixed.items()}
        return {**self.arm.contract, **told}

    def unrolled(self, parameters: Parameters) -> UnrolledProgram:
        """What the algorithm does with these numbers of the arm."""
        algorithm = self.algorithm
        known = {name: tuple(values.tolist()) for name, values in self.fixed.items()}
        given = parameters, algorithm.run, algorithm.needs, algorithm.gives
        return unrolled_program(*given, self.arm.source, known)


def chosen_questions(
    arm: Arm,
    verbs: Sequence[str],
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    prescribe: JointsNamed | None = None,
) -> list[ChosenQuestion]:
    """The same for several verbs, of which each choice has to concern one at least."""
    require_arm(arm)
    known = list(map(_known_verb, verbs))
    require_choices_of_use(known, method, frame, point, prescribe)
    return [chosen_question(arm, verb, method, frame, point, prescribe) for verb in known]


def chosen_question(
    arm: Arm,
    verb: str,
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    prescribe: JointsNamed | None = None,
) -> ChosenQuestion:
    """Which algorithm answers the verb on this arm, whether spelt with - or with _."""
    require_arm(arm)
    verb = _known_verb(verb)
    if not same_when_closed(verb):
        if arm.loops and f"{verb}-closed" in ALGORITHMS:
            hint = f"ask for {verb}-closed, or --open-loops (open_loops=True) leaves them out"
            raise RobolinError(f"{verb} knows no closed loops here", where=arm.source, hint=hint)
        require_tree(arm, verb)
    if ALGORITHMS.get(verb) is not None and ALGORITHMS[verb].kind == "closed":
        require_loops(arm)
    if verb == "link-accelerations" and arm.groups:
        raise RobolinError(
            f"{verb}: joints with several freedoms have links that are none",
            where=arm.source,
            hint="ask for frame-motion, frame by frame",
        )
    if verb == "regressor":
        require_one_friction_column(arm)
    if verb in ABOUT_A_FRAME:
        arm = at_frame(arm, frame, point)
    fixed: dict[str, Floats] = {}
    if prescribe is not None and verb in ANSWERED_BY:
        verb, fixed = ANSWERED_BY[verb], {"prescribed": prescribed_joints(arm, prescribe)}
    return ChosenQuestion(verb, arm, ALGORITHMS[algorithm_for(arm, verb, method)], fixed)


def _known_verb(verb: str) -> str:
    return known_verb(verb, QUESTIONS, "to make a program of")
