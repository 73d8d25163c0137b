"""Commands open, move and remove only their own files, and use no network."""

from __future__ import annotations

import json
import sys
import sysconfig
from pathlib import Path

import pytest

from robolin.queries.verbs import VERBS
from tests.cli.command import ROOT, environment, python, run_ok

# records file accesses by path while command lines run; audit hooks cannot be removed, so this runs
# in a process of its own
WATCHED = """
import json, os, sys
from robolin.cli.main import main
seen, report = [], open(sys.argv[2], "w")

def hook(event, args):
    if event == "open" and isinstance(args[0], (str, bytes, os.PathLike)):
        writes = isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        seen.append(["write" if writes else "read", os.path.abspath(os.fsdecode(args[0]))])
    elif event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink",
                   "os.chmod", "os.chown", "os.truncate", "shutil.rmtree", "tempfile.mkstemp"):
        seen.append(["write", os.path.abspath(os.fsdecode(args[0]))])
    elif event.startswith(("socket.", "subprocess.", "os.system", "os.exec", "os.fork",
                           "os.posix_spawn", "ctypes.dlopen", "urllib.", "webbrowser.")):
        seen.append([event, str(args[:1])])

sys.addaudithook(hook)
ended = []
for line in json.loads(sys.argv[1]):
    seen.append(["line", line])
    ended.append(main(line.split()))
json.dump([ended, seen], report)
"""

LINES = {
    **{verb: f"{verb} two-link" for verb in VERBS},
    **{f"state {x}": f"inverse two-link -o out.{x}" for x in ("csv", "json", "npz", "parquet")},
    **{
        f"rows {x}": f"mass-matrix arm.yaml --trajectory t.csv -o rows.{x}"
        for x in ("csv", "json", "npz", "parquet", "mat")
    },
    "from npz": "forward two-link --trajectory rows.npz",
    "from parquet": "inverse two-link --trajectory t.parquet",
    "count": "count inverse two-link",
    "diff": "diff two-link arm.yaml --format markdown",
    "check": "check held.json --against held.json",
    "check csv": "check out.csv",
    "record": "record inverse two-link -o held2.json",
    "sensitivity": "sensitivity two-link --trajectory t.csv --matrices",
    "simulate": "simulate two-link --duration 0.01 -o sim.csv",
    "suite": "check --suite suite.toml",
    "validate": "validate arm.yaml",
    "baseline": "validate arm.yaml --write-baseline known.json",
    "verify": "verify two-link --samples 1",
    "bench": "bench nothing",
    "help": "--help",
    "version": "--version",
}
# the quick run leaves out slow commands, and has a failing one to show that failures are seen
QUICK = ("inverse", "state csv", "state parquet", "rows csv", "check csv", "validate", "bench")
OTHERS = tuple(name for name in LINES if name not in QUICK)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    rows = "".join(f"{i},{0.1 * i},{-0.2 * i}\n" for i in range(30))
    Path("t.csv").write_text("time,shoulder/position,elbow/position\n" + rows)
    Path("arm.yaml").write_bytes((ROOT / "models" / "two-link.yaml").read_bytes())
    for other in ("held.json", "out.csv", "t.parquet"):
        run_ok("record", "inverse", "two-link", "--trajectory", "t.csv", "-o", other)
    Path("suite.toml").write_text(
        '[[case]]\nverb = "inverse"\narm = "two-link"\ntrajectory = "t.csv"\nstored = "held.json"\n'
    )
    return folder


def _shared() -> list[str]:
    """Folders of kernels and bytecode that all tests share."""
    kept = environment()
    return [kept[name] for name in ("ROBOLIN_CACHE", "PYTHONPYCACHEPREFIX") if name in kept]


def _allowed(path: str, project: Path) -> bool:
    """Check that a path is code or data of Python or robolin, an input, or system information."""
    code = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), str(ROOT / "robolin")}
    code |= {folder for folder in sys.path if folder.endswith("-packages")}
    folders = [*code, str(ROOT / "models"), str(project), *_shared()]
    if f"{path}/".startswith(tuple(f"{folder}/" for folder in folders)):
        return True
    # settings are looked for in the folders above
    above = {str(parent / "pyproject.toml") for parent in project.parents}
    above |= {str(parent / "robolin.toml") for parent in project.parents}
    return path in above or path.startswith(("/proc/", "/sys/", "/dev/null"))


def _watched(lines: list[str], project: Path) -> tuple[list[int], list[tuple[str, str]]]:
    report = project.parent / "report.json"
    ran = python(WATCHED, json.dumps(lines), str(report))
    assert ran.code == 0, ran.err
    ended, seen = json.loads(report.read_text())
    return ended, [(kind, path) for kind, path in seen]


@pytest.mark.parametrize("names", [QUICK, pytest.param(OTHERS, marks=pytest.mark.slow)])
def test_nothing_else_is_opened(project: Path, names: tuple[str, ...]) -> None:
    """Commands read code, data and their inputs, and write only their outputs."""
    ended, seen = _watched([LINES[name] for name in names], project)
    assert set(ended) <= {0, 1, 2, 3, 4}
    assert [path for kind, path in seen if kind == "read"], "nothing was seen at all"
    written = (*(f"{folder}/" for folder in (str(project), *_shared())), "/dev/null")
    line = ""
    for kind, path in seen:
        if kind == "line":
            line = path
        elif kind == "read":
            assert _allowed(path, project), (line, path)
        elif kind == "write":
            # the first command creates the shared folders, and the first import writes bytecode
            made = f"{path}/".startswith(written) or "__pycache__" in Path(path).parts
            assert made, (line, path)
        elif kind != "ctypes.dlopen":
            raise AssertionError((line, kind, path))
