"""Option declarations for models, trajectories and linear models; commands combine them.

A declaration includes the conflicts of an option with others; `check_conflicts` reports them.
Named tuples are created three times faster than dataclasses, which matters for `--help`.
Annotations are evaluated: a named tuple compiles texts, 1.3 million instructions each.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from robolin.core.choices import (
    BASE_JOINTS,
    DISCRETIZATIONS,
    DTYPES,
    JOINS,
    LOOP_METHODS,
    ON_BAD_ROW,
    OPTIMIZE_METHODS,
    REFERENCES,
    SOLVERS,
    TIME_UNITS,
    WRENCH_MODELS,
)
from robolin.core.text import join_and
from robolin.errors import UsageError
from robolin.evaluation.methods import COMMON_METHODS, METHOD_NOT_SELECTABLE

# other options -> hint.  Several options are separated by spaces; 'label=value|value' is an option
# with one of these values, '!' its opposite; 'OPTIONS if OPTIONS' limits a condition
Conditions = Mapping[str, str]
NO_CONDITIONS: Conditions = MappingProxyType({})

if TYPE_CHECKING:
    from typing import Protocol

    class Conditional(Protocol):
        """A declared option with its conflicts: an `OptionSpec`, or a flag."""

        @property
        def requires(self) -> Conditions: ...

        @property
        def modifies(self) -> Conditions: ...

        @property
        def excludes(self) -> Conditions: ...


class OptionSpec(NamedTuple):
    """A declared option: a flag on the command line, a keyword in Python.

    kind:           a switch, a text, one of several choices, a count, or a file
    minimum:        the smallest count
    multiple:       the option may be repeated
    required:       the question is invalid without it
    unless:         another option that replaces a required one
    optional_value: the flag may stand without a value, as True in Python
    frame:          the option names the frame of the result
    requires:       one of these options is required
    modifies:       without one of these options it has no effect
    excludes:       none of these options can be used
    """

    kind: Literal["switch", "text", "choice", "count", "file"] = "text"
    choices: tuple[str, ...] = ()
    minimum: int = 1
    multiple: bool = False
    required: bool = False
    unless: str = ""
    optional_value: bool = False
    frame: bool = False
    requires: Conditions = NO_CONDITIONS
    modifies: Conditions = NO_CONDITIONS
    excludes: Conditions = NO_CONDITIONS


# how messages name what is not a long flag
_NAMES = {"output": "-o", "arm": "ARM", "stored": "STORED", "words": "COMMAND"}
_NAMES["states"] = "arrays of states"
REQUIRES, MODIFIES, EXCLUDES = "requires", "has no effect without", "cannot be used with"


def check_conflicts(specs: Mapping[str, "Conditional"], options: Mapping[str, Any]) -> None:
    """Raise the first conflict of these options; no added option resolves an exclusion."""
    used = [label for label in specs if label in options]
    declared = [
        *((label, EXCLUDES, specs[label].excludes) for label in used),
        *((label, REQUIRES, specs[label].requires) for label in used),
        *((label, MODIFIES, specs[label].modifies) for label in used),
    ]
    for label, kind, conditions in declared:
        for condition, hint in conditions.items():
            terms, _, limits = condition.partition(" if ")
            if not all(_holds(term, options) for term in limits.split()):
                continue
            others = [term for term in terms.split() if term.partition("=")[0] != label]
            held = [term for term in others if _holds(term, options)]
            if bool(held) is (kind == EXCLUDES):
                own = [term for term in limits.split() if term.startswith(f"{label}=")]
                raise conflict(own[0] if own else label, kind, held or others, hint)


def conflict(label: str, kind: str, others: Sequence[str], hint: str) -> UsageError:
    """Return the error for an option that is used without others, or with others."""
    # arrays of states exist in Python only
    named = [_named(other) for other in others if other != "states" or kind == EXCLUDES]
    listed = join_and(named) if kind == EXCLUDES else " or ".join(named)
    return UsageError(f"{kind} {listed}", where=_named(label), hint=hint)


def _named(term: str) -> str:
    flag = _NAMES.get(term) or (term if term.startswith(("-", "robolin")) else f"--{term}")
    return flag.replace("=", " ").replace("|", " or ")


def _holds(term: str, options: Mapping[str, Any]) -> bool:
    label, equals, values = term.removeprefix("!").partition("=")
    value = options.get(label)
    if isinstance(value, tuple) and len(value) == 1:
        (value,) = value
    holds = value in values.split("|") if equals else label in options
    return holds is not term.startswith("!")


SWITCH, TEXT, TEXTS, FILE = (
    OptionSpec("switch"),
    OptionSpec(),
    OptionSpec(multiple=True),
    OptionSpec("file"),
)
METHOD_OPTION, LOOP_METHOD_OPTION = (
    OptionSpec("choice", COMMON_METHODS, excludes={"prescribe": METHOD_NOT_SELECTABLE}),
    OptionSpec("choice", LOOP_METHODS),
)

DTYPE_OPTION = OptionSpec("choice", DTYPES, excludes={"residual external curvature": "use float64"})

# prescribed joints and closed loops, for commands that compute accelerations
FORWARD_OPTIONS: Mapping[str, OptionSpec] = {
    "prescribe": TEXT,
    "close": TEXT,
    "loop-method": LOOP_METHOD_OPTION,
}

SRDF_OPTION = "srdf"
# options of the robot model, for every command
MODEL_OPTIONS: Mapping[str, OptionSpec] = {
    **dict.fromkeys(("gravity", "base", "tip", "friction-velocity", "joints"), TEXT),
    **dict.fromkeys(("lock", "payload", "wrench", "armature", "xacro-arg", "package"), TEXTS),
    **dict.fromkeys(("no-damping", "no-springs", "no-friction"), SWITCH),
    **dict.fromkeys(("floating-base", "open-loops", "strict"), SWITCH),
    "wrench-frame": OptionSpec("choice", WRENCH_MODELS),
    "base-joint": OptionSpec("choice", BASE_JOINTS),
    SRDF_OPTION: FILE,
}
# quantities of a state
STATE_QUANTITIES = ("q", "qd", "qdd", "tau", "nu", "epsilon", "xi", "kappa", "qdr", "qddr")
ANY_QUANTITY = " ".join(STATE_QUANTITIES)
# recorded in the options of a result for states given as arrays
STATES_OPTION = "states"
MANY_STATES = f"trajectory {STATES_OPTION}"
ONE_SOURCE = "set the state with flags or with a file"

# an option whose values may be in a file
COLUMNS = "columns"


def read_options(files: str = "trajectory") -> dict[str, OptionSpec]:
    """Declare how to read a file that one of these options names."""
    text = OptionSpec(modifies={files: "add a file, or remove the option"})
    return {
        COLUMNS: text._replace(multiple=True),
        "time": text,
        "sample-time": text._replace(
            excludes={"time time-unit": "a sample time is only for files without a time column"}
        ),
        "time-unit": text._replace(kind="choice", choices=TIME_UNITS),
        "degrees": text._replace(
            kind="switch",
            modifies={files: "write angles on the command line as 30deg; --degrees is for files"},
            excludes={"radians": "keep only one of these options"},
        ),
        "radians": text._replace(kind="switch"),
        "no-header": text._replace(kind="switch"),
        "join": text._replace(kind="choice", choices=JOINS),
        "torque-constants": text,
        "differentiate": text,
    }


# how to read a trajectory
READ_OPTIONS: Mapping[str, OptionSpec] = read_options()
# the same for commands with one result row per trajectory row
TRAJECTORY_OPTIONS: Mapping[str, OptionSpec] = {
    **READ_OPTIONS,
    "carry": READ_OPTIONS[COLUMNS]._replace(
        excludes={"rank curvature": "columns are copied only if every row has a result"}
    ),
}
# row selection
_ROWS = OptionSpec(
    modifies={"trajectory": "add --trajectory FILE"},
    excludes={"differentiate": "derivatives require adjacent rows; select rows of the file first"},
)
ROW_OPTIONS: Mapping[str, OptionSpec] = {"rows": _ROWS, "stride": _ROWS._replace(kind="count")}
TRAJECTORY: Mapping[str, OptionSpec] = {
    "trajectory": OptionSpec("file", excludes={ANY_QUANTITY: ONE_SOURCE}),
    "on-bad-row": OptionSpec(
        "choice",
        ON_BAD_ROW,
        requires={f"{MANY_STATES} if on-bad-row=nan": "add --trajectory FILE"},
    ),
    **TRAJECTORY_OPTIONS,
    **ROW_OPTIONS,
}
SAMPLES: Mapping[str, OptionSpec] = {
    "samples": OptionSpec(
        "count",
        excludes={f"{ANY_QUANTITY} trajectory": "use either random states or a given state"},
    ),
    "seed": OptionSpec("count", minimum=0, modifies={"samples": "add, for example, --samples 100"}),
}


def samples_with(option: str) -> dict[str, OptionSpec]:
    """Declare random states that only this option of a command uses."""
    used = {option: "use one state or --trajectory FILE"}
    return {**SAMPLES, "samples": SAMPLES["samples"]._replace(modifies=used)}


# options of a linear model
LINEAR_MODEL_OPTIONS: Mapping[str, OptionSpec] = {
    "actuated": OptionSpec(excludes={"passive": "set either the actuated or the passive joints"}),
    **dict.fromkeys(("passive", "outputs"), TEXT),
    "keep": OptionSpec(modifies={"trim": "add --trim"}),
    **dict.fromkeys(("dt", "close"), TEXT),
    "reference": OptionSpec("choice", REFERENCES),
    "discretize": OptionSpec(
        "choice", DISCRETIZATIONS, modifies={"dt": "add a sample time in s, for example --dt 0.01"}
    ),
    "trim": OptionSpec(
        "switch",
        excludes={
            "qd qdd tau": "remove these options: velocities are 0 and torques are computed",
            MANY_STATES: "set one initial guess with --q",
        },
    ),
}

# regressor of a reference motion
SLOTINE_LI = OptionSpec(
    "switch",
    excludes={
        "rank parameters geometry": "run the command once with each option",
        "qdd": "set the reference acceleration with --qddr",
    },
)
_OF_EXTERNAL = OptionSpec(modifies={"external": "add --external"})
# external torques of a recording
EXTERNAL_OPTIONS: Mapping[str, OptionSpec] = {
    "external": OptionSpec(
        "switch",
        requires={"trajectory": "add --trajectory FILE with measured efforts"},
        excludes={"residual": "run the command once with each option"},
    ),
    **dict.fromkeys(("settling-time", "threshold", "dt"), _OF_EXTERNAL),
}
# exciting motions
EXCITE_OPTIONS: Mapping[str, OptionSpec] = {
    **dict.fromkeys(("duration", "period", "dt", "margin"), TEXT),
    **dict.fromkeys(("max-velocity", "max-acceleration"), TEXT),
    "harmonics": OptionSpec("count", minimum=2),
    "iterations": OptionSpec("count"),
    "seed": OptionSpec("count", minimum=0),
}
# diagonalizing quasi-velocities
DIAGONALIZE_OPTIONS: Mapping[str, OptionSpec] = {
    "unnormalized": SWITCH,
    "inverse-transform": OptionSpec(
        "switch",
        requires={
            "xi if unnormalized": "add, for example, --xi 0.1,0.2 for two joints",
            "nu if !unnormalized": "add, for example, --nu 0.1,0.2 for two joints",
        },
    ),
    "curvature": OptionSpec(
        "switch",
        excludes={"unnormalized inverse-transform": "remove the other options"},
    ),
    "symbols": OptionSpec("switch", modifies={"curvature": "add --curvature"}),
}
# options of inverse kinematics, and of trajectory optimization
IK_OPTIONS: Mapping[str, OptionSpec] = {
    "goal": OptionSpec(required=True),
    "starts": OptionSpec("count"),
    "seed": OptionSpec("count", minimum=0),
    "ignore-limits": SWITCH,
}
OPTIMIZE_OPTIONS: Mapping[str, OptionSpec] = {
    **read_options("follow from"),
    "goal": OptionSpec(excludes={"hold": "keep only one of these options"}),
    "hold": SWITCH,
    "follow": FILE,
    "duration": TEXT,
    "dt": TEXT,
    "actuated": LINEAR_MODEL_OPTIONS["actuated"],
    "passive": TEXT,
    **dict.fromkeys(("weight", "effort"), TEXTS),
    **dict.fromkeys(("final", "tolerance"), TEXT),
    "ignore-limits": SWITCH,
    **dict.fromkeys(("limit-scale", "max-effort", "max-velocity"), TEXT),
    "method": OptionSpec("choice", OPTIMIZE_METHODS),
    "starts": OptionSpec("count"),
    "seed": OptionSpec("count", minimum=0),
    "iterations": OptionSpec("count"),
    "solver": OptionSpec("choice", SOLVERS),
    "from": FILE,
}

OPTIMIZE_REQUIRED: Conditions = {
    "goal hold follow": "add --goal JOINT=VALUE, --goal FRAME=X,Y,Z or --hold, each with "
    "--duration SECONDS; or add --follow FILE",
    "duration follow": "add the time to the goal in s, for example --duration 1",
}

RETIME_OPTIONS: Mapping[str, OptionSpec] = dict.fromkeys(
    ("max-velocity", "max-acceleration", "max-effort", "limit-scale", "dt"), TEXT
)

_NOTHING: Mapping[str, OptionSpec] = MappingProxyType({})


def never(_: Mapping[str, Any]) -> bool:
    """Return False: no option makes the last digits depend on LAPACK."""
    return False


# commands that share a module with others; every other command has a module of its own
_SHARED_MODULES = {
    verb: module
    for module, verbs in (
        ("bench_verbs", "bench count"),
        ("dynamics_verbs", "inverse linearize-inverse forward linearize-forward simulate"),
        ("help_verbs", "help completion"),
        ("linear_model_verbs", "state-space poles response lqr"),
        ("matrix_verbs", "mass-matrix diagonalize jacobian ik momentum"),
        ("nested_verbs", "sweep record plan"),
        ("optimize_verbs", "optimize retime"),
        ("parameter_verbs", "regressor sensitivity excite"),
        ("parts_verbs", "batch status merge"),
        ("report_verbs", "report plot"),
        ("robot_file_verbs", "models new inspect"),
    )
    for verb in verbs.split()
}


class Verb(NamedTuple):
    """A command: its entry on the help page and, if it returns results, its options.

    `section`:     heading of the main help page; '' for a command that is not listed
    `path`:        words on the command line, if they differ from the name
    `states`:      state quantities that it accepts
    `states_from`: options for files or samples instead of one state
    `perturb`:     perturbations that the option `perturb` may name
    `own_options`: its other options
    `one_of`:      options of which one is required, separated by spaces -> hint
    `answers`:     'module:function' that evaluates it; '' for a command without a result
    `needs_all_rows`: options that evaluate all rows of a trajectory together
    `linear`:      the result holds near an operating point, which it includes
    `default_plot_arrays`: arrays that a plot shows by default; () for all of them
    `uses_lapack`: whether LAPACK decides the last digits, as a function of the options
    """

    name: str
    section: str
    summary: str
    states: tuple[str, ...] = ()
    states_from: Mapping[str, OptionSpec] = _NOTHING
    perturb: tuple[str, ...] = ()
    own_options: Mapping[str, OptionSpec] = _NOTHING
    one_of: Conditions = NO_CONDITIONS
    answers: str = ""
    needs_all_rows: tuple[str, ...] = ()
    linear: bool = False
    default_plot_arrays: tuple[str, ...] = ()
    uses_lapack: Callable[[Mapping[str, Any]], bool] = never
    path: str = ""

    @property
    def command(self) -> str:
        """'module:name' of its command line."""
        name, shared = self.name.replace("-", "_"), _SHARED_MODULES.get(self.name)
        own = f"{name}_verb:command"
        return f"robolin.cli.commands.{f'{shared}:{name}_command' if shared else own}"

    @property
    def options(self) -> dict[str, OptionSpec]:
        """All options that determine the result except the arm itself, by flag name."""
        state = dict.fromkeys(self.states, TEXT)
        return {**MODEL_OPTIONS, **state, **self.state_file, **self.states_from, **self.own_options}

    @property
    def state_file(self) -> dict[str, OptionSpec]:
        """The option `state`, unless the command uses that name otherwise."""
        return {"state": FILE} if self.states and "state" not in self.own_options else {}
