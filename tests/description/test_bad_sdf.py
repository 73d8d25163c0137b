"""Bad SDF is rejected at the line of the defect; a new bug adds a row."""

from __future__ import annotations

from robolin.description.finding_ids import READING_IDS
from robolin.description.load import read
from tests.cases import for_each
from tests.description.test_sdf_frames import joint, link, model

A, B = link("a"), link("b")
J = joint("j", "a", "b")
FROM_F = link("b", '<pose relative_to="f"/>')
STATIC = '<model name="n"><static>1</static><link name="c"/></model>'


def on_joint(inside: str, kind: str = "revolute") -> str:
    """Links on lines 3 and 4, and a joint on line 5."""
    return model(A, B, joint("j", "a", "b", inside, kind))


# text, id and line of its only error, and a part of the message
BAD = [
    (
        '<sdf version="9.9"><model name="m"><link name="a"/></model></sdf>',
        "format-version",
        1,
        "'9.9' is unknown",
    ),
    ('<sdf><model name="m"><link name="a"/></model></sdf>', "format-version", 1, "'' is unknown"),
    (
        '<sdf version="1.0"><model name="m"><link name="a"/></model></sdf>',
        "format-version",
        1,
        "'1.0' is unknown",
    ),
    ('<sdf version="1.9"/>', "sdf-model", 1, "no model"),
    (model(), "no-links", 2, "no links"),
    (model("<static>true</static>", A), "sdf-unsupported", 2, "is static"),
    (model(A, about=""), "name-missing", 2, "a model has no name"),
    (model("<link>x</link>"), "name-missing", 3, "a link has no name"),
    (model(A, B, joint("j", "a", "c")), "unknown-link", 5, "unknown child link 'c'"),
    (model(A, B, joint("j", "a", "world")), "unknown-link", 5, "cannot be the world"),
    (model(A, B, J.replace("<child>b</child>", "")), "missing-element", 5, "no <child>"),
    (model(A, B, J, joint("k", "a", "b")), "two-parents", 6, "'j'"),
    (model(A, link("a"), B, J), "duplicate-link", 4, "defined twice"),
    (model(A, B, J, joint("k", "b", "a")), "cycle", 5, "closes a loop"),
    (model(link("world")), "sdf-frame", 3, "the name 'world' is reserved"),
    (on_joint("", "hinge"), "unknown-joint-type", 5, "'hinge'"),
    (on_joint("", "gearbox"), "sdf-unsupported", 5, "gearbox"),
    (model(A, B, "<drake:joint/>", J), "sdf-unsupported", 5, "drake:joint"),
    (model(A, B, J.replace("axis", "axes")), "missing-element", 5, "has no <axis>"),
    (on_joint("<axis><xyz>0 0 0</xyz></axis>"), "zero-axis", 5, "is zero"),
    (on_joint("<axis><xyz>0 0</xyz></axis>"), "wrong-count", 5, "3 numbers, got 2"),
    (
        on_joint("<axis><xyz>0 0 1</xyz><limit><lower>nan</lower></limit></axis>"),
        "number-not-finite",
        5,
        "'nan'",
    ),
    (
        on_joint("<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2>", "universal"),
        "zero-axis",
        5,
        "parallel",
    ),
    (
        on_joint("<thread_pitch>0</thread_pitch><axis><xyz>0 0 1</xyz></axis>", "screw"),
        "number-not-finite",
        5,
        "must not be 0",
    ),
    (
        on_joint("<axis><mimic joint='k'><multiplier>1</multiplier></mimic></axis>"),
        "mimic-unknown",
        5,
        "'k'",
    ),
    (on_joint("<axis><mimic joint='j'/></axis>"), "missing-element", 5, "no <multiplier>"),
    (model(link("a", "<pose>1 2 3</pose>")), "wrong-count", 3, "6 numbers, got 3"),
    (model(link("a", "<pose>1 2 3 0 0 x</pose>")), "number-malformed", 3, "'x'"),
    (model(link("a", f"<pose>1 2 3 0 0 {' ' * 2000}1</pose>")), "wrong-count", 3, "characters"),
    (model(link("a", '<pose relative_to="f"/>')), "sdf-frame", 3, "unknown frame 'f'"),
    (model(link("a", '<pose rotation_format="e">1</pose>')), "wrong-kind", 3, "'e'"),
    (
        model(link("a", '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>')),
        "number-not-finite",
        3,
        "quaternion",
    ),
    (model(link("a", "<pose/><pose>1 0 0 0 0 0</pose>")), "duplicate-element", 3, "second"),
    (model(link("a", "<gravity>maybe</gravity>")), "wrong-kind", 3, "'maybe'"),
    (
        model(A, '<frame name="f"><pose relative_to="b"/></frame>', FROM_F, J),
        "sdf-frame",
        5,
        "relative to itself",
    ),
    (
        model(A, '<frame name="f" attached_to="f"/>', B, joint("j", "a", "f")),
        "sdf-frame",
        6,
        "not attached to a link",
    ),
    (model('<link name="a"><inertial auto="true"/></link>'), "sdf-unsupported", 3, "automatic"),
    (
        model('<link name="a"><inertial><pose relative_to="a"/></inertial></link>'),
        "sdf-frame",
        3,
        "relative to the link",
    ),
    (model(A, "<include/>"), "missing-element", 4, "no <uri>"),
    (
        model(
            A, '<model name="n"><static>1</static><link name="c"/></model>', joint("j", "a", "n")
        ),
        "sdf-unsupported",
        4,
        "is static, but the model",
    ),
]


@for_each("text,what,line,words", BAD)
def test_bad_files(text: str, what: str, line: int, words: str) -> None:
    """The reading has no description and one error: the expected id, line and words."""
    reading = read(text)

    assert reading.description is None
    errors = [finding for finding in reading.findings if finding.level == "error"]
    assert [(error.id, error.location.line) for error in errors] == [(what, line)]
    assert words in errors[0].message
    assert READING_IDS[what][0] == "error"
    assert errors[0].hint
