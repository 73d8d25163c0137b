"""What a plan has to know of a recording: its digest, its rows, and where parts of it begin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from robolin.arm import Arm
from robolin.errors import RobolinError
from robolin.files.csv.counted_text import CountedText, counted_by_lines, counted_plainly
from robolin.files.paths import is_stored, place_of
from robolin.files.stores import objects
from robolin.files.table_file import KnownTable, RowMark
from robolin.parts.alike_columns import LookedColumn, looked_columns
from robolin.parts.recordings import NamedRecording
from robolin.trajectory.column_rules import RecordingRules
from robolin.trajectory.opened_table import is_other_programs, is_text, recording_bytes
from robolin.trajectory.read import open_trajectory


@dataclass(frozen=True)
class SurveyedRecording:
    """A recording as it was when somebody looked at it.

    stamp:   when it was written, in nanoseconds, which tells most changes without reading it; of
             an object its ETag, which tells all of them
    sha256:  its digest; of an object its size and ETag, as nobody reads it twice
    rows:    how many there are, where that had to be known
    marks:   where parts of a text begin
    even:    whether all lines of a text are rows of as many cells as there are names
    columns: those that go into the result as they are, where it had to be known what they are
    """

    path: str
    name: str
    size: int
    stamp: int | str
    sha256: str
    rows: int | None = None
    marks: tuple[RowMark, ...] = ()
    columns: tuple[LookedColumn, ...] = ()
    even: bool = False

    def is_as_it_was(self) -> bool:
        """Whether nothing shows that it was changed."""
        return _stamp(self.path) == (self.size, self.stamp)

    def known(self, first: int = 0, stop: int | None = None) -> KnownTable:
        """What the reader of some rows, from this one on and up to that one, need not find out."""
        table = KnownTable(self.sha256, self.marks)
        needed = (table.mark_before(first), table.mark_at(stop))
        marks = tuple(dict.fromkeys(mark for mark in needed if mark))
        looks = {each.place: each.look for each in self.columns}
        return KnownTable(self.sha256, marks, looks, self.even)


def surveyed_recording(
    recording: NamedRecording, arm: Arm, rules: RecordingRules, every: int | None, first: int
) -> SurveyedRecording:
    """A recording looked through once; without `every` its rows are not counted.

    every: rows from one part to the next, of which the first begins with row `first`
    """
    size, stamp = _stamp(recording.path)
    columns: tuple[LookedColumn, ...] = ()
    with open_trajectory(recording.path, arm.joint_names, ("q",), (), rules) as stream:
        has_size = not is_text(recording.path) and not is_other_programs(recording.path)
        rows = stream.table.size if has_size else None
        # a text is looked through for it, which only parts of it are worth
        if every is not None if is_text(recording.path) else has_size:
            columns = looked_columns(stream)
        if is_other_programs(recording.path):
            # these are digested as they are read
            for _ in stream.chunks(gaps=True):
                pass
        digest = "" if is_text(recording.path) else stream.table.digest()
    counted = _counted(recording.path, every, first, CountedText(digest, rows))
    if (size, stamp) != _stamp(recording.path):
        raise recording_changed(recording.path)
    found = (counted.digest, counted.rows, counted.marks, columns, counted.even)
    return SurveyedRecording(recording.path, recording.name, size, stamp, *found)


def _counted(path: str, every: int | None, first: int, known: CountedText) -> CountedText:
    """What a look through a text tells; of any other recording what is known already."""
    if is_stored(path):
        known = replace(known, digest=_digest(path))
    if not is_text(path) or (is_stored(path) and every is None):
        return known
    found = _text(path, every, first)
    return replace(found, digest=known.digest) if is_stored(path) else found


def require_unchanged(known: SurveyedRecording) -> None:
    """Refuse a recording that is not the one that was looked at."""
    if not known.is_as_it_was() and _digest(known.path) != known.sha256:
        raise recording_changed(known.path)


def recording_changed(path: str) -> RobolinError:
    """A recording is not what it was."""
    hint = "write to another folder: parts of both would not belong together"
    return RobolinError("it was changed after the plan was made", where=path, hint=hint)


def _stamp(path: str) -> tuple[int, int | str]:
    """How large it is and when it was written, of a folder all its files and the last of them."""
    if is_stored(path):
        version = objects.found(path)
        return (version.size, version.etag) if version else (-1, -1)
    place = Path(place_of(path))
    files = [each for each in place.rglob("*") if each.is_file()] if place.is_dir() else [place]
    # what is not there is told by whoever opens it
    found = [each.stat() for each in files if each.exists()]
    if not found:
        return -1, -1
    return sum(each.st_size for each in found), max(each.st_mtime_ns for each in found)


def _digest(path: str) -> str:
    if is_stored(path):
        return objects.present(path).text
    if is_other_programs(path):
        # whatever it is now, it is not as it was
        return ""
    if is_text(path):
        return _text(path, None, 0).digest
    with recording_bytes(path) as stream:
        from robolin.files.table_file import digest_of

        return digest_of(stream)


def _text(path: str, every: int | None, first: int) -> CountedText:
    with recording_bytes(path) as stream:
        plainly = counted_plainly(stream, every, first)
    if plainly is not None:
        return plainly
    with recording_bytes(path) as stream:
        return counted_by_lines(stream, every, first, path)


def surveyed_plain(known: SurveyedRecording) -> dict[str, Any]:
    """What is known of a recording in plain JSON types."""
    return {
        "path": known.path,
        "name": known.name,
        "size": known.size,
        "stamp": known.stamp,
        "sha256": known.sha256,
        "rows": known.rows,
        "marks": [[mark.row, mark.line, mark.byte] for mark in known.marks],
        "columns": [[each.name, each.place, each.look] for each in known.columns],
        "even": known.even,
    }


def surveyed_from(told: dict[str, Any]) -> SurveyedRecording:
    """What was known of a recording, back from plain types."""
    return SurveyedRecording(
        **{name: told[name] for name in ("path", "name", "size", "stamp", "sha256", "rows")},
        marks=tuple(RowMark(*mark) for mark in told["marks"]),
        columns=tuple(LookedColumn(*column) for column in told["columns"]),
        even=told.get("even", False),
    )
