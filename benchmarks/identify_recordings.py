"""python -m benchmarks.identify_recordings: errors of identification on recordings.

With a FOLDER of real recordings (`ur10e/*.csv` with motor currents, `panda/*.txt`), errors on
recordings that are not fitted.  Without it, only recordings that are simulated.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import robolin
from robolin.analysis.identify.consistent_fit import is_possible
from robolin.core.arm_parameters import parameters
from robolin.errors import RobolinError
from tests.analysis.identify_recordings import V0, recorded, true_arm

UR10E_GAINS = (12.0, 12.0, 9.8, 10.8, 10.8, 10.8)
FIRST, SECOND, LOADED = "19_14harm50sec", "10-30sec_12harm", "19_14harm50secLoad"
# simulated recordings of every robot, and their length in s
RECORDINGS, SECONDS = 20, 30.0
# `robolin.analysis.identify.identify` is the function for Python
_IDENTIFY = import_module("robolin.analysis.identify.identify")


def main(folder: str | None = None) -> None:
    if folder is not None:
        for line in [*ur10e(Path(folder) / "ur10e"), *panda(Path(folder) / "panda")]:
            print(line, flush=True)
    for line in [*coverage("ur5"), *coverage("panda"), *damage()]:
        print(line, flush=True)


def percent(fit: robolin.Identification) -> str:
    bodies = [i for i, name in enumerate(fit.names) if name.endswith("/mass")]
    impossible = sum(not is_possible(fit.values[i : i + 10]) for i in bodies)
    before, after = (100.0 * fit.stages[i].score.mean for i in (0, -1))
    return f"{before:.1f} % -> {after:.2f} %, {impossible} impossible bodies"


def ur10e(folder: Path) -> Iterator[str]:
    """Both excitation motions, a load, and segments of 7 s compared with plain least squares."""
    arm = robolin.load(folder / "ur10e.urdf")
    first, second, loaded = (_currents(folder, name) for name in (FIRST, SECOND, LOADED))
    for fitted, test in ((first, second), (second, first)):
        yield f"UR10e, error on {test.name}: {percent(robolin.identify(arm, fitted, holdout=test))}"
    fit = robolin.identify(arm, loaded, unloaded=first, payload_link="tool0")
    yield f"UR10e: {fit.findings[-1]}"
    for start in range(3, 45, 7):
        part = _segment(first, start, start + 7)
        error, plain = _with_least_squares(arm, part, second)
        ratio = f"{100 * error:.2f} % / {100 * plain:.1f} % = {error / plain:.2f}"
        yield f"UR10e, {start} to {start + 7} s, identified / least squares: {ratio}"


def _currents(folder: Path, name: str) -> robolin.Recording:
    (path,) = folder.glob(f"*{name}.csv")
    table = np.loadtxt(path, delimiter=",")
    tau = table[:, 13:19] * UR10E_GAINS
    return robolin.Recording(table[:, 0], table[:, 1:7], tau, table[:, 7:13], None, path.name)


def _segment(recording: robolin.Recording, start: float, end: float) -> robolin.Recording:
    time = recording.time - recording.time[0]
    return rows_of(recording, (time >= start) & (time < end))


def rows_of(recording: robolin.Recording, rows: Any) -> robolin.Recording:
    assert recording.qd is not None
    columns = {name: getattr(recording, name)[rows] for name in ("time", "q", "tau", "qd")}
    return replace(recording, **columns)


def _with_least_squares(
    arm: Any, recording: robolin.Recording, test: robolin.Recording
) -> tuple[float, float]:
    """Errors on another recording: of the fit, and of least squares with the same weights."""
    module: Any = _IDENTIFY
    find, score = module.find_weights, module.scored
    weights: list[Any] = []
    errors: list[float] = []

    def find_weights(*values: Any, **options: Any) -> Any:
        weights.append(find(*values, **options))
        return weights[-1]

    def scored(rows: Any, sets: Any, v0: Any) -> Any:
        errors.extend(score(rows, [each.x], v0).scores[0].mean for each in weights)
        return score(rows, sets, v0)

    module.find_weights, module.scored = find_weights, scored
    try:
        fit = robolin.identify(arm, recording, holdout=test)
    finally:
        module.find_weights, module.scored = find, score
    return fit.stages[-1].score.mean, errors[-1]


def panda(folder: Path) -> Iterator[str]:
    """A Panda without its hand, compared with the robot file that has one."""
    names = ("time", "positions", "torques", "velocity")
    time, q, tau, qd = (np.loadtxt(folder / f"{name}.txt") for name in names)
    recording = robolin.Recording(time, q, tau, qd)
    fit = robolin.identify(robolin.load("panda"), recording)
    yield f"Panda: {percent(fit)}; {fit.findings[0][:48]}"


def coverage(name: str) -> Iterator[str]:
    """The fraction of true base parameters within two standard deviations."""
    arm, inside = robolin.load(name), []
    for seed in range(RECORDINGS):
        true = true_arm(arm, seed)
        clean = recorded(
            true, SECONDS, seed=seed, coulomb=3.0, offset=0.4, noise=0.03, lag=0.012, exact=False
        )
        jitter = 0.002 * np.random.default_rng([seed, 77]).random(len(clean.time))
        fit = robolin.identify(
            arm, replace(clean, time=clean.time + jitter), what="links", friction_velocity=V0
        )
        known = {each.label: each.value for each in parameters(true)}
        extra = {"friction": 3.0, "offset": 0.4}
        x = np.array([known.get(n, extra.get(n.rpartition("/")[2])) for n in fit.names])
        K = base_parameters(arm, fit.names)
        sigma = np.sqrt(np.einsum("ra,ab,rb->r", K, fit.covariance, K))
        inside.append(np.abs(K @ (fit.values - x)) < 2.0 * sigma)
    fraction = 100.0 * np.mean(inside)
    yield f"{name}, {RECORDINGS} recordings: {fraction:.1f} % of base parameters within 2 sigma"


def base_parameters(arm: Any, names: tuple[str, ...]) -> np.ndarray:
    """Sums (r, p) of parameters that torques depend on: independent columns and their partners."""
    motion = recorded(arm, 8.0, seed=11, exact=True)
    assert motion.qd is not None
    assert motion.qdd is not None
    Y, n = robolin.regressor(arm, motion.q, motion.qd, motion.qdd), arm.n
    columns = np.zeros((n * len(motion.time), len(names)))
    columns[:, [names.index(name) for name in Y.names]] = Y.matrix.reshape(-1, len(Y.names))
    for j, joint in enumerate(arm.joint_names):
        columns[j::n, names.index(f"{joint}/friction")] = np.tanh(motion.qd[:, j] / V0)
        columns[j::n, names.index(f"{joint}/offset")] = 1.0
    length = np.linalg.norm(columns, axis=0)
    rest, chosen = columns / np.where(length > 0.0, length, 1.0), []
    while np.linalg.norm(rest, axis=0).max() > 1e-8:
        chosen.append(int(np.linalg.norm(rest, axis=0).argmax()))
        unit = rest[:, chosen[-1]] / np.linalg.norm(rest[:, chosen[-1]])
        for _ in range(2):
            rest = rest - np.outer(unit, unit @ rest)
    return np.asarray(np.linalg.lstsq(columns[:, chosen], columns, rcond=None)[0])


def damage() -> Iterator[str]:
    """The error on a sound recording after a fit to a damaged one, and what is reported."""
    arm = robolin.load("ur5")
    true = true_arm(arm)
    sound, test = (recorded(true, coulomb=3.0, noise=0.01, seed=seed) for seed in (0, 2))
    reference = robolin.identify(arm, sound, holdout=test).stages[-1].score.mean
    for name, change in FAULTS.items():
        damaged = change(sound)
        try:
            error = robolin.identify(arm, damaged, holdout=test).stages[-1].score.mean
            # a user has the damaged recording only
            fit = robolin.identify(arm, damaged)
        except RobolinError as reason:
            yield f"{name}: error: {str(reason).splitlines()[0]}"
            continue
        words = [fit.settings["cleaned"], f"lag {fit.settings['lag']}", *fit.notes]
        words += [] if fit.improves else ["no file written"]
        yield f"{name}: {error / reference:.2f} times the error; {'; '.join(words)}"


def changed(**changes: Callable[[np.ndarray], None]) -> Callable[[Any], robolin.Recording]:
    """The recording with columns that functions have changed in place."""

    def apply(recording: robolin.Recording) -> robolin.Recording:
        columns: dict[str, Any] = {k: np.array(getattr(recording, k)) for k in changes}
        for name, change in changes.items():
            change(columns[name])
        return replace(recording, **columns)

    return apply


def _scaled(rows: Any, factor: float) -> Callable[[np.ndarray], None]:
    def change(values: np.ndarray) -> None:
        values[rows] *= factor

    return change


def _held(rows: Any) -> Callable[[np.ndarray], None]:
    def change(values: np.ndarray) -> None:
        values[rows] = 3.0 * values[rows][:1]

    return change


def _spiked(values: np.ndarray) -> None:
    values[np.random.default_rng(3).random(values.shape) < 0.01] *= 10.0


def _clipped(values: np.ndarray) -> None:
    limit = 0.7 * np.abs(values).max(axis=0)
    np.clip(values, -limit, limit, out=values)


def _rolled(rows: int, axis: int) -> Callable[[np.ndarray], None]:
    def change(values: np.ndarray) -> None:
        values[:] = np.roll(values, rows, axis=axis)

    return change


def _late(joint: int, rows: int) -> Callable[[np.ndarray], None]:
    def change(values: np.ndarray) -> None:
        values[rows:, joint] = values[:-rows, joint]

    return change


def _drifting(joint: int, part: float) -> Callable[[np.ndarray], None]:
    def change(values: np.ndarray) -> None:
        size = part * np.sqrt(np.mean(values[:, joint] ** 2))
        values[:, joint] += np.linspace(0.0, size, len(values))

    return change


def _turned(values: np.ndarray) -> None:
    values[:, 2] += 0.5 * np.pi


FAULTS: dict[str, Callable[[robolin.Recording], robolin.Recording]] = {
    "none": lambda each: each,
    "1 % of the efforts ten times too large": changed(tau=_spiked),
    "opposite sign of the efforts of joint 2": changed(tau=_scaled(np.s_[:, 1], -1.0)),
    "opposite sign of the efforts of joint 5": changed(tau=_scaled(np.s_[:, 4], -1.0)),
    "opposite sign of the velocities of joint 3": changed(qd=_scaled(np.s_[:, 2], -1.0)),
    "opposite sign of joint 3": changed(
        q=_scaled(np.s_[:, 2], -1.0), qd=_scaled(np.s_[:, 2], -1.0)
    ),
    "zero position of joint 3 off by 90 degrees": changed(q=_turned),
    "efforts 80 ms late": changed(tau=_rolled(8, 0)),
    "efforts of joint 3 60 ms late": changed(tau=_late(2, 6)),
    "efforts of joint 3 drift by 20 %": changed(tau=_drifting(2, 0.2)),
    "efforts shifted by one joint": changed(tau=_rolled(1, 1)),
    "efforts clipped at 70 %": changed(tau=_clipped),
    "efforts of joint 3 stuck for 3 s": changed(tau=_held(np.s_[900:1200, 2])),
    "12 equal wrong rows": changed(tau=_held(np.s_[900:912]), qd=_held(np.s_[900:912])),
    "12 equal wrong rows of the efforts": changed(tau=_held(np.s_[900:912])),
    "a gap of 3 s": lambda each: rows_of(each, np.r_[:900, 1200 : len(each.time)]),
    "10 % of the rows lost": lambda each: rows_of(each, np.arange(len(each.time)) % 10 > 0),
    "numbers of 1e293": changed(tau=_scaled(np.s_[500, 2], 1e293)),
}


if __name__ == "__main__":
    main(*sys.argv[1:2])
