"""Named poses in the options of a request: their positions for the contract, and a note."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from robolin.description.named_poses import outside_limits

if TYPE_CHECKING:
    from robolin.core.arm import Arm
    from robolin.queries.request import QueryContext


def pose_contract(context: QueryContext) -> dict[str, Any]:
    """The positions of all poses that --q and --goal select, {} without any.

    The name of a pose is an option of the result, so `check` reads the pose again.  The positions
    in the contract show whether the robot file has changed them since.
    """
    arm = context.arm
    texts = (context.states.typed.get("q"), context.question.text("goal"))
    names = dict.fromkeys((text or "").strip() for text in texts)
    poses = {name: positions for name, positions in arm.named_poses if name in names}
    for name, positions in poses.items():
        if outside := "; ".join(_outside(arm, positions)):
            context.note(f"pose '{name}' is outside the joint limits: {outside}")
    return {"pose": {name: list(positions) for name, positions in poses.items()}} if poses else {}


def _outside(arm: Arm, positions: tuple[float, ...]) -> Iterator[str]:
    for joint, position in zip(arm.joints, positions, strict=True):
        text = outside_limits(joint.name, joint.limits, position, joint.turns)
        # a warning about the state reports positions that are far outside
        far = joint.limits.far_outside(position, position, turns=joint.turns)
        if text and not far and joint.kind != "continuous":
            yield text
