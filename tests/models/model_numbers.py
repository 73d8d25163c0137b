"""SHA-256 of the numbers of every bundled arm; needs no package but PyYAML, for YAML arms.

`python -m tests.models.model_numbers` prints one line per arm, so that several versions of Python
can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from robolin import load
from robolin.core.arm import Arm, Pose
from robolin.engine.parameters import parameters_of

MODELS = Path(__file__).resolve().parents[2] / "models"


def bundled_names() -> list[str]:
    """The bundled arms that this interpreter can read."""
    readable = {".urdf", ".yaml"} if find_spec("yaml") else {".urdf"}
    return sorted(path.stem for path in MODELS.iterdir() if path.suffix in readable)


def model_digest(arm: Arm) -> str:
    """SHA-256 of all masses, inertias, poses and axes, as read and as algorithms use them."""
    text = " ".join(number.hex() for number in _numbers(arm))
    return sha256(text.encode()).hexdigest()


def _numbers(arm: Arm) -> Iterator[float]:
    yield from arm.gravity
    for link in arm.links_tip_to_base:
        yield from (link.inertia.mass, *link.inertia.com, *link.inertia.rotary)
        yield from (*_pose(link.joint.pose), *link.joint.axis, link.joint.armature)
    for name in sorted(arm.frames):
        yield from _pose(arm.frames[name].pose)
    parameters = parameters_of(arm)
    yield from parameters.origin
    for row in parameters.links:
        yield from (*row.rotation, *row.offset, row.mass, *row.com, *row.rotary, *row.direction)


def _pose(pose: Pose) -> Iterator[float]:
    yield from (*pose.rotation, *pose.translation)


if __name__ == "__main__":
    for name in bundled_names():
        print(name, model_digest(load(name)))
