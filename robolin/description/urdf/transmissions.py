"""What the transmissions of a URDF file say; none of it is applied, all of it is told once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from robolin.description.xml.xml_tree import Element
from robolin.wording import quoted

NAMED_AT_MOST = 3
VALUES_AT_MOST = 8


def reductions(transmissions: Sequence[Element]) -> tuple[str, ...]:
    """A note on all reductions but those of 1, which change nothing, or no note."""
    geared = dict.fromkeys(
        (text, tuple(_joints(element)))
        for element in transmissions
        for text in _texts(element, ("mechanicalReduction", "mechanical_reduction"))
        if not _is_one(text)
    )
    joints_of: dict[str, list[str]] = {}
    for text, joints in geared:
        joints_of.setdefault(text, []).extend(joints)
    told = [f"{text}{_on(joints)}" for text, joints in joints_of.items()]
    if not told:
        return ()
    more = f"; {len(told) - VALUES_AT_MOST} more values" if len(told) > VALUES_AT_MOST else ""
    return (f"mechanicalReduction noted, not applied: {'; '.join(told[:VALUES_AT_MOST])}{more}",)


def listed_transmissions(transmissions: Sequence[Element]) -> tuple[str, ...]:
    """All transmissions as one entry among what was read over, with their interfaces."""
    paths = (_texts(element, ("hardwareInterface",)) for element in transmissions)
    interfaces = dict.fromkeys(text.rsplit("/", 1)[-1] for texts in paths for text in texts)
    says = f": hardwareInterface {', '.join(interfaces)}" if interfaces else ""
    return (f"transmission ({len(transmissions)}){says}",)


def _on(joints: Sequence[str]) -> str:
    if not joints:
        return ""
    return f" on {quoted(joints) if len(joints) <= NAMED_AT_MOST else f'{len(joints)} joints'}"


def _is_one(text: str) -> bool:
    try:
        return float(text) == 1.0
    except ValueError:
        return False


def _joints(transmission: Element) -> list[str]:
    return [part.attributes.get("name", "?") for part in _inside(transmission, ("joint",))]


def _texts(transmission: Element, tags: tuple[str, ...]) -> list[str]:
    """The different texts of the elements with one of the tags, in order."""
    texts = (" ".join(part.text.split()) for part in _inside(transmission, tags))
    return list(dict.fromkeys(text for text in texts if text))


def _inside(element: Element, tags: tuple[str, ...]) -> Iterator[Element]:
    return (part for part in _descendants(element.children) if part.tag in tags)


def _descendants(elements: Iterable[Element]) -> Iterator[Element]:
    for element in elements:
        yield element
        yield from _descendants(element.children)
