"""A plot of the last run: ratios on Panda, and the cost of chains by length."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.page import DOCS
from benchmarks.timing import progress
from benchmarks.verbs import LOOPS

PICTURE = DOCS / "pictures" / "performance.svg"
PINOCCHIO, MUJOCO = LOOPS["Pinocchio"], LOOPS["MuJoCo"]
COLOURS = {"robolin": "#1f6f8b", PINOCCHIO: "#d1743a", MUJOCO: "#8a8a8a"}


def draw(figures: Mapping[str, Any], target: Path = PICTURE) -> None:
    """Write the plot, if matplotlib and the required results are available."""
    if find_spec("matplotlib") is None:
        progress("no picture: matplotlib is not installed")
        return
    if not {"verbs", "scaling"} <= set(figures):
        progress("no picture: it needs the parts 'verbs' and 'scaling'")
        return
    import matplotlib

    matplotlib.use("svg")
    # the same numbers give the same bytes
    matplotlib.rcParams.update({"svg.hashsalt": "robolin", "svg.fonttype": "none"})
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    title, panda = next(iter(figures["verbs"].items()))
    _ratios(left, title, panda["verbs"])
    _growth(right, figures["scaling"]["chains"])
    figure.savefig(target, metadata={"Date": None})
    pyplot.close(figure)


def _ratios(axes: Any, title: str, verbs: Mapping[str, Any]) -> None:
    """Ratio of Pinocchio's and MuJoCo's time by verb; whiskers span all rounds."""
    shown = [verb for verb, entry in verbs.items() if PINOCCHIO in entry]
    for offset, peer in ((-0.2, PINOCCHIO), (0.2, MUJOCO)):
        pairs = [
            (i, verbs[verb][peer]["ratio"]) for i, verb in enumerate(shown) if peer in verbs[verb]
        ]
        medians = [ratio["median"] for _, ratio in pairs]
        below = [ratio["median"] - ratio["low"] for _, ratio in pairs]
        above = [ratio["high"] - ratio["median"] for _, ratio in pairs]
        axes.barh(
            [i + offset for i, _ in pairs],
            medians,
            0.38,
            xerr=(below, above),
            color=COLOURS[peer],
            error_kw={"linewidth": 0.8},
            label=peer,
        )
    axes.set_yticks(range(len(shown)), shown)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.axvline(1.0, color=COLOURS["robolin"], linewidth=1.5)
    axes.set_xlabel("time per state, robolin on one core = 1")
    axes.set_title(title)
    _legend(axes)


def _growth(axes: Any, chains: Mapping[str, Any]) -> None:
    """µs per state of the linearization and of one perturbation, by number of joints."""
    lengths = [int(n) for n in chains]
    for verb, style in (("linearize-forward", "-o"), ("perturb-forward", "--s")):
        for who in ("robolin", PINOCCHIO):
            us = [chains[str(n)]["verbs"][verb].get(who, {}).get("us") for n in lengths]
            if all(us):
                values = [entry["median"] for entry in us]
                axes.loglog(
                    lengths, values, style, color=COLOURS[who], label=f"{verb}, {who}", markersize=4
                )
    axes.set_xticks(lengths, [str(n) for n in lengths])
    axes.minorticks_off()
    axes.set_xlabel("joints of a serial chain")
    axes.set_ylabel("µs per state, one core")
    axes.set_title("cost as arms grow")
    _legend(axes)


def _legend(axes: Any) -> None:
    """A legend below the axis, clear of the lines."""
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=8, frameon=False)
