"""URDF files with one defect each, and the expected finding; a new bug adds a row.

The body of `robot(...)` starts on line 2, one line per argument.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BadFile:
    """A file, the id and line of the finding it must produce, and a part of its message."""

    name: str
    text: str | bytes
    id: str
    line: int
    says: str

    @property
    def data(self) -> bytes:
        return self.text if isinstance(self.text, bytes) else self.text.encode()


def robot(*body: str, head: str = '<robot name="r">') -> str:
    return "\n".join([head, *body, "</robot>"]) + "\n"


A, B, C = ('<link name="a"/>', '<link name="b"/>', '<link name="c"/>')
ENDS = '<parent link="a"/><child link="b"/>'


def joint(inside: str, kind: str = "continuous") -> str:
    """Links a and b on lines 2 and 3, their joint opening on line 4, `inside` from line 5 on."""
    return robot(A, B, f'<joint name="j" type="{kind}">{ENDS}', inside, "</joint>")


def inertial(inside: str) -> str:
    """One link on line 2, its inertial on line 3, `inside` from line 4 on."""
    return robot('<link name="a">', "<inertial>", inside, "</inertial>", "</link>")


def between(name: str, parent: str, child: str, inside: str = "") -> str:
    """A joint on one line."""
    return (
        f'<joint name="{name}" type="continuous">'
        f'<parent link="{parent}"/><child link="{child}"/>{inside}</joint>'
    )


MASS = '<mass value="1"/>'
DEEP = "<link name='a'>" + "<v>" * 80 + "</v>" * 80 + "</link>"
UNIT = 'ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"'

NOT_XML = [
    BadFile("empty", b"", "file-empty", 1, "empty"),
    BadFile("only white space", " \n\n", "file-empty", 1, "empty"),
    BadFile("only a byte order mark", b"\xef\xbb\xbf", "file-empty", 1, "empty"),
    BadFile("a YAML file", "robolin: 1\n", "not-xml", 1, "this is YAML, not XML"),
    BadFile("a shopping list", "bread, milk\n", "not-xml", 1, "does not start with '<'"),
    BadFile("a program", b"\x7fELF\x02\x01\x01\0\0\0", "not-xml", 1, "not XML"),
    BadFile("a compressed file", b"\x1f\x8b\x08\0\0\0\0", "not-xml", 1, "not XML"),
    BadFile("zero bytes inside", robot(A, "\0").encode(), "xml-malformed", 3, "null byte"),
    BadFile("padded with zeros", robot(A).encode() + b"\0" * 9, "xml-malformed", 4, "null byte"),
    BadFile(
        "Latin-1 without saying so",
        robot(A, "<!-- é -->").encode("latin-1"),
        "encoding",
        3,
        "byte 0xe9",
    ),
    BadFile(
        "an unknown encoding",
        '<?xml version="1.0" encoding="klingon"?>\n' + robot(A),
        "encoding",
        1,
        "encoding",
    ),
    BadFile(
        "not the encoding it names",
        '<?xml version="1.0" encoding="utf-16"?>\n' + robot(A),
        "encoding",
        1,
        "the encoding in <?xml …?> does not match the file",
    ),
    BadFile("never closed", '<robot name="r">\n' + A, "xml-malformed", 2, "no element found"),
    BadFile("wrong closing tag", robot("<link>", "</lnk>"), "xml-malformed", 3, "mismatched tag"),
    BadFile(
        "attribute twice",
        robot('<link name="a" name="b"/>'),
        "xml-malformed",
        2,
        "duplicate attribute",
    ),
    BadFile("attribute unquoted", robot("<link name=a/>"), "xml-malformed", 2, "not well-formed"),
    BadFile("bare ampersand", robot('<link name="a&b"/>'), "xml-malformed", 2, "not well-formed"),
    BadFile("undefined entity", robot('<link name="&a;"/>'), "xml-malformed", 2, "undefined"),
    BadFile("two robots", robot(A) + robot(A), "xml-malformed", 4, "junk after"),
    BadFile(
        "text before the declaration",
        '<!-- -->\n<?xml version="1.0"?>\n' + robot(A),
        "xml-malformed",
        2,
        "not at start",
    ),
    BadFile("a document type", "<!DOCTYPE robot>\n" + robot(A), "xml-doctype", 1, "DOCTYPE"),
    BadFile(
        "an external entity",
        '\n<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]>\n' + robot("&x;"),
        "xml-doctype",
        2,
        "DOCTYPE",
    ),
    BadFile("a deep nest", robot(DEEP), "xml-too-deep", 2, "limit of 64 levels"),
]

NOT_URDF = [
    BadFile(
        "use the extension .sdf for this SDF file",
        '<sdf version="1.9">\n</sdf>',
        "not-a-robot",
        1,
        "<sdf>",
    ),
    BadFile("a MuJoCo file", '\n<mujoco model="m"/>', "not-a-robot", 2, "<mujoco>"),
    BadFile("a nameless robot", robot(A, head="<robot>"), "name-missing", 1, "robot has no name"),
    BadFile("no links", robot(), "no-links", 1, "no links"),
    BadFile(
        "xacro macros",
        robot(A, '<xacro:macro name="m"/>', "<xacro:m/>"),
        "xacro-unexpanded",
        3,
        "<xacro:macro> and 1 more",
    ),
    BadFile(
        "xacro inside a link",
        robot('<link name="a">', '<xacro:inertia m="1"/>', "</link>"),
        "xacro-unexpanded",
        3,
        "<xacro:inertia>",
    ),
    BadFile(
        "xacro inside an inertial",
        inertial('<xacro:mass m="1"/>'),
        "xacro-unexpanded",
        4,
        "<xacro:mass>",
    ),
    BadFile(
        "a xacro name",
        robot('<link name="${prefix}a"/>'),
        "xacro-unexpanded",
        2,
        "'${prefix}a'",
    ),
    BadFile(
        "a xacro number",
        inertial('<mass value="${m}"/>'),
        "xacro-unexpanded",
        4,
        "mass value '${m}'",
    ),
    BadFile(
        "a xacro vector",
        joint('<origin xyz="0 0 $(arg height)"/>'),
        "xacro-unexpanded",
        5,
        "origin xyz",
    ),
]

NAMES = [
    BadFile("a nameless link", robot(A, "<link/>"), "name-missing", 3, "a link has no name"),
    BadFile("an empty link name", robot('<link name=""/>'), "name-empty", 2, "empty name"),
    BadFile(
        "a nameless joint",
        robot(A, B, f'<joint type="fixed">{ENDS}</joint>'),
        "name-missing",
        4,
        "a joint has no name",
    ),
    BadFile("two links of one name", robot(A, A), "duplicate-link", 3, "'a' is defined twice"),
    BadFile(
        "two joints of one name",
        robot(A, B, C, between("j", "a", "b"), between("j", "b", "c")),
        "duplicate-joint",
        6,
        "'j' is defined twice",
    ),
]

LINKS = [
    BadFile("no mass", inertial(f"<inertia {UNIT}/>"), "missing-element", 3, "without <mass>"),
    BadFile("mass without value", inertial("<mass/>"), "missing-attribute", 4, "mass value"),
    BadFile("empty mass", inertial('<mass value=""/>'), "number-malformed", 4, "mass value ''"),
    BadFile("a unit", inertial('<mass value="2kg"/>'), "number-malformed", 4, "'2kg'"),
    BadFile("underscore", inertial('<mass value="1_0"/>'), "number-malformed", 4, "'1_0'"),
    BadFile("comma", inertial('<mass value="1,5"/>'), "number-malformed", 4, "'1,5'"),
    BadFile("hexadecimal", inertial('<mass value="0x10"/>'), "number-malformed", 4, "'0x10'"),
    BadFile("other digits", inertial('<mass value="١"/>'), "number-malformed", 4, "'١'"),
    BadFile("NaN mass", inertial('<mass value="NaN"/>'), "number-not-finite", 4, "'NaN'"),
    BadFile("overflow", inertial('<mass value="1e999"/>'), "number-not-finite", 4, "too large"),
    BadFile(
        "two masses",
        inertial(MASS + '\n<mass value="7"/>'),
        "duplicate-element",
        5,
        "second, different <mass>",
    ),
    BadFile(
        "one product of inertia",
        inertial(MASS + '\n<inertia ixx="1" ixy="0" iyy="1" izz="1"/>'),
        "missing-attribute",
        5,
        "no ixz, iyz",
    ),
    BadFile(
        "infinite inertia",
        inertial(MASS + "<inertia " + UNIT.replace('izz="1"', 'izz="-inf"') + "/>"),
        "number-not-finite",
        4,
        "inertia izz '-inf'",
    ),
    BadFile(
        "inertial origin of two",
        inertial(MASS + '\n<origin xyz="0 1"/>'),
        "wrong-count",
        5,
        "must have 3 numbers, got 2",
    ),
]

JOINTS = [
    BadFile(
        "no type",
        robot(A, B, f'<joint name="j">{ENDS}</joint>'),
        "missing-attribute",
        4,
        "'j' has no type",
    ),
    BadFile("a wrong type", joint("", "hinge"), "unknown-joint-type", 4, "'hinge'"),
    BadFile("a type in capitals", joint("", "Revolute"), "unknown-joint-type", 4, "'Revolute'"),
    BadFile(
        "no parent",
        robot(A, B, '<joint name="j" type="fixed">', '<child link="b"/>', "</joint>"),
        "missing-element",
        4,
        "no <parent>",
    ),
    BadFile(
        "no child",
        robot(A, B, '<joint name="j" type="fixed">', '<parent link="a"/>', "</joint>"),
        "missing-element",
        4,
        "no <child>",
    ),
    BadFile(
        "parent without link",
        robot(A, B, '<joint name="j" type="fixed"><child link="b"/>', "<parent/>", "</joint>"),
        "name-missing",
        5,
        "<parent> of joint 'j' has no link",
    ),
    BadFile(
        "child with empty link",
        robot(A, '<joint name="j" type="fixed"><parent link="a"/>', '<child link=""/>', "</joint>"),
        "name-empty",
        4,
        "<child> of joint 'j' has an empty link",
    ),
    BadFile(
        "two parents",
        joint('<parent link="b"/>'),
        "duplicate-element",
        5,
        "second, different <parent>",
    ),
    BadFile(
        "two origins", joint('<origin/>\n<origin xyz="1 0 0"/>'), "duplicate-element", 6, "<origin>"
    ),
    BadFile(
        "zero axis",
        joint('<axis xyz="0 0.0 -0"/>'),
        "zero-axis",
        5,
        "is zero",
    ),
    BadFile("a short axis", joint('<axis xyz="0 5e-324 4e-324"/>'), "zero-axis", 5, "round-off"),
    BadFile("a long axis", joint('<axis xyz="1e308 1e308 1e308"/>'), "zero-axis", 5, "longer"),
    BadFile(
        "zero axis of a slider",
        joint('<limit effort="1"/>\n<axis xyz="0 0 0"/>', "prismatic"),
        "zero-axis",
        6,
        "'j': axis",
    ),
    BadFile("axis without xyz", joint("<axis/>"), "missing-attribute", 5, "axis xyz is missing"),
    BadFile("empty axis", joint('<axis xyz=""/>'), "wrong-count", 5, "got 0 numbers"),
    BadFile("four numbers", joint('<axis xyz="0 0 0 1"/>'), "wrong-count", 5, "got 4 numbers"),
    BadFile("one number", joint('<origin rpy="0"/>'), "wrong-count", 5, "got 1 number"),
    BadFile("commas", joint('<axis xyz="0, 0, 1"/>'), "number-malformed", 5, "axis xyz '0, 0, 1'"),
    BadFile("a word", joint('<origin rpy="0 pi 0"/>'), "number-malformed", 5, "'0 pi 0': 'pi'"),
    BadFile("only commas", joint('<axis xyz="0,0,1"/>'), "number-malformed", 5, "'0,0,1'"),
    BadFile("NaN axis", joint('<axis xyz="0 nan 1"/>'), "number-not-finite", 5, "not finite"),
    BadFile("NaN origin", joint('<origin xyz="0 0 inf"/>'), "number-not-finite", 5, "origin xyz"),
    BadFile("a bad limit", joint('<limit lower="-pi"/>'), "number-malformed", 5, "limit lower"),
    BadFile(
        "no limit as infinity",
        joint('<limit effort="Infinity"/>'),
        "number-not-finite",
        5,
        "limit effort 'Infinity'",
    ),
    BadFile(
        "a bad damping", joint('<dynamics damping="low"/>'), "number-malformed", 5, "damping 'low'"
    ),
    BadFile(
        "a bad friction",
        joint('<dynamics friction="nan"/>'),
        "number-not-finite",
        5,
        "dynamics friction",
    ),
]

TREES = [
    BadFile("an unknown child", robot(A, between("j", "a", "aa")), "unknown-link", 3, "'aa'"),
    BadFile("an unknown parent", robot(A, between("j", "x", "a")), "unknown-link", 3, "'x'"),
    BadFile("a link on itself", robot(A, between("j", "a", "a")), "joint-to-itself", 3, "'a'"),
    BadFile(
        "a link on two joints",
        robot(A, B, C, between("j", "a", "c"), between("k", "b", "c")),
        "two-parents",
        6,
        "has two parent joints, 'j' (",
    ),
    BadFile("a spare link", robot(A, B, C, between("j", "a", "b")), "several-roots", 4, "'a', 'c'"),
    BadFile(
        "all in a circle",
        robot(A, B, between("j", "a", "b"), between("k", "b", "a")),
        "cycle",
        4,
        "loop of links: b > a > b",
    ),
    BadFile(
        "a circle apart from the root",
        robot(A, B, C, between("j", "b", "c"), between("k", "c", "b")),
        "cycle",
        5,
        "loop of links",
    ),
    BadFile(
        "a loop that closes below the root",
        robot(A, B, C, between("i", "a", "b"), between("j", "b", "c"), between("k", "c", "b")),
        "cycle",
        7,
        "'k' closes a loop of links: b > c > b",
    ),
]

MIMICS = [
    BadFile("mimic of nobody", joint("<mimic/>"), "name-missing", 5, "<mimic> of joint 'j'"),
    BadFile("mimic unknown", joint('<mimic joint="k"/>'), "mimic-unknown", 5, "unknown joint 'k'"),
    BadFile("mimic itself", joint('<mimic joint="j"/>'), "mimic-self", 5, "'j' mimics itself"),
    BadFile(
        "mimic of a fixed joint",
        robot(
            *(A, B, C, f'<joint name="f" type="fixed">{ENDS}</joint>'),
            between("k", "b", "c", '<mimic joint="f"/>'),
        ),
        "mimic-fixed",
        6,
        "a fixed joint",
    ),
    BadFile(
        "mimic in a circle",
        robot(
            *(A, B, C, between("j", "a", "b", '<mimic joint="k"/>')),
            between("k", "b", "c", '<mimic joint="j"/>'),
        ),
        "mimic-cycle",
        5,
        "j > k > j",
    ),
    BadFile(
        "mimic with a bad ratio",
        robot(
            *(A, B, C, between("j", "a", "b")),
            between("k", "b", "c", '<mimic joint="j" multiplier="1/2"/>'),
        ),
        "number-malformed",
        6,
        "multiplier '1/2'",
    ),
]

BAD_URDF: list[BadFile] = [*NOT_XML, *NOT_URDF, *NAMES, *LINKS, *JOINTS, *TREES, *MIMICS]
