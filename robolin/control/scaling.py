"""Balancing of linear models: state units in which entries have similar size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robolin.core.arrays import Floats

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
        for i in range(A.shape[-1]):
            weights = size / scale[..., :, None] * scale[..., None, :]
            drives = weights[..., :, i].sum(axis=-1)
            driven = weights[..., i, :].sum(axis=-1) + reach[..., i] / scale[..., i]
            known = (drives > 0.0) & (driven > 0.0)
            ratio = np.where(known, driven, 1.0) / np.where(known, drives, 1.0)
            target = scale[..., i] * 2.0 ** np.round(0.5 * np.log2(ratio))
            scale[..., i] = np.clip(target, 1.0 / WIDEST_SCALE, WIDEST_SCALE)
    return scale
