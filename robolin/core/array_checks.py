"""Validate arrays that users pass: shape, dtype, labels and finite values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray, Floats, JointValues
from robolin.core.labelled_values import in_joint_order, labelled
from robolin.core.labelled_values import require_same_rows as require_same_rows
from robolin.core.text import pluralize
from robolin.dynamics.algebra.trigonometry import LARGEST_ANGLE
from robolin.errors import RobolinError, UsageError

# types without labels
_PLAIN = (int, float, np.number, str)
# float64 represents all integers up to this one exactly
_EXACT = 1 << 53


def require_arm(arm: object) -> None:
    """Reject anything but a loaded arm, such as the name of one."""
    if not isinstance(arm, Arm):
        actual = repr(arm) if isinstance(arm, str) else f"a {type(arm).__name__}"
        hint = f"load it first: robolin.load({arm!r})" if isinstance(arm, str) else "robolin.load"
        raise UsageError(f"arm: must be a loaded robot, got {actual}", hint=hint)


def require_tree(arm: Arm, question: str) -> None:
    """Reject an arm with closed loops; `question` names what is defined for trees only."""
    if arm.loops:
        names = ", ".join(f"'{loop.name}'" for loop in arm.loops)
        raise RobolinError(
            f"{question} supports kinematic trees only; this robot has closed loops: {names}",
            where=arm.source,
            hint="add --open-loops (open_loops=True) to ignore the loop constraints; forward, "
            "linearize-forward and simulate support them",
        )


def require_regressor_kernel(arm: Arm) -> None:
    """Reject arms whose regressor has columns that its kernel lacks, so that Y π is not τ."""
    if arm.has_one_sided_friction and arm.friction_velocity is not None:
        raise RobolinError(
            "regressor: its kernel does not support one-sided friction, which needs two "
            "columns per joint",
            where=arm.source,
            hint="use robolin.regressor, or omit friction_velocity (--friction-velocity)",
        )
    if arm.has_springs:
        names = ", ".join(f"'{link.joint.name}'" for link in arm.links if link.joint.stiffness)
        raise RobolinError(
            f"regressor: its kernel does not support joint springs: {names}",
            where=arm.source,
            hint="use robolin.regressor, or remove the springs (--no-springs, springs=False)",
        )


def require_loops(arm: Arm) -> None:
    """Reject an arm without closed loops."""
    if not arm.loops:
        hint = "load a robot with loops and without open_loops=True"
        raise RobolinError(f"the robot '{arm.name}' has no closed loops", hint=hint)


def as_joint_array(arm: Arm, name: str, value: JointValues) -> Floats:
    """Convert joint values to floats (..., n) in the arm's joint order.

    A single number is used for all joints.  Dicts and tables are matched by joint name.
    """
    numbers = real_numbers(name, _by_joint(arm, name, value))
    array = np.ascontiguousarray(numbers, dtype=float)
    if numbers.ndim == 0:
        array = np.full(arm.n, float(numbers))
    if array.shape[-1] != arm.n:
        raise RobolinError(
            f"{name}: must have {pluralize(arm.n, 'value')} along its last axis, one per "
            f"joint of '{arm.name}', got {array.shape[-1]}",
            hint=f"joint order: {', '.join(arm.joint_names)}",
        )
    return array


def joint_arrays(arm: Arm, values: Mapping[str, JointValues]) -> dict[str, Floats]:
    """Convert named joint values to floats (..., n); their row labels must be equal."""
    if not all(isinstance(value, np.ndarray) for value in values.values()):
        require_same_rows(values)
    return {name: as_joint_array(arm, name, value) for name, value in values.items()}


def _by_joint(arm: Arm, name: str, value: Any) -> Any:
    """Remove labels and put joints in order; a value without labels is returned unchanged."""
    if isinstance(value, np.ndarray):
        if value.dtype.names is None:
            return value
    elif isinstance(value, (list, tuple)):
        if all(isinstance(each, _PLAIN) for each in value):
            return value
        return [_by_joint(arm, name, each) for each in value]
    elif isinstance(value, _PLAIN):
        return value
    reject_tensor(name, value)
    by_label = labelled(name, value)
    if by_label is None:
        return value
    columns = in_joint_order(name, by_label, arm.joint_names, isinstance(value, Mapping))
    return np.stack(np.broadcast_arrays(*(real_numbers(name, each) for each in columns)), -1)


def reject_tensor(name: str, value: object) -> None:
    """Reject tensors of PyTorch and traced arrays of JAX, which NumPy would detach or fail on."""
    kind = type(value)
    library = kind.__module__.partition(".")[0]
    if library == "torch" and hasattr(value, "requires_grad"):
        raise UsageError(
            f"{name}: must be a NumPy array, got a tensor of PyTorch",
            hint="use robolin.torch.function(arm, 'forward'), or pass tensor.detach().numpy()",
        )
    if library == "jax" and "Tracer" in kind.__name__:
        raise UsageError(
            f"{name}: must be a NumPy array, got a traced array of JAX",
            hint="call robolin outside of jit, grad and vmap, or through jax.pure_callback",
        )


def real_numbers(name: str, value: ArrayLike) -> AnyArray:
    """Convert to an array of real numbers; reject text, complex, masked values and tensors."""
    if not isinstance(value, np.ndarray):
        reject_tensor(name, value)
    try:
        array = np.asanyarray(value)
    except ValueError as error:
        raise RobolinError(f"{name}: must be an array of numbers: {error}") from error
    # np.ma is imported on first use: avoid that for plain arrays
    if type(array) is not np.ndarray and np.ma.is_masked(array):
        raise RobolinError(
            f"{name}: has masked values", hint="fill the masked values, or remove their rows"
        )
    if array.dtype.kind not in "biuf":
        raise RobolinError(f"{name}: must be an array of real numbers, got type {array.dtype}")
    return array


def is_real_number(value: object) -> bool:
    """True for one real number of Python or NumPy, except bool."""
    if not isinstance(value, Real | np.ndarray):
        return False
    array = np.asarray(value)
    return array.ndim == 0 and array.dtype.kind in "iuf"


def seconds_of(time: ArrayLike, where: str = "") -> Floats:
    """Convert times to float64 seconds; reject dates and integers that float64 would round."""
    array = np.asarray(time)
    if array.dtype.kind == "M":
        hint = "convert to seconds from 0: (time - time[0]) / numpy.timedelta64(1, 's')"
        raise RobolinError("time: must be in seconds, got dates", where=where, hint=hint)
    if array.dtype.kind in "iu" and np.abs(array).max(initial=0) > _EXACT:
        raise RobolinError(
            f"time: must be in seconds, got time stamps such as {array.flat[0]}",
            where=where,
            hint="convert to seconds from 0: (time - time[0]) / 1e9 for nanoseconds",
        )
    return np.asarray(array, dtype=float)


def is_single_state(arm: Arm, values: Sequence[JointValues]) -> bool:
    """True if the values are plainly those of one state; False if `as_joint_array` must check."""
    for value in values:
        plain = type(value) is np.ndarray and value.dtype == float and value.shape == (arm.n,)
        # leave integers beyond int64 to `as_joint_array`
        single = isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 63)
        if not plain and not single:
            return False
    return True


def batch_of(arrays: Mapping[str, AnyArray]) -> tuple[int, ...]:
    """The broadcast shape of the leading axes of all values."""
    shapes: set[tuple[int, ...]] = {array.shape[:-1] for array in arrays.values()}
    if len(shapes) == 1:
        return shapes.pop()
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError as error:
        # one value per joint fits all shapes, such as a default that the caller did not set
        batches = {name: array for name, array in arrays.items() if array.ndim > 1}
        shapes_text = ", ".join(f"{name} {array.shape}" for name, array in batches.items())
        raise RobolinError(f"the shapes cannot be broadcast together: {shapes_text}") from error


def kernel_rows(array: AnyArray, batch: tuple[int, ...]) -> AnyArray:
    """A contiguous array with the rows of the batch; a single shared row stays one row."""
    shape = array.shape[:-1]
    if shape == batch or not shape:
        return array
    return np.ascontiguousarray(np.broadcast_to(array, (*batch, array.shape[-1])))


def require_sound(arm: Arm, state: Mapping[str, AnyArray]) -> None:
    """Reject NaN, infinity, and angles too large for an accurate sine, in one state."""
    for name, values in state.items():
        finite = np.isfinite(values)
        if not finite.all():
            index = int(np.argmin(finite))
            joint = arm.joint_names[index]
            raise RobolinError(f"{name}: must be finite, got {values[index]} at joint '{joint}'")
    if "q" in state:
        _require_angles(arm, state["q"])


def _require_angles(arm: Arm, q: AnyArray) -> None:
    """Reject huge angles: neighbouring doubles there differ by a noticeable rotation."""
    for link, index in zip(arm.links_tip_to_base, arm.coordinates, strict=True):
        mimic = link.joint.mimic
        angle = q[index] * mimic.ratio + mimic.offset if mimic else q[index]
        if link.joint.turns and abs(angle) > LARGEST_ANGLE:
            raise RobolinError(
                f"q: must be within ±{LARGEST_ANGLE:.0f} rad, got {angle:g} rad at joint "
                f"'{link.joint.name}'",
                hint="subtract whole revolutions first",
            )


def require_finite_results(results: Mapping[str, AnyArray]) -> None:
    """Reject results of one state that overflow."""
    for name, values in results.items():
        if not np.isfinite(values).all():
            raise RobolinError(
                f"{name}: too large for double precision", hint="check the size of the values"
            )


def quaternion_angles(quaternion: Sequence[float]) -> tuple[float, list[float]]:
    """Return the length of a quaternion (x, y, z, w), and roll, pitch and yaw of its direction."""
    from robolin.core.quaternions import rpy_from_quaternion

    array = np.array(quaternion)
    length = float(np.linalg.norm(array))
    return length, rpy_from_quaternion(array / length).tolist() if length else [0.0] * 3
