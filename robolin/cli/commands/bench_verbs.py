"""robolin bench and bench counts: speed on this machine, and operation counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from inspect import signature
from operator import or_
from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import METHOD, VerbCommand, flag
from robolin.cli.flags.state_flags import model_option_flags, structure_options
from robolin.cli.main import say
from robolin.cli.report import Report, ReportSection, ReportTable, TextLines, report_options
from robolin.core.text import did_you_mean, join_and, pluralize
from robolin.dynamics.catalogue import ALGORITHMS, counted_verbs
from robolin.errors import UsageError
from robolin.queries.option_specs import REQUIRES, conflict
from robolin.queries.request import ArmSource
from robolin.queries.verbs import VERBS

if TYPE_CHECKING:
    from robolin.analysis.operation_counts import CountedAlgorithm
    from robolin.core.arm import Arm
    from robolin.engine.parameters import Parameters
    from robolin.engine.run import Cost


# commands with known operation counts and without a frame, and their perturbation variants
TIMED = [VERBS[verb] for verb in counted_verbs() if not ALGORITHMS[verb].of_frame]
MEASURED_VERBS = [
    *(verb.name for verb in TIMED),
    *(verb.name.replace("linearize", "perturb") for verb in TIMED if verb.perturb),
]

MOST_BENCH_ROWS, MOST_BENCH_BYTES = 20_000, 256 * 1024 * 1024
ENOUGH_SECONDS, FEWEST_RUNS = 0.25, 3

ROWS = flag(
    "--rows N",
    METHOD,
    "Number of states per call (default 20000, fewer for large robots)",
    minimum=1,
)


@click.command("bench", cls=VerbCommand, params=[ROWS])
@model_option_flags
@report_options
def bench_command(model: ArmSource, report: Report, rows: int | None) -> None:
    """Measure the speed of commands; count operations.

    Runs each command from Python on random states of ARM, on one core and on all cores, and shows
    the median of several runs. Compilation is not included. Also shows whether Python calls with a
    single state use the fast or the slow implementation. `robolin bench counts COMMAND` counts
    multiplications and additions.

    \b
    Examples:
      robolin bench panda
      robolin bench arm.urdf --rows 100000
      robolin bench arm.urdf --format json
      robolin bench counts linearize-forward --joints 7
    """
    from robolin.core.arrays import require_tree
    from robolin.core.threads import cores
    from robolin.engine.compiled.call_table import fallback_reason
    from robolin.engine.compiled.kernels import host_width, optimizing

    arm = model.arm()
    kernels = {"optimized": optimizing(), "numbers_at_once": host_width()}
    # random states do not satisfy loop closures
    require_tree(arm, "bench")
    rows = rows or max(1, min(MOST_BENCH_ROWS, MOST_BENCH_BYTES // (8 * (3 * arm.n**2 + arm.n))))
    verbs = _measured(arm, rows, cores())
    entry = {
        "entry": "plain" if fallback_reason() else "built-in",
        "fallback_reason": fallback_reason(),
    }
    sizes = {"joints": arm.n, "rows": rows, "cores": cores()}
    document = {"arm": arm.name, **sizes, "kernels": kernels, "one_state": entry, "verbs": verbs}
    report.write(_sections(document), document)


def _measured(arm: Arm, rows: int, cores: int) -> dict[str, dict[str, float]]:
    """µs per state and states per second by command; commands that fail are noted."""
    from robolin.core.progress import track
    from robolin.errors import RobolinError

    states = _states(arm, rows)
    timings: dict[str, dict[str, float]] = {}
    rejected: list[str] = []
    for verb in track(f"measuring {arm.name}", MEASURED_VERBS, len(MEASURED_VERBS)):
        try:
            timings[verb] = _timing(arm, verb, states, rows, cores)
        except RobolinError as error:
            rejected.append(f"{verb}: {error.message}")
    for text in rejected:
        say("note", text)
    return timings


def _states(arm: Arm, rows: int) -> Mapping[str, Any]:
    """Reproducible random states: positions within limits, rates about 1."""
    import numpy as np

    rng = np.random.default_rng(0)
    names = ("qd", "qdd", "tau", "dq", "dqd", "dqdd", "dtau")
    states = {name: rng.normal(size=(rows, arm.n)) for name in names}
    limits = [joint.limits for joint in arm.joints]
    reach = [np.pi if joint.turns else 0.5 for joint in arm.joints]
    low = [-r if x.lower is None else max(x.lower, -r) for x, r in zip(limits, reach, strict=True)]
    high = [r if x.upper is None else min(x.upper, r) for x, r in zip(limits, reach, strict=True)]
    return states | {"q": low + (np.array(high) - low) * rng.random((rows, arm.n))}


def _timing(
    arm: Arm, verb: str, states: Mapping[str, Any], rows: int, cores: int
) -> dict[str, float]:
    import robolin

    function = getattr(robolin, verb.replace("-", "_"))
    parameters = signature(function).parameters.values()
    # keyword-only parameters are options, not states
    positional = (each.name for each in parameters if each.kind is not each.KEYWORD_ONLY)
    inputs = [states[name] for name in positional if name in states]
    timing: dict[str, float] = {}
    for who, jobs in (("one_core", 1), ("all_cores", cores)):
        seconds = _seconds(partial(function, arm, *inputs, engine="compiled", jobs=jobs)) / rows
        timing |= {f"{who}_us_per_state": 1e6 * seconds, f"{who}_states_per_s": 1.0 / seconds}
    return timing


def _seconds(run: Callable[[], Any]) -> float:
    """Median duration of several runs, after one warm-up run."""
    from statistics import median
    from time import perf_counter

    run()
    times: list[float] = []
    while len(times) < FEWEST_RUNS or sum(times) < ENOUGH_SECONDS:
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return median(times)


def _sections(document: Mapping[str, Any]) -> Sequence[ReportSection]:
    groups = {"one_core": "one core"}
    if document["cores"] > 1:
        groups["all_cores"] = f"{document['cores']} cores"
    columns = [f"{unit}, {title}" for title in groups.values() for unit in ("µs/state", "states/s")]
    rows = [
        (verb, *(cell for who in groups for cell in _cells(timing, who)))
        for verb, timing in document["verbs"].items()
    ]
    head = f"{document['arm']}: {document['joints']} joints, {document['rows']:,} states per call"
    why = document["one_state"]["fallback_reason"]
    calls = f"slow implementation, because {why}" if why else "fast implementation"
    entry = f"Python calls with a single state: {calls}"
    lines = [head, entry]
    if not document["kernels"]["optimized"]:
        lines.append("kernels are not optimized: ROBOLIN_OPTIMIZE is 0")
    return [TextLines(lines), ReportTable(("command", *columns), rows, frozenset(columns))]


def _cells(timing: Mapping[str, float], who: str) -> tuple[str, str]:
    seconds, rate = timing[f"{who}_us_per_state"], timing[f"{who}_states_per_s"]
    return f"{seconds:.3g}", f"{rate:,.0f}"


COUNTED_VERBS = counted_verbs()
_WHERE = "robolin bench counts"

VERB = click.Argument(["verb"], metavar="COMMAND")
JOINTS_FLAG = flag(
    "--joints N",
    METHOD,
    "Count operations for a serial chain of N joints instead of ARM",
    type=click.IntRange(1, 200),
    excludes={"arm": "pass either ARM or --joints N"},
)


FOLD = flag(
    "--fold",
    METHOD,
    "Also count the operations with ARM's parameters as constants\n"
    "Constants are folded, and common subexpressions are computed once, as in generated C code.",
    modifies={"arm": "add ARM: --fold uses the parameters of this robot as constants"},
)


@click.command(
    "count",
    cls=VerbCommand,
    params=[VERB, JOINTS_FLAG, FOLD],
)
@structure_options
@report_options
def count_command(
    verb: str, model: ArmSource | None, report: Report, joints: int | None, fold: bool
) -> None:
    """Count the operations of an algorithm.

    Counts the multiplications and additions of COMMAND for a serial chain of N revolute joints, or
    for the structure of ARM. Compares the counts with the formulas in the papers. COMMAND is one
    of COUNTED_VERBS.

    \b
    Examples:
      robolin bench counts linearize-forward --joints 7
      robolin bench counts inverse panda --fold
    """
    from robolin.analysis.operation_counts import operation_counts
    from robolin.engine.direct_storage import generic_chain
    from robolin.engine.parameters import parameters_of

    _require_sense(verb, model, joints)
    if model is None:
        assert joints is not None, "either ARM or --joints is set"
        parameters = generic_chain(joints)
        whose = f"a serial chain of {pluralize(joints, 'revolute joint')}"
        rows = list(operation_counts(verb, parameters))
    else:
        arm = model.arm()
        parameters = parameters_of(arm)
        tree = ", without loop closures" if arm.loops else ""
        whose = f"'{arm.name}', {pluralize(arm.n, 'joint')}{tree}"
        rows = list(operation_counts(verb, parameters, fold))
    report.write(
        count_sections(verb, whose, parameters, rows), count_document(verb, whose, parameters, rows)
    )


count_command.help = (count_command.help or "").replace("COUNTED_VERBS", join_and(COUNTED_VERBS))


def _require_sense(verb: str, model: ArmSource | None, joints: int | None) -> None:
    if verb not in COUNTED_VERBS:
        hint = did_you_mean(verb.lower().replace("_", "-"), COUNTED_VERBS)
        raise UsageError(f"unknown command '{verb}'", where=_WHERE, hint=hint)
    if model is None and joints is None:
        hint = f"run `{_WHERE} linearize-forward --joints 7`"
        raise conflict(_WHERE, REQUIRES, ["arm", "joints"], hint)


_HEADER = (
    "algorithm",
    "multiplications",
    "additions",
    "divisions",
    "roots",
    "published",
    "formula",
)


_FOLDED = ("multiplications with --fold", "additions with --fold")


def count_sections(
    verb: str, whose: str, parameters: Parameters, rows: Sequence[CountedAlgorithm]
) -> Sequence[ReportSection]:
    """One line per algorithm; the kinematics, which all share, once below."""
    comparable = _comparable(parameters)
    folding = any(row.folded for row in rows)
    header = (*_HEADER[:5], *_FOLDED, *_HEADER[5:]) if folding else _HEADER
    table = ReportTable(header, [_count_cells(row, parameters.n, comparable) for row in rows])
    placing = reduce(or_, (row.cost.kinematics for row in rows))
    remarks = [
        f"{row.algorithm}: {row.published.remark}"
        for row in rows
        if row.published and row.published.remark
    ]
    below = [
        "forward kinematics, not included above: "
        f"{pluralize(placing['multiplication'], 'multiplication')}, "
        f"{pluralize(placing['addition'], 'addition')}, {_sines_and_cosines(placing)}",
        *_folded_kinematics(rows),
        "the papers do not state whether their operation counts include forward kinematics",
    ]
    return [TextLines([f"{verb} on {whose}"]), table, TextLines([*below, *remarks])]


def _folded_kinematics(rows: Sequence[CountedAlgorithm]) -> list[str]:
    folded = [row.folded.kinematics for row in rows if row.folded]
    if not folded:
        return []
    least = reduce(or_, folded)
    return [
        f"forward kinematics with --fold: {pluralize(least['multiplication'], 'multiplication')}, "
        f"{pluralize(least['addition'], 'addition')}"
    ]


def _pairs(cost: Mapping[str, int]) -> int:
    """Number of angles that need sine and cosine; each is counted as a function."""
    return cost["function"] // 2


def _sines_and_cosines(cost: Mapping[str, int]) -> str:
    return "1 sine and cosine" if _pairs(cost) == 1 else f"{_pairs(cost)} sines and cosines"


def count_document(
    verb: str, whose: str, parameters: Parameters, rows: Sequence[CountedAlgorithm]
) -> dict[str, Any]:
    """The counts as a JSON document."""
    return {
        "verb": verb,
        "arm": whose,
        "joints": len(parameters.joint_names),
        "algorithms": [_entry(row, parameters) for row in rows],
    }


def _comparable(parameters: Parameters) -> bool:
    """True for serial chains of revolute joints without rotors or dissipation, as in the papers."""
    plain = all(
        row.is_revolute and not (row.armature or row.damping or row.friction or row.stiffness)
        for row in parameters.links
    )
    return plain and parameters.serial and not parameters.mimics and not parameters.loads


def _count_cells(row: CountedAlgorithm, n: int, comparable: bool) -> tuple[str, ...]:
    from robolin.analysis.operation_counts import polynomial_text, value_at

    cost = row.cost.algorithm
    counts = [str(cost[kind]) for kind in ("multiplication", "addition", "division", "root")]
    published = formula = "–"
    if row.published:
        products = polynomial_text(row.published.multiplications)
        formula = f"({products}) M + ({polynomial_text(row.published.additions)}) A"
    if row.published and comparable:
        published = (
            f"{value_at(row.published.multiplications, n)} M "
            f"{value_at(row.published.additions, n)} A"
        )
    folded = row.folded.algorithm if row.folded else {}
    remaining = [str(folded[kind]) for kind in ("multiplication", "addition") if row.folded]
    return (row.algorithm, *counts, *remaining, published, formula)


def _by_kind(cost: Cost) -> dict[str, Any]:
    kinds = {
        "multiplications": "multiplication",
        "additions": "addition",
        "divisions": "division",
        "roots": "root",
    }
    counts: dict[str, Any] = {name: cost.algorithm[kind] for name, kind in kinds.items()}
    counts["kinematics"] = {name: cost.kinematics[kind] for name, kind in kinds.items()}
    counts["kinematics"]["sines_and_cosines"] = _pairs(cost.kinematics)
    return counts


def _entry(row: CountedAlgorithm, parameters: Parameters) -> dict[str, Any]:
    from robolin.analysis.operation_counts import polynomial_text, value_at

    cost = row.cost
    entry: dict[str, Any] = {"algorithm": row.algorithm}
    entry |= _by_kind(cost)
    if row.folded:
        entry["folded"] = _by_kind(row.folded)
    if row.published:
        entry["published"] = {
            "multiplications": value_at(row.published.multiplications, parameters.n),
            "additions": value_at(row.published.additions, parameters.n),
            "formula": [
                polynomial_text(row.published.multiplications),
                polynomial_text(row.published.additions),
            ],
            "holds_for_this_arm": _comparable(parameters),
            "remark": row.published.remark,
        }
    return entry
