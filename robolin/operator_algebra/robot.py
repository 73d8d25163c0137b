"""Public interface of the spatial operators of an arm in one state."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import (
    Floats,
    JointValues,
    as_joint_array,
    require_arm,
    require_sound,
    require_tree,
)
from robolin.dynamics.algebra.chain import Scalars, Slots
from robolin.dynamics.algebra.inertias import gyroscopic, half_of, outer_half, times_half
from robolin.dynamics.algebra.vectors import ZERO3, add, force_cross, scale, sub
from robolin.dynamics.diagonal.diagonal_tables import articulated_rates
from robolin.dynamics.links.link_motion import NominalTerms, Velocities, nominal_terms, velocities
from robolin.engine.direct import DirectChain
from robolin.engine.parameters import at_rest, parameters_of
from robolin.errors import RobolinError, UsageError
from robolin.operator_algebra.expression import put_together
from robolin.operator_algebra.pose import PoseOperators
from robolin.operator_algebra.primitives import (
    ARTICULATED,
    COLUMN_BLOCK,
    FORCE_CROSS,
    GYROSCOPIC,
    HALF,
    MOTION_CROSS,
    ROW,
    Block,
    NamedFormula,
)


class Operators(PoseOperators):
    """Spatial operators of an arm at q; q̇ adds operators of motion, q̈ operators of forces.

    Operators multiply as in the papers and apply to arrays in O(n); `.explain()` shows the
    recursion.  docs/howto/operators.md lists them: H, phi, E_phi, M, P, D, G, K, psi, …, V, Hd,
    Mhat, …, f.  Vectors of joints have shape (n,), and vectors of links (6 links,), in SI units;
    `.dense()` returns a matrix.

    Fields:
        n: number of links

    Example:
        >>> arm = robolin.load("two-link")
        >>> op = robolin.operators(arm, [0.3, -0.7])
        >>> op.I + op.H @ op.phi @ op.K
        I + H φ K
        >>> (op.H @ op.phi @ op.M @ op.phi.T @ op.H.T).dense().round(4)
        array([[2.4315, 0.7158],
               [0.7158, 0.3333]])
    """

    # velocities

    @cached_property
    def _moving(self) -> Velocities:
        return velocities(self._chain, self._links, self._given("qd"))

    @cached_property
    def V(self) -> Floats:
        """Spatial velocities φ* H* q̇ of all links."""
        return self._vector(self._moving.V)

    @cached_property
    def V_tilde(self) -> Block:
        """V~(k) X = V(k) x X."""
        return self._on_links("V~", self._moving.V, MOTION_CROSS, "is the cross product with V")

    @cached_property
    def Hd(self) -> Block:
        """Ḣ, whose transpose is V x H*."""
        return self._to_joints("Ḣ", self._moving.Hd, ROW, "is the time derivative of H")

    @cached_property
    def Mhat(self) -> Block:
        """M̂ = ½ (Ṁ - Q[M V]); M̂ V is the gyroscopic force."""
        values = [gyroscopic(self._links.M[k], self._moving.V[k]) for k in self._numbered()]
        return self._on_links("M̂", [(), *values], GYROSCOPIC, "= ½ (Ṁ - Q[M V])")

    @cached_property
    def Omega_delta(self) -> Block:
        """S[H*(k) q̇(k)], the rotation of hinge k alone."""
        qd = self._given("qd")
        twists = [scale(self._links.H[k], qd[k]) for k in self._numbered()]
        return self._on_links("Ω~", [(), *twists], FORCE_CROSS, "= S[H* q̇]")

    @cached_property
    def lambda_dot(self) -> Block:
        """λ̇(k), the time derivative of P(k) due to hinge k and the outboard hinges."""
        self._require_one_freedom("λ̇")
        links, art = self._links, self._articulated
        rates = articulated_rates(self._chain, links, art, self._given("qd"))
        return self._on_links("λ̇", rates, ARTICULATED, "= E_ψ λ̇ E_ψ* + Ω~ P + (Ω~ P)*")

    @cached_property
    def Phat(self) -> Block:
        """P̂ = E_ψ P̂ E_φ* + M̂: M̂ accumulated through free hinges, in the same way as P."""
        Phat, handed = self._chain.slots(18), self._chain.child_sums(18)
        for k in self._numbered():
            Phat[k] = add(handed[k], half_of(self.Mhat.values[k]))
            along = times_half(self._links.H[k], Phat[k])
            handed.add_to_parent(k, sub(Phat[k], outer_half(self._articulated.G[k], along)))
        return self._on_links("P̂", Phat, HALF, "= E_ψ P̂ E_φ* + M̂")

    @cached_property
    def Ghat(self) -> Block:
        """P̂* H* D⁻¹."""
        Ghat: list[Any] = [()]
        for k in self._numbered():
            along = times_half(self._links.H[k], self.Phat.values[k])
            Ghat.append(scale(along, self._articulated.Dinv[k]) + ZERO3)
        return self._from_joints("Ĝ", Ghat, COLUMN_BLOCK, "= P̂* H* D⁻¹")

    @cached_property
    def Khat(self) -> NamedFormula:
        """Ĝ, shifted to the parent link."""
        return NamedFormula("K̂", self, definition=self.E_phi @ self.Ghat)

    # accelerations and forces, gravity and loads included

    @cached_property
    def _one(self) -> NominalTerms:
        return nominal_terms(self._chain, self._links, self._given("qdd"))

    @cached_property
    def Hdd(self) -> Block:
        """Ḧ, whose transpose is a x H* + V x Ḣ*."""
        self._require_one_freedom("Ḧ")
        return self._to_joints("Ḧ", self._one.Hdd, ROW, "is the time derivative of Ḣ")

    @cached_property
    def f(self) -> Floats:
        """The wrenches that the parent links exert on the links."""
        return self._vector(self._one.f)

    @cached_property
    def Hf(self) -> Block:
        """S[H*(k)] f(k), the change of forces as hinge k rotates them."""
        one, H = self._one, self._links.H
        columns = [force_cross(H[k], one.f[k]) for k in self._numbered()]
        return self._from_joints(
            "S[H*]f", [(), *columns], COLUMN_BLOCK, "rotates forces with the hinges"
        )

    def _numbered(self) -> range:
        return range(1, self.n + 1)

    def _vector(self, slots: Slots) -> Floats:
        links = self.layout.links
        vector: Floats = put_together(links, [(), *self._each(slots)], np.empty(links.size))
        return vector

    def _require_one_freedom(self, symbol: str) -> None:
        """Reject multi-DoF joints, whose axes rotate with all coordinates of the joint."""
        if self._chain.groups:
            raise RobolinError(
                f"{symbol} is available only for joints with one degree of freedom",
                where=self._arm.source if self._arm else "",
                hint="for other joints, use V, Ḣ, M̂ and the operators that depend only on q",
            )

    def _given(self, name: str) -> Scalars:
        try:
            scalars: Scalars = self._chain.input(name)
        except KeyError:
            call = "operators(arm, q, qd)" if name == "qd" else "operators(arm, q, qd, qdd)"
            raise RobolinError(
                f"this operator requires {name}", hint=f"use robolin.{call}"
            ) from None
        return scalars


def operators(
    arm: Arm, q: JointValues, qd: JointValues | None = None, qdd: JointValues | None = None
) -> Operators:
    """Spatial operators of an arm in one state, to multiply and to apply to vectors.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (n,) in rad or m, in the order of `arm.joint_names`
        qd: velocities (n,) in rad/s or m/s; None omits the operators that need them
        qdd: accelerations (n,) in rad/s² or m/s²; None omits the operators of forces

    Returns:
        an `Operators`

    Raises:
        RobolinError: invalid values, or closed loops; on access, an operator that needs a missing
            argument
        UsageError: `arm` is not an arm, or several states

    Example:
        >>> arm = robolin.load("two-link")
        >>> op = robolin.operators(arm, [0.3, -0.7])
        >>> factor = op.I + op.H @ op.phi @ op.K
        >>> factor.inv
        I - H ψ K
        >>> (factor.inv.T @ op.Dinv @ factor.inv @ [1.0, 2.0]).round(4)
        array([-3.6827, 13.9077])
    """
    require_arm(arm)
    require_tree(arm, "operators")
    if qdd is not None and qd is None:
        qd = 0.0
    state = {"q": as_joint_array(arm, "q", q)}
    for name, value in (("qd", qd), ("qdd", qdd)):
        if value is not None:
            state[name] = as_joint_array(arm, name, value)
    for name, array in state.items():
        if array.ndim != 1:
            raise UsageError(f"{name} has shape {array.shape}, but operators are for one state")
    require_sound(arm, state)
    parameters = parameters_of(arm)
    if parameters.travelling:
        # operators use one fixed frame in every state
        parameters = at_rest(parameters)
    numbers = {name: array.tolist() for name, array in state.items()}
    return Operators(parameters, DirectChain(parameters, numbers), arm)
