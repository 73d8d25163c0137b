"""What a page says of closed loops: how well they are met, and what they bear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.text import counted
from robolin.core.units import joint_unit
from robolin.display.report.page_figures import PageFigures, curve_figure
from robolin.display.report.page_markup import (
    PageTable,
    element,
    figure_cell,
    paragraph,
    shown_name,
    table,
)
from robolin.display.report.reported_arm import ReportedArm
from robolin.display.report.reported_motion import ReportedClosures, ReportedMotion

# forces come of a solution whose terms cancel, of which rounding leaves far less than this
FORCE_ROUNDING = 1e-10


def closure_words(told: ReportedArm, motion: ReportedMotion) -> Iterator[Element]:
    """Which torques these are, how many motions are free, and how open the closures stand."""
    closures = motion.closures
    if closures is None:
        return
    if motion.contract.get("torque") == "given":
        yield paragraph("Torques are those of the recording; closures bear the rest.")
    else:
        yield paragraph(
            "Joints of closed loops can share torques in many ways. These are those of the open "
            "tree, with a motor at every joint, so that closures bear nothing."
        )
    yield paragraph(_openness(told, closures))
    if motion.rows > 1:
        idle = [closures.names[i] for i in np.flatnonzero(~_borne(motion, closures))]
        if idle:
            yield paragraph(f"Nothing but rounding: {', '.join(map(shown_name, idle))}.")
    else:
        title = "What the closures bear: force on the first frame, in world axes"
        rows = [
            (shown_name(name), figure_cell(float(force)), _unit(name))
            for name, force in zip(closures.names, closures.forces[0], strict=True)
        ]
        yield table(PageTable(title, ("closure", "force", "unit"), rows, frozenset({"force"})))


def _openness(told: ReportedArm, closures: ReportedClosures) -> str:
    """How many equations are independent, and how far they are from being met."""
    ranks = np.unique(closures.rank)
    kept = " to ".join(str(rank) for rank in dict.fromkeys((ranks[0], ranks[-1])))
    free = " to ".join(str(told.arm.n - rank) for rank in dict.fromkeys((ranks[-1], ranks[0])))
    worst = np.nan_to_num(closures.open_by)
    row = int(np.argmax(worst))
    return (
        f"{counted(len(told.arm.loops), 'closure')}: {kept} of {len(closures.names)} equations are "
        f"independent, which leaves {free} of {told.arm.n} motions free; they stand open by at "
        f"most {worst[row]:.2g} m or rad, in row {row + 1}."
    )


def closure_figures(arms: Sequence[ReportedMotion], figures: PageFigures) -> Iterator[Element]:
    """One figure for every force that is more than rounding."""
    for motion in arms:
        if motion.closures is not None and motion.rows > 1:
            for i in np.flatnonzero(_borne(motion, motion.closures)):
                name, force = motion.closures.names[i], motion.closures.forces[:, i]
                told = f": what the closure bears, in {_unit(name)}; "
                caption: list[Element | str] = [element("bdi", shown_name(name)), told]
                curves = {"value": force}
                yield curve_figure(motion.time, curves, caption, figures, unit=_unit(name))


def _borne(motion: ReportedMotion, closures: ReportedClosures) -> Numbers:
    """(equations,): whether a force is more than what rounding leaves of all forces and torques."""
    sizes = np.abs(np.nan_to_num(closures.forces)).max(axis=0)
    weight = motion.scales.of_unit(joint_unit("effort", turns=False))
    largest = max(sizes.max(), np.abs(np.nan_to_num(motion.values["tau"])).max(), weight)
    borne: Numbers = sizes > FORCE_ROUNDING * largest
    return borne


def _unit(name: str) -> str:
    """Equations end in the component of a force or a moment."""
    return joint_unit("effort", turns=not name.rpartition("/")[2].startswith("f"))
