"""The URDF file behind an arm, for programs that read it themselves."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from robolin.core.arm import Arm
from robolin.description.robot_source import bundled_path


def urdf_path(arm: Arm) -> Path | None:
    """The file the arm was loaded from, if it still holds the same and nothing was added to it."""
    if not arm.source or arm.contract.get("payload", "none") != "none":
        return None
    path = Path(arm.source)
    if not path.is_file():
        path = bundled_path(arm.source) or path
    if path.suffix.lower() not in (".urdf", ".xml"):
        return None
    try:
        text = path.read_bytes()
    except OSError:
        return None
    return path if sha256(text).hexdigest() == arm.digest else None
