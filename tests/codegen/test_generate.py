"""Generated programs: complete folders, strict C, reproducible bytes, no user file overwritten."""

from __future__ import annotations

import ctypes
import math
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.codegen.c_files import comment_text
from robolin.codegen.functions import QUESTIONS, chosen_questions
from robolin.core.arm import Arm
from robolin.errors import FileError, RobolinError, UsageError
from robolin.evaluation.frames import ABOUT_A_FRAME
from tests.cli.command import robolin as run
from tests.cli.command import run_ok
from tests.codegen.compilers import EVERY, GCC

VERBS = ["inverse", "forward", "linearize-forward"]


@pytest.fixture(scope="module")
def arm() -> Arm:
    return robolin.load("two-link")


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("layout", ["unrolled", pytest.param("loops", marks=pytest.mark.slow)])
def test_a_program_is_strict_and_self_contained(arm: Arm, layout: str, tmp_path: Path) -> None:
    """It compiles without warnings, its own test passes, and no symbol is undefined."""
    made = tmp_path / "made"
    robolin.generate(arm, VERBS, made, layout=layout)
    GCC.compile(made, "two_link.c", into="two_link.o", flags=("-c", "-O2"))
    summary = GCC.checked(made, "two_link", source="two_link.o")
    assert summary == "two_link: 15 states, 0 differences, largest error 0"

    listed = subprocess.run(["nm", "two_link.o"], cwd=made, capture_output=True)
    assert listed.stdout
    assert not re.findall(rb" U .*", listed.stdout)


def test_the_test_of_a_program_finds_a_wrong_bit(arm: Arm, tmp_path: Path) -> None:
    """If a constant is off in its ninth digit, the program lists the differences."""
    robolin.generate(arm, ["inverse"], tmp_path / "made")
    source = tmp_path / "made" / "two_link.c"
    text = source.read_text()
    body = text.index("int two_link_inverse")
    factor = re.findall(r" \* (\d+\.\d+);", text[body:])[0]
    changed = text[body:].replace(f" * {factor};", f" * {float(factor) * 1.000000001!r};", 1)
    source.write_text(text[:body] + changed)
    with pytest.raises(AssertionError, match=r"inverse: tau\[0\] of state 0 differs in its bits"):
        GCC.checked(tmp_path / "made", "two_link")


def test_the_same_command_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        run_ok("generate", "two-link", *VERBS, "-o", tmp_path / folder)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert sorted(contents(tmp_path / "one")) == sorted(
        ["CMakeLists.txt", "Makefile", "two_link.c", "two_link.h", "two_link_test.c"]
    )


def test_files_of_others_are_never_replaced(arm: Arm, tmp_path: Path) -> None:
    """A file that robolin did not write, or that was changed afterwards, stops everything."""
    folder = tmp_path / "made"
    robolin.generate(arm, ["inverse"], folder)
    (folder / "notes.txt").write_text("mine")
    robolin.generate(arm, ["forward"], folder)
    assert "two_link_forward" in (folder / "two_link.h").read_text()
    assert (folder / "notes.txt").read_text() == "mine"

    with open(folder / "Makefile", "a") as file:
        file.write("\nmine: all\n")
    before = contents(folder)
    with pytest.raises(FileError, match="changed afterwards"):
        robolin.generate(arm, ["inverse"], folder)
    assert contents(folder) == before


def test_a_folder_is_complete_or_absent(arm: Arm, tmp_path: Path) -> None:
    """Every error is found before anything is written, and no temporary files are left."""
    for verbs, options, what in (
        (["inverse", "nothing"], {}, "unknown function 'nothing'"),
        (["forward-prescribed"], {}, "use forward with prescribe='base'"),
        ([], {}, "no function"),
        (["inverse", "inverse"], {}, "more than once"),
        ("inverse", {}, "verbs: must be a list, got the string"),
        (["inverse"], {"prefix": "2 arms"}, "is not a valid prefix of C functions"),
        (["inverse"], {"real": "half"}, "real: unknown value 'half'"),
        (["inverse"], {"layout": "round"}, "layout: unknown value 'round'"),
        (["inverse"], {"states": 0}, "states: must be an integer from 1 to 100000, got 0"),
        (["inverse"], {"extras": ["rust"]}, "extras"),
        (["forward"], {"extras": ["ros2"]}, "requires inverse and mass-matrix"),
        (["inverse"], {"method": "magic"}, "unknown method 'magic'"),
        (["closures"], {}, "no closed loops"),
        (["jacobian"], {"frame": "elsewhere"}, "frame: link 'elsewhere' not found"),
    ):
        with pytest.raises(RobolinError, match=what):
            robolin.generate(arm, verbs, tmp_path / "made", **options)
    with pytest.raises(FileError, match="not found"):
        robolin.generate(arm, ["inverse"], tmp_path / "nowhere" / "made")
    with pytest.raises(UsageError, match="arm: must be a loaded robot, got"):
        robolin.generate("two-link", ["inverse"], tmp_path / "made")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["unrolled", "loops"])
def test_every_verb_is_generated_or_rejected_with_a_reason(
    arm: Arm, layout: str, tmp_path: Path
) -> None:
    """For a small planar arm, each verb is generated or rejected with a reason."""
    refused = {}
    for verb in QUESTIONS:
        try:
            folder, frame = tmp_path / verb, "lower" if verb in ABOUT_A_FRAME else None
            robolin.generate(arm, [verb], folder, layout=layout, frame=frame, states=1)
        except RobolinError as error:
            refused[verb] = str(error)
    assert (
        "does not exist in this state: the frame is at or near a singularity (rank deficient, pivot"
        in refused.pop("operational-space")
    )
    assert refused
    assert all("no closed loops" in reason for reason in refused.values())


def test_closed_loops_are_rejected_by_tree_algorithms(tmp_path: Path) -> None:
    ran = run("generate", "four-bar", "inverse", "-o", tmp_path / "made")
    assert ran.code == 3
    assert "--open-loops" in ran.err
    assert not (tmp_path / "made").exists()


def test_hostile_names_stay_harmless(arm: Arm, tmp_path: Path) -> None:
    """Joints may be called anything: as text and in comments it compiles and comes back."""
    names = ('*/ int x; /* "??/', "ö\\\n\x1b[31m")
    links = tuple(
        replace(link, joint=replace(link.joint, name=names[1 - i]))
        for i, link in enumerate(arm.links_tip_to_base)
    )
    odd = replace(arm, name="2 */ arms", links_tip_to_base=links, joint_names=names)
    robolin.generate(odd, ["inverse"], tmp_path / "made")
    GCC.checked(tmp_path / "made", "arm_2_arms")
    library = loaded(tmp_path / "made", "arm_2_arms")
    stored = (ctypes.c_char_p * 2).in_dll(library, "arm_2_arms_joint_names")
    assert [name.decode() for name in stored] == list(names)


# ISO C99, 5.2.1.1
TRIGRAPHS = tuple(f"??{each}" for each in "=(/)'<!>-")


@pytest.mark.parametrize("end", TRIGRAPHS)
def test_comments_have_no_trigraph(end: str) -> None:
    """Question marks in names, however many, form none of the nine trigraphs in a comment."""
    for count in range(5):
        comment = comment_text(f"a{'?' * count}{end} b{end}")
        assert not any(each in comment for each in TRIGRAPHS)
        assert comment.replace(" ", "") == f"a{'?' * count}{end}b{end}"


def test_generated_files_have_no_trigraph(arm: Arm, tmp_path: Path) -> None:
    """Names that end in trigraphs leave no trigraph in any generated file."""
    names = ("a???/", "b??/")
    links = tuple(
        replace(link, joint=replace(link.joint, name=names[1 - i]))
        for i, link in enumerate(arm.links_tip_to_base)
    )
    odd = replace(arm, name="odd ???/", links_tip_to_base=links, joint_names=names)
    robolin.generate(odd, ["inverse"], tmp_path / "made")
    for path in (tmp_path / "made").iterdir():
        assert not any(each in path.read_text() for each in TRIGRAPHS), path.name


def loaded(folder: Path, prefix: str) -> ctypes.CDLL:
    GCC.compile(folder, f"{prefix}.c", into="lib.so", flags=("-shared", "-fPIC", "-O1"))
    return ctypes.CDLL(str(folder / "lib.so"))


@pytest.mark.parametrize("layout", ["unrolled", pytest.param("loops", marks=pytest.mark.slow)])
def test_failures_return_a_status_and_nan(layout: str, tmp_path: Path) -> None:
    """A joint without inertia returns its number, a huge angle -1; all results are NaN."""
    arm = robolin.load("two-link")
    elbow, shoulder = arm.links_tip_to_base
    # the mass is on the axis of the elbow, which leaves no inertia
    light = replace(elbow.inertia, com=(0.0, 0.0, 0.0), rotary=(0.0,) * 6)
    loose = replace(arm, links_tip_to_base=(replace(elbow, inertia=light), shoulder), wrenches=())
    numbers = ctypes.c_double * 2
    robolin.generate(arm, ["forward"], tmp_path / "made", layout=layout)
    forward = loaded(tmp_path / "made", "two_link").two_link_forward
    for q, status in (((0.3, -0.7), 0), ((0.3, 2.0**21), -1), ((math.nan, 0.0), -1)):
        computed = numbers(7.0, 7.0)
        assert forward(numbers(*q), numbers(), numbers(1.0, 2.0), computed) == status
        if status:
            assert np.isnan(list(computed)).all()
        else:
            expected = robolin.forward(arm, q, tau=[1.0, 2.0])
            assert np.array(list(computed)).tobytes() == expected.tobytes()
    with pytest.raises(RobolinError, match="moves no inertia"):
        robolin.generate(loose, ["forward"], tmp_path / "loose", layout=layout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiler", "layout", "level"),
    # every two of them together
    [
        ("gcc", "unrolled", "-O0"),
        ("gcc", "loops", "-Os"),
        ("cortex-m7", "unrolled", "-Os"),
        ("cortex-m7", "loops", "-O0"),
    ],
)
def test_the_stack_is_as_small_as_stated(
    compiler: str, layout: str, level: str, tmp_path: Path
) -> None:
    """No function takes more stack than its macro states, optimized or not."""
    folder, verbs = tmp_path / "made", ["inverse", "forward"]
    robolin.generate(robolin.load("ur5"), verbs, folder, layout=layout, prefix="arm")
    header = (folder / "arm.h").read_text()
    flags = ("-c", level, "-fstack-usage")
    EVERY[compiler].compile(folder, "arm.c", into="arm.o", flags=flags)
    lines = [line.split("\t") for line in (folder / "arm.su").read_text().splitlines()]
    taken = {location.rsplit(":")[-1]: int(size) for location, size, _ in lines}
    own = max((size for name, size in taken.items() if "sine" in name), default=0)
    for verb in verbs:
        stated = re.findall(rf"{verb.upper()}_STACK \((\d+) \* sizeof\(double\)", header)
        assert taken[f"arm_{verb}"] + own <= 8 * int(stated[0]) + 1024, verb


def test_the_header_has_version_units_and_contract(arm: Arm, tmp_path: Path) -> None:
    """Version, digest, joints, units, contract and the flags that change bits are all there."""
    robolin.generate(arm, ["inverse"], tmp_path / "made")
    header = (tmp_path / "made" / "two_link.h").read_text()
    flags = ("-ffp-contract", "-mfpmath")
    for text in (robolin.__version__, arm.digest, "shoulder  rad", "gravity: ", *flags):
        assert text in header, text
    # paragraphs are broken where the comment ends, and not once more before
    assert re.findall(r"^ \* +(\S+)$", header, re.MULTILINE) == ["Joints:"]
    library = loaded(tmp_path / "made", "two_link")
    lines = (ctypes.c_char_p * len(arm.contract)).in_dll(library, "two_link_contract")
    assert [line.decode().partition(":")[0] for line in lines] == list(arm.contract)


@pytest.mark.parametrize("layout", ["unrolled", "loops"])
def test_joints_can_be_prescribed(layout: str, tmp_path: Path) -> None:
    """With a prescribed base: the bits of robolin, and names for all arguments."""
    folder, name = tmp_path / "made", "two_link_forward_prescribed"
    command = ("generate", "two-link", "forward", "--base-joint", "planar", "--prescribe", "base")
    run_ok(*command, "--layout", layout, "-o", folder)
    GCC.checked(folder, "two_link", ["-O0"])
    header = (folder / "two_link.h").read_text()
    arguments = ("q[5]", "qd[5]", "tau_given[5]", "qdd_given[5]", "qdd[5]", "tau[5]")
    kinds = ["const double "] * 4 + ["double "] * 2
    listed = ", ".join(kind + each for kind, each in zip(kinds, arguments, strict=True))
    assert f"int {name}({listed});" in header
    assert "prescribed: base: accelerations given, torques computed" in header


def test_the_header_names_the_frame(arm: Arm, tmp_path: Path) -> None:
    """The header names the frame if any verb uses it."""
    robolin.generate(arm, ["inverse", "jacobian"], tmp_path / "made", frame="tip")
    assert "frame: 'tip'" in (tmp_path / "made" / "two_link.h").read_text()


def test_a_folder_has_one_program(arm: Arm, tmp_path: Path) -> None:
    """A second program would overwrite the Makefile and is rejected; generating again is fine."""
    robolin.generate(arm, ["inverse"], tmp_path / "made")
    before = contents(tmp_path / "made")
    with pytest.raises(FileError, match="the folder already contains another program, 'two_link'"):
        robolin.generate(arm, ["inverse"], tmp_path / "made", prefix="other")
    assert contents(tmp_path / "made") == before
    robolin.generate(arm, ["inverse"], tmp_path / "made")
    assert contents(tmp_path / "made") == before


def test_the_hint_for_closed_arms_names_the_verb() -> None:
    """The hint names the verb that supports closed loops."""
    with pytest.raises(robolin.RobolinError) as caught:
        chosen_questions(robolin.load("four-bar"), ["forward"])
    assert caught.value.hint.startswith(
        "use forward-closed, or add --open-loops (open_loops=True) to ignore the loop constraints"
    )


def test_an_unknown_method_is_rejected() -> None:
    """It would change nothing; where one of several verbs has it, it is for that one."""
    arm = robolin.load("two-link")
    for ask in (
        lambda: chosen_questions(arm, ["inverse"], "a"),
        lambda: robolin.compile(arm, "energy", method="conventional"),
    ):
        with pytest.raises(robolin.RobolinError, match="is not available for"):
            ask()
    assert len(chosen_questions(arm, ["inverse", "forward"], "a")) == 2
