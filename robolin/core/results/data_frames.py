"""A result as dicts and data frames, for whoever goes on in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from robolin.core.arrays import Numbers
from robolin.errors import RobolinError

if TYPE_CHECKING:
    from polars import DataFrame

    from robolin.core.results.result import Result


def dict_of(result: Result) -> dict[str, Any]:
    """The result as plain data around its arrays, named as JSON files name them."""
    document: dict[str, Any] = {"verb": result.verb, "joints": list(result.joints)}
    if result.time is not None:
        document["time"] = result.time
    return {
        **document,
        "results": {array.name: array.values for array in result.arrays},
        "units": {array.name: array.unit for array in result.arrays},
        "labels": {array.name: [list(names) for names in array.labels] for array in result.arrays},
        "contract": dict(result.contract),
        "options": dict(result.options),
        "inputs": dict(result.inputs),
    }


def polars_of(result: Result) -> DataFrame:
    """One row per state, with the columns of the CSV."""
    import polars

    return polars.DataFrame(_columns(result))


def pandas_of(result: Result) -> Any:
    """One row per state, with the columns of the CSV."""
    try:
        import pandas
    except ImportError as error:
        message = "pandas is not installed"
        raise RobolinError(message, hint="pip install pandas, or take to_polars()") from error
    return pandas.DataFrame(_columns(result))


def _columns(result: Result) -> dict[str, Numbers]:
    from robolin.core.results.table_columns import table_columns

    return {
        name: values
        for columns in table_columns(result)
        for name, values in zip(columns.names, columns.values.T, strict=True)
    }
