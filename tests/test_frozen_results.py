"""Results keep every bit: hashes of arrays stored before the packages were rearranged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.freeze import KERNEL_COMMANDS, differences, frozen

STORED = Path(__file__).with_name("frozen_results.json")


@pytest.mark.slow
@pytest.mark.parametrize("command", KERNEL_COMMANDS)
def test_arrays_keep_their_bits(command: str) -> None:
    """Every array of one state and of 500 rows has the stored SHA-256."""
    stored = {
        name: value
        for name, value in json.loads(STORED.read_text("utf-8")).items()
        if name.startswith(tuple(f"{command} {arm} " for arm in ("panda", "two-link")))
    }
    hashes = frozen(("panda", "two-link"), {command: KERNEL_COMMANDS[command]}, ("npz",))
    computed = {name: value for name, value in hashes.items() if ".npz:" in name}
    arrays = {name: value for name, value in computed.items() if not name.endswith(":meta.npy")}
    assert stored
    assert differences(stored, arrays) == []


def test_differences_are_listed() -> None:
    """A changed, a new and a missing result each give one line."""
    before, after = {"a": "1", "b": "2"}, {"a": "3", "c": "4"}
    assert differences(before, after) == ["a: 1 -> 3", "b: 2 -> absent", "c: absent -> 4"]
