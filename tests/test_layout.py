"""Packages import only the packages they may, and modules stay short enough to read."""

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

# what each package may import of robolin besides itself, in the order in which data flows;
# the remaining entries connect packages
CONNECTING = {"__init__", "__main__", "cli", "testing"}
ALLOWED = {
    package: set(allowed.split())
    for package, allowed in {
        "errors": "",
        "dynamics": "",
        "core": "dynamics errors",
        "description": "core dynamics errors",
        "engine": "core dynamics errors",
        "evaluation": "core dynamics engine errors",
        "api": "core dynamics engine errors evaluation",
        "operator_algebra": "core dynamics engine errors",
        "io": "core engine errors",
        "analysis": "api core dynamics engine errors evaluation",
        "control": "api codegen core description engine errors evaluation io",
        # independent of the command line, the terminal and the writers of results
        "queries": "analysis api control core description dynamics errors evaluation io",
        "checking": "core description dynamics engine errors evaluation io queries",
        "batch": "core errors io queries",
        "display": (
            "analysis api checking codegen control core description dynamics errors evaluation io "
            "queries"
        ),
        "codegen": "core dynamics engine errors evaluation io",
        "torch": "analysis api core engine errors",
        "jax": "api core engine errors",
    }.items()
}
# modules that need no NumPy: descriptions are plain numbers, algorithms run on any scalar
NO_NUMPY = (
    *("errors", "description", "dynamics", "core/quantity_table.py"),
    *(f"core/{name}.py" for name in ("arm", "arm_parts", "choices", "text_parsing", "text")),
)
# imports NumPy inside functions only, when an argument is an array
NUMPY_ON_DEMAND = "dynamics/algebra"

# tables that name functions of packages they may not import; the names are resolved on use
DISPATCH_TABLES = {"core/result.py": {"display"}}
NAMED = re.compile(r"robolin(\.[a-z_]+)+(:[A-Za-z_]+)?")

# the public function and its algorithm may have the same name
SAME_FUNCTION = {"api", "analysis", "dynamics"}
# functions of the public modules `robolin.torch`, `robolin.jax` and of clusters
PUBLIC_MODULE_NAMES = {"compute", "function"}
# names that every module for a separate process has
WORKER_NAMES = {"BOUNDS", "prepare", "reply"}

# a table of all algorithms, not an algorithm
CATALOGUE = "dynamics/catalogue.py"
# their length is the number of their entries
TABLES = (CATALOGUE, "queries/verbs.py", "core/quantity_table.py")

LONGEST_ALGORITHM = 170
LONGEST_MODULE = 450


def _name(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


def _package_of(module: Path) -> str:
    return module.relative_to(PACKAGE).with_suffix("").parts[0]


@dataclass(frozen=True)
class ModuleFacts:
    """Facts about a module that the tests check, with line numbers.

    imports:   every module imported anywhere in the file
    top_level: lines of imports that are not inside a function
    named:     every module of the package that a string in the file names
    public:    public names that the module defines
    prints:    lines that print
    """

    imports: tuple[tuple[int, str], ...]
    top_level: frozenset[int]
    named: tuple[tuple[int, str], ...]
    public: tuple[str, ...]
    classes: tuple[str, ...]
    prints: tuple[int, ...]


@cache
def _facts(module: Path) -> ModuleFacts:
    """Parse each file once, and keep the facts only."""
    tree = ast.parse(module.read_text("utf-8"))
    nodes = list(ast.walk(tree))
    return ModuleFacts(
        imports=tuple(_imports(nodes, _name(module))),
        top_level=frozenset(node.lineno for node in tree.body if isinstance(node, ast.Import)),
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
                names = (each.name for each in node.names if each.name != "__version__")
                yield from ((node.lineno, f"robolin.{name}") for name in names)
            elif node.module:
                yield node.lineno, node.module


def _named(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and NAMED.fullmatch(text):
            name = text.partition(":")[0]
            path = PACKAGE.parent / name.replace(".", "/")
            if path.is_dir() or path.with_suffix(".py").is_file():
                yield node.lineno, name


def _public_names(body: list[ast.stmt]) -> Iterator[str]:
    """Public names except type variables."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            nodes = [each for target in targets for each in ast.walk(target)]
            names = [each.id for each in nodes if isinstance(each, ast.Name)]
        else:
            continue
        yield from (name for name in names if name[0] != "_" and name not in ("T", "TYPE_CHECKING"))


def _prints(nodes: list[ast.AST]) -> Iterator[int]:
    for node in nodes:
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name) and called.id == "print":
            yield called.lineno


def _trespasses(module: Path) -> Iterator[str]:
    """The imports of a module that its package is not allowed."""
    package = _package_of(module)
    allowed = ALLOWED[package] | {package}
    named = allowed | DISPATCH_TABLES.get(_name(module), set())
    for imports, packages in ((_facts(module).imports, allowed), (_facts(module).named, named)):
        for line, name in imports:
            package, *path = name.split(".")
            if package == "robolin" and not {*path[:1]} & packages:
                yield f"{_name(module)}:{line}: {name}"


def _numpy(module: Path) -> Iterator[str]:
    """Lines that import NumPy: anywhere, or at the top level where on-demand imports are fine."""
    lines = {line for line, name in _facts(module).imports if name.partition(".")[0] == "numpy"}
    if lines and _name(module).startswith(NUMPY_ON_DEMAND):
        lines &= _facts(module).top_level
    yield from (f"{_name(module)}:{line}" for line in sorted(lines))


def _is_algorithm(module: Path) -> bool:
    return _package_of(module) == "dynamics" and not _name(module).startswith("dynamics/algebra")


def test_packages_import_only_what_they_may() -> None:
    """A module imports, or names for a later import, only packages that its package may."""
    assert {_package_of(module) for module in MODULES} <= {*ALLOWED, *CONNECTING}
    trespasses = [each for m in MODULES if _package_of(m) in ALLOWED for each in _trespasses(m)]
    assert not trespasses, "\n".join(trespasses)


def test_no_package_imports_itself_by_a_detour() -> None:
    """Packages can be put in an order in which each imports only packages before it."""
    needed: dict[str, set[str]] = {}
    for module in MODULES:
        package = _package_of(module)
        named = () if _name(module) in DISPATCH_TABLES else _facts(module).named
        for _, name in (*_facts(module).imports, *named):
            other = name.split(".")[1] if name.startswith("robolin.") else package
            if other != package:
                needed.setdefault(package, set()).add(other)
    try:
        TopologicalSorter(needed).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_dispatch_tables_use_the_packages_they_are_listed_with() -> None:
    """A package stays listed with a table only while the table names one of its functions."""
    for table, packages in DISPATCH_TABLES.items():
        assert {name.split(".")[1] for _, name in _facts(PACKAGE / table).named} == packages


def test_plain_packages_need_no_numpy() -> None:
    """Descriptions are plain numbers, and algorithms do not use arrays."""
    plain = [module for module in MODULES if _name(module).startswith(NO_NUMPY)]
    assert [each for module in plain for each in _numpy(module)] == []


def test_only_commands_print() -> None:
    """Nothing in the library writes to the terminal by itself."""
    library = [module for module in MODULES if _package_of(module) != "cli"]
    prints = [f"{_name(module)}:{line}" for module in library for line in _facts(module).prints]
    assert prints == []


def test_module_names_are_unique() -> None:
    """A file name identifies a module without its package."""
    names = [module.name for module in MODULES if not module.name.startswith("__")]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_class_names_are_unique() -> None:
    """A class name identifies a class without its package."""
    names = [name for module in MODULES for name in _facts(module).classes]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_public_names_are_unique() -> None:
    """A constant, alias or function has one definition across packages."""
    packages: dict[str, set[str]] = {}
    for module in MODULES:
        for name in _facts(module).public:
            packages.setdefault(name, set()).add(_package_of(module))
    shared = {name: owners for name, owners in packages.items() if len(owners) > 1}
    same_function = {name for name, owners in shared.items() if owners <= SAME_FUNCTION}
    assert shared.keys() - same_function == PUBLIC_MODULE_NAMES | WORKER_NAMES, shared


def test_modules_stay_readable() -> None:
    """An algorithm with its variants fits on three screens, any other module on a few."""
    modules = [module for module in MODULES if _name(module) not in TABLES]
    lines = {module: len(module.read_text("utf-8").splitlines()) for module in modules}
    longest = {m: LONGEST_ALGORITHM if _is_algorithm(m) else LONGEST_MODULE for m in lines}
    assert [f"{_name(m)}: {lines[m]} lines" for m in lines if lines[m] > longest[m]] == []
