"""What a program can be asked for: every question of the catalogue that the arm can answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robolin.arm import ORIGIN, Arm
from robolin.dynamics.algorithm import Algorithm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.parameters import Parameters
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.arm_cache import arm_cache
from robolin.evaluation.evaluate import same_when_closed
from robolin.evaluation.methods import METHODS, Method, algorithm_for
from robolin.input_checks import require_arm, require_loops, require_tree
from robolin.kinematics.frames import at_frame
from robolin.wording import did_you_mean, listed, quoted

# what divides by every body's own inertia is there to be studied: forward has an answer wherever
# they have one, and on flat bodies too; what is given and answered under one name, as where joints
# move as prescribed, has no place in a program whose arguments have names
QUESTIONS = tuple(
    dict.fromkeys(
        each.verb or name
        for name, each in ALGORITHMS.items()
        if not each.inverts_bodies and not {*each.needs} & {*each.gives}
    )
)

PRESCRIBED_HINT = (
    "programs have no prescribed motion, robolin forward --prescribe has; of inverse and "
    "mass-matrix a program can solve for the joints that are free (docs/embedded.md)"
)

ABOUT_A_FRAME = frozenset(name for name, each in ALGORITHMS.items() if each.of_frame)


@dataclass(frozen=True)
class Chosen:
    """A question with the algorithm that answers it on an arm, which has its frame in mind."""

    verb: str
    arm: Arm
    algorithm: Algorithm

    @property
    def parameters(self) -> Parameters:
        return arm_cache(self.arm).parameters


def require_frame_of_use(
    verbs: Sequence[str], frame: str | None, point: Sequence[float] = ORIGIN
) -> None:
    """Refuse a frame that none of the verbs is about."""
    given = "frame" if frame is not None else "point" if tuple(point) != ORIGIN else ""
    if given and not ABOUT_A_FRAME & {str(verb).replace("_", "-") for verb in verbs}:
        hint = f"it is for {listed(sorted(ABOUT_A_FRAME & {*QUESTIONS}))}"
        raise UsageError(f"{quoted(verbs)} is about no frame", where=given, hint=hint)


def chosen_question(
    arm: Arm,
    verb: str,
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
) -> Chosen:
    """Which algorithm answers the verb on this arm, whether spelt with - or with _."""
    require_arm(arm)
    if not isinstance(verb, str) or (verb := verb.replace("_", "-")) not in QUESTIONS:
        hint = did_you_mean(str(verb), QUESTIONS, f"there are {', '.join(QUESTIONS)}")
        if str(verb).endswith("-prescribed"):
            hint = PRESCRIBED_HINT
        raise UsageError(f"there is no verb '{verb}' to make a program of", hint=hint)
    if method not in METHODS:
        raise UsageError(f"there is no method '{method}'", hint=f"methods are {listed(METHODS)}")
    if not same_when_closed(verb):
        require_tree(arm, verb)
    if ALGORITHMS.get(verb) is not None and ALGORITHMS[verb].kind == "closed":
        require_loops(arm)
    if verb == "link-accelerations" and arm.groups:
        raise RobolinError(
            f"{verb}: joints with several freedoms have links that are none",
            where=arm.source,
            hint="ask for frame-motion, frame by frame",
        )
    if verb in ABOUT_A_FRAME:
        arm = at_frame(arm, frame, point)
    return Chosen(verb, arm, ALGORITHMS[algorithm_for(arm, verb, method)])
