"""Functions of `robolin.torch` and `robolin.jax`: names, arguments, results and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from robolin.core.arm import Arm
from robolin.core.arrays import require_arm, require_tree
from robolin.core.text import join_and, pluralize, quote_list
from robolin.errors import RobolinError, UsageError


class InverseMatrices(NamedTuple):
    """Matrices (..., n, n) of the linearized inverse dynamics, as tensors or JAX arrays."""

    mass_matrix: Any
    dtau_dqd: Any
    dtau_dq: Any


class ForwardMatrices(NamedTuple):
    """Accelerations (..., n) and matrices (..., n, n) of the linearized forward dynamics."""

    qdd: Any
    dqdd_dtau: Any
    dqdd_dqd: Any
    dqdd_dq: Any


# functions of robolin.torch and robolin.jax -> their arguments
DIFFERENTIABLE: Mapping[str, tuple[str, ...]] = {
    "inverse": ("q", "qd", "qdd"),
    "forward": ("q", "qd", "tau"),
    "mass-matrix": ("q",),
    "linearize-inverse": ("q", "qd", "qdd"),
    "linearize-forward": ("q", "qd", "tau"),
}


def require_differentiable(arm: Arm, verb: str, module: str) -> tuple[str, ...]:
    """Arguments of the function; reject other verbs, closed loops and multi-DoF joints."""
    require_arm(arm)
    if verb not in DIFFERENTIABLE:
        known = quote_list([*DIFFERENTIABLE])
        hint = f"for example {module}.function(arm, 'forward')"
        raise UsageError(f"{module}.function: must be one of {known}, got {verb!r}", hint=hint)
    require_tree(arm, f"{module}.function(arm, '{verb}')")
    require_coordinates(arm, module)
    return DIFFERENTIABLE[verb]


def require_coordinates(arm: Arm, module: str) -> None:
    """Reject multi-DoF joints, whose gradients are not with respect to coordinates."""
    if arm.groups:
        raise RobolinError(
            f"{module}: joint '{arm.groups[0].name}' has several degrees of freedom, so its "
            "gradient is with respect to twists, not coordinates",
            where=arm.source,
            hint="use robolin.gradient_forward or robolin.gradient_inverse: gradient_q is with "
            "respect to twists",
        )


def bound_arguments(
    verb: str, names: Sequence[str], arguments: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Values of all arguments by name; raise an error if one is missing."""
    values = {**dict(zip(names, arguments, strict=False)), **named}
    count = len(arguments) + len(named)
    if count != len(values) or values.keys() != {*names}:
        others = [name for name in named if name not in names]
        actual = pluralize(count, "argument")
        if others:
            actual = f"{pluralize(len(others), 'unknown argument')}: {quote_list(others)}"
        raise UsageError(
            f"{verb.replace('-', '_')}: must be called with {join_and(names)}, got {actual}",
            hint=f"call {verb.replace('-', '_')}({', '.join(names)})",
        )
    return {name: values[name] for name in names}


def shapes_differ(values: Mapping[str, Any]) -> RobolinError:
    """The error for arrays that do not broadcast."""
    shapes = ", ".join(f"{name} {tuple(value.shape)}" for name, value in values.items())
    hint = "use arrays of the same shape, or shapes that broadcast"
    return RobolinError(f"shapes do not match: {shapes}", hint=hint)
