"""robolin jacobian: how joints move a frame, and how the arm feels there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from robolin.cli.flags.flag import METHOD, Verb, bundled, flag
from robolin.cli.flags.flag_values import Typed, numbers
from robolin.cli.flags.model_flags import Model, model_options
from robolin.cli.flags.output_flags import Output, output_options
from robolin.cli.flags.state_flags import State, state_options
from robolin.errors import UsageError

if TYPE_CHECKING:
    from robolin.arm import Arm
    from robolin.cli.answer import Question
    from robolin.cli.motion import Values
    from robolin.results.result import Array

_HELP = {
    "qdd": "Accelerations, for --derivatives.  [default: 0]",
    "tau": "Torques (forces of sliding joints), for the operational space, or 'hold': those that "
    "keep qdd at 0.  [default: 0]",
}
_SINGULAR = "fewer than six joints move {}: operational_inertia and bias_wrench do not exist"


@dataclass(frozen=True)
class Wanted:
    """Which place, in which axes, and what is wanted besides its Jacobian."""

    frame: str | None
    point: str | None
    reference: str
    derivatives: bool
    operational_space: bool
    operational_space_inverse: bool

    def placed(self, arm: Arm) -> Arm:
        """The arm with the place chosen."""
        from dataclasses import replace

        from robolin.kinematics.frames import at_frame

        point = [0.0, 0.0, 0.0]
        if self.point is not None:
            point = numbers(Typed("--point", self.point), self.point, 3, "x, y, z in m")
        arm = at_frame(arm, self.frame, point)
        axes = f"{arm.contract['frame']}, vectors in {_AXES[self.reference]} axes"
        contract = {**arm.contract, "frame": axes}
        if arm.loops:
            contract["loops"] += "; every joint is moved by itself, as in the tree"
        return replace(arm, contract=contract)

    def question(self, arm: Arm, out: Output) -> Question:
        """What to ask about the place, and a note if not all of it exists."""
        from robolin.cli.answer import Question

        if self.derivatives and self.reference == "frame":
            hint = "leave out --reference: derivatives are those of vectors in world axes"
            where = "--derivatives"
            raise UsageError("cannot go together with --reference frame", where=where, hint=hint)
        algorithms = ["jacobian", *(["frame-derivatives"] if self.derivatives else [])]
        if self.operational_space or self.operational_space_inverse:
            algorithms.append(self._operational(arm, out))
        divides = self.operational_space or self.operational_space_inverse
        return Question("jacobian", tuple(algorithms), forward=divides, named=self.named)

    def _operational(self, arm: Arm, out: Output) -> str:
        from robolin.api.frame_kinematics import DIRECTIONS
        from robolin.kinematics.frames import joints_between

        spans = joints_between(arm) >= DIRECTIONS
        if self.operational_space and not spans:
            assert arm.tip is not None, "the place was chosen"
            out.note(_SINGULAR.format(f"'{arm.tip.name}'"))
        whole = self.operational_space and spans
        return "operational-space" if whole else "operational-space-inverse"

    def named(self, arm: Arm, found: Values) -> Iterable[Array]:
        """The arrays, in the axes that were asked for."""
        from robolin.cli.answer import named_arrays
        from robolin.kinematics.frame_axes import SHAPES, in_frame_axes

        if self.reference == "frame":
            found = in_frame_axes(found)
        return named_arrays(arm, {name: SHAPES[name] for name in found}, found)


_AXES = {"world": "world", "frame": "the frame's own"}

_FLAGS = [
    flag(
        "--frame",
        section=METHOD,
        metavar="LINK",
        help="The link, moving or merged, that the answer is about.  "
        "[default: the tip, or the only end]",
    ),
    flag("--point", section=METHOD, metavar="X,Y,Z", help="A point in it.  [default: 0,0,0]"),
    flag(
        "--reference",
        section=METHOD,
        type=click.Choice(("world", "frame")),
        default="world",
        show_default=True,
        help="The axes that vectors are written in; the pose is always the world's.",
    ),
    flag(
        "--derivatives",
        section=METHOD,
        is_flag=True,
        help="Add derivatives by q and qd of twist and acceleration: of the point that moves along "
        "(dtwist_..., dclassical_...) and referred to the place where it is now (dspatial_...).",
    ),
    flag(
        "--operational-space",
        section=METHOD,
        is_flag=True,
        help="Add operational_inertia_inverse, free_acceleration, operational_inertia and "
        "bias_wrench, which depend on --tau: a wrench F on the frame makes it accelerate by a, "
        "operational_inertia a + bias_wrench = F.",
    ),
    flag(
        "--operational-space-inverse",
        section=METHOD,
        is_flag=True,
        help="Add the first two of them alone, which exist in singular poses too.",
    ),
]


@click.command("jacobian", cls=Verb)
@model_options
@state_options("q", "qd", "qdd", "tau", help=_HELP)
@bundled("wanted", _FLAGS, Wanted)
@output_options
def command(model: Model, state: State, wanted: Wanted, out: Output) -> None:
    """Jacobian of a frame, with its pose, twist and felt inertia.

    Answers with jacobian, jacobian_rate_qd, twist, position and rotation:
    twist = jacobian qd, and the acceleration of the point is jacobian qdd + jacobian_rate_qd.
    Rows are rx, ry, rz for turning and x, y, z for moving.

    \b
    Example:
      robolin jacobian panda --frame panda_hand_tcp --q panda_joint4=-90deg
      robolin jacobian ur5 --frame tool0 --point 0,0,0.1 --reference frame
      robolin jacobian ur5 --q 0,-1,1,0.5,1,0 --operational-space --tau hold
    """
    from robolin.cli.answer import answer

    out.require_target()
    arm = wanted.placed(model.arm())
    answer(wanted.question(arm, out), model, state, out, arm)
