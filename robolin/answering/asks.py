"""What can be asked: of every arm, of recordings, of linear models; verbs are made of these.

Named tuples, here and in the table of verbs, are made in a third of the time that dataclasses take
of `robolin --help`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from robolin.choices import (
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


class Ask(NamedTuple):
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


SWITCH, TEXT, TEXTS, FILE = Ask("switch"), Ask(), Ask(repeats=True), Ask("file")
METHOD_ASK, LOOP_METHOD_ASK = Ask("choice", COMMON_METHODS), Ask("choice", LOOP_METHODS)

# what moves as told, and how loops are kept, wherever accelerations are the answer
FORWARD_ASKS: Mapping[str, Ask] = {"prescribe": TEXT, "close": TEXT, "loop-method": LOOP_METHOD_ASK}

# what can be asked of every arm, whatever the verb
MODEL_ASKS: Mapping[str, Ask] = {
    **dict.fromkeys(("gravity", "base", "tip", "friction-velocity", "joints"), TEXT),
    **dict.fromkeys(("lock", "payload", "wrench", "armature", "xacro-arg", "package"), TEXTS),
    **dict.fromkeys(("no-damping", "floating-base", "open-loops", "strict"), SWITCH),
    "wrench-frame": Ask("choice", WRENCH_MODELS),
    "base-joint": Ask("choice", BASE_JOINTS),
}
# texts that may stand in a file as well
COLUMNS = "columns"
# how a recording is meant
READING: Mapping[str, Ask] = {
    COLUMNS: TEXTS,
    "time": TEXT,
    "time-unit": Ask("choice", TIME_UNITS),
    "degrees": SWITCH,
    "radians": SWITCH,
    "differentiate": Ask("choice", DIFFERENTIATIONS),
}
# the same where rows of the recording are rows of the result
RECORDING: Mapping[str, Ask] = {**READING, "carry": TEXTS}
# which of its rows are meant
SELECTION: Mapping[str, Ask] = {"rows": TEXT, "stride": Ask("count")}
TRAJECTORY: Mapping[str, Ask] = {
    "trajectory": FILE,
    "on-bad-row": Ask("choice", ON_BAD_ROW),
    **RECORDING,
    **SELECTION,
}
SAMPLES: Mapping[str, Ask] = {"samples": Ask("count"), "seed": Ask("count", least=0)}

# which linear model of an arm is meant
LINEAR_MODEL_ASKS: Mapping[str, Ask] = {
    **dict.fromkeys(("actuated", "passive", "outputs", "keep", "dt", "close"), TEXT),
    "reference": Ask("choice", REFERENCES),
    "discretize": Ask("choice", DISCRETIZATIONS),
    "trim": SWITCH,
}
