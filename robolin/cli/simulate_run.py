"""Running `simulate`: the motion that flags ask for."""

from __future__ import annotations

from pathlib import PurePath
from typing import cast

import numpy as np

from robolin.arm import Arm
from robolin.arrays import Floats
from robolin.cli.answer import arm_inputs
from robolin.cli.flags.loop_flags import Loops
from robolin.cli.flags.model_flags import Model
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.simulate_flags import Clock, Drive, Start
from robolin.cli.loop_answer import closed_state
from robolin.cli.simulate_report import Report, describe
from robolin.errors import RobolinError, UsageError
from robolin.simulation.equations import Form
from robolin.simulation.simulate import Task
from robolin.simulation.simulate import run as simulated
from robolin.simulation.torques import AnyTorque, TorqueTable
from robolin.trajectory.read import read_trajectory
from robolin.trajectory.trajectory import Trajectory


def run(model: Model, start: Start, drive: Drive, clock: Clock, loops: Loops, out: Output) -> None:
    """Simulate, write the motion, and say what deserves attention."""
    out.require_target()
    _require_one_stdin(model, start, drive)
    arm = model.arm()
    out.note(*(f"{arm.name}: {note}" for note in arm.contract["notes"]))
    loops.require_useful(arm)
    files = arm_inputs(arm)
    q, qd, begun = _beginning(arm, start, files, out)
    if loops.close is not None:
        closed = closed_state(arm, loops, {"q": q, "qd": qd})
        q, qd, begun = closed["q"], closed["qd"], f"{begun}, brought onto the closures"
    tau, driven = _torque(arm, drive, clock, files, out)
    many = start.initial is not None
    schedule = clock.schedule(many)
    task = Task(
        arm,
        schedule,
        hold=drive.holds,
        control=drive.law(arm),
        form=cast(Form, start.velocities),
        limits=not drive.ignore_limits,
        jobs=out.jobs,
        baumgarte=loops.baumgarte,
    )
    motion = simulated(task, q, qd, tau)
    ends_only = many and not clock.asks_for_rows(schedule)
    describe(Report(task, motion, begun, driven, files, ends_only), out)


def _require_one_stdin(model: Model, start: Start, drive: Drive) -> None:
    given = {"the arm": model.source, "--initial": start.initial, "--trajectory": drive.trajectory}
    piped = [name for name, path in given.items() if path == "-"]
    if len(piped) > 1:
        message = f"{piped[0]} is read from standard input already"
        raise UsageError(message, where=f"{piped[1]} -")


def _beginning(
    arm: Arm, start: Start, files: dict[str, str], out: Output
) -> tuple[Floats, Floats, str]:
    """q and q̇ to start from, and where they come from in words."""
    if start.initial is None:
        told = [f"--{name}" for name in ("q", "qd") if getattr(start, name) is not None]
        q, qd = (np.array(start.values(arm, name)) for name in ("q", "qd"))
        return q, qd, f"{' and '.join(told)} given" if told else "at rest at q = 0"
    read, file = _read(arm, start.initial, ("q",), ("qd",), files, out)
    assert read.q is not None, "positions are needed"
    rows = f"{read.rows} row{'s' * (read.rows != 1)} of {file}"
    if read.qd is None:
        return read.q, np.zeros_like(read.q), f"{rows}, at rest"
    return read.q, read.qd, rows


def _torque(
    arm: Arm, drive: Drive, clock: Clock, files: dict[str, str], out: Output
) -> tuple[AnyTorque, str]:
    """The torque besides that of a controller, and all of it in words."""
    if drive.trajectory is not None:
        read, file = _read(arm, drive.trajectory, ("tau",), (), files, out)
        if read.time is None:
            hint = "torques between rows need it"
            raise RobolinError("there is no column 'time'", where=file, hint=hint)
        assert read.tau is not None, "efforts are needed"
        if read.time[0] > 0.0 or read.time[-1] < clock.duration:
            span = f"{read.time[0]:g} s to {read.time[-1]:g} s"
            out.note(f"{file}: it has torques from {span}; outside, its nearest row counts")
        return TorqueTable(read.time, read.tau), f"efforts of {file}, linear between rows"
    if drive.control is not None:
        return 0.0, _law_said(drive)
    tau = np.array(drive.constant(arm))
    parts = ["what carries weight and loads"] if drive.holds else []
    if tau.any():
        parts.append("constant, as given")
    return tau, " and ".join(parts) or "zero"


def _law_said(drive: Drive) -> str:
    more = "weight, loads and losses made up for"
    gain = f"c = {drive.gain or '1'}"
    if drive.control == "rate":
        return f"control 8.1, ε = -c ν with {gain}; {more}"
    stiff = f"{drive.position_gain or '100'} N/m and {drive.orientation_gain or '10'} N·m"
    law = "control 8.2, ε = -c ν + m⁻¹ J* k e"
    return f"{law} with {gain}, k = {stiff}, to {drive.target}; {more}"


def _read(
    arm: Arm,
    path: str,
    needs: tuple[str, ...],
    optional: tuple[str, ...],
    files: dict[str, str],
    out: Output,
) -> tuple[Trajectory, str]:
    """A trajectory file, noted among the inputs, and its name."""
    read = read_trajectory(path, arm.joint_names, needs, optional)
    file = "stdin" if path == "-" else PurePath(path).name
    files[file] = read.digest
    out.note(*(f"{file}: {note}" for note in read.notes))
    return read, file
