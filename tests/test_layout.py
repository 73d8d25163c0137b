"""The rooms of the package keep to themselves, and no file outgrows its reader."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "robolin"
MODULES = sorted(PACKAGE.rglob("*.py"))

# what each room may import of robolin besides itself; the rest connects them
CONNECTING = {"__init__", "__main__", "cli", "testing"}
ALLOWED = {
    room: set(allowed.split())
    for room, allowed in {
        "arm_parts": "choices",
        "shown": "wording",
        "arm": "algebra arm_parts choices errors quantities shown wording",
        "arrays": "",
        "background": "",
        "choices": "",
        "errors": "",
        "quantities": "",
        "version": "",
        "wording": "",
        "labelled_values": "errors quantities wording",
        "input_checks": "algebra arm arrays errors labelled_values wording",
        "geometry": "algebra arm arrays errors input_checks",
        "algebra": "",
        "dynamics": "algebra",
        "engine": "algebra arm arrays background errors geometry",
        "evaluation": (
            "algebra arm arrays choices dynamics engine errors input_checks kinematics wording"
        ),
        "number_texts": "errors",
        "description": "algebra arm choices errors geometry number_texts quantities wording",
        "results": "arrays errors shown",
        "terminal": "arrays background errors files pictures quantities results shown wording",
        "files": "arrays background engine errors quantities results shown version wording",
        "pictures": "answering arrays errors files quantities results wording",
        "trajectory": "arm arrays background errors files geometry quantities wording",
        # the library behind the verbs: it knows of no command line, no terminal and no writer
        "answering": (
            "algebra analysis api arm arm_parts arrays background choices control description "
            "dynamics errors evaluation files geometry input_checks kinematics labelled_values "
            "loops number_texts quantities "
            "results shown simulation trajectory wording"
        ),
        # asks stored questions again
        "checking": (
            "answering arrays background description errors files number_texts quantities "
            "results shown wording"
        ),
        "parts": (
            "answering arm arrays errors files quantities results trajectory version wording"
        ),
        # a page of everything that is told about an arm and its motion
        "report": (
            "algebra analysis answering api arm arm_parts arrays checking control description "
            "errors files geometry loops pictures quantities results verification version wording"
        ),
        "loops": ("arm arrays choices dynamics engine errors evaluation input_checks quantities"),
        "simulation": (
            "arm arrays choices description errors evaluation geometry input_checks loops "
            "quantities shown wording"
        ),
        # the public functions
        "api": (
            "algebra arm arrays choices engine errors evaluation input_checks kinematics loops "
            "shown wording"
        ),
        "kinematics": (
            "algebra arm arrays description dynamics errors geometry input_checks wording"
        ),
        "operator_algebra": "algebra arm arrays dynamics engine errors input_checks",
        "analysis": (
            "algebra api arm arrays choices dynamics engine errors evaluation geometry "
            "input_checks quantities results shown wording"
        ),
        "control": (
            "api arm arrays choices description engine errors evaluation files geometry "
            "input_checks kinematics loops quantities simulation shown wording"
        ),
        "generating": (
            "algebra arm arrays choices dynamics engine errors evaluation files input_checks "
            "kinematics quantities version wording"
        ),
        "verification": (
            "algebra arm arrays choices description dynamics engine errors evaluation geometry "
            "input_checks loops shown"
        ),
        "tables": "answering arm arrays choices errors files results",
        "cluster": "answering arm choices errors files parts version",
    }.items()
}
# plain numbers are enough for these; algebra asks for NumPy only when it is handed an array
NO_NUMPY = {
    *("arm", "arm_parts", "choices", "errors", "number_texts", "quantities", "version", "wording"),
    *("description", "dynamics"),
}
NUMPY_ON_DEMAND = {"algebra"}

# tables that name functions of rooms they may not import, which are then found when asked for
DISPATCH_TABLES = {"results/shown_by.py": {"pictures", "terminal"}}
NAMED = re.compile(r"robolin(\.[a-z_]+)+(:[A-Za-z_]+)?")

# what a question is called in Python, its algorithm is called too
SAME_QUESTION = {"api", "analysis", "dynamics"}
# of the modules that users import beside the package: `robolin.tables` and `robolin.cluster`
BESIDE_THE_PACKAGE = {"compute"}

# a table of all algorithms, none itself
CATALOGUE = "dynamics/catalogue.py"
# as long as what they list
TABLES = (CATALOGUE, "answering/verbs.py")

LONGEST_ALGORITHM = 170
LONGEST_MODULE = 360


def _name(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


def _room(module: Path) -> str:
    return module.relative_to(PACKAGE).with_suffix("").parts[0]


@dataclass(frozen=True)
class ModuleFacts:
    """What the tests ask of a module; lines are where it is said.

    imports: every module imported anywhere in the file
    at_once: lines of imports that are not inside a function
    named:   every module of the package that a text in the file names
    public:  what it defines for others
    prints:  lines that print
    """

    imports: tuple[tuple[int, str], ...]
    at_once: frozenset[int]
    named: tuple[tuple[int, str], ...]
    public: tuple[str, ...]
    classes: tuple[str, ...]
    prints: tuple[int, ...]


@cache
def _told(module: Path) -> ModuleFacts:
    """Each file is parsed once, and its tree forgotten."""
    tree = ast.parse(module.read_text("utf-8"))
    nodes = list(ast.walk(tree))
    return ModuleFacts(
        imports=tuple(_imports(nodes, _name(module))),
        at_once=frozenset(node.lineno for node in tree.body if isinstance(node, ast.Import)),
        named=tuple(_named(nodes)),
        public=tuple(_public_names(tree.body)),
        classes=tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef)),
        prints=tuple(_prints(nodes)),
    )


def _imports(nodes: list[ast.AST], name: str) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: imports are absolute"
            if node.module == "robolin":
                yield from ((node.lineno, f"robolin.{each.name}") for each in node.names)
            elif node.module:
                yield node.lineno, node.module


def _named(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and NAMED.fullmatch(text):
            name = text.partition(":")[0]
            place = PACKAGE.parent / name.replace(".", "/")
            if place.is_dir() or place.with_suffix(".py").is_file():
                yield node.lineno, name


def _public_names(body: list[ast.stmt]) -> Iterator[str]:
    """All but type variables and what a module says of itself."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found = [each for target in targets for each in ast.walk(target)]
            names = [each.id for each in found if isinstance(each, ast.Name)]
        else:
            continue
        yield from (name for name in names if name[0] != "_" and name not in ("T", "TYPE_CHECKING"))


def _prints(nodes: list[ast.AST]) -> Iterator[int]:
    for node in nodes:
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name) and called.id == "print":
            yield called.lineno


def _trespasses(module: Path) -> Iterator[str]:
    """The imports of a module that its room is not allowed."""
    room = _room(module)
    allowed = ALLOWED[room] | {room}
    named = allowed | DISPATCH_TABLES.get(_name(module), set())
    for found, rooms in ((_told(module).imports, allowed), (_told(module).named, named)):
        for line, name in found:
            package, *path = name.split(".")
            if package == "robolin" and not {*path[:1]} & rooms:
                yield f"{_name(module)}:{line}: {name}"


def _numpy(module: Path) -> Iterator[str]:
    """The lines in which a module imports NumPy, anywhere or, where on demand is fine, at once."""
    lines = {line for line, name in _told(module).imports if name.partition(".")[0] == "numpy"}
    if lines and _room(module) in NUMPY_ON_DEMAND:
        lines &= _told(module).at_once
    yield from (f"{_name(module)}:{line}" for line in sorted(lines))


def test_rooms_import_only_what_they_may() -> None:
    """A module imports, or names to be imported, its own room and those its room is allowed."""
    assert {_room(module) for module in MODULES} <= {*ALLOWED, *CONNECTING}
    found = [each for m in MODULES if _room(m) in ALLOWED for each in _trespasses(m)]
    assert not found, "\n".join(found)


def test_no_room_imports_itself_by_a_detour() -> None:
    """Rooms can be put in an order in which each imports only rooms before it."""
    needed: dict[str, set[str]] = {}
    for module in MODULES:
        room = _room(module)
        named = () if _name(module) in DISPATCH_TABLES else _told(module).named
        for _, name in (*_told(module).imports, *named):
            other = name.split(".")[1] if name.startswith("robolin.") else room
            if other != room:
                needed.setdefault(room, set()).add(other)
    try:
        TopologicalSorter(needed).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_dispatch_tables_name_what_they_are_listed_with() -> None:
    """No room stays listed beside a table that names nothing of it any more."""
    for table, rooms in DISPATCH_TABLES.items():
        assert {name.split(".")[1] for _, name in _told(PACKAGE / table).named} == rooms


def test_plain_rooms_need_no_numpy() -> None:
    """Descriptions are plain numbers, and algorithms know nothing of arrays."""
    plain = [module for module in MODULES if _room(module) in NO_NUMPY | NUMPY_ON_DEMAND]
    assert [each for module in plain for each in _numpy(module)] == []


def test_only_commands_print() -> None:
    """Nothing in the library writes to the terminal by itself."""
    library = [module for module in MODULES if _room(module) != "cli"]
    prints = [f"{_name(module)}:{line}" for module in library for line in _told(module).prints]
    assert prints == []


def test_no_two_modules_have_one_name() -> None:
    """A file name says which module is meant, whatever the room."""
    names = [module.name for module in MODULES if not module.name.startswith("__")]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_no_two_classes_have_one_name() -> None:
    """A class is found by its name, whatever the room."""
    names = [name for module in MODULES for name in _told(module).classes]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_no_two_rooms_give_one_name_to_two_things() -> None:
    """A constant, an alias or a function that is found by its name is the one that is meant."""
    rooms: dict[str, set[str]] = {}
    for module in MODULES:
        for name in _told(module).public:
            rooms.setdefault(name, set()).add(_room(module))
    shared = {name: found for name, found in rooms.items() if len(found) > 1}
    asked = {name for name, found in shared.items() if found <= SAME_QUESTION}
    assert shared.keys() - asked == BESIDE_THE_PACKAGE, shared


def test_modules_stay_readable() -> None:
    """An algorithm fits on about two screens, any other module but a table on a few."""
    modules = [module for module in MODULES if _name(module) not in TABLES]
    lines = {module: len(module.read_text("utf-8").splitlines()) for module in modules}
    longest = {m: LONGEST_ALGORITHM if _room(m) == "dynamics" else LONGEST_MODULE for m in lines}
    assert [f"{_name(m)}: {lines[m]} lines" for m in lines if lines[m] > longest[m]] == []
