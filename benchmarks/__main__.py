"""The command line of the benchmarks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

# NumPy's own threads would distort single-core measurements
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks import (
    checking,
    compiling,
    crossing,
    end_to_end,
    generated_code,
    latency,
    linkage,
    machine,
    motion_models,
    peak,
    reports,
    scaling,
    sharing,
    simulation,
    verbs,
)
from benchmarks.page import FIGURES, PAGE, refreshed
from benchmarks.picture import draw
from benchmarks.tables import TABLES
from benchmarks.timing import FULL, QUICK, Effort

PARTS: Mapping[str, Callable[[Effort], dict[str, Any]]] = {
    "verbs": verbs.measured,
    "sharing": sharing.measured,
    "scaling": scaling.measured,
    "crossing": crossing.measured,
    "peak": peak.measured,
    "compile": compiling.measured,
    "latency": latency.measured,
    "generated": generated_code.measured,
    "simulation": simulation.measured,
    "loops": linkage.measured,
    "end-to-end": end_to_end.measured,
    "models": motion_models.measured,
    "checking": checking.measured,
    "reports": reports.measured,
}


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice([*PARTS, "all"]), metavar="[PART]...")
@click.option("--quick", is_flag=True, help="Few states and rounds: does it run, not how fast.")
@click.option("--rows", type=click.IntRange(1), help="Rows of the end-to-end run.")
@click.option(
    "--json",
    "target",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the figures go.  [default: docs/performance.json; nowhere if quick]",
)
@click.option("--page", "page_only", is_flag=True, help="Only write docs/performance.md anew.")
def main(
    parts: tuple[str, ...], quick: bool, rows: int | None, target: Path | None, page_only: bool
) -> None:
    """Measure robolin beside its peers.

    PART is verbs, sharing, scaling, crossing, peak, compile, latency, generated, simulation,
    loops, end-to-end, models, checking, reports or all, the default.  Each part prints its
    tables.  The figures of the parts that ran replace their last ones in the JSON file; tables
    and picture in the docs follow from it.

    \b
    Example:
      python -m benchmarks --quick
      python -m benchmarks verbs latency
      python -m benchmarks end-to-end --rows 10000000 --json ten-million.json
    """
    if not page_only:
        target = target.resolve() if target else (None if quick else FIGURES)
        chosen = PARTS if not parts or "all" in parts else dict.fromkeys(parts)
        for part in chosen:
            measured = _measured(part, QUICK if quick else FULL, rows or 0)
            effort = "a quick look" if quick else "in full"
            figures = {"machine": {**machine.described(), "measured": effort}, part: measured}
            _print_tables(part, figures)
            if target:
                _store(target, figures)
    if page_only or target == FIGURES:
        _write_page()


def _measured(part: str, effort: Effort, rows: int) -> dict[str, Any]:
    if part == "end-to-end":
        return end_to_end.measured(effort, rows)
    return PARTS[part](effort)


def _print_tables(part: str, figures: Mapping[str, Any]) -> None:
    for name, (needs, make) in TABLES.items():
        if needs == part:
            click.echo(f"\n{name}\n")
            click.echo("\n".join(make(figures)))


def _store(target: Path, figures: Mapping[str, Any]) -> None:
    """Store part by part, so that an interrupted run keeps its results."""
    stored = json.loads(target.read_text("utf-8")) if target.exists() else {}
    merged = {**stored, **figures}
    ordered = {key: merged[key] for key in ("machine", *PARTS) if key in merged}
    target.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _write_page() -> None:
    figures = json.loads(FIGURES.read_text("utf-8"))
    PAGE.write_text(refreshed(PAGE.read_text("utf-8"), figures), "utf-8")
    draw(figures)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
