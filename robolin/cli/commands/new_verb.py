"""robolin new: template of a YAML robot file."""

from __future__ import annotations

import os
import re

import click

from robolin.cli.flags.flag import VerbCommand
from robolin.errors import FileError, UsageError

_START = """\
# A robot for robolin: edit it, then run `robolin inspect {file}`.
# Units are SI; angles may be written as 30deg or pi/6.  Every key: docs/reference/yaml.md.
robolin: 1
name: {name}
gravity: [0, 0, -9.81]                # m/s2, in the axes of the base

joints:                               # from the base to the tip
  - name: shoulder
    type: revolute                    # continuous, prismatic, floating, planar or fixed
    parent: base                      # the first parent is fixed
    child: upper
    origin: {{xyz: [0, 0, 0.1]}}        # pose in the parent frame; also rpy: [0, 0, 90deg]
    axis: [0, 1, 0]                   # rotation axis, in the joint frame
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

links:                                # every link with mass
  - name: upper
    mass: 2                           # kg; or a density in kg/m3
    com: [0, 0, 0.2]                  # centre of mass, in the joint frame
    shape: {{box: [0.06, 0.06, 0.4]}}   # or cylinder, rod, sphere
  - name: lower
    mass: 1
    com: [0, 0, 0.15]
    inertia: {{ixx: 0.0075, iyy: 0.0075, izz: 0.0003}}   # about the centre of mass, in link axes

poses:                                # names for --q
  home: {{shoulder: 30deg, elbow: 60deg}}
"""


@click.command("new", cls=VerbCommand)
@click.argument("name")
def command(name: str) -> None:
    """Create a template of a YAML robot file.

    Writes NAME.yaml to the current folder: two joints, with a comment on every key.

    \b
    Examples:
      robolin models new my-arm
    """
    from robolin.io.atomic import atomic_write

    name = name.removesuffix(".yaml")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        hint = "use letters, digits, '_' and '-'; start with a letter"
        raise UsageError(f"'{name}' is not a valid name", where="robolin models new", hint=hint)
    file = f"{name}.yaml"
    if os.path.lexists(file):
        raise FileError("already exists", where=file, hint="choose another name")
    with atomic_write(file) as stream:
        stream.write(_START.format(name=name, file=file).encode())
    click.echo(f"wrote {file}; run `robolin inspect {file}`", err=True)
