"""Report about an identification: errors, torques, parameters, and what the motion determines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

import numpy as np

from robolin.analysis.identify.deviations import BY_FILE, WELL
from robolin.analysis.identify.identification_result import Identification
from robolin.core.arm import Arm
from robolin.core.arm_parameters import OF_LINK
from robolin.core.arrays import Floats
from robolin.core.notebook import ROUNDED_ZERO
from robolin.core.quantity_table import joint_unit
from robolin.core.text import pluralize
from robolin.display.plots.result_panels import held_out_time
from robolin.display.report.page_markup import (
    PageNumbers,
    PagePlots,
    PageTable,
    cell_text,
    contract_table,
    curve_figure,
    element,
    figure_cell,
    markup,
    paragraph,
    shown_name,
    table,
)
from robolin.display.report.report_page import KeyNumber, Section, assembled_page, number_cards
from robolin.display.terminal.numbers import OF_THE_TABLE

_OF_JOINT = ("damping", "friction", "armature", "offset")
_LEVELS = 5
# colours of the style sheet
_LINES = {"measured": "body-dark", "file": "first", "identified": "second"}


def identification_page(name: str, arm: Arm, result: Identification) -> str:
    """Report page about an identification of a robot file.

    name: of the robot file
    arm:  as the file has it
    """
    figures = PagePlots(PageNumbers())
    sections = [
        Section("summary", "Summary", _summary(arm, result)),
        Section("torques", "Measured and predicted torques", _torques(arm, result, figures)),
        Section("determined", "Parameters that the motion determines", _determined(result)),
        Section("parameters", "Parameters", markup(_parameters(arm, result))),
        Section("settings", "Recordings and settings", markup(*_settings(result))),
        Section(
            "assumptions",
            "Model assumptions",
            markup(contract_table(["identified"], [result.arm.contract])),
        ),
    ]
    data = {
        "clock": "s",
        "frames": None,
        "arms": [],
        "models": [],
        "figures": figures.drawn,
        "count": figures.numbers.count,
        "arrays": figures.numbers.texts,
    }
    title = f"Identification of {shown_name(name)}"
    return assembled_page(title, f"Recordings: {result.settings['recordings']}.", sections, data, 0)


def _summary(arm: Arm, result: Identification) -> str:
    first, last = result.stages[0].score.headline, result.stages[-1].score.headline
    fallen = result.improves
    verdict = (
        f"Error on held-out rows: {_percent(first)} with the robot file, {_percent(last)} "
        "with the identified parameters."
    )
    alone, sums, by_file = result.determined
    cards = [
        KeyNumber(
            "Error with the robot file",
            _percent(first),
            "relative to the measured torques, in held-out rows with motion",
        ),
        KeyNumber(
            "Error with the identified parameters",
            _percent(last),
            "same rows",
            "within" if fallen else "over",
        ),
        KeyNumber("Determined by the data", str(alone), f"of {len(result.names)} parameters"),
        KeyNumber("Determined only in linear combinations", str(sums), "parameters"),
        KeyNumber("Not determined by the data", str(by_file), "parameters"),
    ]
    header = ("joint", *(stage.name for stage in result.stages), "all rows", "v0")
    rows = [
        (
            shown_name(joint),
            *(_percent(stage.score.moving[j]) for stage in result.stages),
            _percent(result.stages[-1].score.all_rows[j]),
            f"{result.friction_velocity[j]:g}",
        )
        for j, joint in enumerate(arm.joint_names)
    ]
    title = "Error of every stage: RMS(measured − predicted) / RMS(measured) on held-out rows"
    return markup(
        paragraph(verdict, f"{'good' if fallen else 'bad'} verdict"),
        number_cards(cards),
        *(paragraph(f"{cell_text(each)}") for each in result.findings),
        table(PageTable(title, header, rows, frozenset(header[1:]))),
    )


def _torques(arm: Arm, result: Identification, figures: PagePlots) -> str:
    """Torques of every joint, then residuals with the file and identified."""
    before, after = result.measured - result.predicted_before, result.measured - result.predicted
    torques = {
        "measured": result.measured,
        "file": result.predicted_before,
        "identified": result.predicted,
    }
    residuals = {"file": before, "identified": after}
    return markup(
        paragraph("Smoothed torques of held-out rows, which the fit did not use.", "note"),
        element("div", *_curves(arm, result, torques, "torque", figures), class_="plots"),
        element("h3", "Residuals: measured minus predicted"),
        element("div", *_curves(arm, result, residuals, "residual", figures), class_="plots"),
    )


def _curves(
    arm: Arm, result: Identification, values: Mapping[str, Floats], what: str, figures: PagePlots
) -> Iterator[Element]:
    """One plot per joint, with the RMS of every curve."""
    time = held_out_time(result)
    for j, joint in enumerate(arm.joint_names):
        curves = {label: each[:, j] for label, each in values.items()}
        unit = joint_unit("effort", arm.joints[j].turns)
        sizes = ", ".join(f"{label} {_rms(y)}" for label, y in curves.items())
        caption: list[Element | str] = [
            element("bdi", shown_name(joint)),
            f": {what} in {unit}; RMS: {sizes}",
        ]
        lines = [_LINES[label] for label in curves]
        yield curve_figure(time, curves, caption, figures, extremes=False, unit=unit, lines=lines)


def _rms(values: Floats) -> str:
    return f"{float(np.sqrt(np.mean(values**2))):.3g}" if values.size else "–"


def _determined(result: Identification) -> str:
    """Share of every parameter, as a coloured table per kind of owner."""
    shares = dict(zip(result.names, result.share.tolist(), strict=True))
    text = (
        "The share (0 to 1) shows how much the recordings determine a parameter. "
        f"If the share is at least {WELL:g}, the recordings are much more precise than the robot "
        f"file. If the share is at most {BY_FILE:g}, the recordings have no information about the "
        "parameter: its value and deviation follow from the prior, which is the robot file "
        "with its assumed error. The value changes if other parameters of the link change. "
        "Between these shares, the value depends on the recordings and on the prior: compare "
        "predictions, not single values."
    )
    tables = [
        _share_table(title, kinds, shares)
        for title, kinds in (("Links", OF_LINK), ("Joints", _OF_JOINT))
    ]
    return markup(paragraph(text, "note"), element("div", *tables, class_="side"))


def _share_table(title: str, kinds: tuple[str, ...], shares: Mapping[str, float]) -> Element:
    split = {name: name.rpartition("/")[::2] for name in shares}
    owners = dict.fromkeys(owner for owner, kind in split.values() if kind in kinds)
    head = element("tr", element("th", title), *(element("th", kind) for kind in kinds))
    rows = []
    for owner in owners:
        cells = [element("th", element("bdi", shown_name(owner)))]
        for kind in kinds:
            share = shares.get(f"{owner}/{kind}")
            level = 0 if share is None else min(int(share * _LEVELS), _LEVELS - 1)
            text = "" if share is None else f"{share:.2f}"
            cells.append(element("td", text, class_=f"share{level}"))
        rows.append(element("tr", *cells))
    caption = element("caption", f"Shares of {title.lower()}")
    body = element(
        "table", caption, element("thead", head), element("tbody", *rows), class_="numbers"
    )
    label = f"Table: shares of {title.lower()}"
    return element("div", body, class_="table", tabindex="0", role="region", aria_label=label)


def _parameters(arm: Arm, result: Identification) -> Element:
    header = ("parameter", "unit", "file", "identified", "deviation", "share", "determined by")
    rows = [
        (shown_name(name), _unit(arm, name), *texts, f"{share:.2f}", _source(float(share)))
        for name, texts, share in zip(
            result.names, parameter_texts(result, 6), result.share, strict=True
        )
    ]
    title = "Identified parameters; inertias are about the origin of the link, in its axes"
    return table(PageTable(title, header, rows, frozenset(header[2:6])))


def parameter_texts(result: Identification, digits: int) -> Iterator[tuple[str, str, str]]:
    """Value in the file, identified value and deviation; round-off of a unit is `~0`."""

    def text(value: float, noise: float, digits: int) -> str:
        return ROUNDED_ZERO if 0.0 < abs(value) < noise else figure_cell(value, digits)

    groups = [_group(name) for name in result.names]
    values = np.array([result.before, result.values])
    for j, group in enumerate(groups):
        same = [i for i, other in enumerate(groups) if other == group]
        noise = OF_THE_TABLE * float(np.nanmax(np.abs(values[:, same]), initial=0.0))
        before, value = (text(float(each), noise, digits) for each in values[:, j])
        yield before, value, text(float(result.deviations[j]), noise, 2)


def _group(name: str) -> str:
    """Parameters of one unit: moments of mass and of inertia have three and six components."""
    kind = name.rpartition("/")[2]
    return kind[0] if kind in OF_LINK and kind != "mass" else kind


def _source(share: float) -> str:
    return "data" if share >= WELL else "prior" if share <= BY_FILE else "both"


def _unit(arm: Arm, name: str) -> str:
    owner, _, kind = name.rpartition("/")
    if kind == "mass":
        return "kg"
    if kind in OF_LINK:
        return "kg·m" if kind.startswith("m") else "kg·m²"
    turns = next((link.joint.turns for link in arm.links if link.joint.name == owner), True)
    units = {"damping": ("N·m·s/rad", "N·s/m"), "armature": ("kg·m²", "kg")}
    return units.get(kind, ("N·m", "N"))[0 if turns else 1]


def _settings(result: Identification) -> Iterator[Element]:
    rows = [(name, cell_text(text)) for name, text in result.settings.items()]
    yield table(PageTable("Recordings and settings", ("setting", "value"), rows))
    for line in (*result.notes, *result.model_flags):
        yield paragraph(cell_text(line), "note")
    yield paragraph(f"The plots show {pluralize(len(result.time), 'held-out row')}.", "note")


def _percent(value: float) -> str:
    return "–" if value != value else f"{100.0 * value:.3g} %"
