"""Results for arms with closed loops."""

from __future__ import annotations

from dataclasses import dataclass

from robolin.core.arrays import Floats, Mask
from robolin.core.notebook import DisplayMixin


@dataclass(frozen=True, eq=False)
class Closed(DisplayMixin):
    """A state that satisfies the loop constraints.

    Fields:
        q: positions (..., n) in rad or m
        qd: velocities (..., n) in rad/s or m/s

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> state.q.round(4)
        array([ 0.5   , -0.4758,  0.2549])
    """

    q: Floats
    qd: Floats


@dataclass(frozen=True, eq=False)
class ClosedChange(DisplayMixin):
    """A small change of state that satisfies the linearized loop constraints.

    Fields:
        dq: change of q (..., n) in rad or m
        dqd: change of qd (..., n) in rad/s or m/s

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> robolin.close_change(arm, state.q, dq=[0.01, 0, 0], hold="drive").dq.round(4)
        array([ 0.01  , -0.0091,  0.0051])
    """

    dq: Floats
    dqd: Floats


@dataclass(frozen=True, eq=False)
class LoopConstraints(DisplayMixin):
    """Loop constraints at a state: L q̈ = bias, with the violation and its rate L q̇.

    Fields:
        open_by: constraint violation of each equation (..., m) in m or rad
        opening: L q̇ (..., m) in m/s or rad/s
        jacobian: L (..., m, n) in m or rad per rad or m
        bias: -L̇ q̇ (..., m) in m/s² or rad/s²
        rows: names of the m equations: closure and component

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> robolin.loop_constraints(arm, state.q).rows
        ('pin/fx', 'pin/fy', 'pin/fz')
    """

    open_by: Floats
    opening: Floats
    jacobian: Floats
    bias: Floats
    rows: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LoopForces(DisplayMixin):
    """Forward dynamics with loops: 𝓜 q̈ + C = τ + Lᵀ λ.

    Fields:
        qdd: accelerations (..., n) in rad/s² or m/s²
        lam: force in N, and moment in N·m if rigid, on the first frame of each closure (..., m),
            in world axes; the second frame receives the opposite
        rank: number of independent equations (...)
        kept: True for independent equations (..., m); λ of the others is 0
        rows: names of the m equations: closure and component

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> robolin.loop_forces(arm, state.q).lam.round(4)
        array([-1.4621,  5.9577,  0.    ])
    """

    qdd: Floats
    lam: Floats
    rank: Floats
    kept: Mask
    rows: tuple[str, ...]

    @property
    def wrenches(self) -> dict[str, Floats]:
        """Components of lam of each closure: (..., 3) or (..., 6)."""
        names = [row.rsplit("/", 1)[0] for row in self.rows]
        return {
            name: self.lam[..., [i for i, other in enumerate(names) if other == name]]
            for name in dict.fromkeys(names)
        }


@dataclass(frozen=True, eq=False)
class LinearizedLoops(DisplayMixin):
    """q̈ ≈ qdd + dqdd_dtau δτ + dqdd_dqd δq̇ + dqdd_dq δq, and the same for λ.

    Valid for changes that satisfy the constraints: L δq = 0, and L δq̇ = -δL q̇.

    Fields:
        qdd: accelerations (..., n) in rad/s² or m/s²
        dqdd_dtau: (..., n, n), rad/s² per N·m
        dqdd_dqd: (..., n, n) in 1/s
        dqdd_dq: (..., n, n) in 1/s²
        lam: force in N, and moment in N·m if rigid, on the first frame of each closure (..., m),
            in world axes; the second frame receives the opposite
        dlam_dtau: (..., m, n), N per N·m
        dlam_dqd: (..., m, n) in N·s/rad
        dlam_dq: (..., m, n) in N/rad
        rank: number of independent equations (...)
        kept: True for independent equations (..., m); λ of the others is 0
        rows: names of the m equations: closure and component
        q: positions of the operating point (..., n) in rad or m
        qd: velocities of the operating point (..., n) in rad/s or m/s
        tau: torques of the operating point (..., n) in N·m or N

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> robolin.linearize_loops(arm, state.q).dlam_dq.shape
        (3, 3)
    """

    qdd: Floats
    dqdd_dtau: Floats
    dqdd_dqd: Floats
    dqdd_dq: Floats
    lam: Floats
    dlam_dtau: Floats
    dlam_dqd: Floats
    dlam_dq: Floats
    rank: Floats
    kept: Mask
    rows: tuple[str, ...]
    q: Floats
    qd: Floats
    tau: Floats
