"""Hardware and software of a measurement: processor, cores and versions."""

from __future__ import annotations

import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from robolin import __version__
from robolin.engine.compiled.kernels import host_width
from robolin.engine.compiled.plan import cores

PACKAGES = (
    "numpy",
    "llvmlite",
    "polars",
    "pin",
    "mujoco",
    "jax",
    "frax",
    "mujoco-mjx",
    "adam-robotics",
)


def described() -> dict[str, Any]:
    """Machine and versions, for the head of a table."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "doubles per register": host_width(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "robolin": __version__,
        **{name: version for name in PACKAGES if (version := _version(name))},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    family = re.search(r"^cpu family\s*:\s*(\d+)$", text, re.MULTILINE)
    number = re.search(r"^model\s*:\s*(\d+)$", text, re.MULTILINE)
    if not model:
        return platform.machine()
    detail = f" (family {family[1]}, model {number[1]})" if family and number else ""
    return re.sub(r"\s+", " ", model[1]).strip() + detail
