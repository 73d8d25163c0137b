"""C compilers, where installed, and the programs that run their output."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")


@dataclass(frozen=True)
class Compiler:
    """A compiler, its target, and the emulator that runs programs of that target."""

    program: str
    flags: tuple[str, ...] = ()
    runs_with: tuple[str, ...] = ()

    @property
    def absent(self) -> str:
        """Why nothing can be compiled and run with it here, '' if it can."""
        needed = (self.program, *self.runs_with[:1])
        missing = [each for each in needed if shutil.which(each) is None]
        return f"{missing[0]} is not installed" if missing else ""

    def compile(self, folder: Path, *files: str, into: str, flags: Sequence[str] = ()) -> None:
        """Compile files of a folder, warnings being errors."""
        if self.absent:
            pytest.skip(self.absent)
        command = [self.program, *STRICT, *self.flags, *flags, *files, "-o", into]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]

    def checked(
        self, folder: Path, prefix: str, flags: Sequence[str] = ("-O1",), source: str = ""
    ) -> str:
        """Compile and run the program's own test; return its summary, which has no differences.

        source: the object file of the program, if it is compiled already
        """
        files = (source or f"{prefix}.c", f"{prefix}_test.c")
        self.compile(folder, *files, into=f"{prefix}_test", flags=flags)
        command = [*self.runs_with, f"./{prefix}_test"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[:2000] + done.stderr[:2000]
        assert "0 differences" in done.stdout
        return done.stdout.strip()


GCC = Compiler("gcc")
CLANG = Compiler("clang")
AARCH64 = Compiler(
    "aarch64-linux-gnu-gcc", ("-static",), ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
)
CORTEX_M7 = Compiler(
    "arm-none-eabi-gcc", ("-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard")
)
# without optimization clang takes a third of the time of gcc
QUICKEST = GCC if CLANG.absent else CLANG
RUNNING = {"gcc": GCC, "clang": CLANG, "aarch64": AARCH64}
EVERY = {**RUNNING, "cortex-m7": CORTEX_M7}
