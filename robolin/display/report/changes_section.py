"""The part of a page that sets two arms side by side: what differs, and what it does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robolin.checking.distinguishing_digits import distinguishing_digits, percent
from robolin.checking.model_changes import model_changes
from robolin.core.units import joint_unit
from robolin.display.report.page_markup import (
    PageTable,
    figure_cell,
    markup,
    paragraph,
    shown_name,
    table,
)
from robolin.display.report.reported_arm import ReportedArm
from robolin.errors import RobolinError

_TORQUES = ("joint", "row", "first", "second", "unit", "change", "of the peak")
_MOST_CHANGES = 300


def changes_section(first: ReportedArm, second: ReportedArm) -> str:
    """What differs between the models, then between their torques."""
    changes = model_changes(first.arm.figures, second.arm.figures)
    rows = [
        (
            shown_name(f"{each.part} {each.name}"),
            each.quantity,
            *map(shown_name, each.values),
            each.unit,
            each.share,
        )
        for each in changes[:_MOST_CHANGES]
    ]
    header = ("part", "quantity", "first", "second", "unit", "change")
    numbers = frozenset(("first", "second", "change"))
    title = f"What differs: {shown_name(first.name)} and {shown_name(second.name)}"
    parts = [table(PageTable(title, header, rows, numbers))] if rows else []
    if not rows:
        parts.append(paragraph("No figure of the descriptions differs.", "good"))
    if len(changes) > len(rows):
        parts.append(paragraph(f"{len(changes) - len(rows)} more: `robolin diff` lists them all."))
    torques = list(_torques(first, second))
    if torques:
        title = "Torques, each joint where it changes most"
        numbers = frozenset(_TORQUES) - {"joint", "unit"}
        parts.append(table(PageTable(title, _TORQUES, torques, numbers, "margins")))
    return markup(*parts)


def _torques(first: ReportedArm, second: ReportedArm) -> Iterator[tuple[str, ...]]:
    """Joints that both arms have, where the torques of the same row differ most."""
    if isinstance(first.motion, RobolinError) or isinstance(second.motion, RobolinError):
        return
    old, new = first.motion.values["tau"], second.motion.values["tau"]
    for i, joint in enumerate(first.arm.joints):
        if joint.name not in second.arm.joint_names:
            continue
        before, after = old[:, i], new[:, second.arm.joint_names.index(joint.name)]
        row = int(np.argmax(np.nan_to_num(np.abs(after - before))))
        pair, peak = (float(before[row]), float(after[row])), float(np.nanmax(np.abs(before)))
        change = pair[1] - pair[0]
        share = percent(change / peak) if peak else ""
        unit = joint_unit("effort", joint.turns)
        told = (
            distinguishing_digits(*pair) if change else (figure_cell(pair[0]), figure_cell(pair[1]))
        )
        yield shown_name(joint.name), str(row + 1), *told, unit, f"{change:+.3g}", share
