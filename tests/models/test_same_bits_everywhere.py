"""The numbers of a model have the same bits on every version of Python."""

from __future__ import annotations

import ast
import builtins
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from math import fsum, hypot
from pathlib import Path
from platform import libc_ver
from random import Random

import pytest

import robolin
from tests.models.model_numbers import bundled_names, model_digest
from tests.robots import random_arm

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "robolin"

# SHA-256 of tests/models/model_numbers.py, printed by Python 3.11.7 with glibc 2.36 before sums
# were made independent of the Python version; 3.12.1 and 3.13.0 printed others for j2s6s200,
# panda and panda-fingers
DIGESTS = {
    "acrobot": "c843b0dcad64e2cedf5923ce4b988c7e64569c23ee0969262ce66b2e5c57fd2d",
    "cart-pole": "f8d220266386ced444ece40f5795d5f78910507bd83eb08f00a167e449237962",
    "five-bar": "ac6c2f1964460b8add0de247d03f9341d5a3368971ca1b5936d5227b840b615c",
    "four-bar": "8de7b8593361c8d6e72f93bbc7b7fb56f97fe09ac8f10d365397a233517559fe",
    "iiwa14": "42d2abe3384ef8347a9a760619d21417bb9d0748ae6df8db681e322a93ac0745",
    "j2s6s200": "1f66158d57c3f6c3db459cc171cacec26848ccca8b1612e202531e4bfc6396c4",
    "panda": "621c3506a14776143aa379f4fea30b08e646ceafdfb3ffc669cfbc534bfed0f5",
    "panda-fingers": "3bf750023a25972e5f88ba86a2691cb206e78834b715aba050053de7730b3cfd",
    "puma560": "64730a048a4f062fd5653d29f2e59c8fb6bd85ddf1771e64ed1c0a8805bfc47c",
    "two-link": "68fa5a335abecca66d500bd5a2f76b018c3b654e965baa677cfa4d2a81c99083",
    "ur10": "38ed8a77f869ab03ed4cd665fef6bf53cbc59196d157d039d5a3ceb06bc4b140",
    "ur5": "a11c7e1135a13a8df057c3ba4fd1d5e1759b1a489274718efc9bf71e122524aa",
    "xarm7": "be687f8b6d15a9b20042d25d051623041dcc40d6942e8928f37a03f85857740f",
}
# sines and cosines of roll, pitch and yaw come from the C library
needs_glibc = pytest.mark.skipif(libc_ver()[0] != "glibc", reason="the digests are those of glibc")
OTHER_VERSIONS = ("3.11", "3.12", "3.13", "3.14")

# the code that makes numbers of a model, from its text to the constants of algorithms and of
# generated programs, and the algorithms themselves
MAKES_NUMBERS = (
    *("description", "dynamics", "codegen", "evaluation/frames.py", "engine/parameters.py"),
    *(f"core/{name}.py" for name in ("arm", "arm_parts", "text_parsing")),
    "core/configuration.py",
    *(f"core/{name}.py" for name in ("quantity_table", "natural_scales")),
)
# reductions whose order of additions, or use of fused operations, depends on Python or NumPy
BANNED_NAMES = {"sum", "fsum", "sumprod", "dist", "statistics"}
BANNED_ATTRIBUTES = {
    *("average", "cumsum", "dot", "einsum", "fsum", "inner", "linalg", "matmul", "mean"),
    *("nanmean", "nansum", "norm", "prod", "std", "sum", "sumprod", "tensordot", "var"),
    *("vdot", "vecdot"),
}
# sums of integers, which are exact, besides those of truths, lengths and literals
INTEGER_SUMS = {
    "description/mjcf/mjcf_files.py": ("map(_parts, part.children)",),
    "engine/parameters.py": ("closure.size",),
    "codegen/c_function.py": ("max(1, prod(shape))", "memory.values()"),
}


@needs_glibc
@pytest.mark.parametrize("name", bundled_names())
def test_bundled_arms_have_the_pinned_bits(name: str) -> None:
    """Every mass, inertia, pose and axis of a bundled arm is the one that Python 3.11 computes."""
    assert model_digest(robolin.load(name)) == DIGESTS[name]


def test_numbers_do_not_depend_on_the_built_in_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `sum` that rounds once, as from Python 3.12 on, changes no number of any arm."""
    models = {
        "panda": {},
        "j2s6s200": {},
        "panda-fingers": {"payload": [("panda_hand", 0.7, (0.01, 0.02, 0.03))]},
        "five-bar": {"payload": [("left_lower", 0.3, (0.01, 0.02, 0.03))]},
    }
    trees = [random_arm(seed, 9, tree=True) for seed in range(3)]

    def digests() -> list[str]:
        loaded = [robolin.load(name, **options) for name, options in models.items()]
        return [f"{arm!r} {model_digest(arm)}" for arm in (*loaded, *trees)]

    before = digests()
    monkeypatch.setattr(builtins, "sum", _rounded_once)
    assert digests() == before


def _rounded_once(values: object, /, start: object = 0) -> object:
    """The sum of floats as from Python 3.12 on, more accurate than term by term."""
    listed = list(values)  # type: ignore[call-overload]
    if listed and all(type(value) is float for value in listed):
        return fsum([float(start), *listed])  # type: ignore[arg-type]
    total = start
    for value in listed:
        total = total + value  # type: ignore[operator]
    return total


def test_hypot_has_the_same_bits() -> None:
    """`math.hypot`, which scales axes to length one, is the correctly rounded root here."""
    from mpmath import mp, mpf

    random = Random(1)
    with mp.workdps(60):
        for _ in range(500):
            axis = [random.uniform(-1.0, 1.0) for _ in range(3)]
            exact = mp.sqrt(mp.fsum(mpf(x) * mpf(x) for x in axis))
            assert hypot(*axis) == float(exact)


@pytest.mark.slow
@needs_glibc
@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_other_interpreters_read_the_same_bits(version: str) -> None:
    """Another version of Python computes the pinned numbers, of the arms that it can read."""
    python = _interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} besides this one")
    command = [python, "-m", "tests.models.model_numbers"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    printed = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    digests = dict(line.split() for line in printed.stdout.splitlines())
    assert digests.keys() >= {"panda", "j2s6s200"}
    assert digests == {name: DIGESTS[name] for name in digests}


def _interpreter(version: str) -> str | None:
    """An interpreter of this version that runs, on the path or among those of pyenv."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return None
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    managed = sorted(root.glob(f"versions/{version}.*/bin/python"))
    for python in (shutil.which(f"python{version}"), *map(str, managed)):
        if python and subprocess.run([python, "-V"], capture_output=True).returncode == 0:
            return python
    return None


@pytest.mark.parametrize("path", MAKES_NUMBERS)
def test_no_reduction_makes_a_number_of_a_model(path: str) -> None:
    """Sums of floats are written out or taken by `float_sum`, which adds from left to right."""
    root = PACKAGE / path
    modules = sorted(root.rglob("*.py")) if root.is_dir() else [root]
    reductions = [
        f"{name}:{line}: {text}"
        for module in modules
        for name in [module.relative_to(PACKAGE).as_posix()]
        for line, text in _reductions(ast.parse(module.read_text()))
        if not text.removeprefix("sum").lstrip("(").startswith(INTEGER_SUMS.get(name, ()))
    ]
    assert modules
    assert reductions == []


@pytest.mark.parametrize(
    "text",
    [
        "mass = sum(part.mass for part in parts)",
        "mass = sum(1.0 if part else 2.0 for part in parts)",
        "mass = sum(parts, 0.0)",
        "total = reduce(sum, parts)",
        "from math import fsum",
        "import statistics",
        "from statistics import mean",
        "x = math.sumprod(a, b)",
        "x = np.sum(a)",
        "x = a.sum(axis=-1)",
        "x = np.linalg.norm(a)",
        "x = np.add.reduce(a)",
        "x = np.einsum('ij,j', a, b)",
        "x = a @ b",
    ],
)
def test_reductions_are_found(text: str) -> None:
    """The search for reductions finds each kind of them."""
    assert list(_reductions(ast.parse(text)))


def _reductions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the text of everything that is banned where numbers of models are made."""
    called = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in BANNED_NAMES:
            call = called.get(id(node))
            if call is None or not _counts(call):
                yield node.lineno, ast.unparse(call or node)
        elif isinstance(node, ast.Attribute):
            dotted = ast.unparse(node)
            if node.attr in BANNED_ATTRIBUTES or dotted.endswith(("add.reduce", "multiply.reduce")):
                yield node.lineno, dotted
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", "") or ""
            names = {module, *(alias.name for alias in node.names)}
            if names & {*BANNED_NAMES, "numpy.linalg"}:
                yield node.lineno, ast.unparse(node)


def _counts(call: ast.Call) -> bool:
    """Return whether a sum only counts: its terms are Booleans, lengths or integers."""
    [terms] = call.args if len(call.args) == 1 else [call]
    return isinstance(terms, ast.GeneratorExp) and _is_integer(terms.elt)


def _is_integer(term: ast.expr) -> bool:
    if isinstance(term, ast.IfExp):
        return _is_integer(term.body) and _is_integer(term.orelse)
    if isinstance(term, ast.Call):
        return ast.unparse(term.func) == "len"
    if isinstance(term, ast.UnaryOp):
        return isinstance(term.op, ast.Not)
    if isinstance(term, ast.Constant):
        return isinstance(term.value, int)
    return isinstance(term, ast.Compare)
