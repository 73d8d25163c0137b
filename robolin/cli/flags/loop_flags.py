"""Flags for arms with closed loops: how to solve, and how to bring a state onto its closures."""

from __future__ import annotations

import click

from robolin.choices import LOOP_METHODS
from robolin.cli.flags.flag import METHOD, STATE, TIME, flag

CLOSE = flag(
    "--close",
    section=STATE,
    metavar="JOINTS|least",
    help="Bring the state, and a change of it, onto the closures of its loops first: these joints "
    "stay as given and the others follow, or all move as little as they can.",
)

LOOP_METHOD = flag(
    "--loop-method",
    section=METHOD,
    type=click.Choice(LOOP_METHODS),
    help="How closed loops are solved: tree and closures in one system (kkt), forces of the "
    "closures first (schur), or motions they leave free first (null-space).  "
    "[default: null-space]",
)

BAUMGARTE = flag(
    "--baumgarte",
    section=TIME,
    metavar="ALPHA,BETA",
    help="Draw gaps e in the closures of loops shut, e'' + 2 ALPHA e' + BETA^2 e = 0 in 1/s, "
    "instead of bringing every step back onto them.",
)
