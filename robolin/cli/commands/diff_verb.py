"""robolin diff: differences between two models, and their effect on the torques."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import (
    METHOD,
    RobotFile,
    VerbCommand,
    explicit_options,
    flag,
    validated_path,
)
from robolin.cli.flags.model_flags import XACRO_FLAGS, sources_with_options
from robolin.cli.flags.state_flags import READING_FLAGS
from robolin.cli.main import say
from robolin.cli.output.report import ALL_FLAG, DIFF_EXTENSIONS, DIFF_FORMS, report_flags
from robolin.errors import FOUND_SOMETHING, UsageError
from robolin.queries.option_specs import READ_OPTIONS, check_conflicts, read_options

if TYPE_CHECKING:
    from robolin.analysis.torque_changes import TorqueChange
    from robolin.description.building.option_texts import ModelOptions

_PARAMS = [
    RobotFile(["old"], metavar="ARM1"),
    RobotFile(["new"], metavar="ARM2"),
    flag("--torques FILE", METHOD, "Also compare the torques along this trajectory"),
    *READING_FLAGS,
    *XACRO_FLAGS,
    *report_flags("Write to a .txt, .md, .csv or .json file", DIFF_FORMS),
    ALL_FLAG,
]


@click.command("diff", cls=VerbCommand, params=_PARAMS)
def command(
    old: str,
    new: str,
    torques: str | None,
    xacro_arg: tuple[str, ...],
    package: tuple[str, ...],
    path: str | None,
    form: str | None,
    color: str,
    everything: bool,
    **_: Any,
) -> None:
    """Compare two robot models.

    Lists links and joints that were added, removed or renamed, and changes of masses, centres
    of mass, inertias, origins, axes, limits, damping, friction and named poses, from ARM1 to ARM2.
    A part is renamed if a part of another name has equal values.
    Exits with 1 if the models differ.

    \b
    Examples:
      robolin diff arm.urdf arm-new.urdf
      robolin diff panda panda
      robolin diff arm.urdf arm-new.urdf --format markdown
      robolin diff arm.urdf arm-new.urdf --torques motion.csv -o changes.md
    """
    from robolin.checking.model_changes import model_changes, pose_changes
    from robolin.cli.output.diff_report import write_diff_report
    from robolin.cli.output.report import reports_for
    from robolin.description.load import description_of
    from robolin.description.model import figures_of

    ctx = click.get_current_context()
    reports = reports_for(path, form, color, DIFF_EXTENSIONS, everything)
    if torques is not None and "csv" in (report.form for report in reports):
        hint = "use --format table, markdown or json"
        raise UsageError("cannot be written as CSV", where="--torques", hint=hint)
    arms = sources_with_options((old, new), xacro_arg, package)
    before, after = (description_of(*arm) for arm in arms)
    changes = model_changes(figures_of(before), figures_of(after))
    changes += pose_changes(before, after, changes)
    options = {
        label: value for label, value in explicit_options(ctx).items() if label in READ_OPTIONS
    }
    given = options if torques is None else {**options, "torques": torques}
    check_conflicts(read_options("torques"), given)
    effects = None if torques is None else _torques(arms, validated_path(torques), options)
    for report in reports:
        write_diff_report(report, (old, new), changes, effects)
    if changes or any(each.change for each in effects or ()):
        ctx.exit(FOUND_SOMETHING)


def _torques(
    named: list[tuple[str, ModelOptions]], path: str, options: Mapping[str, Any]
) -> tuple[TorqueChange, ...]:
    import numpy as np

    from robolin.analysis.torque_changes import torque_changes
    from robolin.description.load import load_with
    from robolin.io.trajectories.column_rules import read_options_from
    from robolin.io.trajectories.read import read_trajectory
    from robolin.queries.option_files import plain_options

    arms = [load_with(*each) for each in named]
    rules = read_options_from(arms[0], plain_options(options))
    rows = read_trajectory(path, arms[0].joint_names, ("q",), ("qd", "qdd"), rules)
    file = PurePath(path).name
    for note in rows.notes:
        say("note", f"{file}: {note}")
    for name, word in (("qd", "velocity"), ("qdd", "acceleration")):
        if getattr(rows, name) is None:
            say("warning", f"{file}: no {word} columns, 0 is assumed")
    zero = np.zeros((rows.rows, arms[0].n))
    q, qd, qdd = (zero if (v := getattr(rows, n)) is None else v for n in ("q", "qd", "qdd"))
    return torque_changes(arms[0], arms[1], q, qd, qdd)
