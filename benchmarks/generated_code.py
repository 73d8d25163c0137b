"""Generated C compared with Pinocchio's C++: single states, in one program, alternately.

Pinocchio is the library of its Python package, with headers; Eigen's headers come with CasADi.
Both sides are compiled for generic x86-64 or AArch64, like that library.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import robolin
from benchmarks.compiled_loops import pinocchio_headers, pinocchio_prefix
from benchmarks.peers import installed
from benchmarks.subjects import Subject, panda
from benchmarks.timing import Effort, progress

VERBS = ("inverse", "forward", "mass-matrix", "linearize-inverse", "linearize-forward")

_PROGRAM = Path(__file__).with_suffix(".cpp")
# the library of the package already has the algorithms
_INSTANTIATED = "PINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION"


def measured(effort: Effort) -> dict[str, Any]:
    """ns per state of the Panda, for generated C and for Pinocchio's C++ if it can be built.

    The build takes some minutes, so a quick run omits Pinocchio.
    """
    subject = panda()
    with TemporaryDirectory() as path:
        folder = Path(path)
        robolin.generate(subject.arm, VERBS, folder / "made", prefix="panda", states=1)
        flags = [] if effort.quick else _pinocchio(subject, folder)
        progress(f"{subject.title}: compiling generated C{' and Pinocchio' if flags else ''}")
        c = ("-std=c99", "-O2", "-ffp-contract=off", "-c", "made/panda.c", "-o", "panda.o")
        run_program(folder, "gcc", *c)
        own = ("-std=c++17", "-O2", "-DNDEBUG", "-Imade", str(_PROGRAM), "panda.o", "-o", "turns")
        run_program(folder, "g++", *own, *flags)
        output = run_program(folder, "./turns", "model.txt")
    return {"arm": subject.title, "verbs": dict(map(_times, output.splitlines()))}


def _times(line: str) -> tuple[str, dict[str, float]]:
    verb, own, other = line.split()
    times = {"C ns": float(own)}
    if float(other) > 1.0:
        times |= {"Pinocchio ns": float(other), "ratio": float(own) / float(other)}
    return verb, times


def _pinocchio(subject: Subject, folder: Path) -> list[str]:
    """Compiler flags for Pinocchio, with its model written to a file; empty if it is missing."""
    peer = installed(subject).get("Pinocchio")
    prefix, flags = pinocchio_prefix(), pinocchio_headers()
    if peer is None or prefix is None or not flags:
        return []
    model = peer.model
    rows = [
        [
            *placement.rotation.ravel(),
            *placement.translation,
            body.mass,
            *body.lever,
            *body.inertia.ravel(),
        ]
        for placement, body in zip(model.jointPlacements[1:], model.inertias[1:], strict=True)
    ]
    np.savetxt(folder / "model.txt", rows, fmt="%.17g")
    library = prefix / "lib"
    return [
        *(f"-D{each}" for each in ("PINOCCHIO", _INSTANTIATED)),
        *flags,
        *(f"-L{library}", f"-Wl,-rpath,{library}", "-lpinocchio_default"),
    ]


def run_program(folder: Path, *command: str) -> str:
    """Run a program in a folder; return its output, or end if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:2])} … failed:\n{done.stderr[-2000:]}")
    return done.stdout
