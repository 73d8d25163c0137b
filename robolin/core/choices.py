"""Names and allowed values of arguments and flags, each list defined once.

Imports nothing of robolin: the command line builds its flags from it at startup.
"""

from __future__ import annotations

from typing import Literal, get_args

# kinds of multi-DoF joints
GroupKind = Literal["floating", "planar", "spherical"]
BASE_JOINTS: tuple[GroupKind, ...] = get_args(GroupKind)

# the axes and the point of application of a wrench
WrenchModel = Literal["follower", "dead", "world"]
WRENCH_MODELS: tuple[WrenchModel, ...] = get_args(WrenchModel)

# axes in which vectors of a frame are expressed
FrameReference = Literal["world", "frame"]
REFERENCES: tuple[FrameReference, ...] = get_args(FrameReference)

# solvers of the loop-closure equations
LoopMethod = Literal["kkt", "schur", "null-space"]
LOOP_METHODS: tuple[LoopMethod, ...] = get_args(LoopMethod)

# number type of results
DType = Literal["float64", "float32"]
DTYPES: tuple[DType, ...] = get_args(DType)

# discretization methods of linear models
Discretization = Literal["zoh", "foh", "tustin", "euler"]
DISCRETIZATIONS: tuple[Discretization, ...] = get_args(Discretization)

# integrators, and the velocity variables that they integrate
Integrator = Literal["rk4", "euler", "dop853", "rk45", "radau"]
INTEGRATORS: tuple[Integrator, ...] = get_args(Integrator)
FIXED_STEPS: tuple[Integrator, ...] = ("rk4", "euler")
StateForm = Literal["rates", "xi", "nu"]
STATE_FORMS: tuple[StateForm, ...] = get_args(StateForm)

# control laws in simulation
ControlLaw = Literal["rate", "pose", "pd", "computed-torque"]
CONTROL_LAWS: tuple[ControlLaw, ...] = get_args(ControlLaw)

# unknowns and solvers of trajectory optimization
OptimizeMethod = Literal["auto", "acceleration", "torque"]
OPTIMIZE_METHODS: tuple[OptimizeMethod, ...] = get_args(OptimizeMethod)
Solver = Literal["own", "ipopt"]
SOLVERS: tuple[Solver, ...] = get_args(Solver)

# interpolation of torques between two rows of a trajectory
Torques = Literal["continuous", "stepwise"]
TORQUES: tuple[Torques, ...] = get_args(Torques)

# time units of recordings, joining of several files, and differentiation methods
TimeUnit = Literal["ns", "us", "ms", "s"]
TIME_UNITS: tuple[TimeUnit, ...] = get_args(TimeUnit)
Join = Literal["row", "time"]
JOINS: tuple[Join, ...] = get_args(Join)
Differentiation = Literal["central", "savgol"]
DIFFERENTIATIONS: tuple[Differentiation, ...] = get_args(Differentiation)

# handling of rows that have no result
OnBadRow = Literal["error", "nan"]
ON_BAD_ROW: tuple[OnBadRow, ...] = get_args(OnBadRow)

# generated programs: language, number type, code layout, extra files
Target = Literal["c", "wasm"]
TARGETS: tuple[Target, ...] = get_args(Target)
Real = Literal["double", "float"]
REALS: tuple[Real, ...] = get_args(Real)
SourceLayout = Literal["auto", "unrolled", "loops"]
LAYOUTS: tuple[SourceLayout, ...] = get_args(SourceLayout)
Extra = Literal["mex", "ros2", "mpc", "fmu"]
EXTRAS: tuple[Extra, ...] = get_args(Extra)

# file formats of pictures
PictureFormat = Literal["svg", "png", "pdf"]
PICTURE_FORMATS: tuple[PictureFormat, ...] = get_args(PictureFormat)
PlotStyleName = Literal["light", "dark", "paper", "slides", "presentation"]
PLOT_STYLES: tuple[PlotStyleName, ...] = get_args(PlotStyleName)


SWEEP = "sweep"


def is_swept(verb: str) -> bool:
    """True for a sweep, whose first array has the swept values."""
    return verb.partition(" ")[0] == SWEEP


def base_verb(verb: str) -> str:
    """The verb without the prefix of a sweep."""
    return verb.removeprefix(f"{SWEEP} ")
