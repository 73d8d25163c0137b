"""A command calls functions of few modules, so that a reader can follow it."""

from __future__ import annotations

from pathlib import Path

import pytest

import robolin as library
from tests.cli.command import python, run_ok

# what each command enters, without algorithms: a new step has to replace an old one
MOST_FILES = {"trajectory": 45, "one state": 42, "lqr": 54}

# class bodies and comprehensions that fill a table of a module are not calls of functions
FOLLOWED = """
import os, sys, threading
import robolin

package, entered = os.path.dirname(robolin.__file__), set()

def note(frame, event, _):
    code, caller = frame.f_code, frame.f_back and frame.f_back.f_code.co_name
    fills = code.co_name.startswith("<") and caller == "<module>"
    called = event == "call" and code.co_flags & 2 and not fills
    if called and code.co_filename.startswith(package):
        entered.add(os.path.relpath(code.co_filename, package).replace(os.sep, "/"))

threading.setprofile(note)
sys.setprofile(note)
from robolin.cli.main import main
code = main(sys.argv[1:])
sys.setprofile(None)
# the decorator of dataclasses is no step of a command
entered = [name for name in entered if name != "core/records.py" and "dynamics/" not in name[:9]]
print("entered:", *sorted(entered), sep="\\n")
sys.exit(code)
"""


def motion_file(folder: Path) -> Path:
    """Write 100 rows of positions of the panda; return the path."""
    names = library.load("panda").joint_names
    header = ",".join(["time", *(f"{name}/position" for name in names)])
    rows = [",".join(f"{0.01 * row}" for _ in range(len(names) + 1)) for row in range(100)]
    path = folder / "motion.csv"
    path.write_text("\n".join([header, *rows]))
    return path


def files_entered(*arguments: str) -> list[str]:
    """Modules of the package, without dynamics/, whose functions a command calls."""
    ran = python(FOLLOWED, *arguments)
    assert ran.code == 0, ran.err
    return ran.out.partition("entered:\n")[2].splitlines()


@pytest.mark.slow
def test_a_trajectory_enters_few_files(tmp_path: Path) -> None:
    """From the command line to the file with the result, functions of few modules are called."""
    command = ("inverse", "panda", "--trajectory", str(motion_file(tmp_path)), "-o")
    # the second run loads the kernel instead of compiling it
    run_ok(*command, tmp_path / "before.npz")
    files = files_entered(*command, str(tmp_path / "out.npz"))
    assert {"cli/main.py", "engine/compiled/plan.py", "io/formats/npz_writer.py"} <= {*files}
    assert len(files) <= MOST_FILES["trajectory"], files


@pytest.mark.slow
def test_one_state_enters_few_files() -> None:
    """One state from the command line calls functions of few modules."""
    files = files_entered("inverse", "panda", "--q", "0.1,0.2,0.3,-0.4,0.5,0.6,0.7")
    assert {"cli/main.py", "engine/direct.py", "io/formats/csv_writer.py"} <= {*files}
    assert len(files) <= MOST_FILES["one state"], files


@pytest.mark.slow
def test_lqr_enters_few_files() -> None:
    """Gains for one state call functions of few modules."""
    pytest.importorskip("scipy")
    files = files_entered("lqr", "panda")
    assert {"cli/main.py", "control/regulator.py", "io/formats/csv_writer.py"} <= {*files}
    assert len(files) <= MOST_FILES["lqr"], files
