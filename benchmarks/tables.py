"""Tables from the figures of a run, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.verbs import ALL_CORES, BATCH, BATCH_ALL, NUMPY, VERBS

Figures = Mapping[str, Any]
Lines = Iterable[str]

PEERS = ("Pinocchio", "MuJoCo", BATCH, NUMPY)


def rows_of(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table whose first column is text and whose other columns are numbers."""
    yield f"| {' | '.join(header)} |"
    yield f"| --- | {' | '.join('---:' for _ in header[1:])} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def with_spread(figure: Figures | None, unit: str = "") -> str:
    """The median, and the range it was found in."""
    if not figure:
        return "–"
    low, high = number(figure["low"]), number(figure["high"])
    return f"{number(figure['median'])}{unit} ({low}–{high})"


def number(value: float) -> str:
    """Two digits after the point below ten, fewer above."""
    if value < 0.1:
        return f"{value:.2g}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def megabytes(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


def machine(figures: Figures) -> Iterator[str]:
    yield "| what | which |"
    yield "| --- | --- |"
    for key, value in figures["machine"].items():
        yield f"| {key} | {value} |"


def _one_core(report: Figures) -> Lines:
    """µs per state and ratios of one arm."""
    peers = [peer for peer in PEERS if any(peer in entry for entry in report["verbs"].values())]
    header = ("verb", "robolin, µs/state", *(f"{peer} / robolin" for peer in peers))
    for_verb = (
        (
            f"`{verb}`",
            with_spread(entry["robolin"]["us"]),
            *(with_spread(entry.get(peer, {}).get("ratio"), " ×") for peer in peers),
        )
        for verb, entry in report["verbs"].items()
    )
    return rows_of(header, for_verb)


def verbs(index: int) -> Callable[[Figures], Lines]:
    """Everything on one core, for the first or second arm of the part."""
    return lambda figures: _one_core(list(figures["verbs"].values())[index])


def all_cores(figures: Figures) -> Lines:
    """What more cores are worth, and Pinocchio's own batch call on as many."""
    header = (
        "arm, verb", "states", "one core, µs/state", "all cores, µs/state",
        "one core / all cores", "Pinocchio batch / robolin, all cores each",
    )  # fmt: skip
    return rows_of(header, _all_cores_rows(figures["verbs"]))


def _all_cores_rows(part: Figures) -> Iterator[tuple[str, ...]]:
    for arm, report in part.items():
        for verb, entry in report["verbs"].items():
            if ALL_CORES not in entry:
                continue
            many, batch = entry[ALL_CORES], entry.get(BATCH_ALL)
            us = many["us"]["median"]
            yield (
                f"{arm}, `{verb}`",
                f"{report['states']:,}",
                number(entry["robolin"]["us"]["median"]),
                number(us),
                f"{1.0 / many['ratio']['median']:.2f} ×",
                f"{number(batch['us']['median'] / us)} ×" if batch else "–",
            )


def sharing(figures: Figures) -> Lines:
    """Threads beside what the machine has to give."""
    found = figures["sharing"]
    count = found["cores"]
    header = (
        f"Panda, {count} cores / one", "threads", "quickest calls",
        "arithmetic in registers", "quickest calls", "processes",
    )  # fmt: skip
    cells = (
        (
            f"`{verb}`",
            with_spread(entry["threads"], " ×"),
            f"{entry['threads, quickest']:.2f} ×",
            with_spread(entry["arithmetic"], " ×"),
            f"{entry['arithmetic, quickest']:.2f} ×",
            with_spread(entry["processes"], " ×"),
        )
        for verb, entry in found["verbs"].items()
    )
    return rows_of(header, cells)


def chains(figures: Figures) -> Lines:
    """µs per state by length."""
    found = figures["scaling"]["chains"]
    header = ("robolin, µs/state", *(f"n = {n}" for n in found))
    cells = (
        (f"`{verb}`", *(number(found[n]["verbs"][verb]["robolin"]["us"]["median"]) for n in found))
        for verb in VERBS
    )
    return rows_of(header, cells)


def ratios(figures: Figures) -> Lines:
    """Pinocchio's time over ours by length."""
    found = figures["scaling"]["chains"]
    header = ("Pinocchio / robolin", *(f"n = {n}" for n in found))
    return rows_of(header, _ratio_rows(found, "Pinocchio"))


def mujoco(figures: Figures) -> Lines:
    """MuJoCo's time over ours by length."""
    found = figures["scaling"]["chains"]
    header = ("MuJoCo / robolin", *(f"n = {n}" for n in found))
    return rows_of(header, _ratio_rows(found, "MuJoCo"))


def _ratio_rows(found: Figures, peer: str) -> Iterator[tuple[str, ...]]:
    for verb in VERBS:
        entries = [found[n]["verbs"][verb].get(peer) for n in found]
        if all(entries):
            yield f"`{verb}`", *(with_spread(entry["ratio"], " ×") for entry in entries)


def exponents(figures: Figures) -> Lines:
    found = figures["scaling"]["exponents"]
    header = ("verb", *next(iter(found.values())))
    cells = (
        (f"`{verb}`", str(entry["expected"]), *(f"{x:.2f}" for x in list(entry.values())[1:]))
        for verb, entry in found.items()
    )
    return rows_of(header, cells)


def crossing(figures: Figures) -> Lines:
    """What part of the operators' time elimination takes; below one it is in bold."""
    found = figures["crossing"]
    joints = list(next(iter(found["chain"].values())))
    header = ("elimination / operators", *(f"n = {n}" for n in joints))
    cells = (
        (f"`{verb}`, {kind}", *(_share(entry[n]["ratio"]["median"]) for n in joints))
        for kind, verbs in found.items()
        for verb, entry in verbs.items()
    )
    return rows_of(header, cells)


def _share(ratio: float) -> str:
    return f"**{ratio:.2f}**" if ratio < 1 else f"{ratio:.2f}"


def peak(figures: Figures) -> Lines:
    found = figures["peak"]
    header = (
        "verb", "operations per state", "µs/state", "fresh memory alone, µs/state",
        "GFLOP/s", f"share of {found['peak gflops']:.1f} GFLOP/s",
    )  # fmt: skip
    cells = (
        (
            f"`{verb}`",
            f"{entry['operations']:,}",
            number(entry["us"]["median"]),
            number(entry["memory us"]),
            number(entry["gflops"]),
            f"{entry['share']:.0%}",
        )
        for verb, entry in found["verbs"].items()
    )
    return rows_of(header, cells)


def kernels(figures: Figures) -> Lines:
    """The slowest and the largest of each kind of arm."""
    header = (
        "kind of arm",
        "kernels",
        "slowest compile",
        "typical load",
        "slowest load",
        "largest",
    )
    return rows_of(header, _kernel_rows(figures["compile"]))


def _kernel_rows(part: Figures) -> Iterator[tuple[str, ...]]:
    for kind, found in part.items():
        compiled = max(found, key=lambda name: found[name]["compile s"])
        largest = max(found, key=lambda name: found[name]["bytes"])
        typical, slowest = (
            1e3 * max(entry[name] for entry in found.values())
            for name in ("load s", "slowest load s")
        )
        yield (
            kind,
            str(len(found)),
            f"{found[compiled]['compile s']:.2f} s, `{compiled}`",
            f"{typical:.1f} ms",
            f"{slowest:.1f} ms",
            f"{found[largest]['bytes'] / 1e3:.0f} kB, `{largest}`",
        )


def latency(figures: Figures) -> Lines:
    """One call on one state: µs, and how many times as long as Pinocchio's own call it takes."""
    found = figures["latency"]
    header = (
        "verb", "compiled call, µs", "/ Pinocchio", "function, µs", "/ Pinocchio",
        "Pinocchio, µs", "MuJoCo, µs",
    )  # fmt: skip
    cells = (
        (
            f"`{verb}`",
            *_beside_pinocchio(entry.get("compiled", {})),
            *_beside_pinocchio(entry.get("function", {})),
            *(with_spread(entry.get(who, {}).get("us")) for who in ("Pinocchio", "MuJoCo")),
        )
        for verb, entry in found["verbs"].items()
    )
    return rows_of(header, cells)


def generated(figures: Figures) -> Lines:
    """One state in C and C++: ns, and how many times as long as Pinocchio's generated C takes."""
    header = ("verb", "generated C, ns", "Pinocchio in C++, ns", "/ Pinocchio")
    cells = (
        (
            f"`{verb}`",
            number(entry["C ns"]),
            number(entry["Pinocchio ns"]) if "ratio" in entry else "–",
            f"{number(entry['ratio'])} ×" if "ratio" in entry else "–",
        )
        for verb, entry in figures["generated"]["verbs"].items()
    )
    return rows_of(header, cells)


def _beside_pinocchio(entry: Figures) -> tuple[str, str]:
    return with_spread(entry.get("us")), with_spread(entry.get("ratio"), " ×")


def simulation(figures: Figures) -> Lines:
    """Arms in motion: what a step of one of them takes, and a loop over Pinocchio beside it."""
    found = figures["simulation"]
    header = (
        f"{found['arms']:,} arms, {found['steps']:,} steps", "µs per arm and step", "/ robolin",
        "largest difference at the end",
    )  # fmt: skip
    cells = (
        (
            name,
            with_spread(entry["us"]),
            with_spread(entry.get("ratio"), " ×"),
            "–" if name == "robolin" or found["gap"] is None else f"{found['gap']:.1e}",
        )
        for name, entry in found["programs"].items()
    )
    return rows_of(header, cells)


def loops(figures: Figures) -> Lines:
    """A linkage: what its equations take, and a whole step that ends on the closures."""
    found = figures["loops"]
    header = (found["arm"], "µs", "/ robolin", "largest difference")
    cells = [
        (
            f"q̈, {name}",
            with_spread(entry["us"]),
            with_spread(entry.get("ratio"), " ×"),
            "–" if name == "robolin" else f"{found['gaps'][name]:.1e}",
        )
        for name, entry in found["evaluations"].items()
    ]
    step = found["steps"]["robolin"]
    cells.append(("step of 1 ms, robolin", with_spread(step["us"]), "–", "–"))
    return rows_of(header, cells)


def end_to_end(figures: Figures) -> Lines:
    found = figures["end-to-end"]
    header = (
        f"{found['rows']:,} rows", "robolin", "rows/s", "peak memory", "output",
        "script" if found["script rows"] == found["rows"] else "script, extended",
        "its peak memory", "script / robolin",
    )  # fmt: skip
    cells = (
        (
            f"CSV → {form.upper() if form != 'parquet' else 'Parquet'}",
            with_spread(entry["seconds"], " s"),
            f"{entry['rows/s']:,.0f}",
            megabytes(entry["peak bytes"]),
            megabytes(entry["output bytes"]),
            with_spread(entry.get("script"), " s"),
            megabytes(entry["script peak bytes"]) if "script" in entry else "–",
            with_spread(entry.get("ratio"), " ×"),
        )
        for form, entry in found["formats"].items()
    )
    return rows_of(header, cells)


def steps(figures: Figures) -> Lines:
    """Where the time of the command goes."""
    found = figures["end-to-end"]["formats"]
    names = list(dict.fromkeys(step for entry in found.values() for step in entry["steps"]))
    cells = (
        (step, *(f"{entry['steps'].get(step, 0.0):.0%}" for entry in found.values()))
        for step in names
    )
    return rows_of(("step", *(f"→ {form}" for form in found)), cells)


def checking(figures: Figures) -> Lines:
    """Checking a stored trajectory beside computing it."""
    found = figures["checking"]
    header = (f"{found['rows']:,} rows", "compute and store", "check", "ratio", "peak memory")
    cells = [
        (
            form,
            with_spread(entry["compute"], " s"),
            with_spread(entry["check"], " s"),
            with_spread(entry["ratio"], " ×"),
            megabytes(entry["peak bytes"]),
        )
        for form, entry in found["formats"].items()
    ]
    suite = found["suite"]
    name = f"suite of {suite['states']} states over {suite['arms']} arms"
    return rows_of(header, [*cells, (name, "–", with_spread(suite["check"], " s"), "–", "–")])


def models(figures: Figures) -> Lines:
    """Models and regulators along a motion, beside linearizing it."""
    beside = "/ `linearize-forward`"
    times = ("seconds", beside, "processor seconds", beside)
    keys = (("seconds", ""), ("ratio", " ×"), ("processor seconds", ""), ("processor ratio", " ×"))
    cells = (
        (
            name,
            f"{entry['rows']:,}",
            *(with_spread(entry.get(key), unit) for key, unit in keys),
            megabytes(entry["peak bytes"]),
        )
        for name, entry in figures["models"]["answers"].items()
    )
    return rows_of(("stored of every row", "rows", *times, "peak memory"), cells)


def reports(figures: Figures) -> Lines:
    """A page about a long motion: written, weighed and opened."""
    found = figures["reports"]
    cells = [
        ("written", with_spread(found["seconds"], " s")),
        ("processor seconds", with_spread(found["processor seconds"])),
        ("peak memory", megabytes(found["peak bytes"])),
        ("size", f"{found['page bytes'] / 1e3:,.0f} kB"),
        ("of 150 kB and 5.3 bytes per number", f"{found['of budget']:.0%}"),
        ("interactive after opening", with_spread(found.get("interactive"), " s")),
        ("an instant shown after the slider moved", with_spread(found.get("instant"), " s")),
    ]
    return rows_of((f"{found['rows']:,} rows of a Panda", "report"), cells)


# the name of a table on the page -> the part it needs and what makes it
TABLES: Mapping[str, tuple[str, Callable[[Figures], Lines]]] = {
    "machine": ("machine", machine),
    "panda": ("verbs", verbs(0)),
    "tree": ("verbs", verbs(1)),
    "all-cores": ("verbs", all_cores),
    "sharing": ("sharing", sharing),
    "chains": ("scaling", chains),
    "ratios": ("scaling", ratios),
    "mujoco": ("scaling", mujoco),
    "exponents": ("scaling", exponents),
    "crossing": ("crossing", crossing),
    "peak": ("peak", peak),
    "kernels": ("compile", kernels),
    "latency": ("latency", latency),
    "generated": ("generated", generated),
    "simulation": ("simulation", simulation),
    "loops": ("loops", loops),
    "end-to-end": ("end-to-end", end_to_end),
    "steps": ("end-to-end", steps),
    "models": ("models", models),
    "checking": ("checking", checking),
    "reports": ("reports", reports),
}
