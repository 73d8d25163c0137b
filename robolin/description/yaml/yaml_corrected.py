"""YAML text with other inertias and joint dynamics, edited in place.

Single numbers are replaced; comments, order and layout stay.  A link with a shape gets its
inertia in place of the shape.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from robolin.core.arm import Inertia, Joint

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_BOM = "\ufeff"


class YamlEditor:
    """Sets values of links and joints of a YAML text."""

    text: str

    missing_hint = "add the link to the robot file"
    mismatch_hint = "check the file with robolin validate"
    relative_files: Sequence[str] = ()

    def __init__(self, text: bytes, shown: str) -> None:
        import yaml

        self.text = text.decode("utf-8")
        # the parser does not count a byte order mark
        self._shift = len(self.text) - len(self.text.removeprefix(_BOM))
        root = yaml.compose(self.text[self._shift :], yaml.SafeLoader)
        table = _value(root, "dh")
        rows = [_value(root, "joints"), _value(table, "rows") if table else None]
        self._links = dict(_named([_value(root, "links")]))
        self._joints = dict(_named(rows))
        self._changes: list[tuple[int, int, str]] = []

    @property
    def links(self) -> Collection[str]:
        return self._links

    @property
    def joints(self) -> Collection[str]:
        return self._joints

    def set_body(self, link: str, body: Inertia) -> None:
        node = self._links[link]
        added = {}
        if _value(node, "density") is not None:
            self._replace_entry(node, "density", f"mass: {body.mass!r}")
        elif not self._set(node, "mass", repr(body.mass)):
            added["mass"] = repr(body.mass)
        com = _value(node, "com")
        if com is None:
            added["com"] = _list(body.com)
        else:
            for item, number in zip(com.value, body.com, strict=True):
                self._change(item, repr(number))
        entries = dict(zip(_MOMENTS, map(repr, body.rotary), strict=True))
        inertia = _value(node, "inertia")
        if _value(node, "shape") is not None:
            self._replace_entry(node, "shape", f"inertia: {_mapping(entries)}")
        elif inertia is None:
            added["inertia"] = _mapping(entries)
        else:
            missing = {k: v for k, v in entries.items() if not self._set(inertia, k, v)}
            self._add(inertia, missing)
        self._add(node, added)

    def set_joint(self, name: str, old: Joint, new: Joint) -> bool:
        node = self._joints[name]
        added = {}
        if old.damping != new.damping and not self._set(node, "damping", repr(new.damping)):
            added["damping"] = repr(new.damping)
        if old.friction_sides != new.friction_sides:
            added |= self._set_friction(node, new)
        if old.friction_velocity != new.friction_velocity:
            text = repr(new.friction_velocity)
            if not self._set(node, "friction_velocity", text):
                added["friction_velocity"] = text
        if old.armature != new.armature:
            added |= self._set_armature(node, new)
        self._add(node, added)
        return True

    def _set_friction(self, node: Any, new: Joint) -> dict[str, str]:
        """Set one number, or both directions; return the entry if it is missing."""
        positive, negative = map(repr, new.friction_sides)
        friction = _value(node, "friction")
        sides = _mapping({"positive": positive, "negative": negative})
        text = positive if positive == negative else sides
        if friction is None:
            return {"friction": text}
        if isinstance(friction.value, str):
            self._change(friction, text)
        else:
            self._set(friction, "positive", positive)
            self._set(friction, "negative", negative)
        return {}

    def _set_armature(self, node: Any, new: Joint) -> dict[str, str]:
        """Set the armature, or the rotor inertia behind a gear; return a missing entry."""
        ratio = _value(node, "gear_ratio")
        if ratio is not None:
            gear = float(ratio.value)
            self._set(node, "rotor_inertia", repr(new.armature / (gear * gear)))
        elif not self._set(node, "armature", repr(new.armature)):
            return {"armature": repr(new.armature)}
        return {}

    def result(self, remarks: Sequence[str]) -> bytes:
        text = self.text
        for start, stop, replacement in sorted(self._changes, reverse=True):
            text = text[:start] + replacement + text[stop:]
        if remarks:
            text += "" if text.endswith("\n") else self._newline
            text += "".join(f"# {line}{self._newline}" for line in remarks)
        return text.encode("utf-8")

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _set(self, mapping: Any, key: str, text: str) -> bool:
        """Replace the value at a key; False if there is none."""
        value = _value(mapping, key)
        if value is None:
            return False
        self._change(value, text)
        return True

    def _change(self, node: Any, text: str) -> None:
        self._changes.append((self._shift + node.start_mark.index, self._end(node), text))

    def _replace_entry(self, mapping: Any, key: str, text: str) -> None:
        """Replace a key and its value."""
        entry = next((name, value) for name, value in mapping.value if name.value == key)
        start = self._shift + entry[0].start_mark.index
        self._changes.append((start, self._end(entry[1]), text))

    def _add(self, mapping: Any, entries: dict[str, str]) -> None:
        """Add entries at the end of a mapping, in its own style."""
        if not entries:
            return
        last = mapping.value[-1][1] if mapping.value else None
        if mapping.flow_style:
            text = ", ".join(f"{key}: {value}" for key, value in entries.items())
            at = self._end(last) if last else self._shift + mapping.start_mark.index + 1
            self._changes.append((at, at, f", {text}" if last else text))
            return
        # after the comment of the last line
        at = self._end(last)
        at = next((i for i in range(at, len(self.text)) if self.text[i] in "\r\n"), len(self.text))
        indent = " " * mapping.value[0][0].start_mark.column
        text = "".join(f"{self._newline}{indent}{key}: {each}" for key, each in entries.items())
        self._changes.append((at, at, text))

    def _end(self, node: Any) -> int:
        """End of a value; the parser's mark of a block is after the comments that follow it."""
        children = node.value if not isinstance(node.value, str) else ()
        if not children or node.flow_style:
            return self._shift + int(node.end_mark.index)
        last = children[-1]
        return self._end(last[1] if isinstance(last, tuple) else last)


def _value(mapping: Any, key: str) -> Any:
    """The value at a key of a mapping, None if absent."""
    pairs = mapping.value if mapping is not None else ()
    return next((value for name, value in pairs if name.value == key), None)


def _named(lists: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The items of lists by name."""
    for items in lists:
        for item in items.value if items is not None else ():
            if (name := _value(item, "name")) is not None:
                yield " ".join(name.value.split()), item


def _list(values: Sequence[float]) -> str:
    return f"[{', '.join(map(repr, values))}]"


def _mapping(values: dict[str, str]) -> str:
    return f"{{{', '.join(f'{key}: {value}' for key, value in values.items())}}}"
