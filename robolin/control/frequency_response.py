"""C (jω - A)⁻¹ B + D over many frequencies, from one Schur form of A."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.model_parts import as_numbers, one_by_one, stacked_models
from robolin.control.optional_dependencies import scipy_part
from robolin.control.state_space import StateSpace
from robolin.core.arrays import Complexes, Floats
from robolin.errors import RobolinError, UsageError


def frequency_response(model: StateSpace, omega: ArrayLike) -> Complexes:
    """Complex numbers (..., len(omega), p, m); with a dt, exp(jω dt) stands in place of jω."""
    w = as_numbers("omega", omega)
    if w.ndim != 1 or not len(w) or not np.isfinite(w).all():
        raise UsageError("omega is not a row of finite frequencies", hint="rad/s, one or more")
    rates = 1j * w
    at = np.asarray(rates if model.dt is None else np.exp(rates * model.dt), dtype=np.complex128)
    return stacked_models([_response(each, at, w) for each in one_by_one(model)], model.batch)


def _response(model: StateSpace, at: Complexes, omega: Floats) -> Complexes:
    """By A = Z T Z*: back substitution with s - T, for all frequencies together."""
    linalg = scipy_part("linalg", "a frequency response")
    T, Z = linalg.schur(model.A, output="complex")
    pushed, seen = Z.conj().T @ model.B, model.C @ Z
    N, m = pushed.shape
    x = np.zeros((len(at), N, m), dtype=complex)
    for i in reversed(range(N)):
        pivot = at - T[i, i]
        if (pivot == 0.0).any():
            where = omega[int(np.argmax(pivot == 0.0))]
            hint = "leave this frequency out, or look beside it"
            raise RobolinError(f"the model has a pole at {where:g} rad/s", hint=hint)
        x[:, i] = (pushed[i] + T[i, i + 1 :] @ x[:, i + 1 :]) / pivot[:, None]
    return np.asarray(seen @ x + model.D)
