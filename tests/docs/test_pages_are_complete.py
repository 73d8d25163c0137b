"""Handwritten pages list everything they are meant to list."""

from __future__ import annotations

import inspect
import re
import tomllib

import robolin
from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.evaluation.methods import CONVENTIONAL_UP_TO
from robolin.queries.verbs import VERBS
from tests.cases import for_each
from tools.command_pages import commands
from tools.markdown import DOCS, ROOT, pages

ALGEBRAIC = [
    module.relative_to(ROOT / "robolin").as_posix()
    for room in ("algebra", "dynamics")
    for module in sorted((ROOT / "robolin" / room).rglob("*.py"))
    if module.name != "__init__.py"
]
RESULTS = sorted({name for algorithm in ALGORITHMS.values() for name in algorithm.gives})
SEARCH_TERMS = (
    *("controllability", "observability", "degrees of freedom", "operational-space inertia"),
    *(
        "RNEA",
        "ABA",
        "CRBA",
        "hash",
        "residual",
        "seed",
        "quasi-velocities",
        "gravity compensation",
    ),
    *("constraint forces", "identifiable", "Bryson's rule", "zero-order hold", "Baumgarte"),
)


def _quoted(page: str) -> set[str]:
    """All text in code quotes on a page."""
    return set(re.findall(r"`([^`\n]+)`", (DOCS / page).read_text("utf-8")))


def test_the_reading_guide_names_every_file() -> None:
    """docs/dev/reading-guide.md lists each module of algebra and dynamics."""
    assert set(ALGEBRAIC) - _quoted("dev/reading-guide.md") == set()


def test_every_result_is_in_the_notation() -> None:
    """docs/reference/notation.md gives the symbol of every array that a verb can return."""
    assert set(RESULTS) - _quoted("reference/notation.md") == set()


def test_every_member_of_the_chain_is_listed() -> None:
    """docs/dev/engine.md describes each member of the chain, and no others."""
    page = (DOCS / "dev/engine.md").read_text("utf-8")
    table = page.partition("| member of the chain |")[2].partition("\n\n")[0]
    members = {name for name in vars(Chain) if not name.startswith("_")}
    assert set(re.findall(r"`(\w+)`", table)) == members


def test_every_verb_is_on_the_first_page() -> None:
    """The README's table of commands leaves none out, and the page stays short."""
    page = (ROOT / "README.md").read_text("utf-8")
    table = page.partition("## Commands")[2].partition("\n\nMost commands take")[0]
    # the pages of `batch` and `help` list other commands
    words = {verb.path or name for name, verb in VERBS.items()} - {"batch", "help"}
    assert {*re.findall(r"`([\w -]+)`", table)} == words
    assert len(page.splitlines()) <= 130


def test_every_algorithm_is_listed() -> None:
    """docs/reference/algorithms.md states which verb runs each algorithm, and its file exists."""
    rows = (DOCS / "reference/algorithms.md").read_text("utf-8").splitlines()
    for name, algorithm in ALGORITHMS.items():
        row = next((line for line in rows if f"`{name}`" in line), "")
        file = re.search(r"`([\w/]+)\.py`", row)
        assert file, f"no row for {name}"
        assert algorithm.run.__module__ == f"robolin.dynamics.{file[1].replace('/', '.')}"


def test_pages_state_where_methods_cross() -> None:
    """Both pages state the number of joints up to which elimination is chosen."""
    matrix, change = (CONVENTIONAL_UP_TO[verb] for verb in ("linearize-forward", "perturb-forward"))
    algorithms, performance = (
        (DOCS / page).read_text("utf-8")
        for page in ("reference/algorithms.md", "explain/performance.md")
    )
    assert f"Algorithm 4 up to {matrix} joints" in algorithms
    assert f"Algorithm 3 up to {change} joints" in algorithms
    assert f"up to {matrix} joints for `linearize-forward`, " in performance
    assert f"up to {change} joints for `linearize-forward --perturb`" in performance


def test_the_contract_is_described() -> None:
    """docs/reference/conventions.md lists the keys of the contract in the order they have."""
    contract = list(robolin.load("two-link").contract)
    described = re.findall(
        r"^\| `(\w+)` \|", (DOCS / "reference/conventions.md").read_text("utf-8"), re.MULTILINE
    )
    first = described.index(contract[0])
    assert described[first : first + len(contract)] == contract


def test_the_python_interface_is_described() -> None:
    """docs/reference/python.md lists every public name, functions with their arguments."""
    text = (DOCS / "reference/python.md").read_text("utf-8")
    functions = [name for name in robolin.__all__ if name[0].islower()]
    classes = [name for name in robolin.__all__ if name[0].isupper()]
    assert [name for name in functions if f"`{name}(" not in text] == []
    assert [name for name in classes if f"`{name}`" not in text] == []
    for name, listed in re.findall(r"`(\w+)\(([^`]*)\)`", text):
        parameters = inspect.signature(getattr(robolin, name)).parameters
        for argument in listed.split(", "):
            if "…" not in argument:
                optional = parameters[argument.rstrip("=")].default is not inspect.Parameter.empty
                assert optional == argument.endswith("="), f"{name}: {argument}"


@for_each("page", pages())
def test_pages_start_with_their_purpose(page) -> None:
    """A page starts with its title and a sentence, not with a list or a table."""
    title, gap, first = page.read_text("utf-8").splitlines()[:3]
    assert title.startswith("# ")
    assert not gap
    assert first[:1].isalpha() or first[:1] in "*`[!<"


SEARCHED = (
    "controllability",
    "degrees of freedom",
    "operational-space inertia",
    "RNEA",
    "ABA",
    "CRBA",
    "hash",
    "residual",
    "seed",
)


def test_the_glossary_has_terms_of_the_field() -> None:
    """Terms that people search for are in the glossary, and its commands exist."""
    page = (DOCS / "reference/glossary.md").read_text("utf-8")
    terms = re.findall(r"^\| (.+?) \|", page, re.MULTILINE)
    assert [term for term in SEARCHED if not any(term in each for each in terms)] == []
    flags = {option for command in commands().values() for p in command.params for option in p.opts}
    for code in _quoted("reference/glossary.md"):
        for word in re.findall(r"(?<!\S)--?[a-z][\w-]*", code):
            assert word in flags, code
        first = code.split()[0]
        public = first.removeprefix("robolin.") in robolin.__all__
        assert first.startswith(("-", ".")) or public or first in {*VERBS, "robolin"}, code


def test_optional_packages_are_listed() -> None:
    """docs/start/install.md lists every group of optional packages."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    groups = set(settings["project"]["optional-dependencies"])
    assert groups <= _quoted("start/install.md")


@for_each("term", SEARCH_TERMS)
def test_a_search_finds_the_terms_of_the_field(term: str) -> None:
    """A page for users has the term as words of its text, so the search of the site finds it."""
    users = [page for page in DOCS.rglob("*.md") if "dev" not in page.relative_to(DOCS).parts]
    text = re.compile(rf"\b{re.escape(term)}\b", re.IGNORECASE)
    code = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", re.DOTALL)
    assert any(text.search(code.sub(" ", page.read_text("utf-8"))) for page in users)
