"""Markdown tables of benchmark results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.subjects import VERBS
from benchmarks.verbs import ALL_CORES, BATCH, BATCH_ALL, LOOPS, NUMPY

Figures = Mapping[str, Any]
Lines = Iterable[str]

PEERS = (*LOOPS.values(), BATCH, NUMPY)

# stages of stored runs that have other names now
FORMER_STAGES = {
    "reading: digits into numbers": "reading: text to numbers",
    "writing: numbers into digits": "writing: numbers to text",
}


def rows_of(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table whose first column is text and whose other columns are numbers."""
    yield f"| {' | '.join(header)} |"
    yield f"| --- | {' | '.join('---:' for _ in header[1:])} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def with_spread(figure: Figures | None, unit: str = "") -> str:
    """The median and its range."""
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
    """Processor and versions of every machine, one column each, with the parts it measured."""
    machines = figures["machines"]
    yield f"| property |{' machine |' * len(machines)}"
    yield f"| --- |{' --- |' * len(machines)}"
    parts = (", ".join(f"`{part}`" for part in each["parts"]) for each in machines)
    yield f"| parts | {' | '.join(parts)} |"
    for key in dict.fromkeys(key for each in machines for key in each["machine"]):
        cells = (str(each["machine"].get(key, "–")) for each in machines)
        yield f"| {key} | {' | '.join(cells)} |"


def _one_core(report: Figures) -> Lines:
    """µs per state and ratios for one robot."""
    peers = [peer for peer in PEERS if any(peer in entry for entry in report["verbs"].values())]
    header = ("command", "robolin, µs/state", *(f"{peer} / robolin" for peer in peers))
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
    """All results on one core, for the first or second robot of the part."""
    return lambda figures: _one_core(list(figures["verbs"].values())[index])


def all_cores(figures: Figures) -> Lines:
    """Speedup with more cores, and Pinocchio's own batch function."""
    header = (
        "arm, command", "states", "one core, µs/state", "all cores, µs/state",
        "one core / all cores", "Pinocchio batch / robolin, both on all cores",
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
    """Speedup of threads, compared with the limit of the machine."""
    part = figures["sharing"]
    count = part["cores"]
    header = (
        f"Panda, speedup of {count} cores", "threads", "quickest calls",
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
        for verb, entry in part["verbs"].items()
    )
    return rows_of(header, cells)


def chains(figures: Figures) -> Lines:
    """µs per state by length."""
    by_length = figures["scaling"]["chains"]
    header = ("robolin, µs/state", *(f"n = {n}" for n in by_length))
    cells = (
        (
            f"`{verb}`",
            *(number(by_length[n]["verbs"][verb]["robolin"]["us"]["median"]) for n in by_length),
        )
        for verb in VERBS
    )
    return rows_of(header, cells)


def ratios(figures: Figures) -> Lines:
    """Ratio of Pinocchio's time to robolin's, by length."""
    by_length = figures["scaling"]["chains"]
    header = (f"{LOOPS['Pinocchio']} / robolin", *(f"n = {n}" for n in by_length))
    return rows_of(header, _ratio_rows(by_length, LOOPS["Pinocchio"]))


def mujoco(figures: Figures) -> Lines:
    """Ratio of MuJoCo's time to robolin's, by length."""
    by_length = figures["scaling"]["chains"]
    header = (f"{LOOPS['MuJoCo']} / robolin", *(f"n = {n}" for n in by_length))
    return rows_of(header, _ratio_rows(by_length, LOOPS["MuJoCo"]))


def _ratio_rows(by_length: Figures, peer: str) -> Iterator[tuple[str, ...]]:
    for verb in VERBS:
        entries = [by_length[n]["verbs"][verb].get(peer) for n in by_length]
        if all(entries):
            yield f"`{verb}`", *(with_spread(entry["ratio"], " ×") for entry in entries)


def exponents(figures: Figures) -> Lines:
    part = figures["scaling"]["exponents"]
    header = ("command", *next(iter(part.values())))
    cells = (
        (f"`{verb}`", str(entry["expected"]), *(f"{x:.2f}" for x in list(entry.values())[1:]))
        for verb, entry in part.items()
    )
    return rows_of(header, cells)


def crossing(figures: Figures) -> Lines:
    """Ratio of elimination time to recursion time; bold below one."""
    part = figures["crossing"]
    joints = list(next(iter(part["chain"].values())))
    header = ("elimination / operators", *(f"n = {n}" for n in joints))
    cells = (
        (f"`{verb}`, {kind}", *(_share(entry[n]["ratio"]["median"]) for n in joints))
        for kind, verbs in part.items()
        for verb, entry in verbs.items()
    )
    return rows_of(header, cells)


def _share(ratio: float) -> str:
    return f"**{ratio:.2f}**" if ratio < 1 else f"{ratio:.2f}"


def peak(figures: Figures) -> Lines:
    part = figures["peak"]
    header = (
        "command", "operations per state", "µs/state", "allocation only, µs/state",
        "GFLOP/s", f"fraction of the peak of {part['peak gflops']:.1f} GFLOP/s",
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
        for verb, entry in part["verbs"].items()
    )
    return rows_of(header, cells)


def kernels(figures: Figures) -> Lines:
    """The slowest and the largest kernel for each kind of robot."""
    header = (
        "robot",
        "kernels",
        "slowest compile",
        "typical load",
        "slowest load",
        "largest",
    )
    return rows_of(header, _kernel_rows(figures["compile"]))


def _kernel_rows(part: Figures) -> Iterator[tuple[str, ...]]:
    for kind, entries in part.items():
        compiled = max(entries, key=lambda name: entries[name]["compile s"])
        largest = max(entries, key=lambda name: entries[name]["bytes"])
        typical, slowest = (
            1e3 * max(entry[name] for entry in entries.values())
            for name in ("load s", "slowest load s")
        )
        yield (
            kind,
            str(len(entries)),
            f"{entries[compiled]['compile s']:.2f} s, `{compiled}`",
            f"{typical:.1f} ms",
            f"{slowest:.1f} ms",
            f"{entries[largest]['bytes'] / 1e3:.0f} kB, `{largest}`",
        )


def latency(figures: Figures) -> Lines:
    """One call on one state: µs, and the ratio to Pinocchio's own call."""
    part = figures["latency"]
    header = (
        "command", "compiled call, µs", "/ Pinocchio", "function, µs", "/ Pinocchio",
        "Pinocchio, µs", "MuJoCo, µs",
    )  # fmt: skip
    cells = (
        (
            f"`{verb}`",
            *_pinocchio_cells(entry.get("compiled", {})),
            *_pinocchio_cells(entry.get("function", {})),
            *(with_spread(entry.get(who, {}).get("us")) for who in ("Pinocchio", "MuJoCo")),
        )
        for verb, entry in part["verbs"].items()
    )
    return rows_of(header, cells)


def generated(figures: Figures) -> Lines:
    """One state in C and C++: ns, and the ratio of generated C to Pinocchio."""
    header = ("command", "generated C, ns", "Pinocchio in C++, ns", "/ Pinocchio")
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


def jax(figures: Figures) -> Lines:
    """Libraries on JAX: µs per state, ratio to robolin, and the difference of their results."""
    part = figures["jax"]
    header = (f"{part['arm']}, {part['states']:,} states", "µs/state", "/ robolin", "difference")
    cells = (
        (
            f"`{verb}`: {name}",
            with_spread(entry["us"]),
            with_spread(entry.get("ratio"), " ×"),
            f"{entry['gap']:.1e}" if "gap" in entry else "–",
        )
        for verb, entries in part["verbs"].items()
        for name, entry in entries.items()
    )
    return rows_of(header, cells)


def _pinocchio_cells(entry: Figures) -> tuple[str, str]:
    return with_spread(entry.get("us")), with_spread(entry.get("ratio"), " ×")


def simulation(figures: Figures) -> Lines:
    """Simulation: time per step of one robot, compared with a loop over Pinocchio."""
    part = figures["simulation"]
    header = (
        f"{part['arms']:,} arms, {part['steps']:,} steps", "µs per arm and step", "/ robolin",
        "largest difference at the end",
    )  # fmt: skip
    cells = (
        (
            name,
            with_spread(entry["us"]),
            with_spread(entry.get("ratio"), " ×"),
            "–" if name == "robolin" or part["gap"] is None else f"{part['gap']:.1e}",
        )
        for name, entry in part["programs"].items()
    )
    lines = rows_of(header, cells)
    if "one" not in part:
        return lines
    one = part["one"]
    own = (f"one arm, {one['steps']:,} steps", "µs per step", "/ robolin")
    programs = (
        (name, with_spread(entry["us"]), with_spread(entry.get("ratio"), " ×"))
        for name, entry in one["programs"].items()
    )
    return [*lines, "", *rows_of(own, programs)]


def control(figures: Figures) -> Lines:
    """Poles, regulators and MPC: time per model or sample."""
    part = figures["control"]
    titles = {"poles": "poles and controllability", "lqr": "LQR gains", "mpc": "MPC, 50 knots"}
    header = (f"{part['arm']}, {part['rows']:,} models", "µs each", "/ robolin")
    cells = (
        (f"{title}: {name}", with_spread(entry["us"]), with_spread(entry.get("ratio"), " ×"))
        for task, title in titles.items()
        for name, entry in part[task].items()
    )
    return rows_of(header, cells)


def motions(figures: Figures) -> Lines:
    """Optimal motions: time, iterations and cost of every program."""
    part = figures["motions"]
    header = (f"{part['arm']}, {part['knots']} knots", "ms", "iterations", "cost")
    cells = [
        (
            f"{problem}: {name}",
            number(entry["ms"]),
            str(entry["iterations"]),
            f"{entry['cost']:.10g}",
        )
        for problem, programs in part["problems"].items()
        for name, entry in programs.items()
        if name != "gap"
    ]
    parts = [(f"{name}, 100 knots", number(us)) for name, us in part["iteration"].items()]
    limited = (
        "scale of the effort limits",
        "ms per call",
        "iterations",
        "largest excess over a limit",
        "cost relative to IPOPT",
    )
    rows = [
        (
            f"× {scale}",
            number(entry["ms"]),
            str(entry["iterations"]),
            f"{entry['violation']:.1e} N·m",
            f"{entry['gap']:+.1e}" if "gap" in entry else "–",
        )
        for scale, entry in part["limits"].items()
    ]
    return [
        *rows_of(header, cells),
        "",
        *rows_of(("part of an iteration", "µs"), parts),
        "",
        *rows_of(limited, rows),
    ]


def loops(figures: Figures) -> Lines:
    """Closed loops: time of the equations, and of a simulation step with projection."""
    part = figures["loops"]
    header = (part["arm"], "µs", "/ robolin", "largest difference")
    cells = [
        (
            f"q̈, {name}",
            with_spread(entry["us"]),
            with_spread(entry.get("ratio"), " ×"),
            "–" if name == "robolin" else f"{part['gaps'][name]:.1e}",
        )
        for name, entry in part["evaluations"].items()
    ]
    step = part["steps"]["robolin"]
    cells.append(("step of 1 ms, robolin", with_spread(step["us"]), "–", "–"))
    return rows_of(header, cells)


def end_to_end(figures: Figures) -> Lines:
    part = figures["end-to-end"]
    header = (
        f"{part['rows']:,} rows", "robolin", "rows/s", "peak memory", "output",
        "script" if part["script rows"] == part["rows"] else "script, extended",
        "peak memory of the script", "script / robolin",
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
        for form, entry in part["formats"].items()
    )
    return rows_of(header, cells)


def steps(figures: Figures) -> Lines:
    """Time of the command by stage."""
    formats = figures["end-to-end"]["formats"]
    names = list(dict.fromkeys(step for entry in formats.values() for step in entry["steps"]))
    cells = (
        (
            FORMER_STAGES.get(step, step),
            *(f"{entry['steps'].get(step, 0.0):.0%}" for entry in formats.values()),
        )
        for step in names
    )
    return rows_of(("step", *(f"→ {form}" for form in formats)), cells)


def checking(figures: Figures) -> Lines:
    """Time to check a stored trajectory, compared with computing it."""
    part = figures["checking"]
    header = (f"{part['rows']:,} rows", "compute and store", "check", "ratio", "peak memory")
    cells = [
        (
            form,
            with_spread(entry["compute"], " s"),
            with_spread(entry["check"], " s"),
            with_spread(entry["ratio"], " ×"),
            megabytes(entry["peak bytes"]),
        )
        for form, entry in part["formats"].items()
    ]
    suite = part["suite"]
    name = f"suite of {suite['states']} states on {suite['arms']} arms"
    return rows_of(header, [*cells, (name, "–", with_spread(suite["check"], " s"), "–", "–")])


def models(figures: Figures) -> Lines:
    """Models and LQR gains along a motion, compared with its linearization."""
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
    return rows_of(("stored arrays", "rows", *times, "peak memory"), cells)


def identify(figures: Figures) -> Lines:
    """Identification and the commands that read the same recording."""
    part = figures["identify"]
    header = (f"{part['rows']:,} rows of a Panda", "time", "`identify` / program", "peak memory")
    cells = [
        (
            f"`{name}`" if name in ("identify", "regressor") else name,
            with_spread(entry["seconds"], " s"),
            with_spread(entry["ratio"], " ×"),
            megabytes(entry["peak bytes"]),
        )
        for name, entry in part["commands"].items()
    ]
    longer = part["longer"]
    cells.append(
        (
            f"`identify`, {longer['rows']:,} rows",
            f"{number(longer['seconds'])} s",
            "–",
            megabytes(longer["peak bytes"]),
        )
    )
    return rows_of(header, cells)


def programme(figures: Figures) -> Lines:
    """The convex programme of the last stage."""
    cells = (
        (
            name,
            with_spread({k: v / 1e3 for k, v in entry["us"].items()}, " ms"),
            with_spread(entry.get("ratio"), " ×"),
            f"{entry['excess']:.0e}" if "excess" in entry else "–",
        )
        for name, entry in figures["identify"]["programme"].items()
    )
    header = ("convex program for all links", "time", "time / robolin", "cost / robolin - 1")
    return rows_of(header, cells)


def float32(figures: Figures) -> Lines:
    """Single and double precision."""
    cells = (
        (
            f"`{verb}`",
            with_spread(entry["float64"]["us"]),
            with_spread(entry["float32"]["us"]),
            with_spread(entry["float64"]["ratio"], " ×"),
        )
        for verb, entry in figures["learning"]["float32"].items()
    )
    header = ("command", "float64, µs/state", "float32, µs/state", "float64 / float32")
    return rows_of(header, cells)


def gradients(figures: Figures) -> Lines:
    """Gradients, Hessian-vector products, and batches of one state."""
    part = figures["learning"]
    names = ("gradient", "Hessian-vector product")
    cells = (
        (
            f"`{verb}`",
            with_spread(entry["value"]["us"]),
            *(with_spread(entry[name]["ratio"], " ×") for name in names),
            with_spread(part["one state"][verb]["batch of one"]["ratio"], " ×"),
        )
        for verb, entry in part["gradients"].items()
    )
    header = (
        "command", "value, µs/state", *(f"{name} / value" for name in names),
        "call with (1, 7) / call with (7,)",
    )  # fmt: skip
    return rows_of(header, cells)


def reports(figures: Figures) -> Lines:
    """A report about a long motion: time to write, size and time to open."""
    part = figures["reports"]
    cells = [
        ("time to write", with_spread(part["seconds"], " s")),
        ("processor seconds", with_spread(part["processor seconds"])),
        ("peak memory", megabytes(part["peak bytes"])),
        ("size", f"{part['page bytes'] / 1e3:,.0f} kB"),
        ("size relative to 150 kB + 5.3 bytes per number", f"{part['of budget']:.0%}"),
        ("interactive after opening", with_spread(part.get("interactive"), " s")),
        ("delay after moving the time slider", with_spread(part.get("instant"), " s")),
    ]
    return rows_of((f"{part['rows']:,} rows of a Panda", "report"), cells)


# name of a table on the page -> the required part and the function that makes it
TABLES: Mapping[str, tuple[str, Callable[[Figures], Lines]]] = {
    "machine": ("machines", machine),
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
    "jax": ("jax", jax),
    "float32": ("learning", float32),
    "gradients": ("learning", gradients),
    "simulation": ("simulation", simulation),
    "control": ("control", control),
    "motions": ("motions", motions),
    "identify": ("identify", identify),
    "programme": ("identify", programme),
    "loops": ("loops", loops),
    "end-to-end": ("end-to-end", end_to_end),
    "steps": ("end-to-end", steps),
    "models": ("models", models),
    "checking": ("checking", checking),
    "reports": ("reports", reports),
}
