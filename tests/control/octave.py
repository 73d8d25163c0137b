"""Octave and its control package as a reference implementation."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from scipy.io import loadmat

from robolin.io.formats.mat_results import write_mat

PROGRAM = "octave-cli"


@cache
def missing() -> str:
    """The reason why Octave cannot be used, or '' if it can."""
    if shutil.which(PROGRAM) is None:
        return "Octave is not installed"
    process = subprocess.run(
        [PROGRAM, "--eval", "pkg load control"], capture_output=True, text=True, check=False
    )
    return "" if process.returncode == 0 else "Octave has no control package"


def octave(script: str, folder: Path, **variables: Any) -> dict[str, Any]:
    """Run a script that reads the struct `s` of variables; return the struct `r` that it sets."""
    if reason := missing():
        pytest.skip(reason)
    write_mat(folder / "given.mat", {"nothing": 0.0, **variables})
    program = (
        f"pkg load control; s = load('{folder}/given.mat'); r = struct(); {script}; "
        f"save('-v6', '{folder}/found.mat', 'r');"
    )
    done = subprocess.run([PROGRAM, "--eval", program], capture_output=True, text=True, check=False)
    assert (folder / "found.mat").exists(), done.stderr
    results = loadmat(folder / "found.mat", simplify_cells=True)["r"]
    assert isinstance(results, dict)
    return results
