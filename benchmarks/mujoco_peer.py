"""MuJoCo: loops over states in C, without contacts and constraints.

Its derivatives are finite differences; derivatives of the transition divided by the time step, here
one second, are those of the acceleration.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import mujoco
import numpy as np

from benchmarks.compiled_loops import library, pointer
from benchmarks.subjects import VERBS, States, Subject
from benchmarks.timing import progress
from robolin.core.arm import Arm, Link
from robolin.description.robot_source import bundled_path

DIFFERENCE = 1e-6

Answer = Callable[[States, int], dict[str, np.ndarray]]

# arrays of a loop, in order, with their shapes for n joints
RESULTS: dict[str, dict[str, Callable[[int], tuple[int, ...]]]] = {
    "inverse": {"tau": lambda n: (n,)},
    "forward": {"qdd": lambda n: (n,)},
    "mass-matrix": {"mass_matrix": lambda n: (n, n)},
    "linearize-inverse": dict.fromkeys(("mass_matrix", "dtau_dqd", "dtau_dq"), lambda n: (n, n)),
    "linearize-forward": {"A": lambda n: (2 * n, 2 * n), "B": lambda n: (2 * n, n)},
}


class MuJoCo:
    """The subject as a MuJoCo model."""

    name = "MuJoCo"

    def __init__(self, subject: Subject) -> None:
        text = (
            bundled_path(subject.urdf).read_text(encoding="utf-8")
            if subject.urdf
            else _mjcf(subject.arm)
        )
        self.model = _model(text, subject.arm)
        self.data = mujoco.MjData(self.model)

    def loop(self, verb: str) -> Answer | None:
        """The C loop of a verb; None if MuJoCo does not have it or the compiler is missing."""
        loops = _loops() if verb in RESULTS else None
        if loops is None:
            return None
        run, n = getattr(loops, f"mujoco_{verb.replace('-', '_')}"), self.model.nv
        handles = [ctypes.c_void_p(each._address) for each in (self.model, self.data)]
        step = [ctypes.c_double(DIFFERENCE)] if verb.startswith("linearize") else []

        @cache
        def memory(rows: int) -> list[np.ndarray]:
            # new memory in every call would take more time
            return [np.empty((rows, *shape(n))) for shape in RESULTS[verb].values()]

        def answer(states: States, rows: int) -> dict[str, np.ndarray]:
            arrays = memory(rows)
            inputs = (states[name] for name in VERBS[verb][0])
            parts = (*map(pointer, inputs), *map(pointer, arrays))
            run(*handles, ctypes.c_long(rows), *parts, *step)
            return _named(verb, arrays, n, self.model.opt.timestep)

        return answer


def _named(verb: str, arrays: Sequence[np.ndarray], n: int, step: float) -> dict[str, np.ndarray]:
    """Results by name; finite differences as derivatives of torques and accelerations."""
    if verb == "linearize-inverse":
        # rows are inputs and columns are outputs: transpose
        arrays = [each.transpose(0, 2, 1) for each in arrays]
    if verb == "linearize-forward":
        A, B = arrays
        arrays = [B[:, n:] / step, (A[:, n:, n:] - np.eye(n)) / step, A[:, n:, :n] / step]
        return dict(zip(("dqdd_dtau", "dqdd_dqd", "dqdd_dq"), arrays, strict=True))
    return dict(zip(RESULTS[verb], arrays, strict=True))


@cache
def _loops() -> ctypes.CDLL | None:
    package = Path(mujoco.__file__).parent
    shared = sorted(package.glob("libmujoco.so*"))
    if not shared:
        progress("MuJoCo's shared library is missing: its loops are left out")
        return None
    folders = (f"-I{package / 'include'}", f"-L{package}", f"-Wl,-rpath,{package}")
    return library("mujoco_loops.c", [*folders, f"-l:{shared[0].name}"])


def _model(text: str, arm: Arm) -> mujoco.MjModel:
    """The model with a motor on every joint, without contacts, dissipation or limits."""
    spec = mujoco.MjSpec.from_string(text)
    spec.compiler.balanceinertia = False
    spec.compiler.boundmass = spec.compiler.boundinertia = 0.0
    for joint in spec.joints:
        motor = spec.add_actuator(name=f"motor_{joint.name}", target=joint.name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
    model = spec.compile()
    names = [model.joint(i).name for i in range(model.njnt)]
    assert names == list(arm.joint_names), "states are handed over without reordering"
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_CONSTRAINT | off.mjDSBL_CONTACT | off.mjDSBL_LIMIT
    model.opt.timestep = 1.0
    model.opt.gravity[:] = arm.gravity
    model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    model.dof_armature[:] = [joint.armature for joint in arm.joints]
    return model


def _mjcf(arm: Arm) -> str:
    """The robot in MJCF, body by body."""
    bodies = "".join(_body(arm, k) for k in _children(arm, arm.base))
    return f'<mujoco><compiler angle="radian"/><worldbody>{bodies}</worldbody></mujoco>'


def _body(arm: Arm, k: int) -> str:
    link = arm.link(k)
    pose, inertia = link.joint.pose, link.inertia
    xx, xy, xz, yy, yz, zz = inertia.rotary
    x_axis, y_axis = pose.rotation[0::3], pose.rotation[1::3]
    return (
        f'<body name="{link.name}" pos="{_list(pose.translation)}" '
        f'xyaxes="{_list(x_axis)} {_list(y_axis)}">'
        f'<inertial pos="{_list(inertia.com)}" mass="{inertia.mass!r}" '
        f'fullinertia="{_list((xx, yy, zz, xy, xz, yz))}"/>'
        f'<joint name="{link.joint.name}" type="{_kind(link)}" axis="{_list(link.joint.axis)}"/>'
        + "".join(_body(arm, child) for child in _children(arm, k))
        + "</body>"
    )


def _children(arm: Arm, parent: int) -> list[int]:
    """Child links of a link, base to tip."""
    return [k for k in range(len(arm.links), 0, -1) if arm.link(k).parent == parent]


def _kind(link: Link) -> str:
    return "hinge" if link.joint.turns else "slide"


def _list(numbers: Iterable[float]) -> str:
    return " ".join(repr(number) for number in numbers)
