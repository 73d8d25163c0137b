"""robolin: dynamics and linearized dynamics of robot arms.

Names are imported when they are first used, so that a command that needs no arrays loads none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robolin.errors import FileError, RobolinError, UsageError
from robolin.version import __version__

if TYPE_CHECKING:
    from robolin.api import (
        Diagonalized,
        DiagonalizedUnnormalized,
        Factors,
        LinearizedForward,
        LinearizedInverse,
        coriolis_matrix,
        diagonalize,
        diagonalize_unnormalized,
        forward,
        inverse,
        linearize_forward,
        linearize_inverse,
        mass_matrix,
        mass_matrix_derivative,
        mass_matrix_factor,
        mass_matrix_inverse,
        perturb_forward,
        perturb_inverse,
        undiagonalize,
        undiagonalize_unnormalized,
    )
    from robolin.arm import Arm, Joint, Link
    from robolin.description.load import from_urdfpy, load

_HOME = {
    **dict.fromkeys(("Arm", "Joint", "Link"), "robolin.arm"),
    **dict.fromkeys(("load", "from_urdfpy"), "robolin.description.load"),
}

__all__ = [
    "Arm",
    "Diagonalized",
    "DiagonalizedUnnormalized",
    "Factors",
    "FileError",
    "Joint",
    "LinearizedForward",
    "LinearizedInverse",
    "Link",
    "RobolinError",
    "UsageError",
    "__version__",
    "coriolis_matrix",
    "diagonalize",
    "diagonalize_unnormalized",
    "forward",
    "from_urdfpy",
    "inverse",
    "linearize_forward",
    "linearize_inverse",
    "load",
    "mass_matrix",
    "mass_matrix_derivative",
    "mass_matrix_factor",
    "mass_matrix_inverse",
    "perturb_forward",
    "perturb_inverse",
    "undiagonalize",
    "undiagonalize_unnormalized",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'robolin' has no attribute {name!r}")
    value = getattr(import_module(_HOME.get(name, "robolin.api")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
