"""A linear model with its operating point and names, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike

from robolin.core.arm import Arm
from robolin.core.arrays import Complexes, Floats, Numbers, Texts
from robolin.core.choices import Discretization
from robolin.core.notebook import DisplayMixin

if TYPE_CHECKING:
    from robolin.control.controllability import Reachability
    from robolin.control.frequency_response import TimeResponse
    from robolin.control.poles import Poles


@dataclass(frozen=True, eq=False)
class StateSpace(DisplayMixin):
    """ẋ = drift + A x + B u and y = y₀ + C x + D u; with dt, x(k+1) in place of ẋ.

    x is the change of positions, then of velocities, from the operating point; u that of the
    torques of the joints with a motor.  N states, m inputs, p outputs; batch axes come first.

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
        units: of every state, input and output, by name
        arm: the arm itself
        actuated: the places in tau of the inputs
        freedoms: how many positions there are among the states
        basis: (..., n, freedoms) with δq = basis x on arms with closed loops, else None
        dt: the sample time in s, or None
        method: how a model with a dt was made discrete: 'zoh', 'foh', 'tustin' or 'euler'

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
    freedoms: int
    basis: Floats | None = None
    dt: float | None = None
    method: Discretization | None = None

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes: () for one model."""
        shape: tuple[int, ...] = self.A.shape[:-2]
        return shape

    def __getitem__(self, place: Any) -> StateSpace:
        """Some of the models of a batch, by an index or a slice of its axes."""
        from robolin.control.model_parts import chosen_models

        return chosen_models(self, place)

    def arrays(self) -> dict[str, Numbers | Texts]:
        """Every array by name, names and units as arrays of text: what `np.savez` takes.

        Returns:
            'A', 'B' and so on to 'tau' as they are, `dt` as 0 where there is none, 'states' beside
            'state_units', and the same of inputs and outputs
        """
        from robolin.control.model_parts import arrays_by_name

        return arrays_by_name(self)

    def poles(self) -> Poles:
        """The poles with frequency, damping, stability and the joints that move.

        Returns:
            `Poles` (..., N), the slowest first
        """
        from robolin.control.poles import poles_of

        return poles_of(self)

    def controllability(self) -> Reachability:
        """How many states the inputs reach, and how far each mode is from being out of reach.

        Returns:
            a `Reachability` whose `dimension` is N where all of them are reached
        """
        from robolin.control.controllability import controllability_of

        return controllability_of(self)

    def observability(self) -> Reachability:
        """How many states show in the outputs, and how far each mode is from being hidden.

        Returns:
            a `Reachability` whose `dimension` is N where all of them are shown
        """
        from robolin.control.controllability import observability_of

        return observability_of(self)

    def gramian(self, kind: Literal["controllability", "observability"]) -> Floats:
        """The Gramian of a stable model: how far inputs of unit energy reach, or states show.

        Args:
            kind: 'controllability' or 'observability'

        Returns:
            (..., N, N), X with A X + X Aᵀ + B Bᵀ = 0 or its dual; of a sampled model that of sums

        Raises:
            RobolinError: a model that is not stable, with the pole; or SciPy is not installed
            UsageError: another kind

        Example:
            >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7])
            >>> model = robolin.lqr(model).closed_loop
            >>> X = model.gramian("controllability")
            >>> bool(np.allclose(model.A @ X + X @ model.A.T, -model.B @ model.B.T))
            True
        """
        from robolin.control.frequency_response import gramian

        return gramian(self, kind)

    def discretize(self, dt: float, method: Discretization = "zoh") -> StateSpace:
        """The model from sample to sample, drift included.

        Args:
            dt: the time between samples, in s
            method: 'zoh' for torques held between samples and 'foh' for torques on straight lines
                between them, both exact; 'tustin' for the trapezoidal rule, 'euler' for x + dt ẋ

        Returns:
            a `StateSpace` of x(k+1) = drift + A x(k) + B u(k), with its `dt` and `method`; the
            state of 'foh' and 'tustin' has torques in it

        Raises:
            UsageError: a model that is sampled already, a dt that is not positive, another method

        Example:
            >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7])
            >>> one, two = model.discretize(0.01), model.discretize(0.02)
            >>> bool(np.allclose(one.A @ one.A, two.A))
            True
        """
        from robolin.control.discretize import discretized

        return discretized(self, dt, method)

    def frequency_response(self, omega: ArrayLike) -> Complexes:
        """How outputs follow sines of the inputs: C (jω - A)⁻¹ B + D.

        Args:
            omega: (frequencies,), in rad/s

        Returns:
            complex amplitudes (..., frequencies, p, m), in units of output per input; with
            exp(jω dt) in place of jω where there is a dt

        Raises:
            UsageError: what is no row of finite numbers
            RobolinError: a frequency at which the model has a pole, or SciPy is not installed

        Example:
            >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7], outputs="q")
            >>> still = -model.C @ np.linalg.solve(model.A, model.B) + model.D
            >>> bool(np.allclose(model.frequency_response([0.0, 1.0])[0], still))
            True
        """
        from robolin.control.frequency_response import frequency_response

        return frequency_response(self, omega)

    def step_response(self, duration: float, rows: int = 201) -> TimeResponse:
        """The outputs after a unit step of each input by itself, from rest, drift left out.

        Args:
            duration: how long, in s
            rows: how many moments from 0 on; a sampled model has one at every sample instead

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
        from robolin.control.frequency_response import step_response

        return step_response(self, duration, rows)

    def impulse_response(self, duration: float, rows: int = 201) -> TimeResponse:
        """The outputs after a unit impulse of each input by itself, from rest, drift left out.

        Args:
            duration: how long, in s
            rows: how many moments from 0 on; a sampled model has one at every sample instead

        Returns:
            a `TimeResponse` with `time` (rows,) in s and the changes `y` (..., rows, p, m) of the
            outputs, per N·m·s or N·s of the input, the impulse itself left out of D; of a sampled
            model, per N·m or N during one sample

        Raises:
            UsageError: a duration that is not positive, or fewer than 2 rows

        Example:
            >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7], outputs="q")
            >>> bool(np.allclose(model.impulse_response(1.0).y[0], model.C @ model.B))
            True
        """
        from robolin.control.frequency_response import impulse_response

        return impulse_response(self, duration, rows)

    def to_control(self) -> Any:
        """The model as python-control's StateSpace, names included; not the drift.

        Raises:
            UsageError: a batch of models
            RobolinError: python-control is not installed
        """
        from robolin.control.matlab import to_control

        return to_control(self)

    def to_mat(self, path: str | Path) -> None:
        """Write a MAT-file: `s = load(path); sys = ss(s.A, s.B, s.C, s.D, s.Ts)` in MATLAB.

        Octave reads it by the same line.

        Args:
            path: where to write it

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
        """The model as SciPy's StateSpace, which knows no names and no drift.

        Raises:
            UsageError: a batch of models
            RobolinError: SciPy is not installed
        """
        from robolin.control.matlab import to_scipy

        return to_scipy(self)
