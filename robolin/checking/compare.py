"""Compare a result with a stored one, block by block while it is computed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field
from math import ceil, floor, log10
from typing import Any

import numpy as np

from robolin.checking.differences import (
    ArrayDiff,
    Difference,
    Noise,
    Tolerances,
    distinguishing_digits,
    remainder_lines,
    rounding_of,
    tolerance_of,
)
from robolin.checking.model_changes import Change, model_changes
from robolin.checking.recorded_question import frame_in_contract, motors_in_contract
from robolin.core.arrays import Numbers
from robolin.core.choices import base_verb
from robolin.core.natural_scales import contract_gravity, natural_scales
from robolin.core.quantity_table import entry_units, same_unit, slides_in, unit_of
from robolin.core.records import dataclass
from robolin.core.result import Array, Footer, Result, ResultStream
from robolin.core.threads import close_generator, prefetch
from robolin.io.provenance import ArrayMeta, Blocks, to_json_types
from robolin.io.stored import StoredFile
from robolin.queries.values import POINT
from robolin.queries.verbs import VERBS


@dataclass(frozen=True)
class Comparison:
    """Differences between a result and a stored one.

    entries:   every entry of the arrays that both have, largest difference first, entries that
               differ by round-off only last
    structure: other differences of the results, as sentences
    changes:   differences of the models
    notes:     input files that have changed
    contract:  changed entries of the model assumptions
    strict:    whether a model with different dynamics counts even if all numbers agree
    """

    entries: tuple[Difference, ...]
    structure: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    contract: tuple[str, ...] = ()
    strict: bool = True

    @property
    def beyond(self) -> tuple[Difference, ...]:
        """Entries that exceed their tolerance."""
        return tuple(entry for entry in self.entries if entry.beyond)

    @property
    def worth_listing(self) -> tuple[Difference, ...]:
        """Entries that exceed their tolerance, without round-off next to a real difference.

        If all differences are round-off, all of them are listed.
        """
        real = tuple(entry for entry in self.beyond if not entry.rounding)
        other = real or self.structure or self._another_model
        return real if other else self.beyond

    def only_arrays(self, names: Collection[str]) -> bool:
        """True if only numbers of these arrays differ."""
        other = self.structure or (self.strict and self.changes)
        return bool(self.beyond) and not other and all(d.array in names for d in self.beyond)

    @property
    def same(self) -> bool:
        return not (self.structure or self.beyond or self._another_model)

    @property
    def _another_model(self) -> bool:
        """True if the changed model counts as a difference."""
        return self.strict and any(change.changes_motion for change in self.changes)


def compare_with_stored(
    result: ResultStream, stored: StoredFile, tolerances: Tolerances
) -> Comparison:
    """Compare every number with the stored result; reject a corrupt file."""
    with closing(prefetch(stored.blocks())) as blocks:
        pair = ComparisonRun(stored, tolerances, _StoredRows(blocks))
        try:
            for part in result.parts:
                pair.add(part)
        finally:
            close_generator(result.parts)
        # checksums are verified after the last row
        pair.stored_rows.finish()
    ending = result.ending(pair.rows or 1)
    changes = _model_changes(stored.meta["model"], ending.model)
    meta = stored.meta
    noise = Noise(pair.rounding, natural_scales(meta["model"], contract_gravity(meta["contract"])))
    entries = [d for each in pair.ledgers.values() for d in each.differences(pair.batch, noise)]
    notes = (*_notes(stored.meta, ending), *_rounding_notes(entries, tolerances))
    return Comparison(
        entries=tuple(sorted(entries, key=lambda d: (not d.beyond, d.rounding, -d.weight))),
        structure=tuple(pair.structure()),
        changes=changes,
        notes=notes,
        contract=tuple(_contract(stored.meta, ending, noise)),
        strict=tolerances.exact,
    )


@dataclass
class ComparisonRun:
    """State of a comparison between parts of a result and rows of the stored one."""

    stored: StoredFile
    tolerances: Tolerances
    stored_rows: _StoredRows
    rows: int = 0
    ledgers: dict[str, ArrayDiff] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    first: Result | None = None

    @property
    def batch(self) -> bool:
        return self.stored.meta["rows"] is not None

    @property
    def rounding(self) -> float:
        """Round-off of zero expected for numbers of this size."""
        scales = (each.scale for name, each in self.ledgers.items() if name != "time")
        return rounding_of(max(scales, default=0.0))

    def add(self, part: Result) -> None:
        """Compare a part with the corresponding stored rows."""
        if self.first is None:
            self.first = part
            self._set_up(part)
        count = part.batch
        if (count is not None) == self.batch:
            block = self.stored_rows.take(count)
            for name, values in part.stored():
                if name in self.ledgers and name in block:
                    held = block[name]
                    fitting = values if count is None else values[: len(held)]
                    self.ledgers[name].add(held, fitting, self.rows + 1)
        self.rows += count or 0

    def _set_up(self, part: Result) -> None:
        computed = {array.name: array for array in part.arrays}
        for entry in self.stored.entries:
            if entry.name == "time":
                comparable = part.time is not None
            else:
                comparable = entry.name in computed and _same_axes(computed[entry.name], entry)
            if comparable:
                slides = slides_in(self.stored.meta["model"])
                units = entry_units(entry.name, entry.unit, entry.labels, slides)
                tolerance = tolerance_of(self.stored.meta["verb"], entry.name, self.tolerances)
                self.ledgers[entry.name] = ArrayDiff(entry, tolerance, units)

    def structure(self) -> Iterator[str]:
        """Differences other than numbers: arrays, axes and row counts."""
        assert self.first is not None, "a result has at least one part"
        part, meta = self.first, self.stored.meta
        yield from question_changes(meta, part)
        if list(part.joints) != meta["joints"]:
            yield f"joints: {', '.join(meta['joints'])} → {', '.join(part.joints)}"
        if self.batch != (part.batch is not None):
            yield (
                "one result is for a single state, the other result is for the rows of a trajectory"
            )
        elif self.batch and self.rows != meta["rows"]:
            yield f"rows: {meta['rows']} → {self.rows}"
        yield from self._arrays(part, self.stored.entries)

    def _arrays(self, part: Result, entries: tuple[ArrayMeta, ...]) -> Iterator[str]:
        now = {name for name, _ in part.stored()}
        before = {entry.name for entry in entries}
        yield from (f"array {name}: missing in the new result" for name in sorted(before - now))
        yield from (
            f"array {name}: missing in the stored result"
            for name in sorted(now - before - _point(part))
        )
        for name in sorted(before & now - set(self.ledgers)):
            yield f"array {name}: names of rows or columns differ"
        units = {array.name: array.unit for array in part.arrays} | {"time": "s"}
        for entry in entries:
            if entry.name in now and not same_unit(entry.name, entry.unit, units[entry.name]):
                yield f"array {entry.name}: unit {entry.unit} → {units[entry.name]}"


def _point(part: Result) -> set[str]:
    """Arrays of the operating point; results of former versions do not store them."""
    verb = VERBS.get(base_verb(part.verb))
    return set(POINT) if verb is not None and verb.linear else set()


def _same_axes(array: Array, entry: ArrayMeta) -> bool:
    """True if entry names and axis lengths are equal."""
    kinds = [array.axis_kind(i) for i in range(array.rank)]
    return array.labels == entry.labels and kinds == list(entry.axes or [""] * array.rank)


class _StoredRows:
    """Buffered rows of a stored result, taken in blocks of any size."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._held: Mapping[str, Numbers] = {}
        self._used = 0

    def take(self, count: int | None) -> Mapping[str, Numbers]:
        """The next `count` rows of every array, fewer at the end; all rows for None."""
        if count is None:
            return next(self._blocks, {})
        pieces: list[Mapping[str, Numbers]] = []
        while count > 0:
            left = len(next(iter(self._held.values()), ())) - self._used
            if left <= 0:
                held = next(self._blocks, None)
                if held is None:
                    break
                self._held, self._used = held, 0
                continue
            some = min(left, count)
            rows = slice(self._used, self._used + some)
            pieces.append({name: values[rows] for name, values in self._held.items()})
            self._used += some
            count -= some
        if len(pieces) == 1:
            return pieces[0]
        names = pieces[0] if pieces else ()
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in names}

    def finish(self) -> None:
        """Read the remaining rows, so that all checksums are verified."""
        for _ in self._blocks:
            pass


def question_changes(meta: Mapping[str, Any], result: Result) -> Iterator[str]:
    """Options in which a result differs from a stored one."""
    if result.verb != meta["verb"]:
        yield f"command: {meta['verb']} → {result.verb}"
    now = to_json_types(result.options)
    # the frame is now named explicitly
    frame = {key: name for key, name in frame_in_contract(meta).items() if now.get(key)}
    motors = {key: text for key, text in motors_in_contract(meta).items() if now.get(key) == text}
    yield from _options({**meta["options"], **frame, **motors}, now)


def _options(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for key in [*old, *(key for key in new if key not in old)]:
        before, after = (shown_value(options.get(key)) for options in (old, new))
        if before != after:
            yield f"option {key}: {before} → {after}"


def _model_changes(old: Any, new: Any) -> tuple[Change, ...]:
    return model_changes(old, to_json_types(new)) if old and new else ()


def _notes(meta: Mapping[str, Any], ending: Footer) -> Iterator[str]:
    """Input files whose content has changed."""
    now = dict(ending.inputs)
    for name, digest in meta["inputs"].items():
        if now.get(name, digest) != digest:
            yield f"input {name} has changed"
        elif name not in now:
            yield f"input {name} is no longer used"
    yield from (f"input {name} is new" for name in now if name not in meta["inputs"])


def _rounding_notes(entries: Sequence[Difference], tolerances: Tolerances) -> Iterator[str]:
    """The atol that is missing if only round-off exceeds tolerances.

    Round-off of zero exceeds every relative tolerance. It still counts as a difference: small
    numbers of an array can be exact, such as the inertia of a light joint next to a heavy base.
    """
    beyond = [entry for entry in entries if entry.beyond]
    if tolerances.exact or not beyond or not all(entry.rounding for entry in beyond):
        return
    largest = max(abs(entry.found - entry.stored) for entry in beyond)
    unit = 10.0 ** floor(log10(largest))
    atol = f"{ceil(largest / unit) * unit:.0e}"
    yield f"only round-off exceeds the tolerance; add --atol {atol} (atol={atol}) to accept it"


def _contract(meta: Mapping[str, Any], ending: Footer, noise: Noise) -> Iterator[str]:
    slides = slides_in(meta["model"]).values()
    kinds = ["prismatic" if each else "revolute" for each in slides]
    sizes = {name: noise.of_unit(unit_of(name, kinds)) for name in POINT}
    contract = to_json_types(ending.contract)
    silent = ("joints", "ignored", *remainder_lines(meta["verb"]))
    for key, old in meta["contract"].items():
        if key in contract and contract[key] != old and key not in silent:
            yield from changed_lines(key, old, contract[key], meta["joints"], sizes)


def changed_lines(
    key: str, old: Any, new: Any, joints: Sequence[str], noise: Mapping[str, float]
) -> Iterator[str]:
    """Lines with the old and the new value; tables by key, lists by their largest change.

    joints: names for the list entries, if the lengths agree
    noise:  size below which the numbers of a quantity are round-off of zero
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            if old.get(name) != new.get(name):
                before, after = old.get(name), new.get(name)
                yield from changed_lines(f"{key}: {name}", before, after, joints, noise)
    elif _are_numbers(old) and _are_numbers(new) and len(old) == len(new):
        quantity = key.rpartition(": ")[2]
        if not _differ_by_rounding(old, new, noise.get(quantity, 0.0)):
            yield f"{key} {_largest_change(old, new, joints)}"
    else:
        yield f"{key}: {shown_value(old)} → {shown_value(new)}"


def shown_value(value: Any) -> str:
    """An option value as text for a reader."""
    if value is None or value is False:
        return "not given"
    if isinstance(value, list):
        return " and ".join(map(str, value))
    return "given" if value is True else str(value)


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(type(each) in (int, float) for each in values)


def _differ_by_rounding(old: Sequence[float], new: Sequence[float], noise: float) -> bool:
    if max(map(abs, (*old, *new)), default=0.0) < noise:
        return True
    gap = max((abs(after - before) for before, after in zip(old, new, strict=True)), default=0.0)
    return gap <= rounding_of(max(map(abs, old), default=0.0))


def _largest_change(old: Sequence[float], new: Sequence[float], joints: Sequence[str]) -> str:
    """Number of entries that changed, and the largest change."""
    gaps = [abs(after - before) for before, after in zip(old, new, strict=True)]
    worst = gaps.index(max(gaps))
    name = joints[worst] if len(joints) == len(old) else f"number {worst + 1}"
    before, after = distinguishing_digits(old[worst], new[worst])
    moved = sum(gap > 0.0 for gap in gaps)
    return f"changed by up to {gaps[worst]:.2g}, {name}: {before} → {after} ({moved} of {len(old)})"
