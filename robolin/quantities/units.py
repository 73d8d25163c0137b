"""Units of named quantities: those of turning joints, of sliding joints, or of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from robolin.quantities.quantity_table import QUANTITIES
from robolin.quantities.unit_texts import (
    FIGURES,
    OR,
    PARAMETERS,
    PER,
    SLIDING,
    TURNING,
    either,
    joint_units,
    written,
)

# what has an angular and a linear half, whatever the joints do
SPATIAL_PREFIX = "spatial "
CLOSURE = "closure effort"
# parts that can be any of several, until labels or a model tell which
_OPEN: Mapping[str, tuple[str, ...]] = {
    "state": ("position", "velocity"),
    "model state": ("position", "velocity"),
    "model rate": ("velocity", "acceleration"),
    "model input": ("effort",),
    "model output": (
        *("position", "velocity", "acceleration", "effort"),
        *("spatial position", "spatial velocity", "spatial acceleration"),
    ),
}
# parts whose unit is told by the label: `elbow/velocity` of a state, `forearm/mass`
_BY_LABEL = ("state", "parameter")
# what was stored for such arrays before their units were spelled out
_FORMERLY = "SI"

# units by part
Told = Mapping[str, str]


def unit_of(quantity: str, kinds: Sequence[str], told: Told | None = None) -> str:
    """The unit of a named quantity of an arm whose joints have these kinds.

    told: units of parts that kinds do not tell, from `told_along` or of a linear model; without
          it, such a part has every unit that it can have
    """
    parts = QUANTITIES[quantity].parts
    if told is None or not any(part in told for part in parts):
        return _unit_of(quantity, tuple(kinds))
    return _joined(parts, [told.get(part) or _either(part, kinds) for part in parts])


def told_along(
    quantity: str, labels: Sequence[Sequence[str]], slides: Mapping[str, bool]
) -> dict[str, str]:
    """The units of the parts of a quantity that its labels tell, in all spellings along each axis.

    slides: whether a joint of this name slides; one that is not there may do either
    """
    parts = QUANTITIES[quantity].parts
    return {
        part: either(_label_unit(part, label, slides) for label in names)
        for part, names in zip(parts[len(parts) - len(labels) :], labels, strict=True)
    }


def entry_units(
    quantity: str, unit: str, labels: Sequence[Sequence[str]], slides: Mapping[str, bool]
) -> list[str]:
    """One unit per entry of an array, last axis fastest.

    An arm with both kinds of joints has units such as 'N·m or N per rad or m', the turning
    joint's first: one part per axis, decided by the joint that stands there.
    """
    entries = list(product(*labels))
    if has_units_by_label(quantity):
        named = QUANTITIES[quantity].parts
        if len(named) == len(labels):
            return [PER.join(map(_label_unit, named, at, [slides] * len(at))) for at in entries]
    parts = [part.split(OR) for part in unit.split(PER)]
    known = all(label in slides for names in labels for label in names)
    if OR not in unit or len(parts) != len(labels) or not known:
        return [unit] * len(entries)
    return [
        PER.join(part[-1 if slides[label] else 0] for part, label in zip(parts, at, strict=True))
        for at in entries
    ]


def slides_in(model: Mapping[str, Any] | None) -> dict[str, bool]:
    """Whether each joint of a model slides, as far as its figures tell."""
    joints = (model or {}).get("joints", {})
    return {name: figures.get("type") == "prismatic" for name, figures in joints.items()}


def has_units_by_label(quantity: str) -> bool:
    """Whether entries of this quantity have units of their own."""
    known = QUANTITIES.get(quantity)
    return known is not None and any(part in _BY_LABEL for part in known.parts)


def same_unit(quantity: str, one: str, other: str) -> bool:
    """Whether two units of a quantity are the same, also where one was stored as just 'SI'."""
    return one == other or (has_units_by_label(quantity) and _FORMERLY in (one, other))


@cache
def _unit_of(quantity: str, kinds: tuple[str, ...]) -> str:
    parts = QUANTITIES[quantity].parts
    units = [_either(part, kinds) for part in parts]
    if any(part in _OPEN for part in parts) or any(OR in unit for unit in units):
        return _joined(parts, units)
    return written(parts, _words(kinds)[0])


def _joined(parts: Sequence[str], units: Sequence[str]) -> str:
    """One unit per all others; those of closures in brackets, as they have always been written."""
    bracketed = CLOSURE in parts and len(parts) > 1
    return PER.join(f"({unit})" for unit in units) if bracketed else PER.join(units)


def _either(part: str, kinds: Sequence[str]) -> str:
    """The unit of one part, in every spelling it has."""
    if part in _OPEN:
        return either(_either(each, kinds) for each in _OPEN[part])
    if part == "parameter":
        return either(unit for name in PARAMETERS.values() for unit in _of_joints(name, kinds))
    if part == CLOSURE:
        return either(reversed(joint_units("effort")))
    words: Iterable[dict[str, str]] = _words(kinds)
    if part.startswith(SPATIAL_PREFIX):
        part, words = part.removeprefix(SPATIAL_PREFIX), (TURNING, SLIDING)
    return either(written([part], each) for each in words)


def _of_joints(figure: str, kinds: Sequence[str]) -> Iterable[str]:
    """The units that a figure of links or of these joints has."""
    turning, sliding = FIGURES[figure]
    return (turning if words is TURNING else sliding for words in _words(kinds))


def _label_unit(part: str, label: str, slides: Mapping[str, bool]) -> str:
    """The unit that one label along an axis stands for."""
    owner, _, word = label.rpartition("/")
    if part == "parameter":
        return _chosen(FIGURES[PARAMETERS[word]], slides.get(owner))
    if part == "state":
        part, label = word, owner
    return _chosen(joint_units(part), slides.get(label))


def _chosen(units: tuple[str, str], slides: bool | None) -> str:
    return either(units) if slides is None else units[slides]


def _words(kinds: Sequence[str]) -> Sequence[dict[str, str]]:
    """How efforts and positions are spelled on an arm with these joints."""
    sliding = [kind == "prismatic" for kind in kinds]
    if any(sliding) and not all(sliding):
        return (TURNING, SLIDING)
    return (SLIDING if any(sliding) else TURNING,)
