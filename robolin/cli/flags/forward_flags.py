"""Flags of verbs about accelerations: which algorithm, which joints move as told, closed loops."""

from __future__ import annotations

from typing import Any

import click

from robolin.cli.flags.flag import METHOD, STATE, TIMES, flag
from robolin.core.choices import LOOP_METHODS
from robolin.evaluation.methods import COMMON_METHODS, FORWARD_METHODS, about_auto
from robolin.io.format_table import extensions, trajectory_formats

_TEXT = (
    "Recursions over the links without any mass matrix (operator), or the mass matrix and "
    "elimination (conventional); "
)

PRESCRIBE = flag(
    "--prescribe",
    section=STATE,
    by_name=True,
    metavar="JOINTS",
    help="These joints, such as 'base' with --floating-base, move as --qdd and --qd say, whatever "
    "torque that takes, which is answered; --tau is of the others.",
)

PRESCRIBED_QDD = flag(
    "--qdd",
    section=STATE,
    by_joint=True,
    metavar="VALUES",
    help="Accelerations at all times of the joints that --prescribe names.  [default: 0]",
)

PRESCRIBE_FROM = flag(
    "--prescribe-from",
    section=STATE,
    metavar="FILE",
    help="The same over time, from the columns time and JOINT/acceleration of a "
    f"{extensions(trajectory_formats())} file, on straight lines between its rows.  These joints "
    "start where the file has them, unless --q, --qd or --initial say otherwise.",
)

CLOSE_FLAG = flag(
    "--close",
    section=STATE,
    metavar="JOINTS|least",
    help="Bring the state, and a change of it, onto the closures of its loops first: these joints "
    "stay as given and the others follow, or all move as little as they can.",
)

LOOP_METHOD_FLAG = flag(
    "--loop-method",
    section=METHOD,
    type=click.Choice(LOOP_METHODS),
    help="How closed loops are solved: tree and closures in one system (kkt), forces of the "
    "closures first (schur), or motions they leave free first (null-space).  "
    "[default: null-space]",
)

BAUMGARTE = flag(
    "--baumgarte",
    section=TIMES,
    metavar="ALPHA,BETA",
    help="Draw gaps e in the closures of loops shut, e'' + 2 ALPHA e' + BETA^2 e = 0 in 1/s, "
    "instead of bringing every step back onto them.",
)


_METHOD: dict[str, Any] = {"section": METHOD, "default": "auto", "show_default": True}
METHOD_FLAG = flag(
    "--method",
    type=click.Choice(COMMON_METHODS),
    help=_TEXT + about_auto("linearize-forward", "perturb-forward"),
    **_METHOD,
)
FORWARD_METHOD_FLAG = flag(
    "--method",
    type=click.Choice(COMMON_METHODS + FORWARD_METHODS),
    metavar="METHOD",
    help=f"{_TEXT}{about_auto('forward')}  The recursions come in four ways that agree: "
    "bias torques first (a, bias-free), with the links' accelerations (b, bias-free-links), "
    "bias forces of the links first (c, three-sweeps), and all biases on the way (d, operator); "
    "and in two more: c with the accelerations of links and tip (three-sweeps-links), and biases "
    "gathered before velocities are known (two-sweeps).",
    **_METHOD,
)
