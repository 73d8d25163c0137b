"""Commands for one state import no NumPy, and print the same bytes as with it."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import ROOT, CommandRun, python

# every array of the second run is one of NumPy
START = {
    "blocked": 'sys.modules["numpy"] = None',
    "imported": "import numpy, robolin.queries.values as v; v.StateArray = numpy.array",
    "on use": "",
}
PROGRAM = """
import json, sys
{}
from robolin.cli.main import main
for command in json.loads(sys.argv[1]):
    print("exit code", main(command), flush=True)
    print("", file=sys.stderr, flush=True)
"""

STATE = ("--q", "0.1,0.2,-0.3,-0.4,0.5,0.6,0.7", "--qd", "1,0,-1,2,0.5,0,1")
COMMANDS = [
    ("inverse", "panda"),
    ("inverse", "panda", *STATE, "--qdd", "panda_joint2=0.5"),
    ("forward", "panda", *STATE, "--tau", "hold"),
    ("mass-matrix", "panda", "--inverse", "--factor"),
    ("linearize-inverse", "panda", *STATE),
    ("linearize-forward", "panda", *STATE, "--perturb", "dq=panda_joint3=0.01"),
    ("linearize-forward", "ur5", "--friction-velocity", "0.01"),
    ("diagonalize", "iiwa14", *STATE),
    # prismatic and mimic joints, and a description in YAML
    ("linearize-forward", "panda-fingers"),
    ("forward", "cart-pole", "--q", "0.3,0.2", "--tau", "1,0"),
    # a path, and a warning about the state
    ("mass-matrix", str(ROOT / "models" / "xarm7.urdf"), "--q", "joint1=45"),
]


def run_all(commands: list[tuple[str, ...]], numpy: str) -> CommandRun:
    """Run commands in one new process, with NumPy 'blocked', 'imported' before, or 'on use'."""
    return python(PROGRAM.format(START[numpy]), json.dumps(commands))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "table"])
def test_prints_the_same_bytes_without_numpy(form: str) -> None:
    """A command for one state prints without NumPy what it prints with NumPy."""
    commands = [(*command, "--format", form) for command in COMMANDS]
    blocked = run_all(commands, "blocked")
    assert blocked.out.count("exit code 0") == len(COMMANDS), blocked.err
    assert blocked == run_all(commands, "imported")


@pytest.mark.slow
def test_reports_the_same_error() -> None:
    """A state without a result is reported as with NumPy, which is imported for the report."""
    commands = [
        ("inverse", "panda", "--q", "panda_joint1=1e300"),
        ("inverse", "panda", "--qd", "panda_joint1=1e200"),
        ("forward", "cart-pole", "--q", "0,0", "--qd", "0,1e180"),
    ]
    plain = run_all(commands, "on use")
    assert plain.out.count("exit code 3") == len(commands), plain
    assert plain == run_all(commands, "imported")


STARTED = """
import sys
from robolin.cli.main import main
from robolin.core.records import OnUse

main(sys.argv[1:])
modules = [name for name in sys.modules if name.partition(".")[0] == "robolin"]
values = [value for name in modules for value in vars(sys.modules[name]).values()]
kinds = {value for value in values if isinstance(value, type)}
fields = [vars(kind).get("__dataclass_fields__") for kind in kinds]
inspected = [each for each in fields if each and type(each) is not OnUse]
print("started:", len(modules), len(inspected), *sys.modules)
"""
# modules that take milliseconds to import, and that one state does not need
UNUSED = {"numpy", "llvmlite", "polars", "scipy", "rich", "yaml", "json", "textwrap", "tempfile"}
UNUSED |= {"hashlib", "robolin.io.trajectories.trajectory", "robolin.queries.option_files"}
# of the package, and dataclasses whose fields are inspected, which compiles texts
MOST_MODULES, MOST_INSPECTED = 106, 10


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted({command[0] for command in COMMANDS}))
def test_starts_with_few_modules(command: str) -> None:
    """A command for one state imports few modules and inspects few dataclasses."""
    ran = python(STARTED, command, "panda")
    assert ran.code == 0, ran.err
    modules, inspected, *names = ran.out.partition("started: ")[2].split()
    assert not UNUSED & {*names}
    assert int(modules) <= MOST_MODULES
    assert int(inspected) <= MOST_INSPECTED


@pytest.mark.slow
def test_the_block_is_effective() -> None:
    """Commands that need NumPy fail in these tests: a batch, and another number type."""
    commands = [("inverse", "panda", "--dtype", "float32"), ("jacobian", "panda")]
    assert run_all(commands, "blocked").out.count("exit code 4") == len(commands)
