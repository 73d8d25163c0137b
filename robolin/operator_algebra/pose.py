"""Operators that depend on the positions of the links, and formulas of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray
from robolin.dynamics.algebra.scalar import Scalar, Vector, sqrt
from robolin.dynamics.algebra.vectors import add, rotate
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated, articulated_bodies
from robolin.engine.direct import no_inertia
from robolin.engine.parameters import FrameRow, Parameters, parameters_of
from robolin.errors import RobolinError, UsageError
from robolin.operator_algebra.expression import Expression, Identity, Layout, Space, numbers_of
from robolin.operator_algebra.primitives import (
    ARTICULATED,
    COLUMN_BLOCK,
    MATRIX_BLOCK,
    NUMBER_BLOCK,
    PICK_OFF,
    RIGID,
    ROW,
    Block,
    BlockKind,
    NamedFormula,
    Recursion,
    Shift,
)


class Foundation:
    """An arm in one state; `chain`, a `DirectChain`, determines the scalar type."""

    layout: Layout

    def __init__(self, parameters: Parameters, chain: Any, arm: Arm | None = None) -> None:
        if parameters.mimics:
            raise _not_with_mimic(parameters, arm)
        self._parameters, self._chain, self._arm = parameters, chain, arm
        parents = (0, *(row.parent for row in parameters.links))
        self.layout = Layout(parents, parameters.order)

    def __repr__(self) -> str:
        of = f"'{self._arm.name}'" if self._arm else "a chain"
        return f"<spatial operators of {of}, {self.n} joints>"

    @property
    def n(self) -> int:
        return self.layout.n

    @property
    def paper_order(self) -> AnyArray:
        """Indices of the joints of links 1, 2, … in public order: v[paper_order] is the papers' v.

        Vectors of joints are in public order, base to tip.  Vectors of links, six numbers each, are
        in the papers' order, tip to base.  H maps between the two.
        """
        return np.array(self.layout.indices)

    def diagonal(self, blocks: ArrayLike, symbol: str = "X") -> Block:
        """A user-defined block diagonal operator, from an array with link 1, a tip, first.

        (n, 6, 6)  links to links       X(k) x(k)
        (n, 6)     joints to links      columns, as in G and H*
        (n,)       joints to joints     numbers, as in D
        """
        array = numbers_of("diagonal", blocks)
        n, joints, links = self.n, self.layout.joints, self.layout.links
        kinds: dict[tuple[int, ...], tuple[BlockKind, tuple[Space, Space]]] = {
            (n, 6, 6): (MATRIX_BLOCK, (links, links)),
            (n, 6): (COLUMN_BLOCK, (links, joints)),
            (n,): (NUMBER_BLOCK, (joints, joints)),
        }
        if array.shape not in kinds:
            raise RobolinError(
                f"blocks of shape {array.shape} do not form a block-diagonal operator of {n} links",
                hint=f"use the shape ({n}, 6, 6), ({n}, 6) or ({n},)",
            )
        kind, shape = kinds[array.shape]
        return self._made(symbol, map(tuple, array.reshape(n, -1).tolist()), kind, "", shape)

    # the kinds of block diagonal operators an arm has

    def _on_links(self, symbol: str, slots: Any, kind: BlockKind, meaning: str) -> Block:
        links = self.layout.links
        return self._made(symbol, self._each(slots), kind, meaning, (links, links))

    def _from_joints(self, symbol: str, slots: Any, kind: BlockKind, meaning: str) -> Block:
        shape = (self.layout.links, self.layout.joints)
        return self._made(symbol, self._each(slots), kind, meaning, shape)

    def _to_joints(self, symbol: str, slots: Any, kind: BlockKind, meaning: str) -> Block:
        shape = (self.layout.joints, self.layout.links)
        return self._made(symbol, self._each(slots), kind, meaning, shape)

    def _on_joints(self, symbol: str, at: Callable[[int], Scalar], meaning: str) -> Block:
        joints = self.layout.joints
        values = ((at(k),) for k in range(1, self.n + 1))
        return self._made(symbol, values, NUMBER_BLOCK, meaning, (joints, joints))

    def _each(self, slots: Any) -> Iterable[Vector]:
        return (slots[k] for k in range(1, self.n + 1))

    def _made(
        self,
        symbol: str,
        values: Iterable[Vector],
        kind: BlockKind,
        meaning: str,
        shape: tuple[Space, Space],
    ) -> Block:
        # links are counted from 1
        return Block(symbol, self, shape=shape, kind=kind, values=((), *values), meaning=meaning)


def _not_with_mimic(parameters: Parameters, arm: Arm | None) -> RobolinError:
    follower = next(row for row in parameters.links if row.is_mimic)
    leader = next(
        row.name
        for row in parameters.links
        if row.coordinate == follower.coordinate and not row.is_mimic
    )
    return RobolinError(
        f"spatial operators require independent joints, but '{follower.name}' mimics '{leader}'",
        where=arm.source if arm else "",
        hint=f"load the robot with the mimicked joint locked: lock={{'{leader}': 0.0}}",
    )


class PoseOperators(Foundation):
    """The operators of an arm at a position q."""

    # rigid links

    @cached_property
    def _links(self) -> Links:
        return forward_kinematics(self._chain)

    @cached_property
    def I(self) -> Identity:  # noqa: E743, the papers' name
        """The identity, of joints or of links depending on its use."""
        return Identity()

    @cached_property
    def H(self) -> Block:
        """H(k), the rows that project forces on the joint axes."""
        return self._to_joints("H", self._links.H, ROW, "projects forces onto the joint axes")

    @cached_property
    def M(self) -> Block:
        """M(k), rigid inertias about the inertial frame."""
        return self._on_links("M", self._links.M, RIGID, "contains the inertias of the links")

    @cached_property
    def E_phi(self) -> Shift:
        """The shift from every link to its parent link."""
        return Shift("E_φ", self, space=self.layout.links)

    @cached_property
    def phi(self) -> Recursion:
        """(I - E_φ)⁻¹, the sum over a link and all links outboard of it."""
        return Recursion("φ", self, shift=self.E_phi, transition=self.I, step=self.E_phi)

    @cached_property
    def phi_tilde(self) -> NamedFormula:
        """φ - I, which Rodriguez and Kreutz-Delgado write Φ."""
        return NamedFormula("φ~", self, definition=self.E_phi @ self.phi)

    # articulated bodies

    @cached_property
    def _articulated(self) -> Articulated:
        bodies = articulated_bodies(self._chain, self._links)
        if self._chain.shortfalls:
            raise no_inertia(self._chain.shortfalls[0], self._arm.source if self._arm else "")
        return bodies

    @cached_property
    def P(self) -> Block:
        """P(k), articulated inertias: the hinges outboard are free."""
        meaning = "contains the articulated-body inertias"
        return self._on_links("P", self._articulated.P, ARTICULATED, meaning)

    @cached_property
    def rotors(self) -> Block:
        """Reflected inertias of the drives, an addition to the papers."""
        return self._on_joints("A", self._chain.armature, "contains the armature of the joints")

    @cached_property
    def D(self) -> Block:
        """H P H*, plus the rotors if the arm has any."""
        meaning = "= H P H* + A" if self.has_rotors else "= H P H*"
        return self._on_joints("D", lambda k: self._articulated.D[k], meaning)

    @cached_property
    def Dinv(self) -> Block:
        return self._on_joints("D⁻¹", lambda k: self._articulated.Dinv[k], "")

    @cached_property
    def D_half(self) -> Block:
        return self._on_joints("D^½", lambda k: sqrt(self._articulated.D[k]), "")

    @cached_property
    def D_half_inv(self) -> Block:
        return self._on_joints("D^-½", lambda k: 1.0 / sqrt(self._articulated.D[k]), "")

    @cached_property
    def G(self) -> Block:
        """P H* D⁻¹, the gain of the filter."""
        return self._from_joints("G", self._articulated.G, COLUMN_BLOCK, "= P H* D⁻¹")

    @cached_property
    def K(self) -> NamedFormula:
        """G, shifted one link inward."""
        return NamedFormula("K", self, definition=self.E_phi @ self.G)

    @cached_property
    def tau_bar(self) -> NamedFormula:
        """τ̄ = I - G H, the transmission of forces through free hinges."""
        return NamedFormula("τ̄", self, definition=self.I - self.G @ self.H)

    @cached_property
    def E_psi(self) -> NamedFormula:
        """The shift through free hinges."""
        return NamedFormula("E_ψ", self, definition=self.E_phi @ self.tau_bar)

    @cached_property
    def psi(self) -> Recursion:
        """(I - E_ψ)⁻¹: φ with every hinge free."""
        return Recursion("ψ", self, shift=self.E_phi, transition=self.tau_bar, step=self.E_psi)

    @cached_property
    def psi_tilde(self) -> NamedFormula:
        """ψ - I."""
        return NamedFormula("ψ~", self, definition=self.E_psi @ self.psi)

    @cached_property
    def PSI(self) -> NamedFormula:
        """Ψ of Rodriguez and Kreutz-Delgado."""
        return NamedFormula("Ψ", self, definition=self.psi @ self.E_phi)

    # formulas

    @property
    def has_rotors(self) -> bool:
        return any(row.armature for row in self._parameters.links)

    @cached_property
    def mass_matrix(self) -> Expression:
        """The Newton–Euler factorization."""
        rigid = self.H @ self.phi @ self.M @ self.phi.T @ self.H.T
        return rigid + self.rotors if self.has_rotors else rigid

    @cached_property
    def factor(self) -> Expression:
        """The innovations factor: the mass matrix is factor D factor*."""
        return self.I + self.H @ self.phi @ self.K

    @cached_property
    def factor_inverse(self) -> Expression:
        """The inverse of the innovations factor."""
        return self.I - self.H @ self.psi @ self.K

    @cached_property
    def mass_matrix_inverse(self) -> Expression:
        """The innovations factorization of the inverse."""
        return self.factor_inverse.T @ self.Dinv @ self.factor_inverse

    # frames

    @cached_property
    def B(self) -> Block:
        """The pick-off of the arm's tip; the Jacobian is B.T @ phi.T @ H.T."""
        return self._pick_off("B", self._parameters.tip)

    def pick_off(self, frame: str, symbol: str = "B") -> Block:
        """B of any frame: velocities are [angular; linear] of its origin, in the root's axes."""
        frames = self._arm.frames if self._arm else {}
        if self._arm is None or frame not in frames:
            raise UsageError(f"frame '{frame}' not found", hint=f"frames: {', '.join(frames)}")
        at_frame = replace(self._arm, tip=frames[frame])
        return self._pick_off(symbol, parameters_of(at_frame).tip)

    def _pick_off(self, symbol: str, frame: FrameRow) -> Block:
        b = frame.link
        if b > self.n:
            raise RobolinError("the frame is on the base, which does not move")
        r = add(self._links.p[b], rotate(self._links.R[b], frame.point))
        values: list[Vector] = [r if k == b else () for k in range(1, self.n + 1)]
        shape = (self.layout.links, Space(self.layout, "frame", b))
        meaning = f"places a force at the frame, which is on link {b}"
        return self._made(symbol, values, PICK_OFF, meaning, shape)
