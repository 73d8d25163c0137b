"""A xacro file to a description: its expansion, read as URDF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from robolin.description.model import Finding, Place, Reading
from robolin.description.robot_source import RobotText
from robolin.description.urdf.urdf_reader import read_urdf
from robolin.description.xacro.xacro_text import expanded_xacro
from robolin.errors import UsageError


def read_xacro(
    found: RobotText, arguments: Mapping[str, str], packages: Mapping[str, str]
) -> Reading:
    """The description of a xacro file; its findings name the lines of the expansion."""
    if found.path is None:
        hint = "give the file itself: it includes others by their place"
        raise UsageError("xacro is not read from standard input", where="-", hint=hint)
    expansion = expanded_xacro(found.path, arguments, packages)
    reading = read_urdf(expansion.text, f"{found.shown} (expanded)")
    place, description = Place(found.shown), reading.description
    warnings = [Finding("xacro-warning", "warning", place, text) for text in expansion.warnings]
    if description is not None:
        description = replace(description, source=found.shown)
    return Reading(description, [*warnings, *reading.findings])
