"""A motion as columns, its contract, and what deserves attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robolin.arm import Arm
from robolin.arrays import Floats
from robolin.cli.flags.flag import recorded
from robolin.cli.flags.output_flags import Output
from robolin.quantities import COLUMN_WORDS, unit_of
from robolin.results.result import Array, Result
from robolin.simulation.simulate import Task
from robolin.simulation.simulated_motion import Simulation
from robolin.terminal.top_rows import SHOWN

_NUMBERS = (
    *("kinetic_energy", "potential_energy", "work", "energy_error", "lyapunov"),
    *("position_error", "orientation_error"),
)
# an integrator that creates or loses this share of the energy has not followed the motion
_MUCH = 1e-2
_VELOCITIES = {
    "rates": "q̇, by articulated bodies",
    "xi": "ξ = (I + HφK)* q̇, by algorithm 8.1",
    "nu": "ν = m* q̇, by algorithm 8.1",
}


@dataclass(frozen=True)
class Report:
    """A motion, where it came from, and whether only its ends are of interest."""

    task: Task
    motion: Simulation
    begun: str
    driven: str
    files: Mapping[str, str]
    ends_only: bool

    @property
    def many(self) -> bool:
        return bool(self.motion.q.ndim > 2)


def describe(report: Report, out: Output) -> None:
    """Write the motion; on a terminal, some moments of it."""
    arm, motion = report.task.arm, report.motion
    result = Result(
        verb="simulate",
        arrays=_arrays(report),
        joints=arm.joint_names,
        contract=_contract(report),
        options=recorded(),
        inputs=report.files,
        time=None if report.ends_only else _times(motion),
        model=arm.figures,
    )
    for text in (_cut(arm, motion), _beyond(arm, motion), _drifted(motion)):
        if text:
            out.warn(text)
    out.write(_glimpse(result) if out.form_written() == "table" and not report.many else result)


def _arrays(report: Report) -> tuple[Array, ...]:
    """Every column, rows of one start after those of another."""
    arm, motion = report.task.arm, report.motion
    kinds = [joint.kind for joint in arm.joints]
    arrays = [
        Array(
            name,
            _rows(report, getattr(motion, name), 1),
            (arm.joint_names,),
            unit_of(name, kinds),
            word,
        )
        for name, word in COLUMN_WORDS.items()
    ]
    for name in _NUMBERS:
        values = getattr(motion, name)
        if values is not None:
            arrays.append(Array(name, _rows(report, values, 0), (), unit_of(name, kinds)))
    if report.many and not report.ends_only:
        starts, moments = motion.q.shape[0], len(motion.time)
        numbers = np.repeat(np.arange(1.0, starts + 1.0), moments)
        arrays.append(Array("initial", numbers, (), unit_of("initial", kinds)))
    return tuple(arrays)


def _rows(report: Report, values: Floats, rank: int) -> Floats:
    if report.ends_only:
        return np.ascontiguousarray(values[:, -1])
    return np.ascontiguousarray(values).reshape(-1, *values.shape[values.ndim - rank :])


def _times(motion: Simulation) -> Floats:
    return np.tile(motion.time, motion.q.shape[0] if motion.q.ndim > 2 else 1)


def _contract(report: Report) -> dict[str, Any]:
    task, motion = report.task, report.motion
    limits = _cut(task.arm, motion) or "respected, none was reached"
    return {
        **task.arm.contract,
        "start": report.begun,
        "integrator": task.schedule.said(),
        "velocities": _VELOCITIES[task.form],
        **_closures(task),
        "torque": report.driven,
        "torque limits": limits if task.limits else "ignored",
        "energy error": f"{motion.energy_drift.max():.3g} J at most, beside kinetic energies "
        f"up to {motion.kinetic_energy.max():.3g} J",
    }


def _closures(task: Task) -> dict[str, str]:
    """How closed loops were kept, on an arm that has some."""
    if not task.arm.loops:
        return {}
    if task.baumgarte is None:
        kept = "every step brought back onto them, positions and velocities"
    else:
        alpha, beta = task.baumgarte
        kept = f"gaps drawn shut by Baumgarte's terms, {alpha:g} and {beta:g} 1/s"
    return {"velocities": "q̇, by tree and closures", "closures": kept}


def _cut(arm: Arm, motion: Simulation) -> str:
    """How often torques were cut off, and at which joints."""
    rows = motion.saturated.reshape(-1, arm.n)
    counts = rows.sum(axis=0).tolist()
    if not any(counts):
        return ""
    joints = [
        f"{name} {count}" for name, count in zip(arm.joint_names, counts, strict=True) if count
    ]
    return (
        f"torques cut off at the joints' limits in {int(rows.any(axis=1).sum())} of {len(rows)} "
        f"rows: {', '.join(joints)}"
    )


def _beyond(arm: Arm, motion: Simulation) -> str:
    """Which joints went beyond their range: nothing stops them."""
    q = motion.q.reshape(-1, arm.n)
    low, high = q.min(axis=0), q.max(axis=0)
    names = [
        joint.name
        for joint, least, most in zip(arm.joints, low, high, strict=True)
        if (joint.limits.lower is not None and least < joint.limits.lower)
        or (joint.limits.upper is not None and most > joint.limits.upper)
    ]
    return (
        f"beyond the range of the joint, where nothing stops it: {', '.join(names)}"
        if names
        else ""
    )


def _drifted(motion: Simulation) -> str:
    """By how much energy came from nowhere, where that is no small part of what moved."""
    moved = np.maximum(np.abs(motion.kinetic_energy), np.abs(motion.work)).max(axis=-1)
    lost = motion.energy_drift
    if not (lost > _MUCH * moved).any():
        return ""
    worst = np.unravel_index(np.argmax(lost), lost.shape)
    return (
        f"{lost[worst]:.3g} J came from nowhere, beside {moved[worst]:.3g} J in motion: "
        "take smaller steps or a smaller tolerance"
    )


def _glimpse(result: Result) -> Result:
    """Some rows, evenly spread from the first to the last."""
    total = result.batch or 0
    if total <= SHOWN:
        return result
    picked = np.unique(np.linspace(0, total - 1, SHOWN).round().astype(int))
    arrays = tuple(replace(array, values=array.values[picked]) for array in result.arrays)
    time = None if result.time is None else result.time[picked]
    shown = {"shown": f"{len(picked)} of {total} rows; -o FILE keeps them all"}
    return replace(result, arrays=arrays, time=time, contract={**result.contract, **shown})
