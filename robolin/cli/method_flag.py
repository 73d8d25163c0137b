"""The flag that picks an algorithm, for the verbs that have more than one."""

from __future__ import annotations

import click

from robolin.cli.flags import METHOD, Flag

METHODS = ("auto", "operator", "conventional")

method_option = click.option(
    "--method",
    cls=Flag,
    section=METHOD,
    type=click.Choice(METHODS),
    default="auto",
    show_default=True,
    help="Recursions over the links without any mass matrix (operator), or the mass matrix and "
    "elimination (conventional); auto takes the first unless joints mimic each other.",
)
