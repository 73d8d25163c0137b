"""Result of an identification as tables, JSON and NPZ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from robolin.cli.report import ReportSection, ReportTable, TextLines

if TYPE_CHECKING:
    from robolin.analysis.identify.identification_result import Identification
    from robolin.core.arm import Arm


def identification_sections(arm: Arm, found: Identification) -> Iterator[ReportSection]:
    first, last = found.stages[0], found.stages[-1]
    yield TextLines([*_verdict(found)])
    names = [stage.name for stage in found.stages]
    rows = [
        (
            joint,
            *(percentage(stage.score.moving[j]) for stage in found.stages),
            percentage(last.score.all_rows[j]),
            f"{found.friction_velocity[j]:g}",
        )
        for j, joint in enumerate(arm.joint_names)
    ]
    rows.append(
        (
            "mean",
            *(percentage(stage.score.mean) for stage in found.stages),
            percentage(last.score.mean_all),
            "",
        )
    )
    header = ("joint", *names, "all rows", "v0")
    title = "Error on held-out rows: RMS(measured - predicted) / RMS(measured), moving rows"
    yield ReportTable(header, rows, frozenset(header[1:]), title)
    yield TextLines([f"{name}: {text}" for name, text in found.settings.items()], "Settings")
    yield _parameter_table(found)
    assert first.name == "file"


def identification_screen(
    sections: Sequence[ReportSection], found: Identification
) -> list[ReportSection]:
    """The sections for a terminal: a short verdict, and errors without the mean, which it has."""
    _, errors, *others = sections
    assert isinstance(errors, ReportTable)
    alone, sums, by_file = found.determined
    counts = (
        f"the data determine {alone} parameters individually and {sums} only in sums; "
        f"{by_file} keep the values of the file"
    )
    short = replace(errors, rows=errors.rows[:-1], title="Error per joint while it moves")
    return [TextLines([_errors(found), *found.findings, counts]), short, *others]


def _errors(found: Identification) -> str:
    first, last = found.stages[0], found.stages[-1]
    rows = found.settings["recordings"].rpartition(", ")[2]
    return (
        f"error on held-out rows: {percentage(first.score.headline)} with the robot file, "
        f"{percentage(last.score.headline)} with the identified parameters ({rows})"
    )


def _verdict(found: Identification) -> Iterator[str]:
    """The answer in two to four lines."""
    yield _errors(found)
    yield from found.findings
    alone, sums, by_file = found.determined
    yield (
        f"every body is physically possible; the data determine {alone} parameters "
        f"individually and {sums} only in sums; {by_file} keep the values of the file"
    )


def _parameter_table(found: Identification) -> ReportTable:
    rows = [
        (name, f"{before:.4g}", f"{value:.4g}", f"{deviation:.2g}", f"{share:.2f}")
        for name, before, value, deviation, share in zip(
            found.names, found.before, found.values, found.deviations, found.share, strict=True
        )
    ]
    header = ("parameter", "file", "identified", "deviation", "share")
    title = "Parameters; share 1: determined by the data, 0: by the file"
    return ReportTable(header, rows, frozenset(header[1:]), title)


def percentage(value: float) -> str:
    return "" if value != value else f"{100.0 * value:.3g} %"


def identification_document(found: Identification) -> dict[str, Any]:
    def clean(values: Any) -> list[float | None]:
        return [None if v != v else float(v) for v in values]

    return {
        "improves": found.improves,
        "stages": [
            {
                "name": stage.name,
                "parameters": stage.parameters,
                "error": clean([stage.score.headline])[0],
                "moving": clean(stage.score.moving),
                "all_rows": clean(stage.score.all_rows),
            }
            for stage in found.stages
        ],
        "friction_velocity": clean(found.friction_velocity),
        "settings": dict(found.settings),
        "findings": list(found.findings),
        "parameters": {
            name: {"file": b, "identified": v, "deviation": d, "share": s}
            for name, b, v, d, s in zip(
                found.names,
                clean(found.before),
                clean(found.values),
                clean(found.deviations),
                clean(found.share),
                strict=True,
            )
        },
    }


def identification_archive(found: Identification, command: str) -> bytes:
    """The result as NPZ, with the command that `robolin check` runs again."""
    import io
    import json

    import numpy as np

    stream = io.BytesIO()
    np.savez(
        stream,
        names=np.array(found.names),
        before=found.before,
        values=found.values,
        deviations=found.deviations,
        prior_deviations=found.prior_deviations,
        covariance=found.covariance,
        share=found.share,
        friction_velocity=found.friction_velocity,
        time=found.time,
        measured=found.measured,
        predicted=found.predicted,
        predicted_before=found.predicted_before,
        command=np.array(command),
        settings=np.array(json.dumps(identification_document(found), ensure_ascii=False)),
    )
    return stream.getvalue()
