"""Findings without absolute paths, for documents that leave this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from robolin.description.model import Finding
from robolin.io.locations import shared_name, shared_text


def shared_finding(finding: Finding, name: Callable[[str], str] = shared_name) -> Finding:
    """The finding with another name for its file, also in its message and hint."""
    location = finding.location
    return replace(
        finding,
        location=replace(location, file=name(location.file)),
        message=shared_text(finding.message, [location.file], name),
        hint=shared_text(finding.hint, [location.file], name),
    )
