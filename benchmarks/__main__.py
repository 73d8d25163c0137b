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
    control_design,
    crossing,
    end_to_end,
    generated_code,
    identifying,
    jax_libraries,
    latency,
    learning,
    linkage,
    machine,
    motion_models,
    optimal_motions,
    peak,
    reports,
    scaling,
    sharing,
    simulation,
    verbs,
)
from benchmarks.page import PAGE, new_result_file, newest_results, refreshed
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
    "learning": learning.measured,
    "jax": jax_libraries.measured,
    "simulation": simulation.measured,
    "control": control_design.measured,
    "motions": optimal_motions.measured,
    "identify": identifying.measured,
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
    help="File of this run's results.  [default: a new file in benchmarks/results; none if quick]",
)
@click.option(
    "--label",
    type=click.STRING,
    metavar="NAME",
    help="Name of the machine in the file name, such as epyc-2-cores.  [default: CORES-cores]",
)
@click.option("--page", "page_only", is_flag=True, help="Only update docs/explain/performance.md.")
def main(
    parts: tuple[str, ...],
    quick: bool,
    rows: int | None,
    target: Path | None,
    label: str | None,
    page_only: bool,
) -> None:
    """Compare robolin with other programs.

    PART is verbs, sharing, scaling, crossing, peak, compile, latency, generated, learning, jax,
    simulation, control, motions, identify, loops, end-to-end, models, checking, reports or all,
    the default.
    Each part prints its tables.  A run writes one JSON file.  Tables and picture in the docs show
    each part from the newest file in benchmarks/results that has it.

    \b
    Example:
      python -m benchmarks --quick
      python -m benchmarks verbs latency --label epyc-2-cores
      python -m benchmarks end-to-end --rows 10000000 --json ten-million.json
    """
    if page_only:
        _write_page()
        return
    stored = not quick and target is None
    described = {**machine.described(), "measured": "a quick look" if quick else "in full"}
    if stored:
        target = new_result_file(label or f"{described['cores']}-cores")
    results: dict[str, Any] = {"machine": described}
    for part in PARTS if not parts or "all" in parts else dict.fromkeys(parts):
        results[part] = _measured(part, QUICK if quick else FULL, rows or 0)
        _print_tables(part, results)
        if target:
            _store(target, results)
    if stored:
        _write_page()


def _measured(part: str, effort: Effort, rows: int) -> dict[str, Any]:
    if part == "end-to-end":
        return end_to_end.measured(effort, rows)
    return PARTS[part](effort)


def _print_tables(part: str, results: Mapping[str, Any]) -> None:
    for name, (needs, make) in TABLES.items():
        if needs == part:
            click.echo(f"\n{name}\n")
            click.echo("\n".join(make(results)))


def _store(target: Path, results: Mapping[str, Any]) -> None:
    """Write what is measured so far, so that an interrupted run keeps its results."""
    target.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _write_page() -> None:
    results = newest_results()
    PAGE.write_text(refreshed(PAGE.read_text("utf-8"), results), "utf-8")
    draw(results)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
