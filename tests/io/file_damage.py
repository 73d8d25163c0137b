"""Damage files as happens in practice: truncate, flip bits, exchange or remove pieces."""

from __future__ import annotations

import io
import random
import zipfile


def mutated(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Return the data with one damage; `other` is a valid file of the same kind."""
    return rng.choice((cut, flipped, spliced, shortened, patched))(data, other, rng)


def cut(data: bytes, _: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def flipped(data: bytes, _: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def spliced(data: bytes, other: bytes, rng: random.Random) -> bytes:
    offset = rng.randrange(len(data))
    # usually at the same offset, where both files have similar content
    return data[:offset] + other[offset if rng.random() < 0.7 else rng.randrange(len(other)) :]


def shortened(data: bytes, _: bytes, rng: random.Random) -> bytes:
    offset = rng.randrange(len(data))
    return data[:offset] + data[offset + rng.randrange(1, 64) :]


def patched(data: bytes, other: bytes, rng: random.Random) -> bytes:
    offset, length = rng.randrange(len(data)), rng.randrange(1, 256)
    return data[:offset] + other[offset : offset + length] + data[offset + length :]


def swapped_members(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Return an archive with two members swapped, or one taken from another archive."""
    members = _members(data)
    first, second = rng.sample(sorted(members), 2)
    if rng.random() < 0.5:
        members[first], members[second] = members[second], members[first]
    else:
        members[first] = _members(other)[first]
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return held.getvalue()


def swapped_lines(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """A text with two lines exchanged, or one from another text."""
    lines = data.splitlines(keepends=True)
    if rng.random() < 0.5 and len(lines) > 1:
        i, j = rng.sample(range(len(lines)), 2)
        lines[i], lines[j] = lines[j], lines[i]
    else:
        others = other.splitlines(keepends=True)
        lines[rng.randrange(len(lines))] = rng.choice(others)
    return b"".join(lines)


def _members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
