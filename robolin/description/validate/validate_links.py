"""What is odd about a link's mass and inertia, whatever it is part of.

The principal moments a ≤ b ≤ c of a real body satisfy a ≥ 0 and a + b ≥ c (∫y² + ∫z² and so on,
the integrals being positive).  Both are judged to `INERTIA_TOLERANCE` of c: six printed
figures leave that much, and a thin plate, a + b = c, must pass when its figures are rounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import copysign, hypot, inf, sqrt

from robolin.core.arm import Inertia, Rotary
from robolin.core.text import quoted
from robolin.description.building.contract import exact_figure
from robolin.description.model import Finding, LinkEntry, Place
from robolin.description.validate.validation_ids import finding

LARGEST_RADIUS = 1.5
SMALLEST_ODD_RADIUS = 0.1
ODD_RATIO = 3.0
REPEATED_AT_LEAST = 3
PLACEHOLDER = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)

INERTIA_TOLERANCE = 1e-6
ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")

# a figure someone typed has few digits; one that was computed, or turned into other axes, has many
TYPED_DIGITS = 12


def link_findings(link: LinkEntry, size: float | None) -> Iterator[Finding]:
    """Everything to say about one link; `size` spans what is attached to it, None if unknown."""
    if link.inertia is None:
        return
    body, place = link.inertia, link.inertia_place or link.place
    yield from _mass_findings(link.name, body, place)
    if body.rotary == PLACEHOLDER:
        message = f"link '{link.name}': the inertia is 1, 1, 1 kg·m², which no one measured"
        hint = "give the link's own figures, from CAD or from a box or cylinder of its size"
        yield finding("placeholder-inertia", place, message, hint)
    yield from _inertia_findings(link.name, body, place)
    yield from _radius_findings(link.name, body, place, size)


def _mass_findings(name: str, body: Inertia, place: Place) -> Iterator[Finding]:
    if body.mass < 0.0:
        message = f"link '{name}': the mass {exact_figure(body.mass)} kg is below zero"
        yield finding("negative-mass", place, message, f"did you mean {exact_figure(-body.mass)}?")
    elif body.mass == 0.0 and any(body.rotary):
        message = f"link '{name}' has a moment of inertia but no mass"
        hint = "give its mass, or set the inertia to zero if it is only a frame"
        yield finding("inertia-without-mass", place, message, hint)
    elif body.mass and not any(body.rotary):
        message = f"link '{name}': {exact_figure(body.mass)} kg without a moment of inertia"
        hint = "fine for a point mass; otherwise give the inertia about the centre of mass"
        yield finding("mass-without-inertia", place, message, hint)


def _inertia_findings(name: str, body: Inertia, place: Place) -> Iterator[Finding]:
    """At most one finding: an inertia that is not positive breaks the triangle as well."""
    moments = principal_moments(body.rotary)
    shown = ", ".join(f"{moment:.4g}" for moment in moments)
    if not positive(moments):
        message = f"link '{name}': the inertia is not positive; principal moments {shown} kg·m²"
        hint = _repair(body, "no moment of inertia is below zero; check signs and decimal points")
        yield finding("inertia-not-positive", place, message, hint)
    elif short := triangle_shortfall(moments):
        a, b, c = moments
        message = (
            f"link '{name}': the principal moments {shown} kg·m² belong to no body: "
            f"{a:.4g} + {b:.4g} misses {c:.4g} by {short:.3g} ({100.0 * short / c:.3g} %)"
        )
        if body.mass > 0.0:
            message += f"; radius of gyration {radius_of_gyration(body):.3g} m"
        hint = _repair(body, "two moments always add up to the third or more; check the figures")
        yield finding("triangle-inequality", place, message, hint)


def _repair(body: Inertia, otherwise: str) -> str:
    repairs = decimal_point_repairs(body.rotary)
    return f"possible if {', or '.join(repairs[:3])}" if repairs else otherwise


def _radius_findings(
    name: str, body: Inertia, place: Place, size: float | None
) -> Iterator[Finding]:
    """A radius no link of an arm has, or one far beyond everything attached to the link.

    Both bars are loose on purpose: 1.5 m is more than the reach of most arms, and a body seldom
    has its mass three times as far out as its joints, frames and centre of mass are apart.
    """
    if body.mass <= 0.0:
        return
    radius = radius_of_gyration(body)
    odd = size is not None and radius > max(SMALLEST_ODD_RADIUS, ODD_RATIO * size)
    if radius > LARGEST_RADIUS or odd:
        message = f"link '{name}': a radius of gyration of {radius:.3g} m from {body.mass:.4g} kg"
        if size is not None:
            message += f", where joints, frames and centre of mass span {size:.3g} m"
        hint = "check the units (kg·m², not kg·mm² or kg·cm²) and the mass"
        yield finding("radius-of-gyration", place, message, hint)


def repeated_inertials(links: Sequence[LinkEntry]) -> Iterator[Finding]:
    """Links that share one inertial to the last digit, which are copies more often than twins."""
    groups: dict[Inertia, list[LinkEntry]] = {}
    for link in links:
        if link.inertia and any(link.inertia.rotary):
            groups.setdefault(link.inertia, []).append(link)
    for group in groups.values():
        if len(group) >= REPEATED_AT_LEAST:
            place = group[0].inertia_place or group[0].place
            message = f"{len(group)} links have the same inertial: " + quoted(
                [link.name for link in group]
            )
            hint = "fine for parts that are the same; otherwise give each link its own figures"
            yield finding("repeated-inertial", place, message, hint)


def principal_moments(rotary: Rotary) -> tuple[float, float, float]:
    """The eigenvalues in rising order, by Jacobi's turns: small ones keep their digits."""
    scale = max(map(abs, rotary))
    if scale == 0.0:
        return 0.0, 0.0, 0.0
    xx, xy, xz, yy, yz, zz = (entry / scale for entry in rotary)
    A = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    # convergence is quadratic: six sweeps are plenty, the bound only guards against a cycle
    for _ in range(30):
        if hypot(A[0][1], A[0][2], A[1][2]) == 0.0:
            break
        for p, q in ((0, 1), (0, 2), (1, 2)):
            _turn_away(A, p, q)
    a, b, c = sorted(A[i][i] * scale for i in range(3))
    return a, b, c


def _turn_away(A: list[list[float]], p: int, q: int) -> None:
    """One turn in the plane p, q that makes A[p][q] vanish."""
    small = abs(A[p][q])
    if abs(A[p][p]) + small == abs(A[p][p]) and abs(A[q][q]) + small == abs(A[q][q]):
        A[p][q] = A[q][p] = 0.0
        return
    if small == 0.0:
        return
    theta = (A[q][q] - A[p][p]) / (2.0 * A[p][q])
    t = copysign(1.0, theta) / (abs(theta) + hypot(theta, 1.0))
    c = 1.0 / hypot(t, 1.0)
    s = t * c
    r = 3 - p - q
    A[p][p], A[q][q] = A[p][p] - t * A[p][q], A[q][q] + t * A[p][q]
    A[p][q] = A[q][p] = 0.0
    A[p][r], A[q][r] = c * A[p][r] - s * A[q][r], s * A[p][r] + c * A[q][r]
    A[r][p], A[r][q] = A[p][r], A[q][r]


def positive(moments: tuple[float, float, float]) -> bool:
    """Whether no principal moment is below zero."""
    a, b, c = moments
    return a >= -INERTIA_TOLERANCE * max(abs(b), abs(c))


def triangle_shortfall(moments: tuple[float, float, float]) -> float:
    """By how much the two small moments miss the largest; 0 where they reach it."""
    a, b, c = moments
    return c - a - b if c - a - b > INERTIA_TOLERANCE * c else 0.0


def possible_inertia(rotary: Rotary) -> bool:
    """Whether some body has this inertia."""
    moments = principal_moments(rotary)
    return positive(moments) and triangle_shortfall(moments) == 0.0


def radius_of_gyration(body: Inertia) -> float:
    """How far from its centre a body's mass would sit to give its largest moment."""
    if body.mass <= 0.0:
        return inf if any(body.rotary) else 0.0
    return sqrt(max(0.0, principal_moments(body.rotary)[2]) / body.mass)


def decimal_point_repairs(rotary: Rotary) -> list[str]:
    """Entries whose decimal point, moved as little as needed, would make the inertia possible."""
    for places in (1, 2, 3):
        if found := [*_shifts(rotary, places), *_shifts(rotary, -places)]:
            return found
    return []


def _shifts(rotary: Rotary, places: int) -> Iterator[str]:
    from decimal import Decimal

    for i, entry in enumerate(rotary):
        figures = Decimal(repr(entry)).normalize()
        if entry == 0.0 or len(figures.as_tuple().digits) > TYPED_DIGITS:
            continue
        shifted = float(figures.scaleb(places))
        xx, xy, xz, yy, yz, zz = (shifted if j == i else rotary[j] for j in range(6))
        if possible_inertia((xx, xy, xz, yy, yz, zz)):
            yield f"{ENTRIES[i]} {entry:g} is meant as {shifted:g}"
