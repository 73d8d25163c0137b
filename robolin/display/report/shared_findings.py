"""Findings without folders of this machine, for documents that are passed on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from robolin.description.model import Finding
from robolin.io.paths import shared_name, shared_text


def shared_finding(found: Finding, name: Callable[[str], str] = shared_name) -> Finding:
    """The finding with another name for its file, in its message and hint too."""
    place = found.place
    return replace(
        found,
        place=replace(place, file=name(place.file)),
        message=shared_text(found.message, [place.file], name),
        hint=shared_text(found.hint, [place.file], name),
    )
