"""Names with control characters of terminals or build servers, through every verb and format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from robolin.io.provenance import with_checksum
from robolin.queries.verbs import VERBS
from tests.cli.command import CommandRun, robolin, run_ok

# colours, a line that GitHub takes for a command, a carriage return, a bell, the one-byte form
# of a terminal's escape, a line separator, and text from right to left
BAD = "x\x1b[31m\n::error::y\r\a\x7f\x9b2J\u2028\u202e"

ARM = """\
robolin: 1
name: two
joints:
  - {name: shoulder, type: revolute, parent: base, child: upper, axis: [0, 1, 0]}
  - {name: elbow, type: revolute, parent: upper, child: lower, axis: [0, 1, 0]}
links:
  - {name: base}
  - {name: upper, mass: 2.0, com: [0.5, 0, 0], inertia: {iyy: 0.2, izz: 0.2, ixx: 0.01}}
  - {name: lower, mass: 1.2, com: [0.4, 0, 0], inertia: {iyy: 0.1, izz: 0.1, ixx: 0.01}}
"""
MOTION = "time,shoulder/position,elbow/position\n0,0.1,0.2\n1,0.3,0.4\n"
DYNAMICS = (
    *("inverse", "forward", "mass-matrix", "linearize-inverse", "linearize-forward"),
    *("jacobian", "diagonalize", "regressor", "momentum", "state-space", "poles", "lqr"),
)
REPORTS = ("inspect", "validate", "verify", "count inverse", "diff arm.yaml")


def assert_printable(ran: CommandRun, case: str) -> None:
    """Require that output has no control characters and that no name starts a line."""
    for text in (ran.out, ran.err):
        odd = {c for c in text if c != "\n" and not c.isprintable()}
        assert not odd, (case, odd, text)
        assert not any(line.startswith("::error::y") for line in text.splitlines()), (case, text)
    assert ran.code != 70, (case, ran.err)
    assert "Traceback" not in ran.err


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("arm.yaml").write_text(ARM)
    Path("t.csv").write_text(MOTION)
    Path(f"{BAD}.yaml").write_text(ARM)
    Path(f"{BAD}.csv").write_text(MOTION)


@pytest.mark.parametrize("verb", DYNAMICS)
def test_files_with_hostile_names(verb: str) -> None:
    """Names appear in results and errors with control characters escaped.

    The output format changes from file to file and from verb to verb.
    """
    forms = islice(cycle(["table", "csv", "json"]), DYNAMICS.index(verb), None)
    for words, form in zip(
        (
            [f"{BAD}.yaml"],
            ["arm.yaml", "--trajectory", f"{BAD}.csv"],
            ["arm.yaml", "--trajectory", f"{BAD}.npz"],
            [f"{BAD}.urdf"],
            ["arm.yaml", "-o", f"{BAD}.csv"],
            ["arm.yaml", "-o", f"{BAD}.json"],
            ["arm.yaml", "-o", f"{BAD}.{BAD}"],
        ),
        forms,
        strict=False,
    ):
        assert_printable(robolin(verb, *words, "--format", form), f"{verb} {words} {form}")


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_motions_of_files_with_hostile_names(form: str) -> None:
    """A simulation spells the name of its arm out."""
    assert_printable(
        robolin("simulate", f"{BAD}.yaml", "--duration", "0.01", "--format", form), "simulate"
    )


@pytest.mark.parametrize("form", ["table", "json", "github", "junit", "sarif", "markdown", "csv"])
@pytest.mark.parametrize("verb", REPORTS)
def test_reports_about_files_with_hostile_names(verb: str, form: str) -> None:
    """Reports of every form spell their names out."""
    assert_printable(robolin(*verb.split(), f"{BAD}.yaml", "--format", form), verb)
    assert_printable(robolin(*verb.split(), f"{BAD}.urdf", "--format", form), verb)


@pytest.mark.parametrize("form", ["table", "json", "github", "junit", "sarif"])
def test_robot_files_with_hostile_names_inside(form: str) -> None:
    """Names with control characters are rejected and escaped in the message."""
    quoted = json.dumps(BAD)
    for old in ("two", "elbow", "lower", "base", "revolute", "mass", "name"):
        Path("bad.yaml").write_text(ARM.replace(f"{old}", quoted))
        for verb in ("validate", "inspect", "inverse"):
            assert_printable(robolin(verb, "bad.yaml", "--format", form), f"{verb} {old}")
    odd = "".join(c for c in BAD if c in "\n\r\x7f\x9b\u2028\u202e")
    for key in ("name", "type", odd):
        text = f'<robot name="a"><joint {key}="j&#10;::error::y{odd}" type="k"/><l{odd}/></robot>'
        Path("bad.urdf").write_text(text)
        assert_printable(robolin("validate", "bad.urdf", "--format", form), f"validate {key!r}")


@pytest.mark.parametrize("form", ["table", "csv", "json"])
@pytest.mark.parametrize("name", ["j&#10;::error::y", "j&#x9b;2J", "j&#x2028;", "j&#x202e;"])
def test_joints_and_links_with_hostile_names_in_xml(form: str, name: str) -> None:
    """A name that would break a table line is rejected with its location."""
    for joint, link in ((name, "a"), ("a", name)):
        text = (
            f'<robot name="{name}"><link name="base"/><link name="{link}"><inertial>'
            '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
            f'</inertial></link><joint name="{joint}" type="continuous"><parent link="base"/>'
            f'<child link="{link}"/></joint></robot>'
        )
        Path("bad.urdf").write_text(text)
        ran = robolin("inverse", "bad.urdf", "--format", form)
        assert_printable(ran, name)
        assert (ran.code, "unprintable characters" in ran.err) == (
            3,
            True,
        )


@pytest.mark.parametrize(
    "words",
    [
        [BAD],
        ["inverse", BAD],
        ["inverse", "arm.yaml", f"--{BAD}"],
        ["inverse", "arm.yaml", "--q", f"{BAD}=1"],
        ["inverse", "arm.yaml", "--q", BAD],
        ["inverse", "arm.yaml", "--tip", BAD],
        ["inverse", "arm.yaml", "--tip", BAD, "--tip", BAD],
        ["inverse", "arm.yaml", "--lock", f"{BAD}=0"],
        ["inverse", "arm.yaml", "--payload", f"{BAD}:1"],
        ["inverse", "arm.yaml", "--wrench", f"{BAD}=0,0,0,0,0,0"],
        ["inverse", "arm.yaml", "--joints", f"{BAD},elbow"],
        ["inverse", "arm.yaml", "--gravity", BAD],
        ["inverse", "arm.yaml", "--format", BAD],
        ["inverse", "arm.yaml", "--jobs", BAD],
        ["inverse", "arm.yaml", BAD],
        ["jacobian", "arm.yaml", "--frame", BAD],
        ["jacobian", "arm.yaml", "--point", BAD],
        ["linearize-inverse", "arm.yaml", "--perturb", f"{BAD}=1"],
        ["simulate", "arm.yaml", "--duration", BAD],
        ["simulate", "arm.yaml", "--duration", "1", "--control", "pose", "--target", f"{BAD}=0"],
        ["sensitivity", "arm.yaml", "--trajectory", BAD, "--parameter", f"{BAD}=1"],
        ["count", BAD, "arm.yaml"],
        ["count", "inverse", "--joints", BAD],
        ["lqr", "arm.yaml", "--dt", BAD],
        ["state-space", "arm.yaml", "--outputs", BAD],
        ["response", "arm.yaml", "--duration", BAD],
        ["momentum", "arm.yaml", BAD],
        ["ik", "arm.yaml", "--goal", f"{BAD}=0,0,0"],
        ["inverse", "arm.yaml", "--trajectory", "t.csv", "--columns", BAD],
        ["inverse", "arm.yaml", "--trajectory", "t.csv", "--columns", f"position={BAD}{{joint}}"],
        ["inverse", "arm.yaml", "--trajectory", "t.csv", "--time", BAD],
        ["inverse", "arm.yaml", "--xacro-arg", BAD],
        ["inverse", "arm.yaml", "--package", f"a={BAD}"],
        ["inverse", f"robot_descriptions:{BAD}"],
        ["generate", "arm.yaml", BAD, "-o", "out"],
        ["generate", "arm.yaml", "inverse", "-o", "out", "--prefix", BAD],
        ["new", BAD],
        ["completion", BAD],
        ["models", "--copy", BAD],
        ["models", "--show", BAD],
        ["validate", "arm.yaml", "--ignore", BAD],
        ["validate", "arm.yaml", "--config", BAD],
        ["validate", f"{BAD}*[a]"],
        ["record", BAD],
        ["record", "inverse", BAD],
        ["record", "--suite", BAD],
        ["check", BAD],
        ["check", "--suite", BAD],
        ["check", f"{BAD}.csv", "--model", BAD, "--root", BAD],
        ["check", f"{BAD}.csv", "--against", BAD],
        ["diff", BAD, "arm.yaml"],
        ["models", BAD],
        ["bench", BAD],
    ],
    ids=lambda words: " ".join(words).replace(BAD, "BAD"),
)
def test_hostile_words(words: list[str]) -> None:
    """Typed text is repeated with control characters escaped."""
    assert_printable(robolin(*words), str(words))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_with_hostile_files_and_words(verb: str) -> None:
    """Every verb escapes names, of files that exist, are missing or are invalid."""
    Path(f"{BAD}.urdf").write_text(f"<robot name='{BAD.replace(chr(27), '')}'>")
    first = ["inverse"] if verb == "count" else []
    for words in (
        [f"{BAD}.yaml"],
        [f"{BAD}.urdf"],
        [f"{BAD}/{BAD}.yaml"],
        ["arm.yaml", BAD],
        ["arm.yaml", f"--{BAD}"],
        ["arm.yaml", f"-{BAD}"],
        ["arm.yaml", "--q", f"{BAD}=1"],
        ["arm.yaml", "--trajectory", f"{BAD}.parquet"],
        ["arm.yaml", "--lock", f"{BAD}=0"],
        ["arm.yaml", "-o", f"{BAD}/{BAD}.csv"],
        ["arm.yaml", "--format", BAD],
    ):
        if verb in ("bench", "verify") and words == [f"{BAD}.yaml"]:
            # slow verbs: other tests check their names
            continue
        assert_printable(robolin(verb, *first, *words), f"{verb} {words}")


def _tables() -> Iterator[str]:
    quoted = '"' + BAD.replace('"', '""') + '"'
    yield f"time,{quoted}/position,elbow/position\n0,1,2\n"
    yield f"time,{quoted},shoulder/position,elbow/position\n0,1,2,3\n"
    yield f"time,shoulder/position,elbow/position\n0,1,{quoted}\n"
    yield f"{BAD}\n"
    yield MOTION.replace("0.3", "\x1b[31m")
    yield MOTION.replace("shoulder", "shoul\x1b[31mder")


def test_tables_with_hostile_cells() -> None:
    """Column names and cells of a table are escaped in messages."""
    for text in _tables():
        Path("bad.csv").write_text(text, newline="")
        for form in ("table", "csv", "json"):
            words = ["forward", "arm.yaml", "--trajectory", "bad.csv", "--format", form]
            assert_printable(robolin(*words), repr(text))
    polars.DataFrame({BAD: [1.0], f"{BAD}/position": ["a"]}).write_parquet("bad.parquet")
    assert_printable(robolin("forward", "arm.yaml", "--trajectory", "bad.parquet"), "parquet")
    for names in (["shoulder", BAD], [BAD, BAD]):
        np.savez("bad.npz", q=np.zeros((2, 2)), joints=np.array(names))
        assert_printable(robolin("forward", "arm.yaml", "--trajectory", "bad.npz"), "npz")


def _changed(value: Any) -> Iterator[Any]:
    """The value with one text in it, or one name, replaced by a hostile one."""
    if isinstance(value, str):
        yield BAD
    elif isinstance(value, list):
        for i, item in enumerate(value):
            for other in _changed(item):
                yield [*value[:i], other, *value[i + 1 :]]
    elif isinstance(value, dict):
        for key, item in value.items():
            yield {BAD if k == key else k: v for k, v in value.items()}
            for other in _changed(item):
                yield {**value, key: other}


FORMS = ("table", "json", "github", "junit")


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_stored_results_with_hostile_texts(form: str) -> None:
    """Every text of a stored result is escaped, also with a valid checksum.

    Each text is used with every format, alone with two of them, and compared with another result,
    in both orders, with one.
    """
    run_ok("record", "inverse", "arm.yaml", "--q", "0.1,0.2", "-o", "st.json")
    held = json.loads(Path("st.json").read_text())
    meta = {key: value for key, value in held["meta"].items() if key != "sha256"}
    for count, other in enumerate(_changed(meta)):
        # names and texts alternate: the offset of half a cycle covers all formats for both
        turn = count + count // 2 + FORMS.index(form)
        Path("bad.json").write_text(json.dumps({**held, "meta": with_checksum(other)}))
        words = ["bad.json", "--all"]
        if turn % 4 == 0:
            words = ["bad.json", "--against", "st.json", "--all"]
        if turn % 4 == 2:
            words = ["st.json", "--against", "bad.json"]
        assert_printable(robolin("check", *words, "--format", form), f"{other}")


CASE = {"name": "a", "verb": "inverse", "arm": "arm.yaml", "stored": "new/st.json"}
SUITES: dict[str, Callable[[], str]] = {
    "name": lambda: _toml({**CASE, "name": BAD}),
    "verb": lambda: _toml({**CASE, "verb": BAD}),
    "arm": lambda: _toml({**CASE, "arm": f"{BAD}.yaml"}),
    "no arm": lambda: _toml({**CASE, "arm": f"{BAD}.urdf"}),
    "stored": lambda: _toml({**CASE, "stored": f"{BAD}/{BAD}.json"}),
    "no format": lambda: _toml({**CASE, "stored": BAD}),
    "trajectory": lambda: _toml({**CASE, "trajectory": f"{BAD}.csv"}),
    "key": lambda: _toml({**CASE, BAD: "1"}),
    "option": lambda: _toml(CASE) + f'options = {{ {json.dumps(BAD)[:-1]}" = 1 }}\n',
    "state": lambda: _toml(CASE) + "state = { q = " + json.dumps(BAD) + " }\n",
    "grammar": lambda: f"[[case]]\n{BAD}",
}


def _toml(case: dict[str, str]) -> str:
    lines = [f"{_key(key)} = {json.dumps(value)}" for key, value in case.items()]
    return "\n".join(["[[case]]", *lines, ""]).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if key.isalpha() else json.dumps(key)


@pytest.mark.parametrize("what", SUITES)
def test_suites_with_hostile_texts(what: str) -> None:
    """Suites are recorded and checked with control characters escaped."""
    Path("robolin.toml").write_text(SUITES[what]().replace("\x7f", "\\u007f"), newline="")
    Path(f"{BAD}.toml").write_text(Path("robolin.toml").read_text())
    # two forms for the one name of the suite, and two for the other
    for words, forms in (([], FORMS[:2]), (["--suite", f"{BAD}.toml"], FORMS[2:])):
        for form in forms:
            assert_printable(robolin("check", *words, "--format", form), f"check {what}")
        assert_printable(robolin("record", *(words or ["--suite"])), f"record {what}")
        Path("arm.yaml").write_text(ARM.replace("2.0", "2.1"))
        for form in forms:
            assert_printable(robolin("check", *words, "--format", form), f"check {what}")
        assert_printable(robolin("check", *words, "--update"), f"update {what}")
    assert_printable(robolin("validate", "arm.yaml"), f"validate beside {what}")


def test_settings_with_hostile_texts() -> None:
    """Settings of validate and baselines are escaped in messages."""
    odd = json.dumps(BAD).replace("\x7f", "\\u007f")
    for text in (
        f"[validate]\nignore = [{odd}]\n",
        f"[validate]\n{odd} = 1\n",
        f"[validate]\nbaseline = {odd}\n",
        f"[validate.per-file-ignores]\n{odd} = [{odd}]\n",
        '[validate]\nbaseline = "known.json"\n',
    ):
        Path("robolin.toml").write_text(text)
        Path("known.json").write_text(json.dumps({BAD: 1, "format": BAD, "findings": [BAD]}))
        assert_printable(robolin("validate", "arm.yaml"), text)
