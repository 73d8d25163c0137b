"""Multiplications and additions of each algorithm, compared with the papers' counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from robolin.core.records import dataclass
from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.algorithm import Shape
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.dynamics.forward.conventional import forward_model_conventional
from robolin.dynamics.forward.linearize_forward import forward_model
from robolin.dynamics.forward.linearize_forward_columns import forward_model_columns
from robolin.dynamics.forward.linearize_forward_tree import forward_model_tree
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.mass_matrix.articulated_bodies import articulated_bodies
from robolin.engine.operation_graph import UnrolledChain, graph_inputs
from robolin.engine.parameters import Parameters
from robolin.engine.run import Cost, cost_of, count_operations

Polynomial = tuple[Fraction, ...]  # coefficients of 1, n, n², n³


@dataclass(frozen=True)
class PublishedCount:
    """A paper's count for a serial chain of n revolute joints, with known errata."""

    multiplications: Polynomial
    additions: Polynomial
    remark: str = ""


@dataclass(frozen=True)
class CountedAlgorithm:
    """Operation counts of one algorithm on one arm.

    folded: cost after constant folding and common-subexpression elimination
    """

    algorithm: str
    cost: Cost
    folded: Cost | None
    published: PublishedCount | None


def _polynomial(*coefficients: str | int) -> Polynomial:
    return tuple(Fraction(c) for c in coefficients)


# Jain and Rodriguez, on linearizing manipulator dynamics with spatial operators
PUBLISHED: Mapping[str, PublishedCount] = {
    "Algorithm 1": PublishedCount(_polynomial(-159, 320), _polynomial(-149, 303)),
    "Algorithm 2": PublishedCount(_polynomial(-132, 333, 21), _polynomial(-145, "605/2", "47/2")),
    "Algorithm 3": PublishedCount(
        _polynomial(-153, "952/3", "3/2", "1/6"),
        _polynomial(-147, "1805/6", 1, "1/6"),
        "Impossible: without the solution step the formula is linear in n, "
        "so it lacks the n² operations that form the mass matrix.",
    ),
    "Algorithm 4": PublishedCount(
        _polynomial(-132, "998/3", "43/2", "17/6"),
        _polynomial(-145, "1819/6", 20, "17/6"),
    ),
    "Algorithm 5": PublishedCount(
        _polynomial(-129, 259),
        _polynomial(-123, 232),
        "Impossible: the formula gives fewer operations than Algorithm 1, but the algorithm "
        "contains Step 1 of Algorithm 1 and two more recursions.",
    ),
    "Algorithm 6": PublishedCount(_polynomial(-225, 781, 36), _polynomial(-255, 773, 33)),
}


def _algorithm_4(chain: Chain) -> None:
    forward_model_conventional(chain, forward_kinematics(chain), chain.input("qdd"))


def _algorithm_6(chain: Chain) -> None:
    links = forward_kinematics(chain)
    forward_model(chain, links, articulated_bodies(chain, links), chain.input("qdd"))


def _branches(chain: Chain) -> None:
    links = forward_kinematics(chain)
    forward_model_tree(chain, links, articulated_bodies(chain, links), chain.input("qdd"))


def _columns(chain: Chain) -> None:
    links = forward_kinematics(chain)
    forward_model_columns(chain, links, articulated_bodies(chain, links), chain.input("qdd"))


# the papers count only the part that follows known accelerations
_OF_ACCELERATIONS: Mapping[str, Callable[[Chain], None]] = {
    "linearize-forward": _algorithm_6,
    "linearize-forward-conventional": _algorithm_4,
    "linearize-forward-tree": _branches,
    "linearize-forward-columns": _columns,
}


@dataclass(frozen=True)
class Candidate:
    """An algorithm for a verb, and the arms it applies to."""

    title: str
    run: Callable[[Chain], None]
    needs: tuple[str, ...]
    kind: str
    gives: Mapping[str, Shape] | None = None
    inverts_bodies: bool = False


def candidates(verb: str) -> list[Candidate]:
    """Algorithms counted for a verb, including the source of known accelerations."""
    titles = {
        name: each.counted[1]
        for name, each in ALGORITHMS.items()
        if each.counted and each.counted[0] == verb
    }
    if any(name in _OF_ACCELERATIONS for name in titles):
        titles["forward"] = "nominal accelerations"
    return [_candidate(name, title) for name, title in titles.items()]


def _candidate(name: str, title: str) -> Candidate:
    algorithm = ALGORITHMS[name]
    if name in _OF_ACCELERATIONS:
        return Candidate(title, _OF_ACCELERATIONS[name], ("q", "qd", "qdd"), algorithm.kind)
    shape = (algorithm.kind, algorithm.gives, algorithm.inverts_bodies)
    return Candidate(title, algorithm.run, algorithm.needs, *shape)


def operation_counts(
    verb: str, parameters: Parameters, fold: bool = False
) -> Iterator[CountedAlgorithm]:
    """Count the operations of every algorithm for the verb on this arm."""
    for candidate in candidates(verb):
        if candidate.kind not in ("any", "reaching") and parameters.mimics:
            continue
        if candidate.kind == "serial" and not parameters.serial:
            continue
        if candidate.inverts_bodies and parameters.grouped:
            continue
        cost = count_operations(parameters, candidate.run, candidate.needs, candidate.gives)
        folded = _folded(candidate, parameters) if fold else None
        yield CountedAlgorithm(candidate.title, cost, folded, PUBLISHED.get(candidate.title))


def _folded(candidate: Candidate, parameters: Parameters) -> Cost:
    inputs = graph_inputs(parameters, candidate.needs)
    chain = UnrolledChain(parameters, inputs, candidate.gives or {})
    candidate.run(chain)
    return cost_of(value for entries in chain.results.values() for value in entries.values())


def value_at(polynomial: Polynomial, n: int) -> int:
    """The polynomial at n; counts are integers."""
    return int(sum(c * n**power for power, c in enumerate(polynomial)))


def polynomial_text(polynomial: Polynomial) -> str:
    """The polynomial as a formula, highest power first."""
    text = ""
    for power, c in reversed(list(enumerate(polynomial))):
        if c == 0:
            continue
        name = ("", "n", "n²", "n³")[power]
        size = abs(c)
        number = "" if size == 1 and name else str(size)
        if size.denominator > 1:
            top = "" if size.numerator == 1 and name else size.numerator
            number, name = f"{top}{name}/{size.denominator}", ""
        sign = " − " if c < 0 else " + "
        text += (sign if text else sign.strip().replace("+", "")) + number + name
    return text
