"""The keywords by which every function can be told how to run, as one object."""

from __future__ import annotations

from robolin.evaluation.evaluate import Engine, How, LoopMethod
from robolin.evaluation.methods import Method

_AS_USUAL: How = {}


def run_options(
    method: Method, engine: Engine, jobs: int | None, loop_method: LoopMethod | None
) -> How:
    """What was chosen; nothing at all where all is as usual, so that nothing need be checked."""
    if method == "auto" and engine == "auto" and jobs is None and loop_method is None:
        return _AS_USUAL
    return {"method": method, "engine": engine, "jobs": jobs, "loop_method": loop_method}
