"""Loops of other programs over states in C and C++, compiled for this processor.

A loop reads arrays of states and writes arrays of results, so that its time contains no Python.
Libraries are kept in build/benchmarks, because compiling Pinocchio takes some minutes.
"""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.timing import progress

_HERE = Path(__file__).parent
BUILT = _HERE.parent / "build" / "benchmarks"
# compiler definitions that Pinocchio requires
_DEFINITIONS = (
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "BOOST_FUSION_INVOKE_MAX_ARITY=12",
)
_FLAGS = ("-O3", "-march=native", "-DNDEBUG", "-shared", "-fPIC", "-w")


def library(name: str, flags: Sequence[str]) -> ctypes.CDLL | None:
    """The compiled source file `name`; None, with the reason on stderr, if it does not compile."""
    source = _HERE / name
    compiler = ("g++", "-std=c++17") if source.suffix == ".cpp" else ("gcc", "-std=c11")
    command = [*compiler, *_FLAGS, str(source), *flags]
    key = hashlib.sha256("\0".join([*command, source.read_text("utf-8")]).encode()).hexdigest()
    target = BUILT / f"{source.stem}-{key[:16]}.so"
    if not target.exists():
        progress(f"compiling {name}; Pinocchio takes some minutes")
        BUILT.mkdir(parents=True, exist_ok=True)
        try:
            subprocess.run([*command, "-o", str(target)], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            lines = getattr(error, "stderr", b"").decode(errors="replace").splitlines()
            reason = next((line for line in lines if "error" in line), str(error))
            progress(f"{name} does not compile and is left out: {reason}")
            return None
    return ctypes.CDLL(str(target))


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    """Address of an array, whose values must be contiguous."""
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


def pinocchio_headers() -> list[str]:
    """Compiler flags for the headers of Pinocchio and Eigen; empty if one of them is missing."""
    prefix, eigen = pinocchio_prefix(), _eigen()
    if prefix is None or eigen is None:
        progress("headers of Pinocchio or Eigen are missing: its loops are left out")
        return []
    folders = (part for each in (prefix / "include", eigen) for part in ("-isystem", str(each)))
    return [*(f"-D{each}" for each in _DEFINITIONS), *folders]


def pinocchio_prefix() -> Path | None:
    """Folder of the library and the headers in the Python package."""
    spec = find_spec("pinocchio")
    above = Path(spec.origin).parents if spec and spec.origin else ()
    return next((each for each in above if (each / "include" / "pinocchio").is_dir()), None)


def _eigen() -> Path | None:
    """Headers of Eigen, from CasADi's package or from the system."""
    spec = find_spec("casadi")
    packages = [Path(spec.origin).parent] if spec and spec.origin else []
    folders = [each / "include/eigen3" for each in (*packages, Path("/usr"), Path("/usr/local"))]
    return next((each for each in folders if (each / "Eigen" / "Core").is_file()), None)
