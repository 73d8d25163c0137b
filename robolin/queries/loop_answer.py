"""Options, states and arrays of queries about arms with closed loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from robolin.core.arm import Arm
from robolin.core.arrays import Floats, np
from robolin.core.quantity_table import CLOSURE, COLUMN_WORDS, joint_unit, unit_of
from robolin.core.records import dataclass
from robolin.core.result import Array
from robolin.core.text_parsing import numbers, parse_names
from robolin.errors import UsageError
from robolin.queries.question import parsed_option
from robolin.queries.values import Values

if TYPE_CHECKING:
    from robolin.core.choices import LoopMethod
    from robolin.queries.question import Question

LOOP_FLAGS = frozenset({"loop-method", "close", "baumgarte"})
LEAST = "least"
TITLES = {
    "kkt": "closed loops: accelerations and constraint forces in one system, O(n³)",
    "schur": "closed loops: constraint forces computed first, O(n³)",
    "null-space": "closed loops: motion in the null space of the constraints computed first, O(n³)",
}
FORCE_DERIVATIVES = ("dlam_dtau", "dlam_dqd", "dlam_dq")


@dataclass(frozen=True)
class LoopOptions:
    """Closed-loop options of a question."""

    method: LoopMethod | None = None
    close: str | None = None
    baumgarte: tuple[float, float] | None = None

    def require_useful(self, arm: Arm) -> None:
        """Reject loop options for an arm without closed loops."""
        options = {
            "--loop-method": self.method,
            "--close": self.close,
            "--baumgarte": self.baumgarte,
        }
        for name, value in options.items():
            if value is not None and not arm.loops:
                hint = "remove the option, or --open-loops if the file has loop constraints"
                raise UsageError("the robot has no closed loops", where=name, hint=hint)
        self.held(arm)

    @property
    def contract_lines(self) -> dict[str, str]:
        """Contract entry for a state projected onto the constraints."""
        if self.close is None:
            return {}
        rule = "changed as little as possible" if self.close == LEAST else f"{self.close} held"
        return {
            "closed first": f"positions and velocities projected onto the loop constraints, {rule}"
        }

    def held(self, arm: Arm) -> list[str]:
        """Joints that --close keeps fixed during the projection."""
        if self.close is None or self.close == LEAST:
            return []
        names = [*parse_names(self.close)]
        for name in names:
            if name not in arm.joint_names:
                from robolin.core.text import did_you_mean

                hint = did_you_mean(name, (*arm.joint_names, LEAST))
                raise UsageError(f"unknown joint '{name}'", where="--close", hint=hint)
        return names


NO_LOOPS = LoopOptions()


def loop_options(question: Question) -> LoopOptions:
    """Return the closed-loop options of a question."""
    method = cast("LoopMethod | None", question.text("loop-method"))
    values = parsed_option(question, "baumgarte", numbers, "ALPHA,BETA", 2)
    baumgarte = None if values is None else (values[0], values[1])
    return LoopOptions(method, question.text("close"), baumgarte)


def with_closure_forces(algorithm: str) -> str:
    """Return the variant of an algorithm that also computes constraint forces."""
    from robolin.evaluation.loop_evaluation import FULL

    return FULL.get(algorithm, algorithm)


def closed_state(arm: Arm, loops: LoopOptions, values: Values) -> Mapping[str, Floats]:
    """Project the given state onto the loop constraints if --close is set.

    In a batch, states that cannot be projected stay unchanged: the evaluation reports them.
    """
    if loops.close is None:
        return values
    from robolin.api.closed_loops import close
    from robolin.evaluation.loop_projection import assemble

    q = values.get("q", np.zeros(arm.n))
    if q.ndim == 1:
        state = close(arm, q, values.get("qd", 0.0), loops.held(arm))
        return {**values, "q": state.q, "qd": state.qd}
    flat = q.reshape(-1, arm.n)
    qd = np.broadcast_to(values.get("qd", np.zeros(arm.n)), q.shape).reshape(-1, arm.n)
    held = [arm.joint_names.index(name) for name in loops.held(arm)]
    fine = np.asarray(np.isfinite(flat + qd).all(axis=-1))[:, None]
    assembled = assemble(arm, np.where(fine, flat, 0.0), np.where(fine, qd, 0.0), held)
    positions = np.where(fine, assembled.q, flat).reshape(q.shape)
    velocities = np.where(fine, assembled.qd, qd).reshape(q.shape)
    return {**values, "q": positions, "qd": velocities}


def closed_changes(arm: Arm, loops: LoopOptions, values: Values) -> Mapping[str, Floats]:
    """Project perturbations onto the constraints if --close is set.

    Non-finite states are replaced by zero: the evaluation reports them.
    """
    if loops.close is None or "dq" not in values:
        return {}
    from robolin.api.closed_loops import close_change

    fine = np.isfinite(values["q"] + values["qd"]).all(axis=-1, keepdims=True)
    q, qd = (np.where(fine, values[name], 0.0) for name in ("q", "qd"))
    return vars(close_change(arm, q, qd, values["dq"], values["dqd"], loops.held(arm)))


def closed_arrays(
    arm: Arm, loops: LoopOptions, values: Values, computed: Values
) -> Iterator[Array]:
    """Yield the projected state, the constraint forces and the rank of the constraints."""
    from robolin.evaluation.loop_linear_algebra import row_names

    joints, rows = arm.joint_names, row_names(arm)
    kinds = [joint.kind for joint in arm.joints]
    if loops.close is not None:
        for name in ("q", "qd", "dq", "dqd"):
            if name in values:
                unit, word = unit_of(name, kinds), COLUMN_WORDS.get(name)
                yield Array(name, values[name], (joints,), unit, word)
    if "lam" not in computed:
        return
    points = all(loop.kind == "point" for loop in arm.loops)
    units = {CLOSURE: joint_unit("effort", turns=False)} if points else {}
    yield Array("lam", computed["lam"], (rows,), unit_of("lam", kinds, units))
    for name in FORCE_DERIVATIVES:
        if name in computed:
            yield Array(name, computed[name], (rows, joints), unit_of(name, kinds, units))
    yield Array("rank", np.asarray(computed["rank"]), (), unit_of("rank", kinds))
    kept = np.asarray(computed["kept"], dtype=float)
    yield Array("kept", kept, (rows,), unit_of("kept", kinds))
