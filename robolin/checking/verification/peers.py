"""Results of another program for the same robot, corrected for the same model assumptions.

The other program treats every joint as independent.  Mimic joints are coupled afterwards, and
dissipation and external loads are added to its torques, since programs differ in what they apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from robolin.checking.verification.bodies import (
    coordinate_rates,
    dissipation_and_load_torques,
    joint_positions,
    joint_rate_matrix,
)
from robolin.checking.verification.check_context import SUM, CheckContext
from robolin.checking.verification.checks import (
    STEP,
    Bound,
    Check,
    compared,
    not_applicable,
    not_run,
)
from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.records import dataclass
from robolin.description.robot_source import bundled_path
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import RobolinError, UsageError

OMITTED = "omitted in both programs"
# peer -> import name and distribution name
PACKAGES = {"pinocchio": ("pinocchio", "pin"), "mujoco": ("mujoco", "mujoco")}

DIFFERENCES = Bound(1e-5, "differences")


class PeerRefusedError(Exception):
    """The other program rejects the robot; the message is the reason."""


class Peer(Protocol):
    """A program that computes one state; vectors are in the order of the arm's links.

    title: name and version
    read:  source of its model
    exact: whether its derivatives are analytic rather than finite differences
    springs: how its results include joint springs
    """

    title: str
    read: str
    exact: bool
    springs: str

    def inverse(self, q: Floats, qd: Floats, qdd: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """τ, 𝓜, ∂τ/∂q̇ and ∂τ/∂q."""

    def forward(self, q: Floats, qd: Floats, tau: Floats) -> tuple[Floats, ...]:
        """q̈, and with analytic derivatives 𝓜⁻¹, ∂q̈/∂q̇ and ∂q̈/∂q."""


@dataclass(frozen=True)
class PeerComparison:
    """The other program, the source of its model, and corrections for comparable results."""

    peer: str
    read: str
    accounted: Mapping[str, str]


def require_peer(name: str) -> None:
    """Reject an unknown or missing program."""
    if not isinstance(name, str) or name not in PACKAGES:
        hint = f"choose {' or '.join(PACKAGES)}"
        raise UsageError(f"unknown program '{name}'", where="--against", hint=hint)
    module, package = PACKAGES[name]
    try:
        import_module(module)
    except ImportError as error:
        hint = f"pip install {package}"
        raise RobolinError(f"{name} is not installed", where="--against", hint=hint) from error


def compared_with(name: str, on: CheckContext) -> tuple[PeerComparison, list[Check]]:
    """Compare every result that both programs have."""
    family = f"against {name}"
    if on.arm.groups:
        joint = on.arm.groups[0].name
        reason = f"multi-DoF joint '{joint}': the programs use different coordinates"
        return PeerComparison(name, "", {}), [not_applicable(family, "all results", reason)]
    try:
        peer = _makers()[name](on.arm)
    except PeerRefusedError as refusal:
        return PeerComparison(name, "", {}), [not_run(family, "all results", str(refusal))]
    comparison = PeerComparison(peer.title, peer.read, _accounted(on.arm, peer))
    return comparison, [*_inverse_side(on, peer, family), *_forward_side(on, peer, family)]


def _makers() -> Mapping[str, Callable[[Arm], Peer]]:
    from robolin.checking.verification.reference_programs import MuJoCoPeer, PinocchioPeer

    return {"pinocchio": PinocchioPeer, "mujoco": MuJoCoPeer}


def _inverse_side(on: CheckContext, peer: Peer, family: str) -> Iterator[Check]:
    S = joint_rate_matrix(on.arm)
    full = joint_positions(on.arm, on.q), on.qd @ S.T, on.qdd @ S.T
    rows = [peer.inverse(*row) for row in zip(*full, strict=True)]
    tau, M, by_qd, by_q = (np.array(column) for column in zip(*rows, strict=True))
    extra = _Extra(on)
    yield compared(
        family, "tau", on.result("inverse", "tau"), tau @ S + extra.torque, SUM, on.motion_terms
    )
    computed = on.result("mass-matrix", "mass_matrix")
    yield compared(family, "mass_matrix", computed, S.T @ M @ S, SUM, on.inertia_bound)
    bound = SUM if peer.exact else DIFFERENCES
    for name, true in (
        ("dtau_dqd", S.T @ by_qd @ S + extra.by_qd),
        ("dtau_dq", S.T @ by_q @ S + extra.by_q),
    ):
        computed = on.result("linearize-inverse", name)
        # round-off of a finite difference: that of the terms divided by the step
        terms = on.motion_terms * (1.0 if peer.exact else bound.value / 1e-15)
        yield compared(family, name, computed, true, bound, terms)


def _forward_side(on: CheckContext, peer: Peer, family: str) -> Iterator[Check]:
    names = [*ALGORITHMS["linearize-forward"].gives][: None if peer.exact else 1]
    reason = on.no_inertia or (
        on.followers and f"{peer.title} does not support mimic joints: {on.followers}"
    )
    if reason:
        yield from (not_applicable(family, name, reason) for name in names)
        return
    S, extra = joint_rate_matrix(on.arm), _Extra(on)
    full = joint_positions(on.arm, on.q), on.qd @ S.T, (on.value("tau") - extra.torque) @ S.T
    rows = [peer.forward(*row) for row in zip(*full, strict=True)]
    qdd, *gradients = (np.array(column) for column in zip(*rows, strict=True))
    forward, model = (on.answering(verb)[0] for verb in ("forward", "linearize-forward"))
    computed = on.result(forward, "qdd")
    yield compared(family, "qdd", computed, qdd @ S, on.accelerations, on.acceleration_terms)
    if not gradients:
        return
    inverse, by_qd, by_q = (S.T @ gradient @ S for gradient in gradients)
    trues = (inverse, by_qd - inverse @ extra.by_qd, by_q - inverse @ extra.by_q)
    for name, true, terms in zip(
        names[1:], trues, (0.0, on.forward_terms, on.forward_terms), strict=True
    ):
        yield compared(family, name, on.result(model, name), true, on.divided, terms)


class _Extra:
    """Torques of dissipation and loads, and their gradients by complex step."""

    def __init__(self, on: CheckContext) -> None:
        arm, q, qd = on.arm, on.q[:, None, :], on.qd[:, None, :]
        ways = coordinate_rates(arm, q, np.eye(arm.n))
        self.torque = dissipation_and_load_torques(arm, on.q, on.qd)
        self.by_q = _columns(dissipation_and_load_torques(arm, q + 1j * STEP * ways, qd))
        self.by_qd = _columns(dissipation_and_load_torques(arm, q, qd + 1j * STEP * np.eye(arm.n)))


def _columns(stepped: Any) -> Floats:
    return np.swapaxes(np.imag(stepped) / STEP, -1, -2)


def _accounted(arm: Arm, peer: Peer) -> dict[str, str]:
    """Model assumptions, and how the other program accounts for each."""
    accounted = {"gravity": "set in the model of the other program"}
    if any(link.joint.damping for link in arm.links):
        accounted["damping"] = (
            "added to the torques of the other program" if arm.damping else OMITTED
        )
    if any(link.joint.stiffness for link in arm.links):
        accounted["springs"] = peer.springs if arm.springs else OMITTED
    if any(any(link.joint.friction_sides) for link in arm.links):
        applied = arm.friction_velocity is not None
        accounted["friction"] = (
            "added to the torques of the other program, smoothed" if applied else OMITTED
        )
    if any(link.joint.armature for link in arm.links):
        accounted["armature"] = "set in the model of the other program"
    if arm.has_mimic:
        accounted["mimic"] = (
            "the joints are independent in the other program, and coupled afterwards"
        )
    if arm.wrenches:
        accounted["wrench"] = "added to the torques of the other program, by virtual work"
    return accounted


def urdf_path(arm: Arm) -> Path | None:
    """The file of the arm, if it is unchanged and no options modify the model."""
    if not arm.source or arm.contract.get("payload", "none") != "none":
        return None
    path = Path(arm.source)
    if not path.is_file():
        path = bundled_path(arm.source) or path
    if path.suffix.lower() not in (".urdf", ".xml"):
        return None
    try:
        text = path.read_bytes()
    except OSError:
        return None
    return path if sha256(text).hexdigest() == arm.digest else None
