"""A linear model with its operating point and names, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike

from robolin.arm import Arm
from robolin.arrays import Complexes, Floats, Numbers, Texts
from robolin.choices import Discretization
from robolin.shown import Shown

if TYPE_CHECKING:
    from robolin.control.poles import Poles
    from robolin.control.reachability import Reachability
    from robolin.control.time_response import TimeResponse


@dataclass(frozen=True, eq=False)
class StateSpace(Shown):
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
        >>> model = robolin.state_space(robolin.load("acrobot"), [np.pi, 0.0], passive="shoulder")
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
        """Every array by name, names as arrays of text: what `np.savez` takes."""
        from robolin.control.model_parts import arrays_by_name

        return arrays_by_name(self)

    def poles(self) -> Poles:
        """The poles with frequency, damping, stability and the joints that move."""
        from robolin.control.poles import poles_of

        return poles_of(self)

    def controllability(self) -> Reachability:
        """How many states the inputs reach, and how far each mode is from being out of reach."""
        from robolin.control.reachability import controllability_of

        return controllability_of(self)

    def observability(self) -> Reachability:
        """How many states show in the outputs, and how far each mode is from being hidden."""
        from robolin.control.reachability import observability_of

        return observability_of(self)

    def gramian(self, kind: Literal["controllability", "observability"]) -> Floats:
        """The Gramian (..., N, N) of a stable model."""
        from robolin.control.gramians import gramian

        return gramian(self, kind)

    def discretize(self, dt: float, method: Discretization = "zoh") -> StateSpace:
        """The model from sample to sample, dt seconds apart."""
        from robolin.control.discretize import discretized

        return discretized(self, dt, method)

    def frequency_response(self, omega: ArrayLike) -> Complexes:
        """C (jω - A)⁻¹ B + D as complex numbers (..., len(omega), p, m), omega in rad/s."""
        from robolin.control.frequency_response import frequency_response

        return frequency_response(self, omega)

    def step_response(self, duration: float, rows: int = 201) -> TimeResponse:
        """The outputs after a unit step of each input, from rest."""
        from robolin.control.time_response import step_response

        return step_response(self, duration, rows)

    def impulse_response(self, duration: float, rows: int = 201) -> TimeResponse:
        """The outputs after a unit impulse of each input, from rest."""
        from robolin.control.time_response import impulse_response

        return impulse_response(self, duration, rows)

    def to_control(self) -> Any:
        """The model as python-control's StateSpace, names included; not the drift."""
        from robolin.control.exchange import to_control

        return to_control(self)

    def to_mat(self, path: str | Path) -> None:
        """A MAT-file: `s = load(path); sys = ss(s.A, s.B, s.C, s.D, s.Ts)` in MATLAB and Octave."""
        from robolin.control.matlab import model_variables
        from robolin.files.mat.mat_writer import write_mat

        write_mat(path, model_variables(self))

    def to_scipy(self) -> Any:
        """The model as SciPy's StateSpace, which knows no names and no drift."""
        from robolin.control.exchange import to_scipy

        return to_scipy(self)
