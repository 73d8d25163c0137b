"""Report sections with the motion (margins, torques, condition number) and the linear model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from robolin.control.poles import UNSTABLE
from robolin.core.arm_parts import Joint
from robolin.core.arrays import Floats, Numbers
from robolin.core.natural_scales import ROUNDING
from robolin.core.quantity_table import joint_unit, unit_of
from robolin.core.records import dataclass
from robolin.core.text import pluralize
from robolin.display.plots.panels import (
    BEYOND_LIMIT,
    Bounds,
    Event,
    Rounding,
    array_rounding,
    events_of,
    utilization,
)
from robolin.display.report.arm_section import float32_digits, views
from robolin.display.report.page_markup import (
    PagePlots,
    PageTable,
    cell_text,
    curve_figure,
    element,
    figure_cell,
    filled,
    markup,
    paragraph,
    range_cell,
    shown_name,
    table,
)
from robolin.display.report.reported_arm import ReportedArm
from robolin.display.report.reported_motion import (
    ReportedClosures,
    ReportedModel,
    ReportedMotion,
    states_of,
)
from robolin.display.report.visuals import Visuals
from robolin.errors import RobolinError


def motion_section(
    arms: Sequence[ReportedArm], visuals: Sequence[Visuals], figures: PagePlots
) -> str:
    """Robots to the left, curves to the right; robots without torques show the reason."""
    refused = [
        paragraph(refusal(each.name, each.motion))
        for each in arms
        if isinstance(each.motion, RobolinError)
    ]
    known = [each for each in arms if not isinstance(each.motion, RobolinError)]
    curves = [*_torques(known, figures), *_conditions(known, figures)]
    curves += constraint_curves([_motion_of(each) for each in known], figures)
    several = len(arms) > 1
    tables = [
        element("div", *_tables(each, number, several))
        for number, each in enumerate(arms)
        if each in known
    ]
    layout = "stage" if curves and not several else "side"
    plots = [_scale_switch(), element("div", *curves, class_="plots")] if curves else []
    if curves or several:
        summary = element("summary", "Show numbers")
        numbers = element("details", summary, element("div", *tables, class_="side"))
        column, below = [*refused, *plots], [numbers]
    else:
        column, below = [*refused, *tables], []
    right = markup(element("div", *column)) if column else ""
    return f'<div class="{layout}">\n{views(arms, visuals)}\n{right}\n</div>\n{markup(*below)}'


def _scale_switch() -> Element:
    """Switch between one scale per unit and one scale per plot, for the script."""
    box = element("input", type="checkbox", checked="", data_do="scales")
    return element("p", element("label", box, " one scale per unit"), class_="scales", hidden="")


def refusal(name: str, error: RobolinError) -> str:
    """The reason why nothing is shown for a robot, and the hint."""
    hint = f" ({cell_text(error.hint)})" if error.hint else ""
    return f"{shown_name(name)}: {cell_text(error.message)}{hint}."


def _motion_of(reported: ReportedArm) -> ReportedMotion:
    assert not isinstance(reported.motion, RobolinError), "the robot has torques"
    return reported.motion


def _tables(reported: ReportedArm, number: int, several: bool) -> list[Element]:
    motion, arm = _motion_of(reported), reported.arm
    of = f" of {shown_name(reported.name)}" if several else ""
    shown: list[Element] = list(closure_paragraphs(reported, motion))
    header = ("joint", "position", "velocity", "torque", "limit")
    values = (motion.values[name][0] for name in ("q", "qd", "tau"))
    now = [
        (
            shown_name(joint.name),
            *map(figure_cell, map(float, row)),
            range_cell(joint.limits.efforts),
        )
        for joint, *row in zip(arm.joints, *values, strict=True)
    ]
    title = f"State at this time{of}, in SI units"
    shown.append(table(PageTable(title, header, now, frozenset(header[1:]), f"instant-{number}")))
    return shown


def _torques(arms: Sequence[ReportedArm], figures: PagePlots) -> Iterator[Element]:
    """One plot per joint with the torques of every robot that has it, and its limits.

    The joint nearest to its limit comes first; plots of one unit share a scale.
    """
    if not arms or _motion_of(arms[0]).rows < 2:
        return
    motion = _motion_of(arms[0])
    plots = []
    for index, joint in enumerate(arms[0].arm.joints):
        curves = {_label(arms, 0): motion.values["tau"][:, index]}
        for i, other in enumerate(arms[1:], start=1):
            if joint.name in other.arm.joint_names:
                column = other.arm.joint_names.index(joint.name)
                curves[_label(arms, i)] = _motion_of(other).values["tau"][:, column]
        limits = _efforts(arms, joint.name)
        plots.append(_TorquePlot(joint, curves, limits, motion.time))
    plots.sort(key=lambda plot: -plot.share)
    for plot in plots:
        unit = _unit(plot.joint)
        caption: list[Element | str] = [
            element("bdi", shown_name(plot.joint.name)),
            f": torque in {unit}{_limits_text(plot.limits)}; ",
        ]
        yield curve_figure(
            motion.time,
            plot.curves,
            caption,
            figures,
            rounding=array_rounding("tau", unit, plot.values, motion.scales),
            unit=unit,
            limits=plot.limits,
            shared=_shared_scale([each for each in plots if _unit(each.joint) == unit]),
            beyond=[[each.start, each.end] for each in plot.exceeded],
        )


@dataclass(frozen=True, eq=False)
class _TorquePlot:
    """Torques of one joint: curves of all robots, and limits in both directions."""

    joint: Joint
    curves: dict[str, Floats]
    limits: list[float]
    time: Floats

    @property
    def values(self) -> Floats:
        return np.concatenate(list(self.curves.values()))

    @property
    def share(self) -> float:
        """Largest utilization of the limits, 0 without limits."""
        fine = self.values[np.isfinite(self.values)]
        if not self.limits or not len(fine):
            return 0.0
        bounds = Bounds(self.limits[0], self.limits[-1])
        shares = [utilization(float(x), bounds) for x in (fine.min(), fine.max())]
        return max(share or 0.0 for share in shares)

    @property
    def exceeded(self) -> list[Event]:
        """Times at which a torque is beyond its limits."""
        if not self.limits:
            return []
        bounds = Bounds(self.limits[0], self.limits[-1])
        rows = [
            event
            for y in self.curves.values()
            if len(y) == len(self.time)
            for event in events_of(self.time, y[:, None], bounds)
        ]
        return [event for event in rows if event.kind == BEYOND_LIMIT]


# utilization from which a scale includes the limits
_NEAR_LIMIT = 0.5


def _shared_scale(plots: Sequence[_TorquePlot]) -> list[float]:
    """Lowest and highest value of all plots, with the limits of those that are near them."""
    values = np.concatenate([plot.values for plot in plots])
    values = values[np.isfinite(values)]
    near = [end for plot in plots if plot.share >= _NEAR_LIMIT for end in plot.limits]
    ends = [*near, *([float(values.min()), float(values.max())] if len(values) else [])]
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    room = 0.05 * ((high - low) or abs(high) or 1.0)
    return float32_digits([low - room, high + room])


def _conditions(arms: Sequence[ReportedArm], figures: PagePlots) -> Iterator[Element]:
    """cond(𝓜) of all robots in one plot; omitted for a single DoF."""
    if not arms or _motion_of(arms[0]).rows < 2:
        return
    if all((_motion_of(each).condition == 1.0).all() for each in arms):
        return
    curves = {_label(arms, i): _motion_of(each).condition for i, each in enumerate(arms)}
    closed = any(each.arm.loops for each in arms)
    of = "inertia for the motions that the constraints allow" if closed else "mass matrix"
    caption: list[Element | str] = [f"Condition number of the {of}; "]
    yield curve_figure(_motion_of(arms[0]).time, curves, caption, figures, unit="1", log=True)


def _efforts(arms: Sequence[ReportedArm], name: str) -> list[float]:
    """Torque limits of a joint in both directions, of all robots."""
    return sorted(
        {
            effort
            for each in arms
            for joint in each.arm.joints
            if joint.name == name and joint.limits.effort is not None
            for effort in joint.limits.effort_range
        }
    )


def _limits_text(limits: Sequence[float]) -> str:
    return f", limits {' and '.join(map(figure_cell, limits))}" if limits else ""


def _label(arms: Sequence[ReportedArm], number: int) -> str:
    return "value" if len(arms) == 1 else ("first", "second")[number]


def _unit(joint: Joint) -> str:
    return joint_unit("effort", joint.turns)


# relative round-off of forces, which are a solution with cancelling terms
FORCE_ROUNDING = 1e-10


def closure_paragraphs(reported: ReportedArm, motion: ReportedMotion) -> Iterator[Element]:
    """Kind of torques, number of free motions, and constraint violation."""
    closures = motion.closures
    if closures is None:
        return
    if motion.contract.get("torque") == "given":
        yield paragraph(
            "The torques come from the recording; constraint forces balance the remaining load."
        )
    else:
        yield paragraph(
            "The torques of a closed-loop mechanism are not unique. These are the torques of the "
            "open tree with a motor at every joint, so that all constraint forces are 0."
        )
    yield paragraph(_violation(reported, closures))
    if motion.rows > 1:
        idle = [closures.names[i] for i in np.flatnonzero(~_significant_forces(motion, closures))]
        if idle:
            yield paragraph(
                "Constraint forces that are zero within round-off: "
                f"{', '.join(map(shown_name, idle))}."
            )
    else:
        title = "Constraint forces on the first frame, in world axes"
        rows = [
            (shown_name(name), figure_cell(float(force)), _force_unit(name))
            for name, force in zip(closures.names, closures.forces[0], strict=True)
        ]
        yield table(PageTable(title, ("closure", "force", "unit"), rows, frozenset({"force"})))


def _violation(reported: ReportedArm, closures: ReportedClosures) -> str:
    """Number of independent constraint equations, and their violation."""
    ranks = np.unique(closures.rank)
    independent = " to ".join(str(rank) for rank in dict.fromkeys((ranks[0], ranks[-1])))
    free = " to ".join(str(reported.arm.n - rank) for rank in dict.fromkeys((ranks[-1], ranks[0])))
    worst = np.nan_to_num(closures.open_by)
    row = int(np.argmax(worst))
    return (
        f"{pluralize(len(reported.arm.loops), 'closed loop')}: {independent} of "
        f"{len(closures.names)} equations are independent, which leaves {free} of {reported.arm.n} "
        f"degrees of freedom; constraint violation at most {worst[row]:.2g} m or rad, "
        f"in row {row + 1}."
    )


def constraint_curves(arms: Sequence[ReportedMotion], figures: PagePlots) -> Iterator[Element]:
    """One plot for every constraint force above round-off."""
    for motion in arms:
        if motion.closures is not None and motion.rows > 1:
            for i in np.flatnonzero(_significant_forces(motion, motion.closures)):
                name, force = motion.closures.names[i], motion.closures.forces[:, i]
                text = f": constraint force in {_force_unit(name)}; "
                caption: list[Element | str] = [element("bdi", shown_name(name)), text]
                curves = {"value": force}
                yield curve_figure(motion.time, curves, caption, figures, unit=_force_unit(name))


def _significant_forces(motion: ReportedMotion, closures: ReportedClosures) -> Numbers:
    """(equations,): True if a force exceeds the round-off of all forces and torques."""
    sizes = np.abs(np.nan_to_num(closures.forces)).max(axis=0)
    weight = motion.scales.of_unit(joint_unit("effort", turns=False))
    largest = max(sizes.max(), np.abs(np.nan_to_num(motion.values["tau"])).max(), weight)
    borne: Numbers = sizes > FORCE_ROUNDING * largest
    return borne


def _force_unit(name: str) -> str:
    """Unit of an equation from its component: force or moment."""
    return joint_unit("effort", turns=not name.rpartition("/")[2].startswith("f"))


# larger matrices do not fit on a page without scripts
MOST_STATES = 24


def model_section(arms: Sequence[ReportedArm], figures: PagePlots) -> tuple[str, list[Any]]:
    """Models of all robots, and the script data of each."""
    parts, data = [], []
    for each in arms:
        if isinstance(each.model, RobolinError) or isinstance(each.motion, RobolinError):
            why = each.model if isinstance(each.model, RobolinError) else each.motion
            assert isinstance(why, RobolinError), "the model or the motion is missing"
            parts.append(markup(paragraph(refusal(each.name, why))))
            continue
        data.append(_numbers(each.model, each.motion, figures))
        parts.append(_part(each.name, each.model, each.motion, figures, data))
    return "\n".join(parts), data


def _numbers(model: ReportedModel, motion: ReportedMotion, figures: PagePlots) -> dict[str, Any]:
    """Times, poles and matrices, as indices of the page's arrays."""
    matrices, numbers = states_of(model), figures.numbers
    return {
        "times": numbers.add(motion.time[model.rows], exact=True),
        "chosen": numbers.add(motion.time[model.rows[model.chosen]], exact=True),
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
    figures: PagePlots,
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
        now=f"Matrices at the first of {len(model.chosen)} stored times.",
        matrices=_matrices(model),
    )


def _reach(model: ReportedModel) -> dict[str, float]:
    """Scale of the plot, if the real parts of the poles are only round-off."""
    rounding = Rounding(float(np.abs(model.poles).max(initial=0.0)), ROUNDING)
    covered = rounding.covers(float(np.abs(model.poles.real).max(initial=0.0)))
    return {"reach": rounding.reference} if covered else {}


def _summary(model: ReportedModel) -> str:
    """Stability of the open loop; a controller of the motion is not included."""
    unstable = (model.stability == UNSTABLE).sum(axis=-1)
    fastest = float(model.poles.real.max())
    least, most, rows = int(unstable.min()), int(unstable.max()), len(unstable)
    if most:
        count = f"{most}" if least == most else f"{least} to {most}"
        some = (
            f"; {int((unstable > 0).sum())} of {rows} rows have unstable poles"
            if least == 0
            else ""
        )
        text = (
            f"{count} of {model.poles.shape[-1]} poles are unstable"
            f"{f' in all {rows} rows' if rows > 1 and least else some}; "
            f"the largest real part is {fastest:.4g} 1/s"
        )
    else:
        text = f"no pole is unstable at any time; the largest real part is {fastest:.4g} 1/s"
    return (
        f"Open loop, with the torques of the motion held constant: {text}. Feedback is not "
        "included: `robolin lqr` lists the closed-loop poles of a regulator."
    )


def _matrices(model: ReportedModel) -> str:
    """A and B at the first time; the script shows those at other times."""
    system = model.model
    if len(system.states) > MOST_STATES:
        text = (
            f"A and B have {len(system.states)} rows; use `robolin state-space` to write A and B."
        )
        return markup(paragraph(text))
    columns = [*system.states, *system.inputs]
    header = ("d/dt of", *map(shown_name, columns))
    first = np.concatenate([system.A[0], system.B[0]], axis=-1)
    rows = [
        (shown_name(state), *map(figure_cell, map(float, row)))
        for state, row in zip(system.states, first, strict=True)
    ]
    title = "A and B: rate of change of each state per unit change of the states and torques"
    matrices = table(PageTable(title, header, rows, frozenset(header[1:]), "model"))
    return markup(element("details", element("summary", "Show A and B"), matrices))
