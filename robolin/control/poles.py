"""Poles of a balanced linear model: frequency, damping, stability and the joints that move."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from robolin.control.state_space import StateSpace, dominant_joints, joint_shares, require_mode
from robolin.core.arrays import Complexes, Floats, Integers, Mask, Texts
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass

STABLE, EDGE, UNSTABLE = "stable", "edge", "unstable"

# relative difference below which two magnitudes are equal, such as those of ±λ
_SAME_SIZE = 1e-9
# round-off errors of the matrix per state that the bound of a pole allows for
ROUNDINGS = 10.0


@dataclass(frozen=True, eq=False, repr=False)
class Poles(DisplayMixin):
    """Poles of a linear model, the slowest first, conjugates next to each other.

    Among poles of equal magnitude (within 1e-9), decaying modes come before growing ones.

    `frequency` (rad/s), `damping`, `time_constant` (s), `stability` and `stable` follow from them;
    `joints(i)` lists the joints that move in a mode.

    Fields:
        values: eigenvalues of A (..., N), of the discrete model if it has a sample time
        rates: poles in 1/s (..., N); log(values)/dt for a discrete model
        bound: estimated round-off error of each pole (..., N), in 1/s
        shapes: motion of each joint (..., N, n), relative to the joint that moves most
        model: the linear model

    Example:
        >>> model = robolin.state_space(robolin.load("cart-pole"), [0.0, 0.0])
        >>> poles = model.poles()
        >>> poles.stability.tolist()
        ['edge', 'stable', 'unstable', 'stable']
        >>> poles.joints(3)
        ('pivot',)
    """

    values: Complexes
    rates: Complexes
    bound: Floats
    shapes: Floats
    model: StateSpace

    @cached_property
    def frequency(self) -> Floats:
        """The natural frequency |λ| in rad/s."""
        return np.abs(self.rates)

    @cached_property
    def damping(self) -> Floats:
        """The damping ratio -Re λ/|λ|; -1 at λ = 0, as in Octave and MATLAB."""
        still, gone = self.frequency <= self.bound, np.isinf(self.frequency)
        growth = np.where(gone, -1.0, self.rates.real)
        ratio = -growth / np.where(still | gone, 1.0, self.frequency)
        return np.where(still, -1.0, ratio)

    @cached_property
    def time_constant(self) -> Floats:
        """-1/Re λ in s: infinite if marginally stable, negative if the mode grows."""
        edge = self.stability == EDGE
        return np.where(edge, np.inf, -1.0 / np.where(edge, -1.0, self.rates.real))

    @cached_property
    def stability(self) -> Texts:
        """'stable', 'unstable', or 'edge' (marginally stable) where |Re λ| is within the bound."""
        growth = self.rates.real
        grows = np.where(growth > 0.0, UNSTABLE, STABLE)
        return np.where(np.abs(growth) <= self.bound, EDGE, grows)

    @property
    def stable(self) -> Mask:
        """(...): whether every pole is stable."""
        stable: Mask = (self.stability == STABLE).all(axis=-1)
        return stable

    def joints(self, *index: int) -> tuple[str, ...]:
        """Names of the joints that move in a mode.

        Args:
            index: index of the model in its batch (one per batch axis), then index of the mode

        Returns:
            names of joints, largest motion first; joints below a tenth of the largest are omitted

        Raises:
            UsageError: an index without a mode

        Example:
            >>> model = robolin.state_space(robolin.load("cart-pole"), [0.0, 0.0])
            >>> model.poles().joints(0)
            ('slide',)
        """
        require_mode(self.model, index)
        return dominant_joints(self.model, self.shapes[index])


def poles_of(model: StateSpace) -> Poles:
    """Compute eigenvalues and eigenvectors of the balanced A."""
    scale = balance(model.A, np.zeros_like(model.B))
    A = model.A / scale[..., :, None] * scale[..., None, :]
    values, vectors = np.linalg.eig(A)
    values, vectors = values.astype(complex), vectors.astype(complex)
    condition = _conditions(vectors)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = values if model.dt is None else np.log(values) / model.dt
    bound = _bounds(A, values, condition, model.dt)
    order = slowest_first(rates)
    shapes = joint_shares(model, np.moveaxis(vectors * scale[..., :, None], -1, -2))
    values, rates, bound = (np.take_along_axis(x, order, axis=-1) for x in (values, rates, bound))
    shapes = np.take_along_axis(shapes, order[..., None], axis=-2)
    largest = shapes.max(axis=-1, keepdims=True)
    return Poles(values, rates, bound, shapes / np.where(largest > 0.0, largest, 1.0), model)


def slowest_first(rates: Complexes) -> Integers:
    """Indices (..., N) that sort poles by |λ|, independent of round-off.

    Among equal magnitudes the fastest decay comes first; conjugates are next to each other.
    """
    sizes = np.abs(rates)
    rising = np.argsort(sizes, axis=-1, kind="stable")
    ordered = np.take_along_axis(sizes, rising, axis=-1)
    rank = np.zeros(sizes.shape, dtype=np.int64)
    larger = ordered[..., 1:] * (1.0 - _SAME_SIZE) > ordered[..., :-1]
    np.put_along_axis(rank, rising[..., 1:], np.cumsum(larger, axis=-1), axis=-1)
    # keep each copy of a repeated pole next to its own conjugate
    same_before = np.tril(rates[..., :, None] == rates[..., None, :], -1).sum(axis=-1)
    keys = (rates.imag, same_before, np.abs(rates.imag), rates.real, rank)
    order: Integers = np.lexsort(keys, axis=-1)
    return order


def _bounds(A: Floats, values: Complexes, condition: Floats, dt: float | None) -> Floats:
    """Bound on the error of eigenvalues when entries of the balanced A have round-off.

    First order in the eigenvalue's condition; at most the bound of a triple eigenvalue.
    """
    noise = ROUNDINGS * A.shape[-1] * np.finfo(float).eps
    size = np.linalg.norm(A, axis=(-2, -1))[..., None]
    bound: Floats = np.minimum(noise * condition, np.cbrt(noise)) * size
    if dt is None:
        return bound
    # dλ = dz / (z dt)
    per_second: Floats = bound / (np.maximum(np.abs(values), noise) * dt)
    return per_second


def _conditions(vectors: Complexes) -> Floats:
    """Condition |y||x|/|y*x| of every eigenvalue, infinite where eigenvectors coincide."""
    flat = vectors.reshape(-1, *vectors.shape[-2:])
    conditions = np.empty(flat.shape[:2])
    try:
        rows = np.linalg.inv(flat)
        with np.errstate(all="ignore"):
            conditions[...] = np.linalg.norm(rows, axis=-1)
    except np.linalg.LinAlgError:
        for i, each in enumerate(flat):
            try:
                conditions[i] = np.linalg.norm(np.linalg.inv(each), axis=-1)
            except np.linalg.LinAlgError:
                conditions[i] = np.inf
    return np.nan_to_num(conditions, nan=np.inf, posinf=np.inf).reshape(vectors.shape[:-1])


SWEEPS = 8
# limits of the scales: couplings that are pure round-off must not be amplified
WIDEST_SCALE = 2.0**10


class ScaledMatrices(NamedTuple):
    """T⁻¹ A T and T⁻¹ B with T = diag(scale), divided by their norms (...)."""

    A: Floats
    B: Floats
    scale: Floats
    norm: Floats


def scaled_matrices(A: Floats, B: Floats) -> ScaledMatrices:
    """Balance rows and columns of [A B] by scaling the states with powers of two.

    Osborne's iteration: each state is scaled until its row of [A B] is as large as its column
    of A.
    """
    scale = balance(A, B)
    A = A / scale[..., :, None] * scale[..., None, :]
    B = B / scale[..., :, None]
    # make the result independent of the inputs' units
    columns = np.linalg.norm(B, axis=-2, keepdims=True)
    B = B / np.where(columns > 0.0, columns, 1.0)
    norm = np.linalg.norm(A, axis=(-2, -1))
    return ScaledMatrices(A / np.where(norm > 0.0, norm, 1.0)[..., None, None], B, scale, norm)


def balance(A: Floats, B: Floats) -> Floats:
    """Scale (..., N) of each state."""
    size = np.abs(A) * (1.0 - np.eye(A.shape[-1]))
    reach = np.abs(B).max(axis=-1, initial=0.0)
    largest = reach.max(axis=-1, initial=0.0, keepdims=True)
    # scale inputs to the speed of the model, so that their unit does not matter
    reach = reach * size.max(axis=(-2, -1))[..., None] / np.where(largest > 0.0, largest, 1.0)
    scale = np.ones(A.shape[:-1])
    for _ in range(SWEEPS):
        before = scale.copy()
        for i in range(A.shape[-1]):
            own = scale[..., i, None]
            drives = (size[..., :, i] / scale * own).sum(axis=-1)
            driven = (size[..., i, :] / own * scale).sum(axis=-1) + reach[..., i] / scale[..., i]
            known = (drives > 0.0) & (driven > 0.0)
            ratio = np.where(known, driven, 1.0) / np.where(known, drives, 1.0)
            target = scale[..., i] * 2.0 ** np.round(0.5 * np.log2(ratio))
            scale[..., i] = np.clip(target, 1.0 / WIDEST_SCALE, WIDEST_SCALE)
        if (scale == before).all():
            break
    return scale
