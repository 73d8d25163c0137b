"""Torques of a motion watched for limits: a running worst per joint, whatever the length."""

from __future__ import annotations

from dataclasses import replace

import click
import numpy as np

from robolin.analysis.limits import ClosestApproach, JointLimits
from robolin.cli.flags.output_flags import Output, standard_output
from robolin.cli.output.limits_report import (
    csv_section,
    limits_document,
    limits_sections,
    unlimited,
)
from robolin.cli.output.report import Report
from robolin.cli.query_command import respond
from robolin.core.results.result import Result, ResultStream
from robolin.errors import FOUND_SOMETHING
from robolin.queries.request import Inquiry
from robolin.queries.values import Values


def respond_with_limits(inquiry: Inquiry, out: Output) -> None:
    """Compute the torques, write them if there is a file for them, and show the margins."""
    arm = inquiry.source.arm()
    approach = ClosestApproach(arm)

    def watch(values: Values, part: Result) -> None:
        tau = np.atleast_2d(part.arrays[0].values)
        q, qd = (
            np.broadcast_to(np.atleast_2d(values.get(name, np.zeros(arm.n))), tau.shape)
            for name in ("q", "qd")
        )
        approach.add(q, qd, tau, part.time)

    # the form asked for is that of the margins; the extension says that of the torques
    if out.path:
        respond(inquiry, replace(out, form=None), arm=arm, watch=watch)
    else:
        respond(inquiry, replace(out, form="csv"), _passed_by, arm=arm, watch=watch)
    found = approach.found()
    _show(found, out, inquiry.states.trajectory is None)
    if found.exceeded:
        click.get_current_context().exit(FOUND_SOMETHING)


def _passed_by(answer: Result | ResultStream) -> None:
    """Let every part of the answer come and go."""
    if isinstance(answer, ResultStream):
        for _part in answer.parts:
            pass


def _show(found: JointLimits, out: Output, one_state: bool) -> None:
    form = out.form or ("table" if standard_output().isatty() else "csv")
    if form == "csv":
        # a table says it itself
        out.note(*unlimited(found))
    shown = (
        csv_section(found) if form == "csv" else limits_sections(found, out.precision, one_state)
    )
    Report(None, "json" if form == "json" else "table", out.color).write(
        shown, limits_document(found)
    )
