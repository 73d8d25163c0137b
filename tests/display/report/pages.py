"""Report pages for tests, and access to their contents."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import robolin
from robolin.core.arm import Arm
from robolin.core.arm_parts import Limits
from robolin.display.report.report_page import report_page
from robolin.display.report.reported_arm import ReportedArm, ReportOptions, reported_arm
from robolin.queries.states import States

ROWS, PEAK = 5000, 3217

# markup, quotes, all kinds of escapes, both text directions, and very long names
NASTY = (
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=1">',
    "' onmouseover='window.hacked=1",
    "<!--<script>",
    "-->]]>",
    "$policy ${data} $$",
    "&lt;b&gt; &amp; &#60;script&#62;",
    "\\u003cscript\\u003e",
    "javascript:window.hacked=1",
    "\x1b[31m\x00\x07\r\n\t",
    "‮evil‬⁦",
    "שלום עולם",
    "</table></section></main>",
    "<svg/onload=window.hacked=1>",
    "`${window.hacked=1}`",
    "{{constructor.constructor('window.hacked=1')()}}",
    "</title><script>window.hacked=1</script>",
    "</style><script>window.hacked=1</script>",
    "x" * 10_000,
)


def hostile_names(count: int) -> list[str]:
    """Return different names, each of them hostile."""
    return [f"{NASTY[i % len(NASTY)]}{i}" for i in range(count)]


def ignore_message(kind: str, text: str) -> None:
    """Ignore the message."""


def motion(arm: Arm, rows: int = ROWS) -> dict[str, Any]:
    """A smooth motion with one sample of a large acceleration."""
    time = np.arange(rows)[:, None] * 1e-3
    speed = 1.0 + np.arange(arm.n)
    q, qd = 0.5 * np.sin(speed * time), 0.5 * speed * np.cos(speed * time)
    qdd = -0.5 * speed**2 * np.sin(speed * time)
    qdd[min(PEAK, rows - 1), 0] += 400.0
    return {"q": q, "qd": qd, "qdd": qdd}


def report_arm(arm: Arm, states: States, name: str = "", verify_states: int = 0) -> ReportedArm:
    """The report of an arm, without its file."""
    options = ReportOptions(states, verify_states, ignore_message)
    return reported_arm(name or arm.name, arm, (), options)


def limited_two_link() -> Arm:
    """The small arm, with limits that it exceeds at the peak of the motion."""
    arm = robolin.load("two-link")
    links = tuple(
        replace(link, joint=replace(link.joint, limits=Limits(-2.0, 2.0, 5.0, 100.0)))
        for link in arm.links_tip_to_base
    )
    return replace(arm, links_tip_to_base=links)


def page_of_two_link(rows: int = ROWS) -> str:
    """A page about a small arm in motion."""
    arm = limited_two_link()
    return report_page([report_arm(arm, States(**motion(arm, rows)))])


def data_in(page: str) -> dict[str, Any]:
    """The data of a page."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    data: dict[str, Any] = json.loads(match[1])
    return data


def numbers(data: dict[str, Any], index: int) -> Any:
    """One array of a page, as its program unpacks it."""
    text = data["arrays"][index]
    return np.frombuffer(b64decode(text.removeprefix(":")), "<f8" if text[0] == ":" else "<f4")


def stored(page: str, folder: Path) -> str:
    """The address of a page written to a folder."""
    path = folder / "report.html"
    path.write_text(page, "utf-8", newline="\n")
    return path.as_uri()
