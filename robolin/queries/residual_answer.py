"""Torques of a recording: measured, computed by the model, and their difference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robolin.core.results.result import Array
from robolin.errors import UsageError
from robolin.io.trajectories.trajectory import Chunk
from robolin.queries.algorithm_answer import AlgorithmQuery
from robolin.queries.request import QueryContext
from robolin.queries.values import StateInputs

# what the sign of a residual means, in the model assumptions
RESIDUAL_LINE = "measured in the recording; tau_residual = tau_measured - tau"
NOT_UNIQUE = "torques of closed loops are not unique, so they have no residual"


@dataclass
class ResidualQuery(AlgorithmQuery):
    """Inverse dynamics of every row, with the measured torques and the residual."""

    @property
    def needs(self) -> tuple[str, ...]:
        return (*super().needs, "tau")

    def rows(
        self, context: QueryContext, inputs: StateInputs, chunk: Chunk, jobs: int | None
    ) -> tuple[tuple[Array, ...], int]:
        """Add measured torques and residuals to the torques of the model."""
        if context.arm.loops:
            raise UsageError(NOT_UNIQUE, where="--residual", hint="add --open-loops")
        arrays, failed = super().rows(context, inputs, chunk, jobs)
        (model,) = arrays
        # rows without a result have no residual
        measured = np.where(np.isfinite(model.values), chunk.columns["tau"], np.nan)
        named = (("measured", measured), ("residual", measured - model.values))
        return (
            model,
            *(
                replace(model, name=f"tau_{word}", values=values, column=f"{word}_effort")
                for word, values in named
            ),
        ), failed

    def lines(self, context: QueryContext, inputs: StateInputs, rows: int | None) -> dict[str, Any]:
        return {**super().lines(context, inputs, rows), "torque": RESIDUAL_LINE}
