"""YAML arms with one defect each, and the expected finding; a new bug adds a row."""

from __future__ import annotations

from tests.description.bad_urdf import BadFile

VALID = """\
robolin: 1
name: arm
gravity: [0, 0, -9.81]
joints:
  - name: lift
    type: prismatic
    parent: base
    child: upper
    axis: [0, 0, 1]
  - name: elbow
    type: revolute
    parent: upper
    child: lower
    axis: [0, 1, 0]
    limits: {lower: -1, upper: 1}
    damping: 0.1
links:
  - name: upper
    mass: 1
    com: [0.5, 0, 0]
    inertia: {ixx: 0.1, iyy: 0.1, izz: 0.1}
  - name: lower
    mass: 1
"""

TABLE = """\
robolin: 1
name: arm
dh:
  convention: standard
  rows:
    - {name: turn, type: revolute, a: 0.5, alpha: 0, d: 0}
    - {name: slide, type: prismatic, a: 0, alpha: 1, theta: 0}
  tool: {link: hand, origin: {xyz: [0, 0, 0.1]}}
links:
  - {name: link1, mass: 1}
  - {name: link2, mass: 1}
"""


def edited(text: str, old: str, new: str) -> str:
    """The text with its first `old`, which must be there, turned into `new`."""
    assert old in text
    return text.replace(old, new, 1)


def arm(old: str, new: str) -> str:
    return edited(VALID, old, new)


def table(old: str, new: str) -> str:
    return edited(TABLE, old, new)


def damping(value: str) -> str:
    """Return a YAML file with a joint whose damping, on line 16, is the value."""
    return arm("damping: 0.1", f"damping: {value}")


NO_JOINTS = VALID.partition("joints")[0] + "links:\n  - {name: upper, mass: 1}\n"
THIRD = "  - {name: c, type: fixed, parent: base, child: lower}\nlinks:"
DEEP = "robolin: " + "[" * 5000 + "]" * 5000

NOT_AN_ARM = [
    BadFile("empty", "", "file-empty", 1, "empty"),
    BadFile("only a comment", "# nothing\n", "file-empty", 1, "empty"),
    BadFile("not UTF-8", b"robolin: 1\nname: caf\xe9\n", "encoding", 2, "0xe9"),
    BadFile("UTF-16", VALID.encode("utf-16"), "encoding", 1, "0xff"),
    BadFile("a null character", "robolin: 1\nname: a\0b\n", "yaml-malformed", 2, r"'\x00'"),
    BadFile("a list", "- robolin\n", "wrong-kind", 1, "the robot must be a mapping, got a list"),
    BadFile(
        "a word", "robolin\n", "wrong-kind", 1, "the robot must be a mapping, got a single value"
    ),
    BadFile("a URDF file", "<robot name='r'>\n</robot>\n", "yaml-malformed", 1, "this is XML"),
    BadFile("two documents", VALID + "---\n" + VALID, "yaml-documents", 24, "second document"),
    BadFile(
        "nested for ever",
        DEEP,
        "yaml-too-deep",
        1,
        "values are nested deeper than the limit of 32 levels",
    ),
    BadFile("XML with header", "\n<?xml version='1.0'?>", "yaml-malformed", 1, "not YAML"),
    BadFile("unclosed bracket", arm("-9.81]", "-9.81"), "yaml-malformed", 4, "flow sequence"),
    BadFile("a tab", arm("    type", "\ttype"), "yaml-malformed", 6, "cannot start any token"),
    BadFile(
        "wrong indentation", arm("  - name: elbow", " - name: e"), "yaml-malformed", 10, "malformed"
    ),
    BadFile(
        "no such character", arm("arm", r'"\UFFFFFFFF"'), "yaml-malformed", 2, "malformed YAML"
    ),
]

REFUSED = [
    BadFile("anchor", arm("name: arm", "name: &a arm"), "yaml-alias", 2, "'&a'"),
    BadFile("alias", arm("parent: upper", "parent: *up"), "yaml-alias", 12, "'*up'"),
    BadFile("tag", damping("!!float 0.1"), "yaml-tag", 16, "float"),
    BadFile("python tag", damping("!!python/object:os.system 0.1"), "yaml-tag", 16, "python"),
    BadFile("merge key", arm("damping: 0.1", "<<: {damping: 1}"), "yaml-merge", 16, "<<"),
    BadFile("list as key", arm("damping", "[1, 2]"), "yaml-key", 16, "must be a word"),
    BadFile("key twice", arm("mass: 1", "mass: 1\n    mass: 2"), "duplicate-key", 20, "'mass'"),
    BadFile("joints twice", VALID + "joints: []\n", "duplicate-key", 24, "'joints'"),
]

KEYS = [
    BadFile("no version", arm("robolin: 1\n", ""), "missing-key", 1, "'robolin'"),
    BadFile("version 2", arm("robolin: 1", "robolin: 2"), "format-version", 1, "'2'"),
    BadFile("no name", arm("name: arm\n", ""), "missing-key", 1, "'name'"),
    BadFile("no links", VALID.partition("links")[0], "missing-key", 1, "'links'"),
    BadFile("neither joints nor table", NO_JOINTS, "missing-key", 1, "'joints'"),
    BadFile("unknown key", arm("gravity", "gravty"), "unknown-key", 3, "'gravty'"),
    BadFile("unknown joint key", arm("damping", "dampng"), "unknown-key", 16, "'dampng'"),
    BadFile("unknown limit", arm("lower:", "low:"), "unknown-key", 15, "'limits.low'"),
    BadFile("unknown moment", arm("ixx: 0.1,", "ixx: 0.1, lxy: 0,"), "unknown-key", 21, "lxy"),
    BadFile("joint without type", arm("    type: revolute\n", ""), "missing-key", 10, "'type'"),
    BadFile("joint without axis", arm("    axis: [0, 1, 0]\n", ""), "missing-key", 10, "'axis'"),
    BadFile("mass forgotten", arm("mass: 1\n    com", "com"), "missing-key", 18, "'mass'"),
    BadFile("moment forgotten", arm("izz: 0.1", "ixy: 0.1"), "missing-key", 21, "'inertia.izz'"),
    BadFile("no value", damping(""), "missing-value", 16, "damping has no value"),
    BadFile("null", damping("~"), "missing-value", 16, "damping has no value"),
    BadFile("blank name", arm("name: arm", "name: ' '"), "bad-text", 2, "blank"),
    BadFile("escapes in a name", arm("arm", r'"a\e[31m"'), "bad-text", 2, r"\x1b"),
    BadFile("half a character", arm("arm", r'"\ud800"'), "bad-text", 2, r"\ud800"),
    BadFile("list as name", arm("name: arm", "name: [arm]"), "wrong-kind", 2, "must be text"),
    BadFile("mapping of joints", arm("gravity", "dh: 1\ngravity"), "joints-and-dh", 3, "both"),
    BadFile("word as limits", arm("{lower: -1, upper: 1}", "none"), "wrong-kind", 15, "'none'"),
    BadFile(
        "word as joint", arm("links:", "  - wrist\nlinks:"), "wrong-kind", 17, "joint number 3"
    ),
]

NUMBERS = [
    BadFile("word", damping("low"), "number-malformed", 16, "'low'"),
    BadFile("quoted number", damping("'0.1'"), "number-malformed", 16, "'0.1'"),
    BadFile("octal", damping("010"), "number-malformed", 16, "'010'"),
    BadFile("hexadecimal", damping("0x10"), "number-malformed", 16, "'0x10'"),
    BadFile("sexagesimal", damping("1:30"), "number-malformed", 16, "'1:30'"),
    BadFile("underscore", damping("1_000"), "number-malformed", 16, "'1_000'"),
    BadFile("degrees", damping("30deg"), "number-malformed", 16, "'30deg'"),
    BadFile("not a number", damping(".nan"), "number-not-finite", 16, "'.nan'"),
    BadFile("infinite", damping("-.inf"), "number-not-finite", 16, "'-.inf'"),
    BadFile("too large", damping("1e999"), "number-not-finite", 16, "'1e999'"),
    BadFile("other digits", damping("١"), "number-malformed", 16, "'١'"),
    BadFile("yes", damping("yes"), "number-malformed", 16, "'yes'"),
    BadFile(
        "list as number",
        damping("[0.1]"),
        "wrong-kind",
        16,
        "must be a number, got a list",
    ),
    BadFile("two numbers", arm("-9.81]", "]"), "wrong-count", 3, "must have 3 values, got 2"),
    BadFile("number as vector", arm("[0, 0, -9.81]", "9.81"), "wrong-kind", 3, "gravity"),
    BadFile("word in a vector", arm("-9.81]", "g]"), "number-malformed", 3, "gravity[2] is 'g'"),
    BadFile("zero axis", arm("[0, 1, 0]", "[0, 0, 0]"), "zero-axis", 14, "joint 'elbow'"),
    BadFile("short axis", arm("[0, 1, 0]", "[0, 1e-320, 0]"), "zero-axis", 14, "shorter than"),
    BadFile("long axis", arm("[0, 1, 0]", "[0, 1.7e308, 1.7e308]"), "zero-axis", 14, "longer"),
]

STRUCTURE = [
    BadFile("unknown type", arm("revolute", "hinge"), "unknown-joint-type", 11, "'hinge'"),
    BadFile("misspelt parent", arm("parent: upper", "parent: uper"), "unknown-link", 12, "'uper'"),
    BadFile("misspelt child", arm("child: lower", "child: lowr"), "unknown-link", 13, "'lowr'"),
    BadFile("joint twice", arm("elbow", "lift"), "duplicate-joint", 10, "'lift'"),
    BadFile("link twice", VALID + "  - name: upper\n", "duplicate-link", 24, "'upper'"),
    BadFile("lonely link", VALID + "  - {name: far, mass: 1}\n", "several-roots", 24, "'far'"),
    BadFile("two parents", arm("links:", THIRD), "two-parents", 17, "'lower'"),
    BadFile("to itself", arm("child: lower", "child: upper"), "joint-to-itself", 13, "'upper'"),
    BadFile("cycle", arm("parent: base", "parent: lower"), "cycle", 7, "loop"),
    BadFile("mimic", arm("damping: 0.1", "mimic: {joint: left}"), "mimic-unknown", 16, "'left'"),
    BadFile(
        "mimic of nobody", arm("damping: 0.1", "mimic: {ratio: 1}"), "missing-key", 16, "joint"
    ),
    BadFile(
        "armature twice",
        arm("damping: 0.1", "armature: 1\n    rotor_inertia: 1\n    gear_ratio: 1"),
        "armature-twice",
        16,
        "both",
    ),
    BadFile("no gear", arm("damping", "rotor_inertia"), "missing-key", 10, "'gear_ratio'"),
    BadFile(
        "one rest for metres and radians",
        arm(
            "    limits: {lower: -1, upper: 1}\n    damping: 0.1", "    stiffness: 5\n    rest: 0.1"
        ).replace("revolute", "cylindrical"),
        "rest-of-two-units",
        16,
        "m and rad",
    ),
    BadFile(
        "gear beyond all bounds",
        arm("damping: 0.1", "rotor_inertia: 1\n    gear_ratio: 1e200"),
        "number-not-finite",
        17,
        "too large",
    ),
    BadFile(
        "gear of zero",
        arm("damping: 0.1", "rotor_inertia: 1\n    gear_ratio: 0"),
        "zero-gear-ratio",
        17,
        "gear_ratio is 0",
    ),
]

TABLES = [
    BadFile("no convention", table("  convention: standard\n", ""), "missing-key", 4, "convention"),
    BadFile("convention", table("standard", "craig"), "unknown-convention", 4, "'craig'"),
    BadFile("no rows", table("rows", "row"), "missing-key", 4, "'dh.rows'"),
    BadFile("row without a", table("a: 0.5, ", ""), "missing-key", 6, "joint 'turn' has no 'a'"),
    BadFile("turning without d", table(", d: 0", ""), "missing-key", 6, "no 'd'"),
    BadFile("sliding without theta", table(", theta: 0", ""), "missing-key", 7, "no 'theta'"),
    BadFile("alpha in words", table("alpha: 0", "alpha: half"), "number-malformed", 6, "'half'"),
    BadFile("misspelt row link", table("d: 0", "d: 0, link: lnk1"), "unknown-link", 6, "'lnk1'"),
    BadFile("row's type", table("type: prismatic", "type: P"), "unknown-joint-type", 7, "'P'"),
    BadFile("row key", table("d: 0", "d: 0, offset: 1"), "unknown-key", 6, "'offset'"),
    BadFile("row name twice", table("slide", "turn"), "duplicate-joint", 7, "'turn'"),
    BadFile("tool's turn", table("xyz", "xzy"), "unknown-key", 8, "'dh.tool.origin.xzy'"),
    BadFile(
        "table as a list",
        table("dh:\n", "dh: []\nsource:\n"),
        "wrong-kind",
        3,
        "must be a mapping, got a list",
    ),
]

BAD_YAML = [*NOT_AN_ARM, *REFUSED, *KEYS, *NUMBERS, *STRUCTURE, *TABLES]
