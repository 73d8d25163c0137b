"""Cost of kernels before they run: compilation, loading from the cache, and size on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import robolin
from benchmarks.subjects import panda, tree
from benchmarks.timing import Effort, progress, seconds
from robolin.core.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.compiled import kernels
from robolin.engine.compiled.plan import arm_tables, kernel_spec
from robolin.engine.parameters import parameters_of
from tests.robots import with_wrench

LOADS = 5


def measured(effort: Effort) -> dict[str, Any]:
    """Seconds to compile, seconds to load, and bytes, for every algorithm and kind of robot."""
    report: dict[str, Any] = {}
    before = os.environ.get("ROBOLIN_CACHE")
    loaded = dict(kernels._kernels)
    try:
        for title, arm in _arms(effort):
            progress(f"kernels: {title}")
            report[title] = {
                name: _kernel(name, arm) for name in ALGORITHMS if is_applicable(name, arm)
            }
    finally:
        kernels._kernels.update(loaded)
        if before is None:
            os.environ.pop("ROBOLIN_CACHE", None)
        else:
            os.environ["ROBOLIN_CACHE"] = before
    return report


def _arms(effort: Effort) -> Iterator[tuple[str, Arm]]:
    """One robot for each kind of kernel."""
    chain = panda().arm
    yield "serial, revolute joints", chain
    if effort.quick:
        return
    yield "tree, revolute and prismatic joints", tree().arm
    yield "mimic joints", robolin.load("panda-fingers", damping=False)
    loaded = chain
    for model in ("follower", "dead", "world"):
        wrench = with_wrench(chain, model, frame=next(iter(chain.frames)))
        loaded = replace(loaded, wrenches=loaded.wrenches + wrench.wrenches)
    yield "friction and three loads", replace(loaded, friction_velocity=0.1)


def is_applicable(name: str, arm: Arm) -> bool:
    kind = ALGORITHMS[name].kind
    if kind == "closed":
        return bool(arm.loops)
    return kind == "any" or (not arm.has_mimic and (kind == "independent" or arm.serial))


def _kernel(name: str, arm: Arm) -> dict[str, Any]:
    recipe = kernel_spec(name, ALGORITHMS[name], arm_tables(parameters_of(arm)))
    with TemporaryDirectory() as folder:
        os.environ["ROBOLIN_CACHE"] = folder
        kernels._kernels.clear()
        compiled = seconds(kernels.kernel_for, recipe)
        loads = []
        for _ in range(LOADS):
            kernels._kernels.clear()
            loads.append(seconds(kernels.kernel_for, recipe))
        (file,) = Path(folder).iterdir()
        size = file.stat().st_size
    return {
        "compile s": compiled,
        "load s": median(loads),
        "slowest load s": max(loads),
        "bytes": size,
    }
