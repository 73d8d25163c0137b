"""Stored results changed a little, under seals and checksums that are right."""

from __future__ import annotations

import io
import json
import random
import zipfile

import numpy as np
import polars

from robolin.io.formats.npz_writer import ZipMember, crc, directory, local_header
from robolin.io.formats.parquet_writer import (
    CHECKSUM,
    META,
    UNCHECKED,
    checksum_excluding,
    checksum_offset,
)
from robolin.io.provenance import with_checksum
from tests.fuzz.mutators import any_bytes, tree


def stored_json(data: bytes, rng: random.Random) -> bytes:
    """A stored result with something else in its provenance, under a seal that is right."""
    document = json.loads(data)
    if rng.random() < 0.3:
        document = tree(document, rng)
    else:
        document["meta"] = tree(document["meta"], rng)
    meta = document.get("meta") if isinstance(document, dict) else None
    if isinstance(meta, dict):
        document["meta"] = with_checksum(meta)
    return json.dumps(document).encode()


def stored_npz(data: bytes, rng: random.Random) -> bytes:
    """The same for an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    text = str(np.load(io.BytesIO(parts["meta.npy"]))[()])
    meta = tree(json.loads(text), rng)
    text_changed = json.dumps(with_checksum(meta) if isinstance(meta, dict) else meta)
    held = io.BytesIO()
    np.save(held, np.array(text_changed))
    parts["meta.npy"] = held.getvalue()
    return _as_robolin_packs(parts)


def stored_parquet(data: bytes, rng: random.Random) -> bytes:
    """The same for a Parquet file, or its bytes changed, under a checksum that is right."""
    if rng.random() < 0.5:
        return checked(any_bytes(data, rng))
    meta = polars.read_parquet_metadata(io.BytesIO(data))[META]
    changed = tree(json.loads(meta), rng)
    text = json.dumps(with_checksum(changed) if isinstance(changed, dict) else changed)
    held = io.BytesIO()
    frame = polars.read_parquet(io.BytesIO(data))
    frame.write_parquet(held, metadata={META: text, CHECKSUM: UNCHECKED})
    return checked(held.getvalue())


def checked(data: bytes) -> bytes:
    """Set the checksum that belongs to the bytes of a stored Parquet file, if it has one."""
    held = io.BytesIO(data)
    offset = checksum_offset(held)
    if offset is not None:
        held.write(checksum_excluding(held, offset))
    return held.getvalue()


def stored_meta(data: bytes, rng: random.Random) -> bytes:
    """Change the companion file of a CSV and seal it again with a valid checksum."""
    if rng.random() < 0.2:
        return any_bytes(data, rng)
    meta = tree(json.loads(data), rng)
    return json.dumps(with_checksum(meta) if isinstance(meta, dict) else meta).encode()


def _as_robolin_packs(parts: dict[str, bytes]) -> bytes:
    members, data = [], b""
    for name, content in parts.items():
        size, check = len(content), crc(content)
        start, data = len(data), data + local_header(name, size, check) + content
        members.append(ZipMember(name, size, check, start, len(data)))
    return data + directory(members, len(data))
