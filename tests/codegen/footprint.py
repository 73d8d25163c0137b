"""Memory of generated Panda programs on a Cortex-M7 in bytes: the table of docs/howto/embedded.md.

    python -m tests.codegen.footprint

It needs arm-none-eabi-gcc; no test runs it.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import robolin
from tests.codegen.compilers import CORTEX_M7
from tests.codegen.single_precision import VERBS

KINDS = (("unrolled", "double"), ("loops", "double"), ("unrolled", "float"))


def code_and_stack(verb: str, layout: str, real: str) -> tuple[int, int]:
    """Bytes of the program, and of the stack with what is called the deepest."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, options = Path(temporary) / "made", {"layout": layout, "real": real, "states": 1}
        robolin.generate(robolin.load("panda"), [verb], folder, prefix="arm", **options)
        flags = ("-c", "-O2", "-fstack-usage")
        CORTEX_M7.compile(folder, "arm.c", into="arm.o", flags=flags)
        listed = subprocess.run(
            ["arm-none-eabi-size", "arm.o"], cwd=folder, capture_output=True, text=True, check=True
        )
        rows = [line.split("\t") for line in (folder / "arm.su").read_text().splitlines()]
    taken = {where.rpartition(":")[2]: int(size) for where, size, _ in rows}
    own = taken.pop(f"arm_{verb.replace('-', '_')}")
    return int(listed.stdout.splitlines()[1].split()[0]), own + max(taken.values(), default=0)


def main() -> None:
    for verb in VERBS:
        figures = [str(number) for kind in KINDS for number in code_and_stack(verb, *kind)]
        print(f"| `{verb}` | {' | '.join(figures)} |", flush=True)


if __name__ == "__main__":
    main()
