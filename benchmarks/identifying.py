"""Identification compared with `regressor`, plain least squares, and another convex solver.

All commands read the same rows; `identify` gets no accelerations, as from a real robot.  Plain
least squares smooths nothing, and solves the regressor of all rows in one piece.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import robolin
from benchmarks.agreement import Disagreement
from benchmarks.commands import ROBOLIN, Run, watched
from benchmarks.timing import Contestant, Effort, compared, in_turns, interleaved, progress, spread
from robolin.analysis.identify import stages
from robolin.analysis.identify.consistent_fit import (
    BASIS,
    ConvexFit,
    prior_weight,
    solve_consistent,
)

ROUNDS, RATE = 3, 500.0
# part by which the cost may exceed that of another solver
AGREE_WITHIN = 1e-6
IDENTIFY, REGRESSOR, PLAIN = "identify", "regressor", "NumPy lstsq"
_PLAIN = """
import numpy as np, robolin
arm = robolin.load("panda")
table = np.loadtxt("motion.csv", delimiter=",", skiprows=1)
q, qd, qdd, tau = (table[:, 1 + 7 * i : 8 + 7 * i] for i in range(4))
Y = robolin.regressor(arm, q, qd, qdd).matrix
np.linalg.lstsq(Y.reshape(-1, Y.shape[-1]), tau.ravel(), rcond=None)
"""


def measured(effort: Effort) -> dict[str, Any]:
    """Seconds and peak memory of every command, and microseconds of the convex programme."""
    rows, rounds = (2_000, 1) if effort.quick else (30_000, ROUNDS)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        progress(f"identification from {rows} rows")
        recording = write_recording(folder, rows)
        commands = {
            IDENTIFY: [
                *ROBOLIN,
                "identify",
                "panda",
                "--trajectory",
                "recording.csv",
                "-q",
                "--npz",
                "identified.npz",
            ],
            REGRESSOR: [
                *ROBOLIN,
                "regressor",
                "panda",
                "--trajectory",
                "motion.csv",
                "-q",
                "-o",
                "regressor.npz",
            ],
            PLAIN: [sys.executable, "-c", _PLAIN],
        }
        runs = in_turns({name: _run(words, folder) for name, words in commands.items()}, rounds)
        longer = 4 * rows
        write_recording(folder, longer)
        long_run = watched(commands[IDENTIFY], folder)
    seconds = {name: [run.seconds for run in each] for name, each in runs.items()}
    others = {
        name: asdict(spread([a / b for a, b in zip(seconds[IDENTIFY], each, strict=True)]))
        for name, each in seconds.items()
        if name != IDENTIFY
    }
    return {
        "arm": "Panda",
        "rows": rows,
        "commands": {
            name: {
                "seconds": asdict(spread(seconds[name])),
                "peak bytes": max(run.memory for run in each),
                "ratio": others.get(name),
            }
            for name, each in runs.items()
        },
        "longer": {
            "rows": longer,
            "seconds": long_run.seconds,
            "peak bytes": long_run.memory,
        },
        "programme": _programme(recording, effort),
    }


def _run(words: list[str], folder: Path) -> Any:
    def run() -> Run:
        return watched(words, folder)

    return run


def write_recording(folder: Path, rows: int) -> robolin.Recording:
    """A motion of a Panda whose masses, friction and offsets differ from the robot file."""
    arm, rng = robolin.load("panda"), np.random.default_rng(0)
    time = np.arange(rows) / RATE
    rate = 2.0 * np.pi * 0.11 * np.arange(1, 6)[:, None]
    size, phase = 0.3 * rng.uniform(0.4, 1.0, (2, 5, arm.n))
    angle = rate * time[:, None, None] + 20.0 * phase
    home = np.array(arm.poses["home"])
    q = home + np.sum(size * np.sin(angle), axis=1)
    qd = np.sum(size * rate * np.cos(angle), axis=1)
    qdd = -np.sum(size * rate**2 * np.sin(angle), axis=1)
    heavier = {f"{link.name}/mass": 1.1 * link.inertia.mass for link in arm.links}
    friction = {f"{name}/damping": 1.0 for name in arm.joint_names}
    tau = robolin.inverse(arm.with_parameters({**heavier, **friction}), q, qd, qdd)
    tau = tau + 0.5 * np.tanh(qd / 0.05) + 0.1 * rng.normal(size=tau.shape)
    columns = {"position": q, "velocity": qd, "acceleration": qdd, "effort": tau}
    _write(folder / "motion.csv", arm, time, columns)
    del columns["acceleration"]
    _write(folder / "recording.csv", arm, time, columns)
    return robolin.Recording(time, q, tau, qd)


def _write(path: Path, arm: Any, time: Any, columns: dict[str, Any]) -> None:
    names = [f"{name}/{kind}" for kind in columns for name in arm.joint_names]
    table = np.column_stack([time, *columns.values()])
    header = ",".join(["time", *names])
    np.savetxt(path, table, fmt="%.9g", delimiter=",", header=header, comments="")


def _programme(recording: robolin.Recording, effort: Effort) -> dict[str, Any]:
    """Time of the convex programme of the last stage, compared with Clarabel."""
    programmes: list[ConvexFit] = []
    original = stages.solve_consistent

    def kept(fit: ConvexFit) -> Any:
        programmes.append(fit)
        return original(fit)

    stages.solve_consistent = kept
    try:
        robolin.identify(robolin.load("panda"), recording)
    finally:
        stages.solve_consistent = original
    fit = programmes[-1]
    contestants = {"robolin": Contestant(lambda _: solve_consistent(fit), 1)}
    try:
        expected = clarabel_minimum(fit)
    except ImportError:
        return compared(interleaved(contestants, min(effort.rounds, 5)))
    # negative if Clarabel, which gets normal equations, stops above the minimum
    excess = cost(fit, solve_consistent(fit)) / cost(fit, expected) - 1.0
    if not excess <= AGREE_WITHIN:
        raise Disagreement(f"the cost is {excess:.1e} above that of Clarabel")
    contestants["Clarabel"] = Contestant(lambda _: clarabel_minimum(fit), 1)
    report = compared(interleaved(contestants, min(effort.rounds, 5)))
    report["Clarabel"]["excess"] = -excess
    return report


def cost(fit: ConvexFit, x: np.ndarray) -> float:
    """The cost of the programme at x (p,)."""
    residual, change = fit.factor @ x - fit.target, x - fit.start
    return float(0.5 * residual @ residual + 0.5 * change @ prior_weight(fit) @ change)


def clarabel_minimum(fit: ConvexFit) -> np.ndarray:
    """The minimizer (p,) of the programme by Clarabel, an interior-point solver for cones."""
    import clarabel
    from scipy import sparse

    size, prior = len(fit.start), prior_weight(fit)
    H = fit.factor.T @ fit.factor + prior
    g = fit.factor.T @ fit.target + prior @ fit.start
    positive = np.zeros((len(fit.positive), size))
    positive[np.arange(len(fit.positive)), fit.positive] = -1.0
    rows, cones = [positive], [clarabel.NonnegativeConeT(len(fit.positive))]
    # its cone has the upper triangle by columns, off-diagonals times √2
    b, a = np.tril_indices(4)
    weight = np.where(a == b, 1.0, np.sqrt(2.0))
    for first in fit.bodies:
        block = np.zeros((10, size))
        block[:, first : first + 10] = -(BASIS[:, a, b] * weight).T
        rows.append(block)
        cones.append(clarabel.PSDTriangleConeT(4))
    # in units in which every parameter has the same curvature, else Clarabel stops early
    scale = np.sqrt(np.diag(H))
    A = np.concatenate(rows) / scale
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(H / np.outer(scale, scale))),
        -g / scale,
        sparse.csc_matrix(A),
        np.zeros(len(A)),
        cones,
        settings,
    )
    return np.array(solver.solve().x) / scale
