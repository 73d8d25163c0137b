"""The rooms of the package keep to themselves, and no file outgrows its reader."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "robolin"
MODULES = sorted(PACKAGE.rglob("*.py"))

# what each room may import of robolin besides itself; the rest connects them
CONNECTING = {"__init__", "__main__", "api", "cli", "testing"}
ALLOWED = {
    room: set(allowed.split())
    for room, allowed in {
        "arm": "",
        "arrays": "",
        "kept_with": "arm",
        "background": "",
        "errors": "",
        "quantities": "",
        "version": "",
        "wording": "",
        "labelled_values": "errors quantities wording",
        "input_checks": "algebra arm errors labelled_values wording",
        "geometry": "arm arrays errors input_checks",
        "algebra": "",
        "dynamics": "algebra",
        "engine": "algebra arm errors geometry",
        "evaluation": "algebra arm dynamics engine errors input_checks kept_with wording",
        "number_texts": "errors",
        "description": "arm errors geometry number_texts wording",
        "results": "arrays errors",
        "terminal": "arrays background errors files quantities results wording",
        "files": "arrays background errors quantities results version wording",
        "trajectory": "arm arrays background errors files geometry quantities wording",
        # the library behind the verbs: it knows of no command line, no terminal and no writer
        "answering": (
            "algebra analysis api arm arrays background control description dynamics errors "
            "evaluation files geometry input_checks kinematics labelled_values loops "
            "number_texts quantities "
            "results simulation trajectory wording"
        ),
        # asks stored questions again
        "checking": (
            "answering arrays background description errors files number_texts quantities "
            "results wording"
        ),
        "loops": "arm engine errors evaluation input_checks kept_with",
        "simulation": "arm arrays errors evaluation geometry input_checks loops wording",
        "kinematics": (
            "algebra arm description dynamics errors geometry input_checks kept_with wording"
        ),
        "operator_algebra": "algebra arm arrays dynamics engine errors input_checks",
        "analysis": (
            "algebra api arm arrays dynamics engine errors evaluation geometry "
            "input_checks results wording"
        ),
        "control": (
            "api arm description engine errors evaluation files geometry input_checks kinematics "
            "loops quantities simulation wording"
        ),
        "verification": (
            "algebra arm arrays description dynamics engine errors evaluation geometry "
            "input_checks loops"
        ),
    }.items()
}
# plain numbers are enough for these; algebra asks for NumPy only when it is handed an array
NO_NUMPY = {
    *("arm", "errors", "number_texts", "quantities", "version", "wording"),
    *("description", "dynamics"),
}
NUMPY_ON_DEMAND = {"algebra"}

# a table of all algorithms, none itself
CATALOGUE = "dynamics/catalogue.py"

LONGEST_ALGORITHM = 170
LONGEST_MODULE = 360


def _name(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


def _room(module: Path) -> str:
    return module.relative_to(PACKAGE).with_suffix("").parts[0]


def _imports(module: Path) -> Iterator[tuple[int, str]]:
    """Every module imported anywhere in the file, with its line."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{_name(module)}:{node.lineno}: imports are absolute"
            if node.module == "robolin":
                for name in node.names:
                    yield node.lineno, f"robolin.{name.name}"
            elif node.module:
                yield node.lineno, node.module


@pytest.mark.parametrize("module", MODULES, ids=_name)
def test_rooms_import_only_what_they_may(module: Path) -> None:
    """A module imports its own room and the ones that its room is allowed."""
    room = _room(module)
    if room not in ALLOWED:
        assert room in CONNECTING, f"'{room}' is no room we know"
        return
    known = ALLOWED[room] | {room}
    trespasses = [
        f"{_name(module)}:{line}: {name}"
        for line, name in _imports(module)
        if name.partition(".")[0] == "robolin" and name.split(".")[1] not in known
    ]
    assert not trespasses, "\n".join(trespasses)


def test_no_room_imports_itself_by_a_detour() -> None:
    """Rooms can be put in an order in which each imports only rooms before it."""
    needed: dict[str, set[str]] = {}
    for module in MODULES:
        room = _room(module)
        for _, name in _imports(module):
            other = name.split(".")[1] if name.startswith("robolin.") else room
            if other != room:
                needed.setdefault(room, set()).add(other)
    try:
        TopologicalSorter(needed).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize("module", MODULES, ids=_name)
def test_plain_rooms_need_no_numpy(module: Path) -> None:
    """Descriptions are plain numbers, and algorithms know nothing of arrays."""
    tree = ast.parse(module.read_text("utf-8"))
    found = [line for line, name in _imports(module) if name.partition(".")[0] == "numpy"]
    if _room(module) in NUMPY_ON_DEMAND:
        at_once = {node.lineno for node in tree.body if isinstance(node, ast.Import)}
        found = [line for line in found if line in at_once]
    elif _room(module) not in NO_NUMPY:
        return
    assert not found, f"{_name(module)} imports NumPy in line {found[0]}"


@pytest.mark.parametrize("module", MODULES, ids=_name)
def test_only_commands_print(module: Path) -> None:
    """Nothing in the library writes to the terminal by itself."""
    if _room(module) == "cli":
        return
    prints = [
        node.lineno
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert not prints, f"{_name(module)} prints in line {prints[0]}"


def test_no_two_modules_have_one_name() -> None:
    """A file name says which module is meant, whatever the room."""
    names = [module.name for module in MODULES if not module.name.startswith("__")]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


@pytest.mark.parametrize("module", MODULES, ids=_name)
def test_modules_stay_readable(module: Path) -> None:
    """An algorithm fits on about two screens, any other module on a few."""
    lines = len(module.read_text("utf-8").splitlines())
    if _name(module) == CATALOGUE:
        return
    assert lines <= (LONGEST_ALGORITHM if _room(module) == "dynamics" else LONGEST_MODULE)
