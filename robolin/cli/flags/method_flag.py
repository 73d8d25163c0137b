"""The flag that picks an algorithm, for the verbs that have more than one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from robolin.cli.flags.flag import METHOD, Flag, Function
from robolin.evaluation.methods import COMMON_METHODS, FORWARD_METHODS, about_auto

_TEXT = (
    "Recursions over the links without any mass matrix (operator), or the mass matrix and "
    "elimination (conventional); "
)


def _option(methods: Sequence[str], text: str) -> Callable[[Function], Function]:
    return click.option(
        "--method",
        cls=Flag,
        section=METHOD,
        type=click.Choice(methods),
        default="auto",
        show_default=True,
        help=text,
    )


method_option = _option(COMMON_METHODS, _TEXT + about_auto("linearize-forward", "perturb-forward"))
forward_method_option = _option(
    COMMON_METHODS + FORWARD_METHODS,
    f"{_TEXT}{about_auto('forward')}  The recursions come in four ways that agree: "
    "bias torques first (a, bias-free), with the links' accelerations (b, bias-free-links), "
    "bias forces of the links first (c, three-sweeps), and all biases on the way (d, operator).",
)
