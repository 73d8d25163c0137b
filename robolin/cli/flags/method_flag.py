"""The flag that picks an algorithm, for the verbs that have more than one."""

from __future__ import annotations

from collections.abc import Sequence

import click

from robolin.answering.verbs import METHODS, WAYS
from robolin.cli.flags.flag import METHOD, flag

_TEXT = (
    "Recursions over the links without any mass matrix (operator), or the mass matrix and "
    "elimination (conventional); auto takes the first unless joints mimic each other."
)


def _method(methods: Sequence[str], text: str) -> click.Option:
    return flag(
        "--method",
        section=METHOD,
        type=click.Choice(methods),
        default="auto",
        show_default=True,
        help=text,
    )


METHOD_FLAG = _method(METHODS, _TEXT)
FORWARD_METHOD_FLAG = _method(
    METHODS + WAYS,
    f"{_TEXT}  The recursions come in four ways that agree: bias torques first (a, bias-free), "
    "with the links' accelerations (b, bias-free-links), bias forces of the links first "
    "(c, three-sweeps), and all biases on the way (d, operator).",
)
