"""Texts use the terms of the field: word lists and sentence lengths, with budgets.

Checked are docstrings, comments and names, messages and help texts, and the pages of the
documentation.  A budget is what is left of an older vocabulary.  It only goes down: a test fails
if a package or page has more than its budget, and also if it has less.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cases import for_each

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
]

# words for programs that act as people, and general words for technical ones
WORDS = re.compile(
    r"\b(told|tells?|said|asks?|asked|beside|likewise|alike|anew|whoever|whatever|nobody|somebody"
    r"|everybody|(?<!of )freedoms?|figures?(?! \d)|at once|as (?:it|they) came|so many|all but"
    r"|reckons?|goes? on|going on|worked out|felt|feels|blemish\w*|looked (?:at|through)"
    r"|is no(?! longer)|are none)\b",
    re.IGNORECASE,
)
# the same in texts for users, who run commands that return results
MESSAGE_WORDS = re.compile(
    r"\b(verbs?|answer(?:s|ed|ing)?|says|refus(?:es|ed)|wish(?:es)?|(?:leave|left) out|weighs"
    r"|known here|there (?:is|are) no|there (?:already|twice)|stands? still|goes with"
    r"|slid(?:es|ing)|does not say|so they are|moves? as|believes?|complain\w*)\b",
    re.IGNORECASE,
)
# words of a sentence, in messages and on pages
LONGEST_SENTENCE = 30
LONGEST_ON_PAGES = 25
SENTENCE_END = re.compile(r"(?<=[.?!])(?<!e\.g\.)(?<!i\.e\.)(?<!cf\.)(?<!pp\.)\s+")
# three nested genitives, pronouns for a noun that is not in the sentence, and sentences without
# a subject; terms of the field with "of" do not count
TERMS = re.compile(
    r"\b(?:degrees?|centres?|moments?|products?|rates?) of (?:freedom|mass|inertia|change)"
    r"|\bnumbers? of\b"
)
UNCLEAR = re.compile(
    r"\bof(?: [^\s,;:.()]+){1,4} of(?: [^\s,;:.()]+){1,4} of\b"
    r"|\bthose (?:of|in|with)\b|\bkeep one of them\b"
    r"|\b(?:the|other|recorded|stored|printed|desired|measured) ones?\b(?! \w)"
    r"|^(?:Given|Computed|Applied|Derived|Added|Needed|Required|Created|Used)\b.*\.$"
)
# a pronoun for a noun of the sentence before, as the start of a sentence
PRONOUN = re.compile(
    r"^(?:It|They|Its|Their|Them|(?:With|Without|For|Here|After|All|Both)"
    r" (?:it|them|they|are|is|have|also|use|compensate))\b(?=,? \w+ )"
)
# the content of a file is in the file; adverbs and nouns of an older vocabulary
UNIDIOMATIC = re.compile(
    r"\b(?:limits|damping|springs|friction|values|numbers|velocities|angles|motion|trajectory)"
    r" of (?:the|a) (?:robot )?file\b(?!')"
    r"|\b(?:a little old|with(?:out)? roots|one every|none are left|keeps? the limits"
    r"|expressed in the split|remedies of|count as zero)\b"
)
# clauses without a subject as the start of a sentence
STARTS = re.compile(r"^(What|Whoever|Whatever|Of|That|Those|Whether)\b")
ANY_START = re.compile(STARTS.pattern.removeprefix("^"))
# participles and question words as names
NAMES = re.compile(
    r"(^|_)(told|said|asked|wanted|looked|posed|whoever|goes_on|how|wholes?|moments?)(_|$)"
)

# names that say nothing about the value: a result, an argument, an index or a location
GENERAL_NAMES = {"found", "given", "place"}
# such a word with what follows a name, or is before one, where it is defined
GENERAL = re.compile(
    r"\b(found|given|place)\b\s*([-+|&*/@]?=|[:,)\](])|\b(for|as)\s[^:\n]*\b(found|given|place)\b"
)
# a public field of differences
PUBLIC_GENERAL_NAMES = {"robolin/checking/differences.py": {"found"}}

# public names of the old vocabulary, and moments of forces and of sums
OTHER_NAMES = {"asked", "moment", "moments"}
# modules with texts that users do not read: LLVM code, and the phrases of stored results
NO_MESSAGES = {
    "engine/compiled/call_text.py",
    "engine/compiled/llvm_text.py",
    "core/former_names.py",
}

# long literals that are lists of names
NAME_LISTS = ("abs all any bool ", "capitalize casefold ")

# package or page -> what is left; empty packages and pages are not listed
BUDGET: dict[str, tuple[int, int, int]] = {}
MESSAGE_BUDGET: dict[str, int] = {}
PAGE_BUDGET: dict[str, int] = {}


def _texts(tree: ast.Module, source: str) -> Iterator[str]:
    """The sentences of docstrings, without examples, and the comments of a module."""
    for node in _definitions(tree):
        text = (ast.get_docstring(node) or "").split("Example:")[0]
        # names of fields and arguments
        text = re.sub(r"^ +\w[\w, ]*: ", "", text, flags=re.MULTILINE)
        text = re.sub(r"`[^`]*`", "X", text).replace("\n", " ")
        yield from re.split(r"(?<=[.?!:;])\s+", text)
    # tokens take most of the time, and few modules have a line that could be such a comment
    if any(map(_may_be_comment, source.splitlines())):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token.string.lstrip("#: ")


def _definitions(tree: ast.Module) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef]:
    """The module, its classes and functions: `ast.walk` would visit every expression too."""
    nodes: list[Any] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            nodes += getattr(node, block, ())


def _may_be_comment(line: str) -> bool:
    """True if the line has a number sign and then something that the word list finds."""
    text = line.partition("#")[2]
    return bool(WORDS.search(text)) or any(
        STARTS.match(part.lstrip(": ")) for part in text.split("#")
    )


def _names(source: str) -> Iterator[str]:
    """Names of modules' functions, classes, arguments and variables where they are defined."""
    # few modules have a word that could be such a name
    words = set(re.findall(r"\w+", source))
    if not (GENERAL.search(source) or any(map(NAMES.search, words))):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _messages(tree: ast.Module) -> Iterator[str]:
    """Help texts, messages and hints: all literals of at least three words but docstrings."""
    nodes = list(ast.walk(tree))
    skipped = {
        id(node.body[0].value)
        for node in _definitions(tree)
        if node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in ast.walk(node) if part is not node}
    for node in nodes:
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (getattr(part, "value", "") for part in node.values)
            text = "".join(part if isinstance(part, str) else "X" for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if len(text.split()) > 2 and not text.startswith(NAME_LISTS):
            yield re.sub(r"`[^`]*`", "X", text)


def unclear_count(text: str) -> int:
    """Lines of a text with a chain of genitives, a pronoun without its noun, or no subject."""
    return sum(bool(UNCLEAR.search(TERMS.sub("X", line))) for line in text.split("\n"))


def unidiomatic_count(text: str) -> int:
    """Sentences of a text that start with a pronoun, and unidiomatic phrases."""
    sentences = re.split(r"(?<=[.?!])\s+|\n", text)
    return sum(bool(PRONOUN.match(each)) for each in sentences) + len(UNIDIOMATIC.findall(text))


def message_count(text: str) -> int:
    """Words of the old vocabulary and long sentences of a text for users."""
    words = len(WORDS.findall(text)) + len(MESSAGE_WORDS.findall(text)) + unclear_count(text)
    words += unidiomatic_count(text)
    sentences = re.split(r"(?<=[.?!:;])\s+|\n", text)
    long = sum(len(sentence.split()) > LONGEST_SENTENCE for sentence in sentences)
    return words + bool(STARTS.match(text)) + long


def _page_sentences(text: str) -> Iterator[str]:
    """Headings, table cells and sentences of a page, without code, formulas and link targets."""
    text = re.sub(
        r"^ *(```+|\$\$).*?^ *\1[ \t]*$|<!--.*?-->|^:::.*?$|(?<=\n\n)(?: {4}[^\n]*\n)+",
        "\n",
        text,
        flags=re.DOTALL | re.MULTILINE,
    )
    text = re.sub(r"`[^`\n]*`|<code>.*?</code>|\$[^$\n]*\$", "X", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("**", "")
    # a heading, a list item and a row of a table end the paragraph before them
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*+>#|]|\d+\. ))", f"\n{text}")
    for block in blocks:
        line = re.sub(r"^\s*(?:[-*+>]|#+|\d+\.)\s+", "", block).strip()
        # a cell may be a list of phrases
        parts = re.split(r"[|;]", line) if line.startswith("|") else [line]
        for part in parts:
            sentences = SENTENCE_END.split(" ".join(part.split()))
            yield from (each for each in sentences if re.search(r"\w", each))


def page_count(text: str) -> int:
    """Words of the old vocabulary, a headless start and a long sentence of a page."""
    words = len(WORDS.findall(text)) + len(MESSAGE_WORDS.findall(text)) + unclear_count(text)
    words += unidiomatic_count(text)
    headless = STARTS.match(text) and text.endswith((".", ":"))
    return words + bool(headless) + (len(text.split()) > LONGEST_ON_PAGES)


def counts(folder: Path) -> tuple[int, int, int]:
    """Words, sentence starts and names of the old vocabulary below a folder."""
    words = starts = names = 0
    paths = [folder] if folder.suffix else sorted(folder.rglob("*.py"))
    for path in paths:
        source = path.read_text("utf-8")
        # syntax trees take most of the time
        if WORDS.search(source) or ANY_START.search(source):
            for text in _texts(ast.parse(source), source):
                words += len(WORDS.findall(text))
                starts += bool(STARTS.match(text))
        names += sum(bool(NAMES.search(name)) for name in {*_names(source)} - OTHER_NAMES)
    return words, starts, names


def packages() -> dict[str, Path]:
    """The packages of robolin, and the folders with code about it."""
    inside = [path for path in (ROOT / "robolin").iterdir() if path.name != "__pycache__"]
    inner = {path.stem: path for path in inside if path.is_dir() or path.suffix == ".py"}
    return {**inner, **{name: ROOT / name for name in ("tests", "tools", "benchmarks")}}


@pytest.mark.parametrize("package", sorted(packages()))
def test_the_vocabulary_is_that_of_the_field(package: str) -> None:
    """A package has exactly the number of words of the old vocabulary in its budget."""
    assert counts(packages()[package]) == BUDGET.get(package, (0, 0, 0))


@pytest.mark.parametrize("package", sorted(packages()))
def test_names_say_what_a_value_is(package: str) -> None:
    """No variable, argument or function has a name that fits any value."""
    folder = packages()[package]
    for path in [folder] if folder.suffix else sorted(folder.rglob("*.py")):
        source = path.read_text("utf-8")
        names = {*_names(source)}
        allowed = PUBLIC_GENERAL_NAMES.get(path.relative_to(ROOT).as_posix(), set())
        assert not names & GENERAL_NAMES - allowed, path


@pytest.mark.parametrize("package", sorted(set(packages()) - {"tests", "tools", "benchmarks"}))
def test_messages_use_the_terms_of_the_field(package: str) -> None:
    """Help texts, messages and hints of a package have exactly the number of its budget."""
    folder = packages()[package]
    paths = [folder] if folder.suffix else sorted(folder.rglob("*.py"))
    paths = [
        path for path in paths if path.relative_to(ROOT / "robolin").as_posix() not in NO_MESSAGES
    ]
    texts = [text for path in paths for text in _messages(ast.parse(path.read_text("utf-8")))]
    unclear = [text for text in texts if message_count(text)]
    assert sum(map(message_count, unclear)) == MESSAGE_BUDGET.get(package, 0), unclear


@for_each("page", PAGES)
def test_pages_use_the_terms_of_the_field(page: str) -> None:
    """A page has exactly the number of words, starts and long sentences of its budget."""
    texts = _page_sentences((ROOT / page).read_text("utf-8"))
    unclear = [text for text in texts if page_count(text)]
    assert sum(map(page_count, unclear)) == PAGE_BUDGET.get(page, 0), unclear


def test_pages_are_recognized() -> None:
    """Paragraphs, list items and table cells of a page are found; code and formulas are not."""
    text = (
        "# Nobody asks\n\nRead [the\nverb](x.md) `told`. It\nends.\n\n```sh\ntold\n```\n"
        "- What is told.\n| said | 1 |\n| --- | --- |\n\n$$\ntold\n$$\n"
    )
    texts = list(_page_sentences(text))
    assert texts == ["Nobody asks", "Read the verb X.", "It ends.", "What is told.", "said", "1"]
    assert [page_count(each) for each in texts] == [2, 1, 0, 2, 1, 0]
    assert page_count("word " * 26) == 1
    assert page_count("It ends here today.") == 1
    assert page_count("Its name is short.") == 1
    assert page_count("Without it, the command fails.") == 1
    assert page_count("Both also exist at rest.") == 1
    assert page_count("The limits of the file apply.") == 1
    assert page_count("The limits in the file apply.") == 0
    assert page_count("What is a pole?") == 0


def test_messages_are_recognized() -> None:
    """Literals of users' texts are found with their words; docstrings and code are not."""
    source = '"""What is told."""\nhelp = f"Which {1} verb answers this"\nkey = "verb"\n'
    (text,) = _messages(ast.parse(source))
    assert (text, message_count(text)) == ("Which X verb answers this", 2)
    assert message_count("word " * 31) == 1
    assert message_count("must be at least 1, got 0") == 0
    assert message_count("the name of the file of the result of a run") == 1
    assert message_count("the number of degrees of freedom of the model of a robot") == 0
    assert message_count("results equal those of Python") == 1
    assert message_count("Option\nNeeded for tables without times.") == 1
    assert message_count("Read a file.  They are ignored here.") == 1


def test_words_are_recognized() -> None:
    """The word list finds what it is meant to find, and nothing in plain English."""
    source = '"""What is told."""\n# nobody asks\ndef looked_up(how): told = 1\n'
    tree = ast.parse(source)
    assert sum(len(WORDS.findall(text)) for text in _texts(tree, source)) == 3
    assert sum(bool(STARTS.match(text)) for text in _texts(tree, source)) == 1
    assert sum(bool(NAMES.search(name)) for name in _names(source)) == 3
    plain = '"""Return the mass matrix of a robot arm."""\n# skip empty rows\n'
    assert not any(
        WORDS.search(text) or STARTS.match(text) for text in _texts(ast.parse(plain), plain)
    )
