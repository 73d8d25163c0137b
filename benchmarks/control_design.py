"""Poles and regulators of many linear models, and one sample of MPC, compared with peers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import robolin
from benchmarks.agreement import Disagreement
from benchmarks.generated_code import run_program
from benchmarks.subjects import panda
from benchmarks.timing import Contestant, Effort, compared, interleaved, progress

# relative difference of cost matrices that rounding explains
AGREE_WITHIN = 1e-10


def measured(effort: Effort) -> dict[str, Any]:
    """µs per model of each task and program."""
    rows = 64 if effort.quick else 512
    subject = panda()
    states = subject.states(rows)
    model = robolin.state_space(subject.arm, states["q"], 0.2 * states["qd"])
    rounds = min(effort.rounds, 5)
    progress(f"{subject.title}: poles, LQR and MPC")
    return {
        "arm": subject.title,
        "rows": rows,
        "poles": compared(interleaved(_poles(model, rows), rounds)),
        "lqr": compared(interleaved(_regulators(model, rows), rounds)),
        "mpc": compared(interleaved(_samples(subject.arm, 50 if effort.quick else 500), rounds)),
    }


def _poles(model: Any, rows: int) -> dict[str, Contestant]:
    def described(count: int) -> Any:
        part = model[:count]
        return part.poles().stability, part.controllability().dimension

    return {
        "robolin": Contestant(described, rows),
        "NumPy, eigenvalues and eigenvectors only": Contestant(
            lambda count: np.linalg.eig(model.A[:count]), rows
        ),
    }


def _regulators(model: Any, rows: int) -> dict[str, Contestant]:
    from scipy.linalg import solve_continuous_are

    N, m = model.B.shape[-2:]
    Q, R = np.eye(N), np.eye(m)

    def scipy(count: int) -> Any:
        return [solve_continuous_are(A, B, Q, R) for A, B in zip(model.A, model.B, strict=True)]

    ours, theirs = robolin.lqr(model).P, np.array(scipy(rows))
    gap = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if not gap <= AGREE_WITHIN:
        raise Disagreement(f"the cost matrices are {gap:.1e} apart")
    contestants = {
        "robolin": Contestant(lambda count: robolin.lqr(model), rows),
        "SciPy, P only": Contestant(scipy, rows),
    }
    try:
        import control
    except ImportError:
        return contestants
    few = max(8, rows // 8)

    def python_control(count: int) -> Any:
        return [control.lqr(model.A[i], model.B[i], Q, R) for i in range(count)]

    return {**contestants, "python-control": Contestant(python_control, few)}


def _samples(arm: Any, samples: int) -> dict[str, Contestant]:
    home = np.array(arm.poses["home"])
    control = robolin.receding(arm, home + 0.2, q=home, horizon=0.5, dt=0.01)
    still = np.zeros(arm.n)

    def run(count: int) -> None:
        for _ in range(count):
            control.step(home, still)

    contestants = {"robolin": Contestant(run, samples)}
    if which("gcc") is None:
        progress("The generated controller is left out: gcc is not installed")
        return contestants
    step, expected = _compiled(arm, control), control.replay(np.array([[home, still]] * 5))
    first = np.array([step(home, still) for _ in range(5)])
    if not np.array_equal(first, expected):
        raise Disagreement("the generated controller has other torques")

    def run_compiled(count: int) -> None:
        for _ in range(count):
            step(home, still)

    return {**contestants, "robolin, generated C, gcc -O2": Contestant(run_compiled, samples)}


def _compiled(arm: Any, control: Any) -> Callable[[Any, Any], Any]:
    """A step of the generated controller, called through ctypes."""
    with TemporaryDirectory() as folder:
        verbs = ["inverse", "linearize-inverse"]
        robolin.generate(arm, verbs, folder, prefix="arm", extras=["mpc"], mpc=control)
        (Path(folder) / "size.c").write_text(
            '#include "arm_mpc.h"\nint arm_mpc_size(void) { return sizeof(arm_mpc); }\n'
        )
        run_program(
            Path(folder), "gcc", "-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fPIC",
            "arm.c", "arm_mpc.c", "size.c", "-o", "arm.so",
        )  # fmt: skip
        library = ctypes.CDLL(str(Path(folder) / "arm.so"))
    memory, tau = np.zeros(library.arm_mpc_size() // 8 + 1), np.zeros(arm.n)
    goal = np.ascontiguousarray(control.goal)
    library.arm_mpc_start(*(ctypes.c_void_p(each.ctypes.data) for each in (memory, goal)))

    def step(q: Any, qd: Any) -> Any:
        arrays = memory, q, qd, tau
        status = library.arm_mpc_step(*(ctypes.c_void_p(each.ctypes.data) for each in arrays))
        assert status == 0, "the sample is valid"
        return tau.copy()

    return step
