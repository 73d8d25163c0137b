"""A serial chain of n joints that stands for all of them: what the papers count."""

from __future__ import annotations

from robolin.engine.parameters import LinkRow, Parameters


def generic_chain(joints: int) -> Parameters:
    """n revolute joints without rotors, friction or loads; the numbers themselves do not matter."""
    rows = tuple(
        LinkRow(
            name=f"joint{joints - k + 1}",
            parent=k + 1,
            turns=True,
            rotation=(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
            offset=(0.1, 0.2, 0.3),
            mass=1.0,
            com=(0.1, 0.1, 0.1),
            rotary=(0.1, 0.0, 0.0, 0.1, 0.0, 0.1),
            armature=0.0,
            damping=0.0,
            friction=0.0,
            coordinate=k,
            ratio=1.0,
            shift=0.0,
            follows=False,
            outermost=k,
            carrier=k + 1,
        )
        for k in range(1, joints + 1)
    )
    names = tuple(f"joint{i}" for i in range(1, joints + 1))
    order = tuple(joints - k for k in range(1, joints + 1))
    return Parameters(rows, (), (0.0, 0.0, -9.81), None, order, names)
