"""Parameters that the torques of an arm are linear in: names, values, and arms with other values.

Ten numbers per moving link, all in the link's own frame:

    mass      m
    mx my mz  the first moment s = m c
    ixx … izz the rotary inertia J about the frame's origin, J = I + m K(c), K(c) = |c|² 1 - c cᵀ

and the damping, the armature and the Coulomb friction of every joint.  If joints have springs
k (q - rest), torques are linear in `stiffness` k and in `rest_torque` k · rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arm import ORIGIN, Arm, Inertia, Joint, Link
from robolin.core.arrays import AnyArray, JointValues, reject_tensor
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean, list_some, quote_list
from robolin.dynamics.algorithm import REGRESSOR_COLUMNS, SPRING_COLUMNS
from robolin.errors import UsageError, warn

OF_LINK = ("mass", "mx", "my", "mz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")
OF_JOINT = ("damping", "armature", "friction")
OF_SPRING = ("stiffness", "rest_torque")
# parameters of a joint with one-sided friction, instead of `friction`
_VELOCITY = "friction_velocity"
OF_SIDES = ("friction_positive", "friction_negative")

_TRIANGLE = np.triu_indices(3)


@dataclass(frozen=True)
class Parameter:
    """One parameter that torques are linear in.

    column: index of its column in the algorithm's output, link by link; columns of springs, and
        of friction for negative velocities, follow those of all links
    """

    column: int
    owner: str
    name: str
    value: float

    @property
    def label(self) -> str:
        return f"{self.owner}/{self.name}"


def parameters(arm: Arm) -> tuple[Parameter, ...]:
    """All parameters, links base to tip, each followed by those of the joint that moves it."""
    return tuple(
        parameter
        for i, (k, link) in enumerate(base_to_tip(arm))
        for parameter in (*_of_link(arm, k, link, i * REGRESSOR_COLUMNS), *_of_spring(arm, k, i))
    )


def base_to_tip(arm: Arm) -> Iterator[tuple[int, Link]]:
    """Number and link of every moving link, base to tip."""
    return ((k, arm.link(k)) for k in range(len(arm.links), 0, -1))


def _of_link(arm: Arm, k: int, link: Link, start: int) -> Iterator[Parameter]:
    # a multi-DoF joint has one body, its outermost link
    if k not in arm.virtual_links:
        for i, value in enumerate(linear_values(link.inertia)):
            yield Parameter(start + i, link.name, OF_LINK[i], value)
    joint = link.joint
    applied = (joint.damping if arm.damping else 0.0, joint.armature)
    for i, (name, value) in enumerate(zip(OF_JOINT, applied, strict=False), start=10):
        yield Parameter(start + i, joint.name, name, value)
    if arm.friction_velocity is None:
        return
    if joint.friction_negative is None:
        yield Parameter(start + 12, joint.name, OF_JOINT[2], joint.friction)
        return
    before = REGRESSOR_COLUMNS + (SPRING_COLUMNS if arm.has_springs else 0)
    extra = len(arm.links) * before + start // REGRESSOR_COLUMNS
    for column, name, value in zip(
        (start + 12, extra), OF_SIDES, joint.friction_sides, strict=True
    ):
        yield Parameter(column, joint.name, name, value)


def _of_spring(arm: Arm, k: int, i: int) -> Iterator[Parameter]:
    """Spring parameters of a single-DoF joint; they follow all others."""
    if arm.has_springs and not any(k in group.links for group in arm.groups):
        start, joint = len(arm.links) * REGRESSOR_COLUMNS + i * SPRING_COLUMNS, arm.link(k).joint
        yield Parameter(start, joint.name, OF_SPRING[0], joint.stiffness)
        yield Parameter(start + 1, joint.name, OF_SPRING[1], joint.stiffness * joint.rest)


def linear_values(body: Inertia) -> list[float]:
    """m, m c and J of a body."""
    c = np.array(body.com)
    J = np.array(body.rotary) + body.mass * steiner(c, c)
    return [body.mass, *(body.mass * c).tolist(), *J.tolist()]


def body_from_linear(values: ArrayLike, name: str = "") -> Inertia:
    """The body with these m, m c and J; a body without mass has no first moment."""
    m, *rest = np.asarray(values, dtype=np.float64).tolist()
    s, J = np.array(rest[:3]), np.array(rest[3:])
    if m == 0.0 and s.any():
        message = "a link with mass 0 must have zero first moments mx, my and mz"
        raise UsageError(message, where=name, hint="also set the mass")
    c = s / m if m else np.zeros(3)
    x, y, z = c.tolist()
    xx, xy, xz, yy, yz, zz = (J - m * steiner(c, c)).tolist()
    return Inertia(m, (x, y, z) if m else ORIGIN, (xx, xy, xz, yy, yz, zz))


def steiner(a: AnyArray, b: AnyArray) -> AnyArray:
    """(a·b) 1 - ½ (a bᵀ + b aᵀ), its xx xy xz yy yz zz; K(c) for a = b = c."""
    outer = np.outer(a, b)
    return (np.dot(a, b) * np.eye(3) - 0.5 * (outer + outer.T))[_TRIANGLE]


def arm_with_parameters(arm: Arm, values: JointValues | Mapping[str, float]) -> Arm:
    """The arm with other values; see `Arm.with_parameters`."""
    if isinstance(values, Mapping):
        arm, values = _with_friction_velocities(arm, values)
    listed = parameters(arm)
    before = {p.label: p.value for p in listed}
    after = {**before, **_named_values(before, values)}
    changed = {label: value for label, value in after.items() if value != before[label]}
    if not changed:
        return arm
    links = tuple(_link(arm, k, after, changed) for k in range(1, len(arm.links) + 1))
    kinds = {label.rpartition("/")[2].partition("_")[0] for label in changed}
    texts = {
        entry: "set by with_parameters"
        for entry, kind in _CONTRACT_ENTRIES.items()
        if kinds & set(kind)
    }
    count = f"{len(changed)} of {len(listed)} set by with_parameters"
    return replace(
        arm,
        links_tip_to_base=links,
        # the listed values are those that apply
        damping=arm.damping or "damping" in kinds,
        contract={**arm.contract, **texts, "parameters": count},
        model_dict={**arm.model_dict, "parameters": changed},
        digest="",
    )


def warn_if_negative(arm: Arm) -> None:
    """Warn about masses that were set to negative values.

    Small negative losses are usual in identified and learned parameters.
    """
    values = arm.model_dict.get("parameters", {}) if arm.model_dict else {}
    negative = [
        f"{label} = {value:g}"
        for label, value in values.items()
        if value < 0.0 and label.endswith(f"/{OF_LINK[0]}")
    ]
    if negative:
        warn(f"masses must be ≥ 0 to be physical: {list_some(negative)}")


def _with_friction_velocities(arm: Arm, values: Mapping[str, Any]) -> tuple[Arm, Mapping[str, Any]]:
    """The arm with the values of JOINT/friction_velocity, and all other values."""
    own = {name: v for name, v in values.items() if str(name).endswith(f"/{_VELOCITY}")}
    if not own:
        return arm, values
    links = list(arm.links_tip_to_base)
    numbers = {f"{link.joint.name}/{_VELOCITY}": i for i, link in enumerate(links)}
    for label, value in _named_values(dict.fromkeys(numbers, 0.0), own).items():
        if not value > 0.0:
            raise UsageError(f"must be > 0, got {value:g}", where=label)
        link = links[numbers[label]]
        links[numbers[label]] = replace(link, joint=replace(link.joint, friction_velocity=value))
    missing = [link.joint.name for link in links[::-1] if _rubs_without_velocity(link.joint)]
    if missing and arm.friction_velocity is None:
        raise UsageError(
            f"{_VELOCITY}: values are missing for joints with friction: {quote_list(missing)}",
            hint="name every joint with friction, or set the friction of the others to 0",
        )
    largest = max(link.joint.friction_velocity or 0.0 for link in links)
    changed = replace(
        arm,
        links_tip_to_base=tuple(links),
        friction_velocity=arm.friction_velocity or largest,
        contract={**arm.contract, "friction": "set by with_parameters"},
        model_dict={**arm.model_dict, "friction velocities": own},
        digest="",
    )
    return changed, {name: v for name, v in values.items() if name not in own}


def _rubs_without_velocity(joint: Joint) -> bool:
    return any(joint.friction_sides) and joint.friction_velocity is None


# entries of the contract -> parameters that they describe
_CONTRACT_ENTRIES = {
    "damping": ("damping",),
    "friction": ("friction",),
    "armature": ("armature",),
    "springs": ("stiffness", "rest"),
}


def _named_values(
    before: Mapping[str, float], values: JointValues | Mapping[str, float]
) -> dict[str, float]:
    """The values by label, checked to be finite numbers of known parameters."""
    if isinstance(values, Mapping):
        for label in values:
            if label not in before:
                hint = did_you_mean(label, before, f"write names like '{next(iter(before))}'")
                joint, _, word = str(label).rpartition("/")
                if word == "friction" and f"{joint}/damping" in before:
                    hint = f"also set '{joint}/friction_velocity', for example to 0.02"
                raise UsageError("parameter not found", where=str(label), hint=hint)
        names, numbers = list(values), [*values.values()]
    else:
        names, numbers = list(before), values  # type: ignore[assignment]
    for name, number in zip(names, numbers, strict=False):
        reject_tensor(name, number)
    try:
        array = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError("parameters: must be numbers") from None
    if array.shape != (len(names),):
        message = f"parameters: must have shape ({len(names)},), got {array.shape}"
        raise UsageError(
            message, hint="pass the values in the order of robolin.regressor(arm, q).names"
        )
    if (bad := np.flatnonzero(~np.isfinite(array))).size:
        raise UsageError(f"must be finite, got {array[bad[0]]}", where=names[int(bad[0])])
    return dict(zip(names, array.tolist(), strict=True))


def _link(arm: Arm, k: int, after: Mapping[str, float], changed: Mapping[str, float]) -> Link:
    """Link k with new values; unchanged parts keep their bits."""
    link, joint = arm.link(k), arm.link(k).joint
    labels = [f"{link.name}/{name}" for name in OF_LINK]
    body = link.inertia
    if k not in arm.virtual_links and not changed.keys().isdisjoint(labels):
        body = body_from_linear([after[label] for label in labels], link.name)
    return replace(link, inertia=body, joint=_joint(arm, joint, after, changed))


def _joint(
    arm: Arm, joint: Joint, after: Mapping[str, float], changed: Mapping[str, float]
) -> Joint:
    def value(name: str, default: float) -> float:
        return after.get(f"{joint.name}/{name}", default)

    positive, negative = OF_SIDES
    new = replace(
        joint,
        # without the description's damping, only damping that is set applies
        damping=value("damping", joint.damping if arm.damping else 0.0),
        armature=value("armature", joint.armature),
        friction=value(positive, value("friction", joint.friction)),
        friction_negative=after.get(f"{joint.name}/{negative}", joint.friction_negative),
    )
    stiffness, rest_torque = (f"{joint.name}/{name}" for name in OF_SPRING)
    if stiffness not in changed and rest_torque not in changed:
        return new
    if after[stiffness] == 0.0 and after[rest_torque]:
        message = "the rest torque must be 0 if the stiffness is 0"
        raise UsageError(message, where=joint.name)
    rest = after[rest_torque] / after[stiffness] if after[stiffness] else 0.0
    return replace(new, stiffness=after[stiffness], rest=rest)
