"""Trees are distinguished from other graphs, and mimic joints find their leader."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from robolin.core.arm import Mimic
from robolin.core.text import did_you_mean
from robolin.description.model import EntryKind, JointEntry, LinkEntry, SourceLocation
from robolin.description.structure import check_structure, composed_mimic
from tests.work import CountedName, count_lines

HERE = SourceLocation("robot.yaml", 1)


def link(name: str, line: int = 0) -> LinkEntry:
    return LinkEntry(name, SourceLocation("robot.yaml", line))


def joint(
    name: str, parent: str, child: str, mimic: Mimic | None = None, kind: EntryKind = "revolute"
) -> JointEntry:
    locations = {
        "parent": SourceLocation("robot.yaml", 91),
        "mimic": SourceLocation("robot.yaml", 93),
    }
    return JointEntry(
        name,
        kind,
        parent,
        child,
        SourceLocation("robot.yaml", 90),
        mimic=mimic,
        locations=locations,
    )


def ids(links: str, *joints: JointEntry) -> list[str]:
    return [finding.id for finding in check_structure([link(c) for c in links], joints, HERE)[1]]


def test_a_random_tree_has_its_root_and_no_findings() -> None:
    """However links and joints are shuffled, the one link without a joint above it is the root."""
    rng = random.Random(1)
    for size in range(1, 40):
        names = [f"link{i}" for i in range(size)]
        joints = [joint(f"j{i}", names[rng.randrange(i)], names[i]) for i in range(1, size)]
        links = [link(name) for name in names]
        rng.shuffle(links)
        rng.shuffle(joints)

        assert check_structure(links, joints, HERE) == ("link0", [])


def test_one_joint_turned_over_is_never_a_tree() -> None:
    """In a chain, swapping the ends of any joint but the first gives an error and no root."""
    chain = [joint(f"j{a}", a, b) for a, b in pairwise("abcdef")]
    for k in range(1, len(chain)):
        turned = list(chain)
        turned[k] = joint("back", chain[k].child, chain[k].parent)
        root, findings = check_structure([link(name) for name in "abcdef"], turned, HERE)

        assert root is None
        assert [finding.id for finding in findings] == ["two-parents"]


@pytest.mark.parametrize(
    ("kind", "name", "clash"),
    [
        ("floating", "a:rx", True),
        ("floating", "a:z", True),
        ("planar", "a:rz", True),
        ("planar", "a:z", False),
        ("revolute", "a:x", False),
    ],
)
def test_joint_names_differ_from_degrees_of_freedom(
    kind: EntryKind, name: str, clash: bool
) -> None:
    """Only the name of another joint's DoF is not allowed for a joint."""
    several, other = joint("a", "a", "b", kind=kind), joint(name, "b", "c")

    assert ids("abc", several, other) == ["duplicate-joint"] * clash


def test_no_links_is_reported_at_the_robot() -> None:
    """A robot without links is rejected at the location of the robot."""
    root, (finding,) = check_structure([], [], HERE)

    assert root is None
    assert (finding.id, finding.location) == ("no-links", HERE)


@pytest.mark.parametrize(
    ("expected", "joints"),
    [
        (["cycle"], [("a", "b"), ("b", "c"), ("c", "a")]),
        (["cycle"], [("a", "b"), ("b", "c"), ("c", "b")]),
        (["cycle"], [("b", "c"), ("c", "b")]),
        (["two-parents"], [("a", "b"), ("a", "c"), ("b", "c")]),
        (["two-parents", "two-parents"], [("a", "b"), ("a", "b"), ("a", "b"), ("a", "c")]),
        (["joint-to-itself"], [("a", "b"), ("c", "c")]),
        (["several-roots"], [("a", "b")]),
        (["several-roots"], []),
        (["unknown-link", "unknown-link"], [("a", "b"), ("x", "y")]),
        ([], [("b", "a"), ("b", "c")]),
    ],
)
def test_graphs_that_are_not_trees(expected: list[str], joints: list[tuple[str, str]]) -> None:
    """Each defect has its own id, and one mistake is reported once."""
    assert ids("abc", *(joint(f"j{i}", *ends) for i, ends in enumerate(joints))) == expected


def test_the_loop_is_named_from_parent_to_child() -> None:
    """The links of a cycle are listed along it, beginning and ending with the same one."""
    joints = [joint("i", "a", "b"), joint("j", "b", "c"), joint("k", "c", "a")]
    _, (finding,) = check_structure([link(name) for name in "abc"], joints, HERE)

    loop = finding.message.partition("links: ")[2].split(" > ")
    assert loop[0] == loop[-1]
    assert set(pairwise(loop)) == {("a", "b"), ("b", "c"), ("c", "a")}
    assert finding.location.line == 91


def test_several_roots_are_all_named_at_the_second() -> None:
    """The finding is at the line of the second root and names each of them."""
    links = [link("a", 2), link("b", 3), link("c", 4)]
    _, (finding,) = check_structure(links, [joint("j", "a", "b")], HERE)

    assert finding.location.line == 4
    assert "'a', 'c'" in finding.message


def test_empty_names_are_left_to_the_reader() -> None:
    """A name that the reader has reported has no second finding."""
    assert ids("ab", joint("", "a", "")) == []
    assert ids("ab", joint("", "a", "b"), joint("", "a", "")) == []
    assert ids("ab", joint("j", "a", "b", Mimic(""))) == []


@pytest.mark.parametrize(
    ("expected", "mimics"),
    [
        ([], ["", "i"]),
        ([], ["j", "k", ""]),
        (["mimic-unknown"], ["x"]),
        (["mimic-self"], ["i"]),
        (["mimic-cycle"], ["j", "i"]),
        (["mimic-cycle"], ["j", "k", "j"]),
        (["mimic-cycle"], ["j", "k", "i"]),
    ],
)
def test_allowed_leaders_of_mimic_joints(expected: list[str], mimics: list[str]) -> None:
    """Chains are allowed; unknown joints, the joint itself and cycles are not."""
    joints = [
        joint(name, parent, child, Mimic(leader) if leader else None)
        for name, (parent, child), leader in zip("ijk", pairwise("abcd"), mimics, strict=False)
    ]
    assert ids("abcd"[: len(joints) + 1], *joints) == expected


@pytest.mark.parametrize("kind", ["fixed", "floating", "planar"])
def test_a_leader_has_one_position(kind: EntryKind) -> None:
    """A joint without a single position cannot be followed."""
    leader = joint("i", "a", "b", kind=kind)
    assert ids("abc", leader, joint("j", "b", "c", Mimic("i"))) == ["mimic-fixed"]


@pytest.mark.parametrize("kind", ["floating", "planar", "spherical"])
def test_a_single_degree_of_freedom_of_a_body_has_no_mimic_joint(kind: EntryKind) -> None:
    """Mimicking one DoF of a floating body is an error with its own message."""
    leader = joint("i", "a", "b", kind=kind)
    links = [link(name) for name in "abc"]
    follower = joint("j", "b", "c", Mimic("i:rz"))
    _, (finding,) = check_structure(links, [leader, follower], HERE)

    assert finding.id == "mimic-fixed"
    assert f"a degree of freedom of the {kind} joint 'i'" in finding.message
    assert ids("abc", leader, joint("j", "b", "c", Mimic("i:rw"))) == ["mimic-unknown"]


@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_a_follower_has_one_position(kind: EntryKind) -> None:
    """A multi-DoF joint cannot mimic another."""
    follower = joint("j", "b", "c", Mimic("i"), kind=kind)
    assert ids("abc", joint("i", "a", "b"), follower) == ["mimic-fixed"]


def test_composed_mimic_equals_the_chain_of_rules() -> None:
    """Along a shuffled chain the composed rule gives the value of the rules step by step."""
    rng = random.Random(2)
    rules = {f"j{i}": Mimic(f"j{i + 1}", rng.uniform(-2, 2), rng.uniform(-1, 1)) for i in range(8)}
    joints = [joint(name, "a", "b", rule) for name, rule in rules.items()] + [joint("j8", "a", "b")]
    rng.shuffle(joints)
    position = {"j8": 0.7}
    for i in reversed(range(8)):
        rule = rules[f"j{i}"]
        position[f"j{i}"] = rule.ratio * position[rule.leader] + rule.offset

    composed = composed_mimic(joints)
    assert set(composed) == set(rules)
    for name, rule in composed.items():
        assert rule.leader == "j8"
        assert rule.ratio * 0.7 + rule.offset == pytest.approx(position[name], abs=1e-13)


def long_chain(size: int, name: type[str]) -> tuple[list[LinkEntry], list[JointEntry]]:
    """Links in a row, every joint mimicking the one before it."""
    links = [link(name(f"l{i}")) for i in range(size)]
    names = [name(f"j{i}") for i in range(size)]
    joints = [
        joint(names[i], links[i].name, links[i + 1].name, Mimic(names[i - 1]) if i else None)
        for i in range(size - 1)
    ]
    return links, joints


@pytest.mark.slow
def test_chains_may_be_long() -> None:
    """No recursion runs out of stack on 20 000 links."""
    links, joints = long_chain(20_000, str)
    assert check_structure(links, joints, HERE) == ("l0", [])
    assert len(composed_mimic(joints)) == len(joints) - 1


def test_long_chains_take_work_in_proportion_to_their_length() -> None:
    """Lines run and names compared grow with the number of links, not with its square."""

    def work(size: int) -> tuple[int, int]:
        chain = long_chain(size, CountedName)
        CountedName.comparisons = 0
        lines = count_lines(lambda: (check_structure(*chain, HERE), composed_mimic(chain[1])))
        return lines, CountedName.comparisons

    shorter, longer = work(500), work(1000)
    # a margin of a tenth for dictionaries that grow
    assert all(twice < 2.1 * once for once, twice in zip(shorter, longer, strict=True))


def test_suggestions_are_the_closest_name_or_all_of_them() -> None:
    """A near miss is named, otherwise the list is shown, and a long list is cut."""
    assert did_you_mean("forarm", ["base", "forearm"]) == "did you mean 'forearm'?"
    assert did_you_mean("x", ["base", "forearm"]) == "choose one of 'base', 'forearm'"
    assert did_you_mean("x", [f"link{i}" for i in range(20)]).endswith("'link7' and 12 more")
    assert did_you_mean("x", []) == ""
