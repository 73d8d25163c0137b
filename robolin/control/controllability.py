"""Controllability and observability: how much is reached, and which mode is nearly not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from robolin.control.model_parts import dominant_joints, joint_shares, require_mode
from robolin.control.poles import slowest_first
from robolin.control.scaling import ScaledMatrices, scaled_matrices
from robolin.control.state_space import StateSpace
from robolin.core.arrays import Complexes, Floats, Integers, Mask
from robolin.core.notebook import DisplayMixin

# a change of the model this small, beside its size, cannot be told from none
MODEL_ROUNDING = 1e-14

Reached = Literal["controllability", "observability"]


@dataclass(frozen=True, eq=False)
class Reachability(DisplayMixin):
    """What inputs reach, or outputs show.

    `complete` says whether that is everything, `distance` (..., N) how small a change of the model
    loses each of the modes `values`, `worst` which of them is nearest to being lost.

    Fields:
        kind: 'controllability' or 'observability'
        dimension: how many of the states (...), by the staircase form
        model: the model asked about
        scaled: A and B in the units that distances are told in

    Example:
        >>> model = robolin.state_space(robolin.load("panda"), np.zeros(7))
        >>> found = model.controllability()
        >>> found.dimension.item(), found.complete.item()
        (14, True)
    """

    kind: Reached
    dimension: Integers
    model: StateSpace
    scaled: ScaledMatrices

    @cached_property
    def complete(self) -> Mask:
        """(...): whether all states are reached, or shown, by more than rounding."""
        told = self.distance.min(axis=-1) > MODEL_ROUNDING
        complete: Mask = (self.dimension == self.model.A.shape[-1]) & told
        return complete

    @cached_property
    def values(self) -> Complexes:
        """The eigenvalues (..., N) that distances are told for, the slowest first."""
        found = np.linalg.eigvals(self.scaled.A).astype(complex)
        order = slowest_first(found)
        in_order: Complexes = np.take_along_axis(found, order, axis=-1)
        return in_order * self.scaled.norm[..., None]

    @cached_property
    def distance(self) -> Floats:
        """(..., N): the smallest change of [A B], beside the size of A, that loses a mode.

        σ_min[λ - A, B] in scaled units; for observability σ_min[λ - A; C].
        """
        return self._directions[0]

    @cached_property
    def worst(self) -> Integers:
        """(...): which mode is nearest to being lost."""
        worst: Integers = self.distance.argmin(axis=-1)
        return worst

    def joints(self, *place: int) -> tuple[str, ...]:
        """The joints of the direction that is nearest to being lost in a mode.

        Args:
            place: that of the model in its batch, as many indices as it has axes, then that of the
                mode among the N

        Returns:
            names of joints, the largest share first, without those that have less than a
            tenth of its share

        Raises:
            UsageError: a place at which there is no mode

        Example:
            >>> model = robolin.state_space(robolin.load("cart-pole"), [0.0, 0.0])
            >>> reached = model.controllability()
            >>> reached.joints(int(reached.worst))
            ('slide', 'pivot')
        """
        require_mode(self.model, place)
        return dominant_joints(self.model, joint_shares(self.model, self._directions[1])[place])

    @cached_property
    def _directions(self) -> tuple[Floats, Complexes]:
        """Smallest singular values (..., N), and the directions that belong to them."""
        A, B = self.scaled.A, self.scaled.B
        norm = np.where(self.scaled.norm > 0.0, self.scaled.norm, 1.0)
        lam = (self.values / norm[..., None])[..., None, None]
        shifted = lam * np.eye(A.shape[-1]) - A[..., None, :, :]
        reached = np.broadcast_to(B[..., None, :, :], (*shifted.shape[:-1], B.shape[-1]))
        U, sizes, _ = np.linalg.svd(np.concatenate([shifted, reached], axis=-1))
        return sizes[..., -1], U[..., -1]


def controllability_of(model: StateSpace) -> Reachability:
    """What the inputs reach."""
    units = scaled_matrices(model.A, model.B)
    return Reachability("controllability", staircase_dimension(units.A, units.B), model, units)


def observability_of(model: StateSpace) -> Reachability:
    """What the outputs show: what they would reach if the model ran backwards, by Aᵀ and Cᵀ."""
    units = scaled_matrices(np.moveaxis(model.A, -1, -2), np.moveaxis(model.C, -1, -2))
    return Reachability("observability", staircase_dimension(units.A, units.B), model, units)


# a singular value below this, in units in which A and B have size 1, is taken for nothing
ZERO_SINGULAR_VALUE = 1e-10


def staircase_dimension(A: Floats, B: Floats) -> Integers:
    """The dimension (...) of what is reached, A and B scaled to size 1."""
    N, inputs = B.shape[-2:]
    flat_A, flat_B = A.reshape(-1, N, N), B.reshape(-1, N, inputs)
    found = np.zeros(len(flat_A), dtype=int)
    _count(flat_A, flat_B, np.arange(len(flat_A)), found)
    return found.reshape(A.shape[:-2])


def _count(A: Floats, B: Floats, models: Integers, found: Integers) -> None:
    """Add what B reaches to `found`, then go on with the rest, models of one rank together."""
    if not len(models) or A.shape[-1] == 0:
        return
    U, sizes, _ = np.linalg.svd(B)
    ranks = (sizes > ZERO_SINGULAR_VALUE).sum(axis=-1)
    for rank in np.unique(ranks):
        if rank == 0:
            continue
        some = np.flatnonzero(ranks == rank)
        found[models[some]] += rank
        turned = np.moveaxis(U[some], -1, -2) @ A[some] @ U[some]
        _count(turned[:, rank:, rank:], turned[:, rank:, :rank], models[some], found)
