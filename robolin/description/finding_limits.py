"""Findings that are many of a kind: the first ones are shown, the rest is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from robolin.description.model import Finding

MOST_OF_A_KIND = 200


def limited(findings: Sequence[Finding]) -> list[Finding]:
    """The first findings of each id, and one more for each that has more than can be read."""
    counts = Counter(found.id for found in findings)
    if not counts or max(counts.values()) <= MOST_OF_A_KIND:
        return list(findings)
    kept: list[Finding] = []
    seen: Counter[str] = Counter()
    for found in findings:
        seen[found.id] += 1
        if seen[found.id] <= MOST_OF_A_KIND:
            kept.append(found)
        elif seen[found.id] == MOST_OF_A_KIND + 1:
            kept.append(_rest(found, counts[found.id] - MOST_OF_A_KIND))
    return kept


def _rest(first: Finding, count: int) -> Finding:
    message = f"and {count} more findings of this kind from here on"
    return Finding(first.id, first.level, first.place, message, "correct these first")
