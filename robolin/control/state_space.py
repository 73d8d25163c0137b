"""Linear state-space model with its operating point, names and analyses."""

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
        units: of every state, input and output, by name
        arm: the arm that was linearized
        actuated: indices in tau of the inputs
        freedoms: number of positions among the states
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
    freedoms: int
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
        from robolin.control.model_parts import select_models

        return select_models(self, index)

    def arrays(self) -> dict[str, Numbers | Texts]:
        """All arrays by name, with names and units as text arrays, as `np.savez` takes them.

        Returns:
            'A', 'B' and so on to 'tau' unchanged, `dt` (0 if there is none), 'states' and
            'state_units', and the same for inputs and outputs
        """
        from robolin.control.model_parts import arrays_by_name

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
        from robolin.control.frequency_response import gramian

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
        from robolin.control.discretize import discretize

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
        from robolin.control.frequency_response import frequency_response

        return frequency_response(self, omega)

    def step_response(self, duration: float, rows: int = 201) -> TimeResponse:
        """Step response: outputs after a unit step of one input at a time, from rest, no drift.

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
        from robolin.control.frequency_response import step_response

        return step_response(self, duration, rows)

    def impulse_response(self, duration: float, rows: int = 201) -> TimeResponse:
        """Impulse response: outputs after a unit impulse of one input at a time, no drift.

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
        from robolin.control.frequency_response import impulse_response

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
