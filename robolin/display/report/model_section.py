"""Report section with the linear model: open-loop poles, and matrices at one time."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from robolin.control.poles import UNSTABLE
from robolin.core.natural_scales import ROUNDING
from robolin.core.units import unit_of
from robolin.display.plots.panels import Rounding
from robolin.display.report.motion_section import refusal
from robolin.display.report.page_markup import (
    PageFigures,
    PageTable,
    figure_cell,
    filled,
    markup,
    paragraph,
    shown_name,
    table,
)
from robolin.display.report.reported_arm import ReportedArm
from robolin.display.report.reported_motion import ReportedModel, ReportedMotion, states_of
from robolin.errors import RobolinError

# larger matrices do not fit on a page without scripts
MOST_STATES = 24


def model_section(arms: Sequence[ReportedArm], figures: PageFigures) -> tuple[str, list[Any]]:
    """Models of all robots, and the script data of each."""
    parts, data = [], []
    for each in arms:
        if isinstance(each.model, RobolinError) or isinstance(each.motion, RobolinError):
            why = each.model if isinstance(each.model, RobolinError) else each.motion
            assert isinstance(why, RobolinError), "one of them is missing"
            parts.append(markup(paragraph(refusal(each.name, why))))
            continue
        data.append(_numbers(each.model, each.motion, figures))
        parts.append(_part(each.name, each.model, each.motion, figures, data))
    return "\n".join(parts), data


def _numbers(model: ReportedModel, motion: ReportedMotion, figures: PageFigures) -> dict[str, Any]:
    """Times, poles and matrices, as indices of the page's arrays."""
    matrices, numbers = states_of(model), figures.numbers
    return {
        "times": numbers.add(motion.time[model.rows]),
        "chosen": numbers.add(motion.time[model.rows[model.chosen]]),
        "real": numbers.add(model.poles.real),
        "imaginary": numbers.add(model.poles.imag),
        "poles": model.poles.shape[-1],
        "matrices": numbers.add(matrices),
        "states": matrices.shape[-2],
        "columns": matrices.shape[-1],
    }


def _part(
    name: str,
    model: ReportedModel,
    motion: ReportedMotion,
    figures: PageFigures,
    data: list[Any],
) -> str:
    own = data[-1]
    figures.drawn.append(
        {
            "x": own["times"],
            "repeat": own["poles"],
            "series": [{"label": "real part", "y": own["real"]}],
            "points": True,
            "unit": unit_of("poles", ()),
            **_reach(model),
        }
    )
    caption = f"Real parts of all open-loop poles at {len(model.rows)} of {motion.rows} rows."
    return filled(
        "model.html",
        number=str(len(data) - 1),
        name=escape(shown_name(name)),
        summary=markup(paragraph(_summary(model))),
        figure=str(len(figures.drawn) - 1),
        caption=caption,
        told=f"Matrices at the first of {len(model.chosen)} instants on this page.",
        matrices=_matrices(model),
    )


def _reach(model: ReportedModel) -> dict[str, float]:
    """Scale of the plot, if the real parts of the poles are only round-off."""
    rounding = Rounding(float(np.abs(model.poles).max(initial=0.0)), ROUNDING)
    covered = rounding.covers(float(np.abs(model.poles.real).max(initial=0.0)))
    return {"reach": rounding.reference} if covered else {}


def _summary(model: ReportedModel) -> str:
    """Stability of the open loop; a controller of the motion is not included."""
    growing = (model.stability == UNSTABLE).sum(axis=-1)
    fastest = float(model.poles.real.max())
    most = int(growing.max())
    if most:
        text = (
            f"up to {most} of {model.poles.shape[-1]} poles grow, in "
            f"{int((growing > 0).sum())} of {len(growing)} instants; the fastest at {fastest:.4g}/s"
        )
    else:
        text = f"no pole grows at any instant; the largest real part is {fastest:.4g}/s"
    return (
        f"Open loop, the arm with its torques held at those of the motion: {text}. Feedback is "
        "not included: with the gains of a regulator, `robolin lqr` lists the closed-loop poles."
    )


def _matrices(model: ReportedModel) -> str:
    """A and B at the first time; the script shows those at other times."""
    system = model.model
    if len(system.states) > MOST_STATES:
        text = f"A and B have {len(system.states)} rows: `robolin state-space` writes them."
        return markup(paragraph(text))
    columns = [*system.states, *system.inputs]
    header = ("d/dt of", *map(shown_name, columns))
    first = np.concatenate([system.A[0], system.B[0]], axis=-1)
    rows = [
        (shown_name(state), *map(figure_cell, map(float, row)))
        for state, row in zip(system.states, first, strict=True)
    ]
    title = "A and B: change of each state per change of states and torques"
    return markup(table(PageTable(title, header, rows, frozenset(header[1:]), "model")))
