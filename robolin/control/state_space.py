"""Linear state-space model with its operating point, names and analyses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from robolin.core.arm import Arm
from robolin.core.arrays import Complexes, Floats, Numbers, Texts, reject_tensor
from robolin.core.choices import Discretization
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.errors import UsageError

if TYPE_CHECKING:
    from robolin.control.controllability import Reachability
    from robolin.control.poles import Poles
    from robolin.control.responses import TimeResponse


@dataclass(frozen=True, eq=False, repr=False)
class StateSpace(DisplayMixin):
    """ẋ = drift + A x + B u and y = y₀ + C x + D u; with dt, x(k+1) in place of ẋ.

    x is the deviation of positions, then of velocities, from the operating point; u is the
    deviation of the torques of the actuated joints.  There are N states, m inputs and p outputs;
    batch axes come first.

    Fields:
        A: (..., N, N)
        B: (..., N, m)
        C: (..., p, N)
        D: (..., p, m)
        drift: ẋ at the operating point (..., N), zero where it is an equilibrium
        y: the outputs at the operating point (..., p)
        q: positions of the operating point (..., n) in rad or m
        qd: its velocities (..., n) in rad/s or m/s
        qdd: its accelerations (..., n) in rad/s² or m/s²
        tau: its torques (..., n) in N·m or N
        states: the names of x, such as 'elbow/position'
        inputs: the names of u, such as 'elbow/effort'
        outputs: the names of y
        units: unit of every state, input and output, by name
        arm: the arm that was linearized
        actuated: indices in tau of the inputs
        dof: number of positions among the states
        basis: (..., n, d) with δq = basis x for arms with closed loops (d positions), else None
        dt: the sample time in s, or None
        method: discretization of a model with a dt: 'zoh', 'foh', 'tustin' or 'euler'

    Example:
        >>> model = robolin.state_space(robolin.load("acrobot"), [np.pi, 0.0])
        >>> model.states
        ('shoulder/position', 'elbow/position', 'shoulder/velocity', 'elbow/velocity')
        >>> model.poles().stability.tolist()
        ['unstable', 'stable', 'unstable', 'stable']
    """

    A: Floats
    B: Floats
    C: Floats
    D: Floats
    drift: Floats
    y: Floats
    q: Floats
    qd: Floats
    qdd: Floats
    tau: Floats
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    units: Mapping[str, str]
    arm: Arm
    actuated: tuple[int, ...]
    dof: int
    basis: Floats | None = None
    dt: float | None = None
    method: Discretization | None = None

    @property
    def batch(self) -> tuple[int, ...]:
        """Batch shape (the leading axes); () for one model."""
        shape: tuple[int, ...] = self.A.shape[:-2]
        return shape

    def __getitem__(self, index: Any) -> StateSpace:
        """Select models of a batch, by an index or a slice of the batch axes."""

        return select_models(self, index)

    def arrays(self) -> dict[str, Numbers | Texts]:
        """All arrays by name, with names and units as text arrays: the arguments of `np.savez`.

        Returns:
            'A', 'B' and so on to 'tau' unchanged, `dt` (0 if there is none), 'states' and
            'state_units', and the same for inputs and outputs
        """

        return arrays_by_name(self)

    def poles(self) -> Poles:
        """Poles with frequency, damping, stability and the joints that move.

        Returns:
            `Poles` (..., N), the slowest first
        """
        from robolin.control.poles import poles_of

        return poles_of(self)

    def controllability(self) -> Reachability:
        """Controllability: controllable states, and distance of each mode to uncontrollability.

        Returns:
            a `Reachability`; its `dimension` is N if all states are controllable
        """
        from robolin.control.controllability import controllability_of

        return controllability_of(self)

    def observability(self) -> Reachability:
        """Observability: observable states, and distance of each mode to unobservability.

        Returns:
            a `Reachability`; its `dimension` is N if all states are observable
        """
        from robolin.control.controllability import observability_of

        return observability_of(self)

    def gramian(self, kind: Literal["controllability", "observability"]) -> Floats:
        """Controllability or observability Gramian of a stable model.

        Args:
            kind: 'controllability' or 'observability'

        Returns:
            X (..., N, N) with A X + X Aᵀ + B Bᵀ = 0 or its dual; the discrete form if there is a dt

        Raises:
            RobolinError: an unstable model (the error names the pole), or SciPy is not installed
            UsageError: another kind

        Example:
            >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7])
            >>> model = robolin.lqr(model).closed_loop
            >>> X = model.gramian("controllability")
            >>> bool(np.allclose(model.A @ X + X @ model.A.T, -model.B @ model.B.T))
            True
        """
        from robolin.control.responses import gramian

        return gramian(self, kind)

    def discretize(self, dt: float, method: Discretization = "zoh") -> StateSpace:
        """Discretize the model, drift included.

        Args:
            dt: the sample time in s
            method: 'zoh' for torques constant between samples and 'foh' for piecewise linear
                torques, both exact; 'tustin' for the trapezoidal rule, 'euler' for x + dt ẋ

        Returns:
            a `StateSpace` of x(k+1) = drift + A x(k) + B u(k), with its `dt` and `method`; 'foh'
            and 'tustin' mix torques into the state

        Raises:
            UsageError: a model that is already discrete, a dt that is not positive, another method

        Example:
            >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7])
            >>> one, two = model.discretize(0.01), model.discretize(0.02)
            >>> bool(np.allclose(one.A @ one.A, two.A))
            True
        """
        from robolin.control.responses import discretize

        return discretize(self, dt, method)

    def frequency_response(self, omega: ArrayLike) -> Complexes:
        """Frequency response C (jω - A)⁻¹ B + D.

        Args:
            omega: (frequencies,), in rad/s

        Returns:
            complex gains (..., frequencies, p, m), in units of output per input; with a dt,
            exp(jω dt) replaces jω

        Raises:
            UsageError: omega is not a one-dimensional array of finite numbers
            RobolinError: a frequency at which the model has a pole, or SciPy is not installed

        Example:
            >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7], outputs="q")
            >>> still = -model.C @ np.linalg.solve(model.A, model.B) + model.D
            >>> bool(np.allclose(model.frequency_response([0.0, 1.0])[0], still))
            True
        """
        from robolin.control.responses import frequency_response

        return frequency_response(self, omega)

    def step_response(self, duration: float, rows: int = 201) -> TimeResponse:
        """Step response: outputs after a unit step of one input at a time, without drift.

        Args:
            duration: length in s
            rows: number of time stamps from 0 on; a discrete model has one per sample instead

        Returns:
            a `TimeResponse` with `time` (rows,) in s and the changes `y` (..., rows, p, m) of the
            outputs, per N·m or N of the input

        Raises:
            UsageError: a duration that is not positive, or fewer than 2 rows

        Example:
            >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7], outputs="q")
            >>> model.step_response(0.1, rows=3).y[-1].round(4)
            array([[ 0.0056, -0.012 ],
                   [-0.012 ,  0.0406]])
        """
        from robolin.control.responses import step_response

        return step_response(self, duration, rows)

    def impulse_response(self, duration: float, rows: int = 201) -> TimeResponse:
        """Impulse response: outputs after a unit impulse of one input at a time, without drift.

        Args:
            duration: length in s
            rows: number of time stamps from 0 on; a discrete model has one per sample instead

        Returns:
            a `TimeResponse` with `time` (rows,) in s and the changes `y` (..., rows, p, m) of the
            outputs, per N·m·s or N·s of the input, without the impulse in D; for a discrete model,
            per N·m or N during one sample

        Raises:
            UsageError: a duration that is not positive, or fewer than 2 rows

        Example:
            >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7], outputs="q")
            >>> bool(np.allclose(model.impulse_response(1.0).y[0], model.C @ model.B))
            True
        """
        from robolin.control.responses import impulse_response

        return impulse_response(self, duration, rows)

    def to_control(self) -> Any:
        """Convert to python-control's StateSpace, with names but without drift.

        Raises:
            UsageError: a batch of models
            RobolinError: python-control is not installed
        """
        from robolin.control.matlab import to_control

        return to_control(self)

    def to_mat(self, path: str | Path) -> None:
        """Write a MAT-file: `s = load(path); sys = ss(s.A, s.B, s.C, s.D, s.Ts)` in MATLAB.

        Octave reads it with the same line.

        Args:
            path: path of the file

        Returns:
            nothing

        Raises:
            FileError: a file that cannot be written

        Example:
            >>> robolin.state_space(robolin.load("two-link"), [0.3, -0.7]).to_mat("model.mat")
        """
        from robolin.control.matlab import model_variables
        from robolin.io.formats.mat_results import write_mat

        write_mat(path, model_variables(self))

    def to_scipy(self) -> Any:
        """Convert to SciPy's StateSpace, without names and drift.

        Raises:
            UsageError: a batch of models
            RobolinError: SciPy is not installed
        """
        from robolin.control.matlab import to_scipy

        return to_scipy(self)


Kind = TypeVar("Kind", bound=np.generic)

MODEL_ARRAYS = ("A", "B", "C", "D", "drift", "y", "q", "qd", "qdd", "tau", "basis")
LABEL_FIELDS = ("states", "inputs", "outputs")

# joints below this fraction of the largest participation are not listed
NAMED_FROM = 0.1


def select_models(model: StateSpace, index: Any) -> StateSpace:
    """Select models of a batch by index."""
    if not model.batch:
        raise UsageError("the model is not a batch, so it has no index")
    own = {"A": 2, "B": 2, "C": 2, "D": 2, "basis": 2}
    full_index = index if isinstance(index, tuple) else (index,)
    if not any(each is Ellipsis for each in full_index):
        full_index = (*full_index, ...)
    arrays = {}
    for name in MODEL_ARRAYS:
        array = getattr(model, name)
        if array is not None:
            trailing = (slice(None),) * own.get(name, 1)
            arrays[name] = array[(*full_index, *trailing)]
    return replace(model, **arrays)


def arrays_by_name(model: StateSpace) -> dict[str, Numbers | Texts]:
    """All arrays of a model by name, with names and units as text arrays."""
    arrays = {
        name: getattr(model, name) for name in MODEL_ARRAYS if getattr(model, name) is not None
    }
    for axis in LABEL_FIELDS:
        names = getattr(model, axis)
        arrays[axis] = np.array(names)
        arrays[f"{axis[:-1]}_units"] = np.array([model.units[name] for name in names])
    arrays["dt"] = np.array(0.0 if model.dt is None else model.dt)
    arrays["joints"] = np.array(model.arm.joint_names)
    arrays["actuated"] = np.array(model.actuated)
    return arrays


def require_model(model: object) -> None:
    """Require a linear model; an arm is rejected with a hint."""
    if not isinstance(model, StateSpace):
        kind = type(model).__name__
        hint = "pass a model from robolin.state_space(arm, q)"
        raise UsageError(f"model: must be a StateSpace, got {kind}", hint=hint)


def require_mode(model: StateSpace, mode_index: tuple[int, ...]) -> None:
    """Require a valid mode index: index of the model in the batch, then index of the mode."""
    shape = (*model.batch, len(model.states))
    inside = len(mode_index) == len(shape) and all(
        isinstance(index, int | np.integer) and -size <= index < size
        for index, size in zip(mode_index, shape, strict=True)
    )
    if not inside:
        hint = (
            f"use {len(shape)} integers as the index, each less than the size of its axis in "
            f"{shape}"
        )
        raise UsageError(f"mode {mode_index} not found", hint=hint)


def as_numbers(name: str, value: object) -> Floats:
    """Convert to an array of real numbers; reject text."""
    return np.asarray(_as_array(name, value, float))


def as_complexes(name: str, value: object) -> Complexes:
    """Convert to an array of complex numbers; reject text."""
    return np.asarray(_as_array(name, value, complex))


def _as_array(name: str, value: object, kind: type) -> Numbers:
    reject_tensor(name, value)
    try:
        return np.asarray(value, dtype=kind)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name}: must be an array of numbers: {error}") from error


def iter_models(model: StateSpace) -> list[StateSpace]:
    """The single models of a batch in order; an empty batch is an error."""
    return [model_at(model, index) for index in range(max(1, int(np.prod(model.batch))))]


def model_at(model: StateSpace, index: int) -> StateSpace:
    """One model of a batch, counted along its flattened axes; an empty batch is an error."""
    if not model.batch:
        return model
    if 0 in model.batch:
        raise UsageError(f"the batch of models is empty: its shape is {model.batch}")
    return select_models(model, np.unravel_index(index, model.batch))


def stack_models(parts: Sequence[npt.NDArray[Kind]], batch: tuple[int, ...]) -> npt.NDArray[Kind]:
    """Stack arrays of single models into the shape of the batch."""
    return np.stack(parts).reshape((*batch, *np.shape(parts[0])))


def joint_shares(model: StateSpace, direction: Floats | Complexes) -> Floats:
    """Participation (..., n) of each joint in directions (..., N) of the state.

    The batch axes of the model come first; each model may have several directions.

    Positions and velocities have equal weight, so use scaled coordinates.
    """
    d = model.dof
    halves = [np.abs(direction[..., :d]), np.abs(direction[..., d : 2 * d])]
    if model.basis is not None:
        # the directions of a model share its basis
        several = range(len(model.batch), direction.ndim - 1)
        basis = np.expand_dims(model.basis, tuple(several))
        halves = [
            np.abs((basis @ part[..., None])[..., 0])
            for part in (direction[..., :d], direction[..., d : 2 * d])
        ]
    return np.maximum(*halves)


def dominant_joints(model: StateSpace, shares: Floats) -> tuple[str, ...]:
    """Names of the joints with notable participation (n,), largest first."""
    order = np.argsort(-shares, kind="stable")
    least = NAMED_FROM * shares.max(initial=0.0)
    return tuple(model.arm.joint_names[i] for i in order if shares[i] > 0.0 and shares[i] >= least)
