"""Arrays: type aliases, kinds of numbers and time stamps, and checks of arrays from users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

from robolin.core.arm import Arm
from robolin.core.labelled_values import described_values, in_joint_order, labelled
from robolin.core.labelled_values import require_same_rows as require_same_rows
from robolin.core.records import dataclass
from robolin.core.state_array import StateArray
from robolin.core.text import pluralize
from robolin.dynamics.algebra.trigonometry import LARGEST_ANGLE
from robolin.errors import RobolinError, UsageError

if TYPE_CHECKING:
    import numpy
    import numpy.typing as npt
    from numpy.typing import ArrayLike

    np = numpy

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]
    # of float64, complex128 or int64
    Numbers = npt.NDArray[Any]
    Complexes = npt.NDArray[np.complex128]
    # indices into other arrays
    Indices = npt.NDArray[np.intp]
    Mask = npt.NDArray[np.bool_]
    Texts = npt.NDArray[np.str_]
    # arrays by name
    Arrays = dict[str, np.ndarray]
else:

    class _ImportOnUse:
        """NumPy, imported when one of its names is used first."""

        def __getattr__(self, name: str) -> Any:
            import numpy

            value = getattr(numpy, name)
            # the next use finds it without this function
            self.__dict__[name] = value
            return value

    np = _ImportOnUse()

    # these types would import NumPy
    ArrayLike = Floats = Integers = Numbers = Complexes = Indices = Mask = Texts = Any
    Arrays = dict[str, Any]
# an array or a scalar of any number type, exact and dual numbers included
AnyArray = Any

# a value per joint: numbers in joint order, or by joint name
JointValues = ArrayLike | Mapping[str, ArrayLike] | Sequence[Mapping[str, ArrayLike]]

# float64 represents all integers up to this one exactly
_EXACT = 1 << 53
_LOAD = "pass an arm from robolin.load"

# units of time stamps -> decimals of a second
DECIMALS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def on_floats(arrays: Mapping[str, Any]) -> bool:
    """True if all arrays are of one state without NumPy."""
    return all(isinstance(array, StateArray) for array in arrays.values())


def as_array(values: Any) -> Any:
    """A `StateArray` unchanged, other values as a NumPy array."""
    return values if isinstance(values, StateArray) else np.asarray(values)


def all_finite(values: Any) -> bool:
    """True if an array has neither NaN nor infinity."""
    if isinstance(values, StateArray):
        return all(map(isfinite, values.ravel().tolist()))
    return bool(np.isfinite(values).all())


def side_by_side(arrays: Sequence[Any]) -> Any:
    """Tables with the same number of rows as one table."""
    if all(isinstance(array, StateArray) and len(array) == 1 for array in arrays):
        flat = [number for array in arrays for number in array.ravel().tolist()]
        return StateArray(flat, (1, len(flat)))
    return np.concatenate(arrays, axis=1)


def read_only(values: Sequence[float]) -> Floats:
    """The numbers as an array that cannot be changed."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def require_arm(arm: object) -> None:
    """Reject anything but a loaded arm, such as the name of one."""
    if not isinstance(arm, Arm):
        actual = repr(arm) if isinstance(arm, str | None) else f"a {type(arm).__name__}"
        hint = f"load it first: robolin.load({arm!r})" if isinstance(arm, str) else _LOAD
        raise UsageError(f"arm: must be a loaded robot, got {actual}", hint=hint)


def require_tree(arm: Arm, question: str) -> None:
    """Reject an arm with closed loops; `question` names what is defined for trees only."""
    if arm.loops:
        names = ", ".join(f"'{loop.name}'" for loop in arm.loops)
        raise RobolinError(
            f"{question} supports kinematic trees only; this robot has closed loops: {names}",
            where=arm.source,
            hint="add --open-loops (open_loops=True) to ignore the loop constraints; forward, "
            "linearize-forward and simulate support loops",
        )


def require_loops(arm: Arm) -> None:
    """Reject an arm without closed loops."""
    if not arm.loops:
        hint = "use a robot with loops, loaded without open_loops=True"
        raise RobolinError(f"the robot '{arm.name}' has no closed loops", hint=hint)


def as_joint_array(arm: Arm, name: str, value: JointValues) -> Floats:
    """Convert joint values, in order or by name, or one number for all, to floats (..., n)."""
    if type(value) is np.ndarray and value.dtype == float and value.shape[-1:] == (arm.n,):
        return np.ascontiguousarray(value)
    numbers = real_numbers(name, _by_joint(arm, name, value), arm)
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
    if on_floats(values):
        return cast("dict[str, Floats]", values)
    if not all(isinstance(value, np.ndarray) for value in values.values()):
        require_same_rows(values)
    return {name: as_joint_array(arm, name, value) for name, value in values.items()}


def _is_plain(value: object) -> bool:
    """True for one number or text, which has no labels."""
    return isinstance(value, (int, float, np.number, str))


def _by_joint(arm: Arm, name: str, value: Any) -> Any:
    """Remove labels and put joints in order; a value without labels is returned unchanged."""
    if isinstance(value, np.ndarray):
        if value.dtype.names is None:
            return value
    elif isinstance(value, (list, tuple)):
        if all(map(_is_plain, value)):
            return value
        return [_by_joint(arm, name, each) for each in value]
    elif _is_plain(value):
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
            f"{name}: must be a NumPy array, got a PyTorch tensor",
            hint="use robolin.torch.function(arm, NAME), or pass tensor.detach().numpy()",
        )
    if library == "jax" and "Tracer" in kind.__name__:
        raise UsageError(
            f"{name}: must be a NumPy array, got a traced JAX array",
            hint="use robolin.jax.function(arm, NAME) inside jit, grad and vmap",
        )


def real_numbers(name: str, value: ArrayLike, arm: Arm | None = None) -> AnyArray:
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
        words, hint = described_values(value, array.dtype)
        if isinstance(value, str) and arm and value in dict(arm.named_poses):
            hint = f'pass arm.poses["{value}"] for a named pose'
        raise RobolinError(f"{name}: must be an array of real numbers, got {words}", hint=hint)
    return array


def is_real_number(value: object) -> bool:
    """True for one real number of Python or NumPy, except bool."""
    array = np.asarray(value if isinstance(value, Real | np.ndarray) else None)
    return array.ndim == 0 and array.dtype.kind in "iuf"


def require_real(**values: object) -> None:
    """Reject arguments that are not one real number."""
    for name, value in values.items():
        if not is_real_number(value):
            raise UsageError(f"{name}: must be a number, got {value!r}")


def require_integer_or_none(**values: object) -> None:
    """Reject arguments that are neither None nor an integer."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer | None):
            raise UsageError(f"{name}: must be an integer, got {value!r}")


def list_of_names(keyword: str, names: object) -> list[str]:
    """One name or several as a list; other values are rejected."""
    named = [names] if isinstance(names, str) else names
    if not isinstance(named, Iterable) or not all(isinstance(name, str) for name in named):
        raise UsageError(f"{keyword}: must be a list of names, got {names!r}")
    return list(named)


def seconds_of(time: ArrayLike, where: str = "") -> Floats:
    """Convert times to float64 seconds; reject dates and integers that float64 would round."""
    reject_tensor("time", time)
    array = np.asarray(time)
    if array.dtype.kind not in "biufM":
        raise RobolinError(f"time: must be numbers in seconds, got type {array.dtype}", where=where)
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
        plain = type(value) is np.ndarray and value.shape == (arm.n,) and value.dtype == float
        # leave integers beyond int64 to `as_joint_array`
        single = isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 63)
        if not plain and not single:
            return False
    return True


def is_batch_of_one(arm: Arm, values: Sequence[JointValues]) -> bool:
    """True if all values are arrays of numbers with the shape (1, n)."""
    shape = 1, arm.n
    return all(type(v) is np.ndarray and v.shape == shape and v.dtype == float for v in values)


def batch_of(arrays: Mapping[str, AnyArray]) -> tuple[int, ...]:
    """The broadcast shape of the leading axes of all values."""
    shapes: set[tuple[int, ...]] = {array.shape[:-1] for array in arrays.values()}
    if len(shapes) == 1:
        return shapes.pop()
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError as error:
        # one value per joint fits all shapes, such as a default that the caller did not set
        text = ", ".join(f"{k} {v.shape}" for k, v in arrays.items() if v.ndim > 1)
        message = f"the shapes cannot be broadcast together: {text}"
        raise RobolinError(message, hint="pass the same number of rows, or one row") from error


def row_of(arm: Arm, arrays: Mapping[str, AnyArray], batch: tuple[int, ...], row: int) -> Arrays:
    """Values (n,) of one row."""
    return {
        name: np.broadcast_to(array, (*batch, arm.n)).reshape(-1, arm.n)[row]
        for name, array in arrays.items()
    }


def kernel_rows(array: AnyArray, batch: tuple[int, ...]) -> AnyArray:
    """A contiguous array with the rows of the batch; a single shared row stays one row."""
    shape = array.shape[:-1]
    if shape == batch or not shape:
        return array.to_numpy() if isinstance(array, StateArray) else array
    return np.ascontiguousarray(np.broadcast_to(array, (*batch, array.shape[-1])))


def nonfinite_input_rows(
    arm: Arm,
    arrays: Mapping[str, AnyArray],
    batch: tuple[int, ...],
    largest_angle: float = LARGEST_ANGLE,
) -> AnyArray:
    """Mask of the rows with non-finite inputs, or angles that may be too large."""
    invalid = np.zeros(batch, dtype=bool)
    for name, array in arrays.items():
        suspect = ~np.isfinite(array)
        if name == "q":
            suspect |= np.abs(array) > largest_angle / _largest_ratio(arm)
        invalid |= suspect.any(axis=-1)
    return invalid.ravel()


def is_sound(arm: Arm, state: Mapping[str, AnyArray], results: Mapping[str, AnyArray]) -> bool:
    """False if one state or its result is not finite, or its angles may be too large."""
    if not all(map(all_finite, (*state.values(), *results.values()))):
        return False
    most = LARGEST_ANGLE / _largest_ratio(arm)
    return "q" not in state or all(abs(angle) <= most for angle in state["q"].tolist())


def nonfinite_result_rows(results: Mapping[str, AnyArray], batch: tuple[int, ...]) -> AnyArray:
    """Mask of the rows with non-finite results."""
    invalid = np.zeros(int(np.prod(batch)), dtype=bool)
    for values in results.values():
        result_axes = tuple(range(len(batch), values.ndim))
        invalid |= ~np.isfinite(values).all(axis=result_axes).ravel()
    return invalid


def _largest_ratio(arm: Arm) -> float:
    """Upper bound of the angle of a mimic joint per radian of its leader."""
    mimics = (link.joint.mimic for link in arm.links if link.joint.mimic)
    return max([1.0, *(abs(mimic.ratio) + abs(mimic.offset) for mimic in mimics)])


def require_sound(arm: Arm, state: Mapping[str, AnyArray]) -> None:
    """Reject NaN, infinity, and angles too large for an accurate sine, in one state."""
    for name, values in state.items():
        finite = np.isfinite(values)
        if not finite.all():
            index = int(np.argmin(finite))
            joint = arm.joint_names[index]
            raise RobolinError(f"{name}: must be finite, got {values[index]} at joint '{joint}'")
    if "q" in state:
        require_angles(arm, state["q"])


def require_angles(arm: Arm, q: AnyArray, most: float = LARGEST_ANGLE, where: str = "") -> None:
    """Reject huge angles, at which the spacing of floating-point numbers is a noticeable angle."""
    for link, index in zip(arm.links_tip_to_base, arm.coordinates, strict=True):
        mimic = link.joint.mimic
        angle = q[index] * mimic.ratio + mimic.offset if mimic else q[index]
        if link.joint.turns and abs(angle) > most:
            raise RobolinError(
                f"q: must be within ±{most:.0f} rad{where}, got {angle:g} rad at joint "
                f"'{link.joint.name}'",
                hint="subtract whole revolutions first",
            )


def require_finite_results(results: Mapping[str, AnyArray]) -> None:
    """Reject results of one state that overflow."""
    for name, values in results.items():
        if not np.isfinite(values).all():
            raise RobolinError(
                f"{name}: too large for double precision",
                hint="check the units and the magnitudes of the values",
            )


@dataclass(frozen=True)
class NumberKind:
    """A number type and its storage.

    dtype: little-endian type in files and digests
    parts: suffixes of its column names, one column for each
    """

    name: str
    dtype: str
    parts: tuple[str, ...] = ("",)

    @property
    def size(self) -> int:
        """Bytes per number."""
        return np.dtype(self.dtype).itemsize


REAL = NumberKind("real", "<f8")
SINGLE = NumberKind("float32", "<f4")
COMPLEX = NumberKind("complex", "<c16", ("/re", "/im"))
INTEGER = NumberKind("integer", "<i8")

# time stamps in these units since 1970
DATETIMES = {unit: NumberKind(f"datetime64[{unit}]", f"<M8[{unit}]") for unit in DECIMALS}

NUMBER_KINDS = {kind.name: kind for kind in (REAL, SINGLE, COMPLEX, INTEGER, *DATETIMES.values())}


def kind_of(values: Numbers) -> NumberKind:
    """Number type of an array; real by default."""
    if values.dtype.kind == "M":
        return DATETIMES[np.datetime_data(values.dtype)[0]]
    if is_single_precision(values):
        return SINGLE
    return {"c": COMPLEX, "i": INTEGER}.get(values.dtype.kind, REAL)


def is_single_precision(values: Numbers) -> bool:
    """True for an array of float32."""
    return values.dtype.kind == "f" and values.dtype.itemsize == 4


def stored_values(values: Numbers) -> Numbers:
    """Values in the type and the order of files; time stamps as integers."""
    kind = kind_of(values)
    numbers = np.ascontiguousarray(values, dtype=kind.dtype)
    return numbers.view("<i8") if values.dtype.kind == "M" else numbers


def with_shortest_digits(values: Numbers) -> Numbers:
    """Numbers of single precision as the doubles that are written with the same few digits."""
    if not is_single_precision(values):
        return values
    shortest: Numbers = values.astype("U").astype(np.float64)
    return shortest


def format_datetimes(values: Numbers) -> list[str]:
    """Format time stamps with all decimals of their unit."""
    return [str(text) for text in np.datetime_as_string(values.reshape(-1)).tolist()]


def datetime_unit(values: Numbers) -> str | None:
    """Unit of an array of time stamps; None for other arrays and unsupported units."""
    if values.dtype.kind != "M":
        return None
    unit, step = np.datetime_data(values.dtype)
    return unit if unit in DECIMALS and step == 1 else None
