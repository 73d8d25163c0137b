"""What can be asked: of every arm, of recordings, of linear models; a verb is made of these.

Named tuples are made in a third of the time that dataclasses take of `robolin --help`.
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
    """Something that can be asked: a flag on the command line, a keyword in Python.

    kind:    a switch that is on or off, a text, one of some choices, a count, or a file
    least:   the smallest count
    repeats: whether there may be several texts
    needed:  whether the question makes no sense without it
    bare:    whether it may stand without its text, as True in Python
    frame:   whether it names the frame that the answer is about
    """

    kind: Literal["switch", "text", "choice", "count", "file"] = "text"
    choices: tuple[str, ...] = ()
    least: int = 1
    repeats: bool = False
    needed: bool = False
    bare: bool = False
    frame: bool = False


SWITCH, TEXT, TEXTS, FILE = (
    OptionSpec("switch"),
    OptionSpec(),
    OptionSpec(repeats=True),
    OptionSpec("file"),
)
METHOD_ASK, LOOP_METHOD_ASK = (
    OptionSpec("choice", COMMON_METHODS),
    OptionSpec("choice", LOOP_METHODS),
)

# what moves as told, and how loops are kept, wherever accelerations are the answer
FORWARD_OPTIONS: Mapping[str, OptionSpec] = {
    "prescribe": TEXT,
    "close": TEXT,
    "loop-method": LOOP_METHOD_ASK,
}

# what can be asked of every arm, whatever the verb
MODEL_OPTIONS: Mapping[str, OptionSpec] = {
    **dict.fromkeys(("gravity", "base", "tip", "friction-velocity", "joints"), TEXT),
    **dict.fromkeys(("lock", "payload", "wrench", "armature", "xacro-arg", "package"), TEXTS),
    **dict.fromkeys(("no-damping", "no-springs", "floating-base", "open-loops", "strict"), SWITCH),
    "wrench-frame": OptionSpec("choice", WRENCH_MODELS),
    "base-joint": OptionSpec("choice", BASE_JOINTS),
}
# texts that may stand in a file as well
COLUMNS = "columns"
# how a recording is meant
READ_OPTIONS: Mapping[str, OptionSpec] = {
    COLUMNS: TEXTS,
    "time": TEXT,
    "time-unit": OptionSpec("choice", TIME_UNITS),
    "degrees": SWITCH,
    "radians": SWITCH,
    "differentiate": OptionSpec("choice", DIFFERENTIATIONS),
}
# the same where rows of the recording are rows of the result
TRAJECTORY_OPTIONS: Mapping[str, OptionSpec] = {**READ_OPTIONS, "carry": TEXTS}
# which of its rows are meant
ROW_OPTIONS: Mapping[str, OptionSpec] = {"rows": TEXT, "stride": OptionSpec("count")}
TRAJECTORY: Mapping[str, OptionSpec] = {
    "trajectory": FILE,
    "on-bad-row": OptionSpec("choice", ON_BAD_ROW),
    **TRAJECTORY_OPTIONS,
    **ROW_OPTIONS,
}
SAMPLES: Mapping[str, OptionSpec] = {
    "samples": OptionSpec("count"),
    "seed": OptionSpec("count", least=0),
}

# which linear model of an arm is meant
LINEAR_MODEL_OPTIONS: Mapping[str, OptionSpec] = {
    **dict.fromkeys(("actuated", "passive", "outputs", "keep", "dt", "close"), TEXT),
    "reference": OptionSpec("choice", REFERENCES),
    "discretize": OptionSpec("choice", DISCRETIZATIONS),
    "trim": SWITCH,
}

_NOTHING: Mapping[str, OptionSpec] = MappingProxyType({})


def never(_: Mapping[str, Any]) -> bool:
    """No option lets a linear-algebra library take part."""
    return False


class Verb(NamedTuple):
    """A verb: its place on the help page and, if it gives results, how it is asked.

    states:     the quantities of a state it can be given, and files or samples in place of them
    perturb:    the small changes that `perturb` may name
    asks:       what else can be asked of it
    answers:    'module:function' that answers it; '' for a command that gives no result
    together:   what can be asked of it that all rows of a recording are answered for at once
    linear:     whether its answer holds about a point, which is told with it
    pictured:   the arrays that a picture shows unless others are asked for; () for all of them
    uses_lapack: whether NumPy's or SciPy's linear algebra decides the last digits of its results,
                given the options
    """

    name: str
    section: str
    summary: str
    states: tuple[str, ...] = ()
    states_from: Mapping[str, OptionSpec] = _NOTHING
    perturb: tuple[str, ...] = ()
    asks: Mapping[str, OptionSpec] = _NOTHING
    answers: str = ""
    together: tuple[str, ...] = ()
    linear: bool = False
    pictured: tuple[str, ...] = ()
    uses_lapack: Callable[[Mapping[str, Any]], bool] = never

    @property
    def command(self) -> str:
        """The module whose `command` is its command line."""
        return f"robolin.cli.commands.{self.name.replace('-', '_')}_verb"

    @property
    def options(self) -> dict[str, OptionSpec]:
        """Everything that decides its answer, by the name of its flag, but for the arm itself."""
        state = dict.fromkeys(self.states, TEXT)
        return {**MODEL_OPTIONS, **state, **self.state_file, **self.states_from, **self.asks}

    @property
    def state_file(self) -> dict[str, OptionSpec]:
        """A file with a state, where a state can be given and the word means nothing else."""
        return {"state": FILE} if self.states and "state" not in self.asks else {}
