"""What was found out about recordings, kept in the folder of parts until there is a plan.

Looking through terabytes takes longer than some are given; whoever is stopped goes on behind the
last recording it has looked at.  The file grows line by line, each sealed with a SHA-256: a line
that was cut off or changed is ignored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from robolin.batch.batch_plan import Division, PartsPlan, asked_of, planned_parts
from robolin.batch.plan_file import read_plan
from robolin.batch.recordings import NamedRecording
from robolin.batch.survey import SurveyedRecording, surveyed_from, surveyed_plain
from robolin.core.arm import Arm
from robolin.io.atomic import as_file_error
from robolin.io.locations import FilePlace, content, exists, make_folder
from robolin.io.provenance_writer import meta_digest, sealed
from robolin.queries.request import Inquiry

LOOKED = "_looked.jsonl"
# bytes of recordings, of some ten milliseconds, that nobody minds looking at twice
_FEW = 1 << 24


def planned_in(
    folder: FilePlace,
    inquiry: Inquiry,
    arm: Arm,
    found: Sequence[NamedRecording],
    division: Division,
) -> PartsPlan:
    """The plan for a folder; recordings that somebody has looked through for it are not again."""
    old = read_plan(folder)
    if not isinstance(folder, Path):
        # nothing grows in a store
        return planned_parts(inquiry, arm, found, division, old.sources if old else ())
    looked = _LookedFile(folder, _question(inquiry, arm, division))
    before = (*looked.recordings(), *(old.sources if old else ()))
    return planned_parts(inquiry, arm, found, division, before, looked.add)


def forget_looked(folder: FilePlace) -> None:
    """Remove what was kept, as there is a plan."""
    # what cannot be written to refuses to remove even what is not there
    if isinstance(folder, Path) and exists(folder / LOOKED):
        with as_file_error(folder / LOOKED):
            (folder / LOOKED).unlink(missing_ok=True)


def _question(inquiry: Inquiry, arm: Arm, division: Division) -> str:
    """A digest of all that decides what is looked for."""
    told = json.dumps([asked_of(inquiry, arm), division.part_rows], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()


class _LookedFile:
    """Recordings that were looked at for one question."""

    def __init__(self, folder: Path, question: str) -> None:
        self._folder, self._question = folder, question
        self._waiting: list[SurveyedRecording] = []
        self._bytes = 0

    def recordings(self) -> Iterator[SurveyedRecording]:
        """Those that are in the file."""
        for line in (content(self._folder / LOOKED) or b"").splitlines():
            if (recording := _parsed_line(line, self._question)) is not None:
                yield recording

    def add(self, recording: SurveyedRecording) -> None:
        """One more, which is written with the next ones if it is small."""
        self._waiting.append(recording)
        self._bytes += recording.size
        if self._bytes < _FEW:
            return
        make_folder(self._folder)
        path = self._folder / LOOKED
        with as_file_error(path), open(path, "ab") as stream:
            # what the last one was killed over may be half a line
            stream.write(b"\n" + b"".join(map(self._line, self._waiting)))
        self._waiting, self._bytes = [], 0

    def _line(self, recording: SurveyedRecording) -> bytes:
        told = {"question": self._question, "recording": surveyed_plain(recording)}
        return json.dumps(sealed(told), ensure_ascii=True).encode() + b"\n"


def _parsed_line(line: bytes, question: str) -> SurveyedRecording | None:
    """The recording in a line; None if the line is damaged or is of another question."""
    try:
        stored = json.loads(line)
        if not isinstance(stored, dict) or stored.get("sha256") != meta_digest(stored):
            return None
        return surveyed_from(stored.get("recording")) if stored["question"] == question else None
    except (KeyError, ValueError, RecursionError):
        return None
