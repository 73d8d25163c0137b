"""Values at the border of the library: their shape, their kind, and whether they make sense."""

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

# what has no labels for sure
_PLAIN = (int, float, np.number, str)
# whole numbers up to here are float64 as well
_EXACT = 1 << 53


def require_arm(arm: object) -> None:
    """An arm that was loaded, not the name of one."""
    if not isinstance(arm, Arm):
        given = repr(arm) if isinstance(arm, str) else f"a {type(arm).__name__}"
        hint = f"load it first: robolin.load({arm!r})" if isinstance(arm, str) else "robolin.load"
        raise UsageError(f"an arm is needed, not {given}", hint=hint)


def require_tree(arm: Arm, question: str) -> None:
    """No closed loops, where only a tree of joints has an answer."""
    if arm.loops:
        names = ", ".join(f"'{loop.name}'" for loop in arm.loops)
        raise RobolinError(
            f"{question} is about trees of joints, and the arm has closed loops: {names}",
            where=arm.source,
            hint="--open-loops (open_loops=True) leaves the closures out; "
            "forward, linearize-forward and simulate keep them",
        )


def require_one_friction_column(arm: Arm) -> None:
    """No one-sided friction, where a kernel of the regressor is used as it is."""
    if arm.has_one_sided_friction and arm.friction_velocity is not None:
        raise RobolinError(
            "regressor: one-sided friction has two columns per joint, and its kernel has one",
            where=arm.source,
            hint="use robolin.regressor, or leave out friction_velocity (--friction-velocity)",
        )


def require_loops(arm: Arm) -> None:
    """Closed loops, where a question is about them."""
    if not arm.loops:
        hint = "loops are written in YAML arms, and open_loops=True leaves them out"
        raise RobolinError(f"the arm '{arm.name}' has no closed loops", hint=hint)


def as_joint_array(arm: Arm, name: str, value: JointValues) -> Floats:
    """The value as floats of shape (..., n), in the arm's order; a number stands for all joints.

    What comes with names, as dicts and tables do, is matched by them.
    """
    given = real_numbers(name, _by_joint(arm, name, value))
    array = np.ascontiguousarray(given, dtype=float)
    if given.ndim == 0:
        array = np.full(arm.n, float(given))
    if array.shape[-1] != arm.n:
        raise RobolinError(
            f"{name} has {array.shape[-1]} values along its last axis, "
            f"the arm '{arm.name}' has {pluralize(arm.n, 'joint')}",
            hint=f"the joints are, in order: {', '.join(arm.joint_names)}",
        )
    return array


def joint_arrays(arm: Arm, values: Mapping[str, JointValues]) -> dict[str, Floats]:
    """Values by name as floats of shape (..., n); rows with labels have to be the same in all."""
    require_same_rows(values)
    return {name: as_joint_array(arm, name, value) for name, value in values.items()}


def _by_joint(arm: Arm, name: str, value: Any) -> Any:
    """The value without labels, its joints in order; itself if it has none."""
    if isinstance(value, np.ndarray):
        if value.dtype.names is None:
            return value
    elif isinstance(value, (list, tuple)):
        if all(isinstance(each, _PLAIN) for each in value):
            return value
        return [_by_joint(arm, name, each) for each in value]
    elif isinstance(value, _PLAIN):
        return value
    given = labelled(name, value)
    if given is None:
        return value
    columns = in_joint_order(name, given, arm.joint_names, isinstance(value, Mapping))
    return np.stack(np.broadcast_arrays(*(real_numbers(name, each) for each in columns)), -1)


def real_numbers(name: str, value: ArrayLike) -> AnyArray:
    """An array of real numbers; text, complex and missing values are not made into any."""
    try:
        given = np.asanyarray(value)
    except ValueError as error:
        raise RobolinError(f"{name} is not an array of numbers: {error}") from error
    # NumPy's masked arrays are imported only where somebody has one
    if type(given) is not np.ndarray and np.ma.is_masked(given):
        raise RobolinError(f"{name} has masked values", hint="fill them in or leave the rows out")
    if given.dtype.kind not in "biuf":
        raise RobolinError(f"{name} is not an array of real numbers: its type is {given.dtype}")
    return given


def is_real_number(value: object) -> bool:
    """Whether this is one real number, Python's or NumPy's; true and false are none."""
    if not isinstance(value, Real | np.ndarray):
        return False
    given = np.asarray(value)
    return given.ndim == 0 and given.dtype.kind in "iuf"


def seconds_of(time: ArrayLike, where: str = "") -> Floats:
    """Times as float64, for whoever reckons with them; stamps that would be rounded are refused."""
    given = np.asarray(time)
    if given.dtype.kind == "M":
        hint = "begin at 0 and count in seconds: (time - time[0]) / numpy.timedelta64(1, 's')"
        raise RobolinError("time is given as dates, not as seconds", where=where, hint=hint)
    if given.dtype.kind in "iu" and np.abs(given).max(initial=0) > _EXACT:
        raise RobolinError(
            f"time stamps such as {given.flat[0]} are no seconds",
            where=where,
            hint="begin at 0 and count in seconds: (time - time[0]) / 1e9 for nanoseconds",
        )
    return np.asarray(given, dtype=float)


def is_single_state(arm: Arm, values: Sequence[JointValues]) -> bool:
    """Whether the values are clearly those of one state; `as_joint_array` decides in doubt."""
    for value in values:
        plain = type(value) is np.ndarray and value.dtype == float and value.shape == (arm.n,)
        # a whole number that no float holds is looked at closer
        single = isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 63)
        if not plain and not single:
            return False
    return True


def batch_of(arrays: Mapping[str, AnyArray]) -> tuple[int, ...]:
    """The leading axes that all values share once broadcast."""
    shapes: set[tuple[int, ...]] = {array.shape[:-1] for array in arrays.values()}
    if len(shapes) == 1:
        return shapes.pop()
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError as error:
        told = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise RobolinError(f"these shapes do not go together: {told}") from error


def kernel_rows(array: AnyArray, batch: tuple[int, ...]) -> AnyArray:
    """An array a kernel can read row by row; the same values for all rows stay one row."""
    shape = array.shape[:-1]
    if shape == batch or not shape:
        return array
    return np.ascontiguousarray(np.broadcast_to(array, (*batch, array.shape[-1])))


def require_sound(arm: Arm, state: Mapping[str, AnyArray]) -> None:
    """Finite values of one state, and angles whose sine can be told."""
    for name, values in state.items():
        finite = np.isfinite(values)
        if not finite.all():
            at = int(np.argmin(finite))
            joint = arm.joint_names[at]
            raise RobolinError(f"{name} is not finite at joint '{joint}': {values[at]}")
    if "q" in state:
        _require_angles(arm, state["q"])


def _require_angles(arm: Arm, q: AnyArray) -> None:
    """Sines lose their meaning where neighbouring numbers are a noticeable turn apart."""
    for link, place in zip(arm.links_tip_to_base, arm.coordinates, strict=True):
        mimic = link.joint.mimic
        angle = q[place] * mimic.ratio + mimic.offset if mimic else q[place]
        if link.joint.turns and abs(angle) > LARGEST_ANGLE:
            raise RobolinError(
                f"q is {angle:g} rad at joint '{link.joint.name}', beyond ±{LARGEST_ANGLE:.0f} rad",
                hint="bring the angle to within a turn or so before you ask",
            )


def require_finite_results(results: Mapping[str, AnyArray]) -> None:
    """Results of one state that fit in a double."""
    for name, values in results.items():
        if not np.isfinite(values).all():
            raise RobolinError(
                f"{name} is too large for a double", hint="check the size of the values given"
            )
