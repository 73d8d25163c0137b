"""The keywords by which every function can be told how to run, as one object."""

from __future__ import annotations

from robolin.core.arm import Arm
from robolin.core.choices import LoopMethod
from robolin.evaluation.evaluate import Engine, RunOptions
from robolin.evaluation.methods import Method
from robolin.evaluation.quick_calls import QuickCall, no_answer, quick_call

_AS_USUAL: RunOptions = {}


def at_once(
    arm: Arm,
    verb: str,
    method: Method,
    engine: Engine,
    jobs: int | None,
    loop_method: LoopMethod | None,
) -> QuickCall:
    """What answers one state in a microsecond, and anything else with None."""
    if method == "auto" and engine == "auto" and jobs is None and loop_method is None:
        return quick_call(arm, verb)
    return no_answer


def run_options(
    method: Method, engine: Engine, jobs: int | None, loop_method: LoopMethod | None
) -> RunOptions:
    """What was chosen; nothing at all where all is as usual, so that nothing need be checked."""
    if method == "auto" and engine == "auto" and jobs is None and loop_method is None:
        return _AS_USUAL
    return {"method": method, "engine": engine, "jobs": jobs, "loop_method": loop_method}
