"""Option declarations for models, trajectories and linear models; commands combine them.

Named tuples are created three times faster than dataclasses, which matters for `--help`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from robolin.core.choices import (
    BASE_JOINTS,
    DIFFERENTIATIONS,
    DISCRETIZATIONS,
    LOOP_METHODS,
    ON_BAD_ROW,
    REFERENCES,
    TIME_UNITS,
    WRENCH_MODELS,
)
from robolin.evaluation.methods import COMMON_METHODS


class OptionSpec(NamedTuple):
    """A declared option: a flag on the command line, a keyword in Python.

    kind:           a switch, a text, one of several choices, a count, or a file
    minimum:        the smallest count
    multiple:       the option may be repeated
    required:       the question is invalid without it
    optional_value: the flag may stand without a value, as True in Python
    frame:          the option names the frame of the result
    """

    kind: Literal["switch", "text", "choice", "count", "file"] = "text"
    choices: tuple[str, ...] = ()
    minimum: int = 1
    multiple: bool = False
    required: bool = False
    optional_value: bool = False
    frame: bool = False


SWITCH, TEXT, TEXTS, FILE = (
    OptionSpec("switch"),
    OptionSpec(),
    OptionSpec(multiple=True),
    OptionSpec("file"),
)
METHOD_OPTION, LOOP_METHOD_OPTION = (
    OptionSpec("choice", COMMON_METHODS),
    OptionSpec("choice", LOOP_METHODS),
)

# prescribed joints and closed loops, for commands that compute accelerations
FORWARD_OPTIONS: Mapping[str, OptionSpec] = {
    "prescribe": TEXT,
    "close": TEXT,
    "loop-method": LOOP_METHOD_OPTION,
}

# options of the robot model, for every command
MODEL_OPTIONS: Mapping[str, OptionSpec] = {
    **dict.fromkeys(("gravity", "base", "tip", "friction-velocity", "joints"), TEXT),
    **dict.fromkeys(("lock", "payload", "wrench", "armature", "xacro-arg", "package"), TEXTS),
    **dict.fromkeys(("no-damping", "no-springs", "floating-base", "open-loops", "strict"), SWITCH),
    "wrench-frame": OptionSpec("choice", WRENCH_MODELS),
    "base-joint": OptionSpec("choice", BASE_JOINTS),
}
# an option whose values may be in a file
COLUMNS = "columns"
# how to read a trajectory
READ_OPTIONS: Mapping[str, OptionSpec] = {
    COLUMNS: TEXTS,
    "time": TEXT,
    "time-unit": OptionSpec("choice", TIME_UNITS),
    "degrees": SWITCH,
    "radians": SWITCH,
    "differentiate": OptionSpec("choice", DIFFERENTIATIONS),
}
# the same for commands with one result row per trajectory row
TRAJECTORY_OPTIONS: Mapping[str, OptionSpec] = {**READ_OPTIONS, "carry": TEXTS}
# row selection
ROW_OPTIONS: Mapping[str, OptionSpec] = {"rows": TEXT, "stride": OptionSpec("count")}
TRAJECTORY: Mapping[str, OptionSpec] = {
    "trajectory": FILE,
    "on-bad-row": OptionSpec("choice", ON_BAD_ROW),
    **TRAJECTORY_OPTIONS,
    **ROW_OPTIONS,
}
SAMPLES: Mapping[str, OptionSpec] = {
    "samples": OptionSpec("count"),
    "seed": OptionSpec("count", minimum=0),
}

# options of a linear model
LINEAR_MODEL_OPTIONS: Mapping[str, OptionSpec] = {
    **dict.fromkeys(("actuated", "passive", "outputs", "keep", "dt", "close"), TEXT),
    "reference": OptionSpec("choice", REFERENCES),
    "discretize": OptionSpec("choice", DISCRETIZATIONS),
    "trim": SWITCH,
}

_NOTHING: Mapping[str, OptionSpec] = MappingProxyType({})


def never(_: Mapping[str, Any]) -> bool:
    """Return False: no option makes the last digits depend on LAPACK."""
    return False


class Verb(NamedTuple):
    """A command: its entry on the help page and, if it returns results, its options.

    `states`:      state quantities that it accepts
    `states_from`: options for files or samples instead of one state
    `perturb`:     perturbations that the option `perturb` may name
    `asks`:        its other options
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
    asks: Mapping[str, OptionSpec] = _NOTHING
    answers: str = ""
    needs_all_rows: tuple[str, ...] = ()
    linear: bool = False
    default_plot_arrays: tuple[str, ...] = ()
    uses_lapack: Callable[[Mapping[str, Any]], bool] = never

    @property
    def command(self) -> str:
        """Module whose `command` is the command line of this command."""
        return f"robolin.cli.commands.{self.name.replace('-', '_')}_verb"

    @property
    def options(self) -> dict[str, OptionSpec]:
        """All options that determine the result except the arm itself, by flag name."""
        state = dict.fromkeys(self.states, TEXT)
        return {**MODEL_OPTIONS, **state, **self.state_file, **self.states_from, **self.asks}

    @property
    def state_file(self) -> dict[str, OptionSpec]:
        """The option `state`, unless the command uses that name otherwise."""
        return {"state": FILE} if self.states and "state" not in self.asks else {}
