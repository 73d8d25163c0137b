"""The poles of a linear model: how fast, how well damped, stable or not, and what moves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robolin.control.model_parts import dominant_joints, joint_shares, require_mode
from robolin.control.scaling import balance
from robolin.control.state_space import StateSpace
from robolin.core.arrays import Complexes, Floats, Integers, Mask, Texts
from robolin.core.notebook import DisplayMixin

STABLE, EDGE, UNSTABLE = "stable", "edge", "unstable"

# sizes nearer than this are one, as those of a mode that decays and of one that grows as fast
_SAME_SIZE = 1e-9
# roundings of the matrix that a pole is allowed to have suffered, for each state
ROUNDINGS = 10.0


@dataclass(frozen=True, eq=False)
class Poles(DisplayMixin):
    """The poles of a model, the slowest first, conjugates side by side.

    Of poles as fast as each other, within a billionth, those that decay come before those that
    grow.

    `frequency` (rad/s), `damping`, `time_constant` (s), `stability` and `stable` follow from them;
    `joints(i)` names what moves in a mode.

    Fields:
        values: eigenvalues of A (..., N), of the discrete model where there is a sample time
        rates: the same in 1/s (..., N): log(values)/dt of a discrete model
        bound: how far rounding may have moved each of them (..., N), in 1/s
        shapes: how much each joint moves (..., N, n), beside the one that moves most
        model: the model they are of

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
        """The damping ratio -Re λ/|λ|; -1 at 0, as Octave and MATLAB have it."""
        still, gone = self.frequency <= self.bound, np.isinf(self.frequency)
        growth = np.where(gone, -1.0, self.rates.real)
        ratio = -growth / np.where(still | gone, 1.0, self.frequency)
        return np.where(still, -1.0, ratio)

    @cached_property
    def time_constant(self) -> Floats:
        """-1/Re λ in s: infinite on the edge, negative where a mode grows."""
        edge = self.stability == EDGE
        return np.where(edge, np.inf, -1.0 / np.where(edge, -1.0, self.rates.real))

    @cached_property
    def stability(self) -> Texts:
        """'stable', 'unstable', or 'edge' where |Re λ| is within the bound."""
        growth = self.rates.real
        grows = np.where(growth > 0.0, UNSTABLE, STABLE)
        return np.where(np.abs(growth) <= self.bound, EDGE, grows)

    @property
    def stable(self) -> Mask:
        """(...): whether every pole is stable."""
        stable: Mask = (self.stability == STABLE).all(axis=-1)
        return stable

    def joints(self, *place: int) -> tuple[str, ...]:
        """The joints that move in a mode.

        Args:
            place: that of the model in its batch, as many indices as it has axes, then that of the
                mode among the N

        Returns:
            names of joints, the one that moves most first, without those that have less than a
            tenth of its share

        Raises:
            UsageError: a place at which there is no mode

        Example:
            >>> model = robolin.state_space(robolin.load("cart-pole"), [0.0, 0.0])
            >>> model.poles().joints(0)
            ('slide',)
        """
        require_mode(self.model, place)
        return dominant_joints(self.model, self.shapes[place])


def poles_of(model: StateSpace) -> Poles:
    """Eigenvalues and eigenvectors of A in balanced units."""
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
    """Places (..., N) of the poles in order of |λ|, where rounding decides nothing.

    Of equal sizes those come first that decay fastest, and conjugates are side by side.
    """
    sizes = np.abs(rates)
    rising = np.argsort(sizes, axis=-1, kind="stable")
    ordered = np.take_along_axis(sizes, rising, axis=-1)
    rank = np.zeros(sizes.shape, dtype=np.int64)
    larger = ordered[..., 1:] * (1.0 - _SAME_SIZE) > ordered[..., :-1]
    np.put_along_axis(rank, rising[..., 1:], np.cumsum(larger, axis=-1), axis=-1)
    # of a pole that is there twice, each has its conjugate beside it
    same_before = np.tril(rates[..., :, None] == rates[..., None, :], -1).sum(axis=-1)
    keys = (rates.imag, same_before, np.abs(rates.imag), rates.real, rank)
    order: Integers = np.lexsort(keys, axis=-1)
    return order


def _bounds(A: Floats, values: Complexes, condition: Floats, dt: float | None) -> Floats:
    """How far an eigenvalue moves when every entry of the balanced A is rounded a few times.

    To first order by its condition; never more than a triple eigenvalue moves.
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
    """|y||x|/|y*x| of every eigenvalue, infinite where eigenvectors coincide."""
    flat = vectors.reshape(-1, *vectors.shape[-2:])
    found = np.empty(flat.shape[:2])
    try:
        rows = np.linalg.inv(flat)
        with np.errstate(all="ignore"):
            found[...] = np.linalg.norm(rows, axis=-1)
    except np.linalg.LinAlgError:
        for i, each in enumerate(flat):
            try:
                found[i] = np.linalg.norm(np.linalg.inv(each), axis=-1)
            except np.linalg.LinAlgError:
                found[i] = np.inf
    return np.nan_to_num(found, nan=np.inf, posinf=np.inf).reshape(vectors.shape[:-1])
