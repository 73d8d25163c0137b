"""Pinocchio, called state by state in a Python loop, with results copied."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pinocchio as pin

from benchmarks.subjects import States, Subject
from robolin.description.robot_source import bundled_path
from tests.dynamics.pinocchio_reference import model_from_arm, model_from_urdf

Answer = Callable[[States, int], dict[str, np.ndarray]]


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

    def inverse(self, states: States, rows: int) -> dict[str, np.ndarray]:
        model, data = self.model, self.data
        q, qd, qdd = states["q"], states["qd"], states["qdd"]
        tau = np.empty((rows, model.nv))
        for i in range(rows):
            tau[i] = pin.rnea(model, data, q[i], qd[i], qdd[i])
        return {"tau": tau}

    def forward(self, states: States, rows: int) -> dict[str, np.ndarray]:
        model, data = self.model, self.data
        q, qd, tau = states["q"], states["qd"], states["tau"]
        qdd = np.empty((rows, model.nv))
        for i in range(rows):
            qdd[i] = pin.aba(model, data, q[i], qd[i], tau[i])
        return {"qdd": qdd}

    def mass_matrix(self, states: States, rows: int) -> dict[str, np.ndarray]:
        model, data, q = self.model, self.data, states["q"]
        M = np.empty((rows, model.nv, model.nv))
        for i in range(rows):
            M[i] = pin.crba(model, data, q[i])
        return {"mass_matrix": M}

    def linearize_inverse(self, states: States, rows: int) -> dict[str, np.ndarray]:
        model, data = self.model, self.data
        q, qd, qdd = states["q"], states["qd"], states["qdd"]
        by_q, by_qd, M = np.empty((3, rows, model.nv, model.nv))
        for i in range(rows):
            by_q[i], by_qd[i], M[i] = pin.computeRNEADerivatives(model, data, q[i], qd[i], qdd[i])
        return {"mass_matrix": M, "dtau_dqd": by_qd, "dtau_dq": by_q}

    def linearize_forward(self, states: States, rows: int) -> dict[str, np.ndarray]:
        model, data = self.model, self.data
        q, qd, tau = states["q"], states["qd"], states["tau"]
        by_q, by_qd, inverse = np.empty((3, rows, model.nv, model.nv))
        qdd = np.empty((rows, model.nv))
        for i in range(rows):
            by_q[i], by_qd[i], inverse[i] = pin.computeABADerivatives(
                model, data, q[i], qd[i], tau[i]
            )
            qdd[i] = data.ddq
        return {"qdd": qdd, "dqdd_dtau": inverse, "dqdd_dqd": by_qd, "dqdd_dq": by_q}

    def perturb_inverse(self, states: States, rows: int) -> dict[str, np.ndarray]:
        """Derivatives times perturbations: Pinocchio has no function for the product."""
        model, data = self.model, self.data
        q, qd, qdd = states["q"], states["qd"], states["qdd"]
        dq, dqd, dqdd = states["dq"], states["dqd"], states["dqdd"]
        dtau = np.empty((rows, model.nv))
        for i in range(rows):
            by_q, by_qd, M = pin.computeRNEADerivatives(model, data, q[i], qd[i], qdd[i])
            dtau[i] = by_q @ dq[i] + by_qd @ dqd[i] + M @ dqdd[i]
        return {"dtau": dtau}

    def perturb_forward(self, states: States, rows: int) -> dict[str, np.ndarray]:
        """Derivatives times perturbations: Pinocchio has no function for the product."""
        model, data = self.model, self.data
        q, qd, tau = states["q"], states["qd"], states["tau"]
        dq, dqd, dtau = states["dq"], states["dqd"], states["dtau"]
        dqdd = np.empty((rows, model.nv))
        for i in range(rows):
            by_q, by_qd, inverse = pin.computeABADerivatives(model, data, q[i], qd[i], tau[i])
            dqdd[i] = by_q @ dq[i] + by_qd @ dqd[i] + inverse @ dtau[i]
        return {"dqdd": dqdd}

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
