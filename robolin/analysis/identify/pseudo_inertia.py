"""Pseudo-inertias: the 4x4 matrices that are positive definite if and only if a body can exist.

    P(π) = [ ½ tr(J) 1 - J    s ]         J  inertia about the origin of the link frame
           [ sᵀ               m ]         s  first moment m c

P is linear in the ten parameters π = (m, s, J), so physical consistency is a convex constraint.
"""

from __future__ import annotations

import numpy as np

from robolin.core.arrays import Floats

_ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def _basis() -> Floats:
    """∂P/∂π of shape (10, 4, 4)."""
    basis = np.zeros((10, 4, 4))
    basis[0, 3, 3] = 1.0
    for i in range(3):
        basis[1 + i, i, 3] = basis[1 + i, 3, i] = 1.0
    for k, (a, b) in enumerate(_ENTRIES, start=4):
        if a == b:
            basis[k, :3, :3] = 0.5 * np.eye(3)
            basis[k, a, a] -= 1.0
        else:
            basis[k, a, b] = basis[k, b, a] = -1.0
    return basis


BASIS = _basis()
BASIS.flags.writeable = False


def pseudo_inertia(values: Floats) -> Floats:
    """P (..., 4, 4) of parameters (..., 10)."""
    return np.asarray(np.einsum("...k,kij->...ij", values, BASIS))


def is_possible(values: Floats) -> bool:
    """Return whether a body with these ten parameters can exist, with a mass at every point ≥ 0.

    Bodies without extent, such as point masses and rods, are possible: a limit of others.
    """
    P = pseudo_inertia(values)
    size = np.sqrt(np.maximum(np.diag(P), 0.0))
    # relative to its own size, so that units do not matter
    scaled = P / np.where(size > 0.0, size, 1.0)[:, None] / np.where(size > 0.0, size, 1.0)
    return bool(np.linalg.eigvalsh(scaled).min() >= -1e-9)


def prior_of(values: Floats, mass: float, length: float) -> Floats:
    """A body near the given one that is strictly possible, for use as prior (10,).

    A body without extent or mass gets a little of both: 0.1 % of `mass` spread over `length`.
    """
    P = pseudo_inertia(values)
    scale = np.diag([length, length, length, 1.0]) * np.sqrt(mass)
    inverse = np.linalg.inv(scale)
    sizes, axes = np.linalg.eigh(inverse @ P @ inverse)
    if sizes.min() >= 1e-6:
        return np.array(values)
    lifted = scale @ (axes * np.maximum(sizes, 1e-3)) @ axes.T @ scale
    return linear_from_pseudo(lifted)


def linear_from_pseudo(P: Floats) -> Floats:
    """The ten parameters (..., 10) of pseudo-inertias (..., 4, 4)."""
    S = P[..., :3, :3]
    trace = np.trace(S, axis1=-2, axis2=-1)
    J = trace[..., None, None] * np.eye(3) - S
    entries = [J[..., a, b] for a, b in _ENTRIES]
    return np.stack([P[..., 3, 3], *(P[..., i, 3] for i in range(3)), *entries], axis=-1)


def ball_parameters(mass: float, radius: float, centre: Floats) -> Floats:
    """Ten parameters of a ball."""
    x, y, z = centre
    own = 0.4 * mass * radius**2
    return np.array(
        [
            *(mass, mass * x, mass * y, mass * z),
            *(own + mass * (y * y + z * z), -mass * x * y, -mass * x * z),
            *(own + mass * (x * x + z * z), -mass * y * z, own + mass * (x * x + y * y)),
        ]
    )
