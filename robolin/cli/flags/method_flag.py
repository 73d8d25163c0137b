"""The flag that picks an algorithm, for the verbs that have more than one."""

from __future__ import annotations

from collections.abc import Sequence

import click

from robolin.cli.flags.flag import METHOD, flag
from robolin.evaluation.methods import COMMON_METHODS, FORWARD_METHODS, about_auto

_TEXT = (
    "Recursions over the links without any mass matrix (operator), or the mass matrix and "
    "elimination (conventional); "
)


def _method(methods: Sequence[str], text: str, metavar: str | None = None) -> click.Option:
    return flag(
        "--method",
        section=METHOD,
        type=click.Choice(methods),
        metavar=metavar,
        default="auto",
        show_default=True,
        help=text,
    )


METHOD_FLAG = _method(COMMON_METHODS, _TEXT + about_auto("linearize-forward", "perturb-forward"))
FORWARD_METHOD_FLAG = _method(
    COMMON_METHODS + FORWARD_METHODS,
    f"{_TEXT}{about_auto('forward')}  The recursions come in four ways that agree: "
    "bias torques first (a, bias-free), with the links' accelerations (b, bias-free-links), "
    "bias forces of the links first (c, three-sweeps), and all biases on the way (d, operator); "
    "and in two more: c with the accelerations of links and tip (three-sweeps-links), and biases "
    "gathered before velocities are known (two-sweeps).",
    metavar="METHOD",
)
