"""robolin new: template of a YAML robot file."""

from __future__ import annotations

import os
import re

import click

from robolin.cli.flags.flag import VerbCommand
from robolin.errors import FileError, UsageError

_START = """\
# An arm for robolin: change it, and look at it with `robolin inspect {file}`.
# Units are SI; angles may be written as 30deg or pi/6.  Every key: docs/reference/yaml.md.
robolin: 1
name: {name}
gravity: [0, 0, -9.81]                # m/s2, in the axes of the base

joints:                               # from the base to the tip
  - name: shoulder
    type: revolute                    # continuous, prismatic, floating, planar or fixed
    parent: base                      # the first parent stands still
    child: upper
    origin: {{xyz: [0, 0, 0.1]}}        # where it sits on its parent; also rpy: [0, 0, 90deg]
    axis: [0, 1, 0]                   # what it turns about, in its own frame
    limits: {{lower: -120deg, upper: 120deg, velocity: 3, effort: 40}}
    damping: 0.1                      # N m s/rad; a spring: stiffness and rest
  - name: elbow
    type: revolute
    parent: upper
    child: lower
    origin: {{xyz: [0, 0, 0.4]}}
    axis: [0, 1, 0]
    limits: {{lower: -150deg, upper: 150deg, velocity: 3, effort: 20}}
    damping: 0.1
  - name: flange
    type: fixed
    parent: lower
    child: tool
    origin: {{xyz: [0, 0, 0.3]}}

links:                                # every link that weighs something
  - name: upper
    mass: 2                           # kg; or a density in kg/m3
    com: [0, 0, 0.2]                  # its middle, in the frame of its joint
    shape: {{box: [0.06, 0.06, 0.4]}}   # or cylinder, rod, sphere
  - name: lower
    mass: 1
    com: [0, 0, 0.15]
    inertia: {{ixx: 0.0075, iyy: 0.0075, izz: 0.0003}}   # about its middle, in its own axes

poses:                                # names for --q
  home: {{shoulder: 30deg, elbow: 60deg}}
"""


@click.command("new", cls=VerbCommand)
@click.argument("name")
def command(name: str) -> None:
    """The beginning of a YAML arm, to be filled in.

    Writes NAME.yaml into this folder: an arm of two joints with a comment at every key.

    \b
    Example:
      robolin new my-arm
    """
    from robolin.io.atomic import atomic_write

    name = name.removesuffix(".yaml")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        hint = "letters, digits, '_' and '-', beginning with a letter"
        raise UsageError(f"'{name}' is no name for an arm", where="robolin new", hint=hint)
    file = f"{name}.yaml"
    if os.path.lexists(file):
        raise FileError("is there already", where=file, hint="choose another name")
    with atomic_write(file) as stream:
        stream.write(_START.format(name=name, file=file).encode())
    click.echo(f"wrote {file}; `robolin inspect {file}` shows what it says", err=True)
