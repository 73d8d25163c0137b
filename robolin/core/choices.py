"""Words to choose from, each list once: types of Python's arguments, and what flags offer.

Nothing is imported here, so that flags can be made of it.
"""

from __future__ import annotations

from typing import Literal, get_args

# what a joint with several freedoms is
GroupKind = Literal["floating", "planar", "spherical"]
BASE_JOINTS: tuple[GroupKind, ...] = get_args(GroupKind)

# what a wrench goes along with
WrenchModel = Literal["follower", "dead", "world"]
WRENCH_MODELS: tuple[WrenchModel, ...] = get_args(WrenchModel)

# whose axes the vectors of a frame are in
FrameReference = Literal["world", "frame"]
REFERENCES: tuple[FrameReference, ...] = get_args(FrameReference)

# how closures are solved
LoopMethod = Literal["kkt", "schur", "null-space"]
LOOP_METHODS: tuple[LoopMethod, ...] = get_args(LoopMethod)

# how a linear model is made discrete
Discretization = Literal["zoh", "foh", "tustin", "euler"]
DISCRETIZATIONS: tuple[Discretization, ...] = get_args(Discretization)

# how motions are integrated, and which velocities are
Integrator = Literal["rk4", "dop853", "rk45", "radau"]
INTEGRATORS: tuple[Integrator, ...] = get_args(Integrator)
StateForm = Literal["rates", "xi", "nu"]
STATE_FORMS: tuple[StateForm, ...] = get_args(StateForm)

# what torques are computed by while a motion is simulated
ControlLaw = Literal["rate", "pose", "pd", "computed-torque"]
CONTROL_LAWS: tuple[ControlLaw, ...] = get_args(ControlLaw)

# what torques do between two rows of a motion
Torques = Literal["continuous", "stepwise"]
TORQUES: tuple[Torques, ...] = get_args(Torques)

# what times of a recording count, and how it is differentiated
TimeUnit = Literal["ns", "us", "ms", "s"]
TIME_UNITS: tuple[TimeUnit, ...] = get_args(TimeUnit)
Differentiation = Literal["central", "savgol"]
DIFFERENTIATIONS: tuple[Differentiation, ...] = get_args(Differentiation)

# what becomes of a row without an answer
OnBadRow = Literal["error", "nan"]
ON_BAD_ROW: tuple[OnBadRow, ...] = get_args(OnBadRow)

# the numbers of a generated program, how it is laid out, and what comes with it
Real = Literal["double", "float"]
REALS: tuple[Real, ...] = get_args(Real)
SourceLayout = Literal["auto", "unrolled", "loops"]
LAYOUTS: tuple[SourceLayout, ...] = get_args(SourceLayout)
Extra = Literal["mex", "ros2"]
EXTRAS: tuple[Extra, ...] = get_args(Extra)

# what a picture is written as
PictureFormat = Literal["svg", "png", "pdf"]
PICTURE_FORMATS: tuple[PictureFormat, ...] = get_args(PictureFormat)
