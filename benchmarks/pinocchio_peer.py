"""Pinocchio: loops over states in C++, and its functions for Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, cached_property, partial

import numpy as np
import pinocchio as pin

from benchmarks.compiled_loops import library, pinocchio_headers, pointer
from benchmarks.subjects import VERBS, States, Subject
from robolin.description.robot_source import bundled_path
from tests.dynamics.pinocchio_reference import model_from_arm, model_from_urdf

Answer = Callable[[States, int], dict[str, np.ndarray]]

# results of a loop, in order, with their number of joint axes
RESULTS: dict[str, dict[str, int]] = {
    "inverse": {"tau": 1},
    "forward": {"qdd": 1},
    "mass-matrix": {"mass_matrix": 2},
    "linearize-inverse": {"mass_matrix": 2, "dtau_dqd": 2, "dtau_dq": 2},
    "linearize-forward": {"qdd": 1, "dqdd_dtau": 2, "dqdd_dqd": 2, "dqdd_dq": 2},
    "perturb-inverse": {"dtau": 1},
    "perturb-forward": {"dqdd": 1},
}


class Pinocchio:
    """The subject as a Pinocchio model; one method per verb."""

    name = "Pinocchio"

    def __init__(self, subject: Subject) -> None:
        arm = subject.arm
        if subject.urdf:
            self.model = model_from_urdf(bundled_path(subject.urdf), arm)
        else:
            self.model = model_from_arm(arm)
        self.data = self.model.createData()
        names = [name for name in self.model.names if name != "universe"]
        assert names == list(arm.joint_names), "states are handed over without reordering"

    def loop(self, verb: str) -> Answer | None:
        """The C++ loop of a verb; None if Pinocchio does not have it or the compiler is missing."""
        results = RESULTS.get(verb)
        robot = self._robot if results else None
        if results is None or robot is None:
            return None
        run, n = getattr(_loops(), f"pinocchio_{verb.replace('-', '_')}"), self.model.nv

        @cache
        def memory(rows: int) -> dict[str, np.ndarray]:
            # new memory in every call would take a third more time
            return {name: np.empty((rows, *(n,) * axes)) for name, axes in results.items()}

        def answer(states: States, rows: int) -> dict[str, np.ndarray]:
            arrays = memory(rows)
            inputs = (states[name] for name in VERBS[verb][0])
            run(robot, ctypes.c_long(rows), *map(pointer, inputs), *map(pointer, arrays.values()))
            # matrices are stored column by column
            return {name: array.swapaxes(1, -1) for name, array in arrays.items()}

        return answer

    @cached_property
    def _robot(self) -> ctypes.c_void_p | None:
        """The model in C++, with the numbers of the model in Python."""
        loops, model = _loops(), self.model
        if loops is None:
            return None
        joints = list(zip(model.joints, model.jointPlacements, model.inertias, strict=True))[1:]
        kinds, numbers = np.empty((model.nv, 2), np.int32), np.empty((model.nv, 29))
        still = pin.SE3.Identity()
        turned = [still]
        for i, (joint, placement, body) in enumerate(joints):
            name, parent = joint.shortname().removeprefix("JointModel"), model.parents[i + 1]
            if len(name) == 2:
                axis, own = np.eye(3)["XYZ".index(name[-1])], still
            else:
                # joints along z are faster than joints along any axis
                axis, own = np.eye(3)[2], _turned_to(joint.extract().axis)
            turned.append(own)
            placement, body = turned[parent].inverse() * placement * own, own.actInv(body)
            kinds[i] = parent, name.startswith("R")
            pose = (*placement.rotation.ravel(), *placement.translation)
            inertia = (body.mass, *body.lever, *body.inertia.ravel())
            numbers[i] = *pose, *axis, *inertia, model.armature[i]
        gravity = np.array(model.gravity.linear)
        make = loops.pinocchio_robot
        make.restype = ctypes.c_void_p
        return ctypes.c_void_p(make(model.nv, *map(pointer, (kinds, numbers, gravity))))

    def own_call(self, verb: str) -> Callable[..., object] | None:
        """Pinocchio's function for one state, with results left in its data; None if missing."""
        run = {
            "inverse": pin.rnea,
            "forward": pin.aba,
            "mass-matrix": pin.crba,
            "linearize-inverse": pin.computeRNEADerivatives,
            "linearize-forward": pin.computeABADerivatives,
        }.get(verb)
        return None if run is None else partial(run, self.model, self.data)

    def batch(self, verb: str, threads: int) -> Answer | None:
        """Pinocchio's function for batches of states in columns; None if missing."""
        run, third, gives = {
            "inverse": (getattr(pin, "rneaInParallel", None), "qdd", "tau"),
            "forward": (getattr(pin, "abaInParallel", None), "tau", "qdd"),
        }.get(verb, (None, "", ""))
        if run is None:
            return None
        pool = pin.ModelPool(self.model, threads)

        def answer(states: States, rows: int) -> dict[str, np.ndarray]:
            columns = (states[name][:rows].T for name in ("q", "qd", third))
            return {gives: run(threads, pool, *columns).T}

        return answer


def _turned_to(axis: np.ndarray) -> pin.SE3:
    """A rotation that turns z to the axis.

    Pinocchio's quaternion from two vectors has an error of 1e-13 if they are almost opposite.
    """
    x = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    x /= np.linalg.norm(x)
    return pin.SE3(np.stack([x, np.cross(axis, x), axis], axis=1), np.zeros(3))


@cache
def _loops() -> ctypes.CDLL | None:
    """The C++ loops, with all of Pinocchio compiled for this processor."""
    flags = pinocchio_headers()
    return library("pinocchio_loops.cpp", flags) if flags else None
