"""Torques of a motion watched for limits: a running worst per joint, whatever the length."""

from __future__ import annotations

from dataclasses import replace

import click
import numpy as np

from robolin.analysis.limits import ClosestApproach, JointLimits
from robolin.cli.answer import Question, answer
from robolin.cli.flags.model_flags import Model
from robolin.cli.flags.output_flags import Output, standard_output
from robolin.cli.flags.state_flags import State
from robolin.cli.motion import Values
from robolin.cli.reports.limits_report import csv_part, document, parts, unlimited
from robolin.cli.reports.report import Report
from robolin.results.result import Result, ResultStream

EXCEEDED = 1


def answer_with_limits(question: Question, model: Model, state: State, out: Output) -> None:
    """Compute the torques, write them if there is a file for them, and show the margins."""
    arm = model.arm()
    approach = ClosestApproach(arm)

    def watch(values: Values, part: Result) -> None:
        tau = np.atleast_2d(part.arrays[0].values)
        q, qd = (
            np.broadcast_to(np.atleast_2d(values.get(name, np.zeros(arm.n))), tau.shape)
            for name in ("q", "qd")
        )
        approach.add(q, qd, tau, part.time)

    # the form asked for is that of the margins; the extension says that of the torques
    torques = replace(out, form=None) if out.path else replace(out, form="csv", taker=_passed_by)
    answer(replace(question, watch=watch), model, state, torques, arm)
    found = approach.found()
    _show(found, out, state.trajectory is None)
    if found.exceeded:
        click.get_current_context().exit(EXCEEDED)


def _passed_by(_: Output, result: Result | ResultStream) -> None:
    """Let every part of the answer come and go."""
    if isinstance(result, ResultStream):
        for _part in result.parts:
            pass


def _show(found: JointLimits, out: Output, one_state: bool) -> None:
    form = out.form or ("table" if standard_output().isatty() else "csv")
    if form == "csv":
        # a table says it itself
        out.note(*unlimited(found))
    shown = csv_part(found) if form == "csv" else parts(found, out.precision, one_state)
    Report(None, "json" if form == "json" else "table", out.color).write(shown, document(found))
