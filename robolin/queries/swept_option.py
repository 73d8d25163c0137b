"""One option of a model given several values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from robolin.core.number_parsing import FlagText, typed_figure
from robolin.core.units import FIGURES, joint_units
from robolin.errors import UsageError

if TYPE_CHECKING:
    from robolin.queries.states import States

# the options that can be swept: what stands before the values, and behind them
_FORMS = {
    "payload": r"(?P<before>.+:)(?P<values>[^:@]*,[^:@]*)(?P<behind>@.*)?",
    "armature": r"(?P<before>[^=,]+=)(?P<values>[^=]*,[^=]*)(?P<behind>)",
    "lock": r"(?P<before>[^=,]+=)(?P<values>[^=]*,[^=]*)(?P<behind>)",
    "friction-velocity": r"(?P<before>)(?P<values>[^=]*,[^=]*)(?P<behind>)",
}
SWEPT = tuple(_FORMS)
_UNITS = {
    "payload": FIGURES["mass"],
    "armature": FIGURES["armature"],
    "lock": joint_units("position"),
    "friction-velocity": joint_units("velocity"),
}


@dataclass(frozen=True)
class SweptOption:
    """The option of a model that has several values.

    about:    the link or joint it belongs to
    texts:    the option with each of its values
    values:   those as numbers
    variants: all options of the model, once for each value
    """

    label: str
    about: str
    texts: tuple[str, ...]
    values: tuple[float, ...]
    variants: tuple[Mapping[str, Any], ...]

    def unit(self, model: Mapping[str, Any] | None) -> str:
        """The unit of the values, for the arm with these figures."""
        joint = (model or {}).get("joints", {}).get(self.about, {})
        return _UNITS[self.label][joint.get("type") == "prismatic"]


def require_one_swept(texts: Mapping[str, Any], states: States) -> SweptOption:
    """The one option of the model that has several values."""
    found = list(_swept(texts))
    if len(found) != 1:
        what = "no option has several values" if not found else "more than one option is swept"
        hint = "for example --payload tool0:0,1,2,3; " + ", ".join(f"--{name}" for name in SWEPT)
        raise UsageError(what, where="robolin sweep", hint=hint)
    if states.trajectory is not None or states.samples is not None:
        hint = "give one state with --q, --qd, …"
        raise UsageError("a sweep is about one state, not about many rows", hint=hint)
    return found[0]


def _swept(texts: Mapping[str, Any]) -> Iterator[SweptOption]:
    for label, form in _FORMS.items():
        given = texts.get(label, ())
        listed: Sequence[str] = (given,) if isinstance(given, str) else given
        for i, text in enumerate(listed):
            if (parts := re.fullmatch(form, text)) is None:
                continue
            before, items = parts["before"], parts["values"].split(",")
            each = tuple(f"{before}{item.strip()}{parts['behind'] or ''}" for item in items)
            typed = FlagText(f"--{label}", text)
            values = tuple(typed_figure(typed, item).value for item in items)
            variants = tuple(
                {**texts, label: one if isinstance(given, str) else _put(listed, i, one)}
                for one in each
            )
            yield SweptOption(label, before.rstrip(":="), each, values, variants)


def _put(texts: Sequence[str], place: int, text: str) -> tuple[str, ...]:
    return (*texts[:place], text, *texts[place + 1 :])
