"""Figures of links and joints: their units where a joint turns, and where it slides."""

from __future__ import annotations

from collections.abc import Mapping

from robolin.quantities.unit_texts import joint_units

FIGURES: Mapping[str, tuple[str, str]] = {
    "mass": ("kg", "kg"),
    "com": ("m", "m"),
    "first moment": ("kg·m", "kg·m"),
    "inertia": ("kg·m²", "kg·m²"),
    "origin": ("m", "m"),
    "rotation": ("rad", "rad"),
    "axis": ("1", "1"),
    "gravity": ("m/s²", "m/s²"),
    "damping": ("N·m·s/rad", "N·s/m"),
    "friction": joint_units("effort"),
    "armature": ("kg·m²", "kg"),
    **dict.fromkeys(("lower limit", "upper limit"), joint_units("position")),
    "velocity limit": joint_units("velocity"),
    "effort limit": joint_units("effort"),
    "mimic offset": joint_units("position"),
}

# the figure that each parameter of a link or a joint is a part of
PARAMETERS: Mapping[str, str] = {
    **{name: name for name in ("mass", "damping", "friction", "armature")},
    **dict.fromkeys(("mx", "my", "mz"), "first moment"),
    **dict.fromkeys(("com_x", "com_y", "com_z"), "com"),
    **dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "inertia"),
    **dict.fromkeys(("origin_x", "origin_y", "origin_z", "dh_a", "dh_d"), "origin"),
    **dict.fromkeys(("turn_x", "turn_y", "turn_z", "dh_alpha", "dh_theta"), "rotation"),
    **dict.fromkeys(("axis_x", "axis_y", "axis_z"), "axis"),
}
