"""The answer of `sensitivity`: the motion and its changes read, the model integrated, written."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from robolin.analysis.link_parameters import joint_slides
from robolin.analysis.nominal_motion import rising, torque_history
from robolin.analysis.sensitivity import sensitivity, sensitivity_matrices
from robolin.arm import Arm
from robolin.cli.answer import arm_inputs
from robolin.cli.flags.flag import recorded
from robolin.cli.flags.model_flags import Model
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.sensitivity_flags import Changes
from robolin.errors import RobolinError, UsageError
from robolin.quantities import COLUMN_WORDS, labelled_unit, unit_of
from robolin.results.result import Array, Result
from robolin.trajectory.read import read_trajectory
from robolin.trajectory.trajectory import Trajectory


def answer_sensitivity(model: Model, changes: Changes, out: Output) -> None:
    """Integrate along the motion and write what changes."""
    out.require_target()
    arm = model.arm()
    out.note(*(f"{arm.name}: {note}" for note in arm.contract["notes"]))
    if arm.source == "-" and "-" in (changes.trajectory, changes.torque_file):
        raise UsageError("the arm is read from standard input already", where="--trajectory -")
    motion = _motion(arm, changes.trajectory, out)
    inputs = {**arm_inputs(arm), _name(changes.trajectory): motion.digest}
    nominal = {name: getattr(motion, name) for name in ("time", "q", "qd", "tau", "qdd")}
    along: dict[str, Any] = {**nominal, "torques": changes.torques, "jobs": out.jobs}
    if changes.matrices:
        arrays = _matrices(arm, along)
    else:
        arrays = _changed(arm, along, changes, inputs)
    out.write(
        Result(
            verb="sensitivity",
            arrays=arrays,
            joints=arm.joint_names,
            contract={**arm.contract, **_said(motion, changes)},
            options=recorded(),
            inputs=inputs,
            time=motion.time,
            model=arm.figures,
        )
    )


def _motion(arm: Arm, path: str, out: Output) -> Trajectory:
    """The nominal motion, with everything that it must have."""
    motion = read_trajectory(path, arm.joint_names, ("q", "qd"), ("tau", "qdd"))
    file = _name(path)
    out.note(*(f"{file}: {note}" for note in motion.notes))
    if motion.time is None:
        raise RobolinError("there is no column 'time'", where=file, hint="in seconds, rising")
    rising(motion.time, where=file)
    if motion.tau is None and motion.qdd is None:
        hint = "columns JOINT/effort, or JOINT/acceleration"
        raise RobolinError("there are neither efforts nor accelerations", where=file, hint=hint)
    return motion


def _changed(
    arm: Arm, along: dict[str, Any], changes: Changes, inputs: dict[str, str]
) -> tuple[Array, ...]:
    """dq and dqd in every row."""
    small: dict[str, Any] = dict(changes.state.perturbations(arm))
    if changes.torque_file is not None:
        more = read_trajectory(changes.torque_file, arm.joint_names, ("tau",))
        file = _name(changes.torque_file)
        inputs[file] = more.digest
        history = torque_history(along["time"], more.time, more.tau, where=file)
        small["dtau"] = history + small["dtau"]
    small |= {"parameters": changes.parameters, "payload": changes.payload}
    found = sensitivity(arm, **along, **small)
    kinds = [joint.kind for joint in arm.joints]
    return tuple(
        Array(name, getattr(found, name), (arm.joint_names,), unit_of(name, kinds))
        for name in ("dq", "dqd")
    )


def _matrices(arm: Arm, along: dict[str, Any]) -> tuple[Array, ...]:
    """Every sensitivity in every row."""
    found = sensitivity_matrices(arm, **along)
    words = (COLUMN_WORDS["q"], COLUMN_WORDS["qd"])
    states = tuple(f"{joint}/{word}" for word in words for joint in arm.joint_names)
    named = {
        "dx_dx0": (found.transition, (states, states)),
        "dx_dtau": (found.torque, (states, arm.joint_names)),
        "dx_dparameters": (found.parameter, (states, found.names)),
    }
    return tuple(
        Array(name, values, labels, labelled_unit(name, labels, joint_slides(arm)))
        for name, (values, labels) in named.items()
    )


def _said(motion: Trajectory, changes: Changes) -> dict[str, str]:
    asked = {
        "state and torques": changes.state.perturb,
        "torque history": changes.torque_file,
        "parameters": changes.parameters,
        "payload": changes.payload,
    }
    changed = ", ".join(what for what, given in asked.items() if given) or "all, as matrices"
    source = "efforts" if motion.tau is not None else "accelerations"
    return {
        "motion": f"{motion.rows} rows of {_name(changes.trajectory)}, {source} given, "
        f"torques {changes.torques}",
        "changed": changed,
        "algorithm": "linearized model along the motion, Runge-Kutta of order 4 from row to row",
    }


def _name(path: str) -> str:
    return "stdin" if path == "-" else PurePath(path).name
