"""python -m tests.fuzz.bombs: measure small files that expand to very much data."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars

from tests.cli.command import environment
from tests.fork_server import run_forked

MOST_MEGABYTES, MOST_SECONDS = 500, 8
MOTION = ["mass-matrix", "two-link", "--format", "csv", "--trajectory"]
NAMES = ["shoulder/position", "elbow/position"]

# the child prints its peak memory and its CPU time as the last line of stderr
MEASURED = """
import resource, sys
limits = {"RLIMIT_CPU": MOST_SECONDS, "RLIMIT_AS": 4 << 30, "RLIMIT_FSIZE": 1 << 26}
for kind, most in limits.items():
    resource.setrlimit(getattr(resource, kind), (most, most))
from robolin.cli.main import main
seconds, *words = sys.argv[1:]
if seconds:
    from robolin.description.xacro import xacro_worker as xacro
    xacro.BOUNDS = xacro.BOUNDS._replace(seconds=int(seconds))
code = main(words)
with open("/proc/self/status") as lines:
    most = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
seconds = sum(each.ru_utime + each.ru_stime for each in used)
sys.stderr.write(f"{max(most, children)} {seconds}\\n")
raise SystemExit(code)
"""


@dataclass(frozen=True)
class Bomb:
    """A file, the arguments before its name, and the text its error message must contain.

    seconds: the CPU time limit of xacro, for files that exceed it
    """

    name: str
    make: Callable[[Path], object]
    words: list[str]
    message: str
    code: int = 3
    seconds: int | None = None


@dataclass(frozen=True)
class Measured:
    """Exit code, output, peak memory and CPU time of a command."""

    code: int
    message: str
    megabytes: int
    seconds: float


def _text(text: Callable[[], str]) -> Callable[[Path], object]:
    return lambda path: path.write_text(text())


def _yaml(body: Callable[[], str]) -> Callable[[Path], object]:
    return _text(lambda: "robolin: 1\nname: a\n" + body())


def _urdf(body: Callable[[], str]) -> Callable[[Path], object]:
    return _text(lambda: f'<robot name="a"><link name="b"/>{body()}</robot>')


def _xacro(body: str) -> Callable[[Path], object]:
    head = '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    return _text(lambda: f"{head}{body}</robot>")


def _mjcf(asset: str, body: str = "") -> Callable[[Path], object]:
    arm = '<body name="b"><joint name="j"/><geom size=".1"/></body>'
    return _text(
        lambda: f"<mujoco><asset>{asset}</asset><worldbody>{arm}{body}</worldbody></mujoco>"
    )


def _deflated(path: Path, megabytes: int) -> None:
    """An archive of zeros: a megabyte of them is packed once, and repeated."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (megabytes << 16, 2)}
    )
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(head.getvalue()) + packer.flush(zlib.Z_FULL_FLUSH)
    zeros = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = start + zeros * megabytes + packer.flush()
    size = len(head.getvalue()) + (megabytes << 20)
    numbers = [n.to_bytes(w, "little") for n, w in ((0, 4), (len(packed), 4), (size, 4), (5, 2))]
    local = b"PK\3\4\x14\0\0\0\x08\0\0\0\0\0" + b"".join(numbers) + b"\0\0q.npy"
    entry = b"PK\1\2\x14\0\x14\0\0\0\x08\0\0\0\0\0" + b"".join(numbers) + bytes(16) + b"q.npy"
    offset = len(local) + len(packed)
    end = [(0, 4), (1, 2), (1, 2), (len(entry), 4), (offset, 4), (0, 2)]
    tail = b"PK\5\6" + b"".join(n.to_bytes(w, "little") for n, w in end)
    path.write_bytes(local + packed + entry + tail)


def _parquet(rows: int, padding: int) -> Callable[[Path], object]:
    """Write zeros in one row group, and an unused column of incompressible bytes.

    padding: length of that column, which makes the file large enough for its claimed number of rows
    """

    def made(path: Path) -> None:
        noise = np.zeros(rows)
        noise[:padding] = np.random.default_rng(0).uniform(size=padding)
        zeros = {name: polars.zeros(rows, eager=True) for name in NAMES}
        frame = polars.DataFrame({**zeros, "noise": noise})
        frame.write_parquet(path, compression="zstd", row_group_size=rows)

    return made


HEADER = ",".join(NAMES)
BOMBS = [
    Bomb(
        "lists.yaml", _yaml(lambda: "joints: [" + "[]," * 2_600_000 + "]"), ["inspect"], "more than"
    ),
    Bomb("deep.yaml", _yaml(lambda: "joints: " + "[" * 4_000_000), ["inspect"], ""),
    Bomb(
        "keys.yaml", _yaml(lambda: "".join(f"k{i}: 0\n" for i in range(700_000))), ["inspect"], ""
    ),
    Bomb("text.yaml", _yaml(lambda: "joints: '" + "'' " * 2_600_000 + "'"), ["inspect"], ""),
    Bomb(
        "anchors.yaml",
        _yaml(
            lambda: (
                "a0: &a0 [0]\n"
                + "".join(f"a{i}: &a{i} [{f'*a{i - 1},' * 9}]\n" for i in range(1, 40))
            )
        ),
        ["inspect"],
        "",
    ),
    Bomb("elements.urdf", _urdf(lambda: "<a/>" * 1_900_000), ["inspect"], "more than"),
    Bomb("deep.urdf", _urdf(lambda: "<a>" * 1_900_000), ["inspect"], ""),
    Bomb("links.urdf", _urdf(lambda: "<link/>" * 20_000), ["inspect"], "more findings"),
    Bomb("findings.urdf", _urdf(lambda: "<joint/>" * 20_000), ["validate"], "", 1),
    Bomb("mass.urdf", _urdf(lambda: '<link name="b"/>' * 20_000), ["validate"], "", 1),
    Bomb(
        "entities.urdf",
        _text(
            lambda: (
                "<!DOCTYPE r [<!ENTITY a0 'x'>"
                + "".join(f"<!ENTITY a{i} '{f'&a{i - 1};' * 9}'>" for i in range(1, 20))
                + "]><robot name='&a19;'/>"
            )
        ),
        ["inspect"],
        "",
    ),
    Bomb("zeros.npz", lambda path: _deflated(path, 2000), MOTION, "expand to"),
    Bomb("endless.csv", lambda path: path.symlink_to("/dev/zero"), MOTION, "endless.csv"),
    Bomb("line.csv", _text(lambda: HEADER + "\n" + "1" * 50_000_000), MOTION, "line.csv"),
    Bomb("head.csv", _text(lambda: "a," * 25_000_000 + "\n0,0\n"), MOTION, "longer than"),
    Bomb("wide.csv", _text(lambda: HEADER + "\n" + "0," * 25_000_000 + "\n"), MOTION, "wide.csv"),
    Bomb("quoted.csv", _text(lambda: HEADER + '\n"' + "0\n" * 20_000_000), MOTION, "quoted.csv"),
    Bomb(
        "line.csv.gz",
        lambda path: path.write_bytes(
            gzip.compress(HEADER.encode() + b"\n") + 50 * gzip.compress(b"1" * 10_000_000, 1)
        ),
        *(MOTION, "line.csv.gz"),
    ),
    Bomb("power.xacro", _xacro('<link name="${9**9**9}"/>'), ["inspect"], "exceeds 1000000 items"),
    Bomb("grow.xacro", _xacro('<link name="${[0]*10**9}"/>'), ["inspect"], "exceeds 1000000 items"),
    Bomb(
        "loop.xacro",
        _xacro('<link name="${python.sum(python.range(10**12))}"/>'),
        *(["inspect"], "took more than 1 s"),
        seconds=1,
    ),
    Bomb(
        "list.xacro",
        _xacro('<link name="${list(python.range(10**9))}"/>'),
        *(["inspect"], "a value exceeds the size limits"),
    ),
    Bomb(
        "circle.xacro",
        _xacro('<xacro:macro name="m" params=""><xacro:m/></xacro:macro><xacro:m/>'),
        *(["inspect"], "circle"),
    ),
    Bomb(
        "texture.xml",
        _mjcf('<texture name="t" type="2d" builtin="flat" width="40000" height="40000"/>'),
        # a picture changes no inertia: the model is read without it
        *(["inspect"], "4.18879 kg in total", 0),
    ),
    Bomb(
        "replicate.xml",
        _mjcf(
            "",
            '<replicate count="100000000" offset="1 0 0"><body><geom size="1"/></body></replicate>',
        ),
        *(["inspect"], "more than 8000"),
    ),
    Bomb("ratio.parquet", _parquet(9_000_000, 0), MOTION, "expand to"),
    Bomb("group.parquet", _parquet(9_000_000, 80_000), MOTION, "smaller row groups"),
]


def measured(bomb: Bomb, folder: Path) -> Measured:
    """Make the file and have a process of its own look at it, which may not go on for ever."""
    path = folder / bomb.name
    bomb.make(path)

    words = [str(bomb.seconds or ""), *bomb.words, str(path)]
    ran = run_forked(f"MOST_SECONDS = {MOST_SECONDS}\n{MEASURED}", words, environment())
    *lines, most = ran.stderr.decode(errors="replace").splitlines() or [""]
    path.unlink()
    kilobytes, _, seconds = most.partition(" ")
    text = "\n".join([*lines, ran.stdout.decode(errors="replace")])
    if not kilobytes.isdigit():
        # the system has ended the process
        return Measured(ran.returncode, f"{text}\n{most}", 0, 0.0)
    return Measured(ran.returncode, text, int(kilobytes) >> 10, float(seconds))


def main() -> None:
    """The table on stdout."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for bomb in BOMBS:
            outcome = measured(bomb, Path(folder))
            errors = [line for line in outcome.message.splitlines() if "error" in line] or [
                outcome.message
            ]
            row = f"{bomb.name:16} exit {outcome.code}  {outcome.seconds:5.1f} s"
            row += f" {outcome.megabytes:5} MB  {len(outcome.message):7} bytes"
            sys.stdout.write(f"{row}   {errors[0][-110:]}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
