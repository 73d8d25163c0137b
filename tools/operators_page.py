"""Page of the docs that shows how the spatial operators change with the joint positions.

A WebAssembly module computes the operators of one arm about the joints, in the axes of the root.
"""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import robolin
from robolin.codegen.functions import ChosenQuestion
from robolin.codegen.wasm_files import binding_text, module_info
from robolin.codegen.wasm_module import wasm_module
from robolin.core.arm import Arm
from robolin.display.report.page_markup import content_policy, page_file_text
from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.algebra.inertias import articulated_from, articulated_times
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import add, cross, sub
from robolin.dynamics.algorithm import Algorithm
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.mass_matrix.articulated_bodies import articulated_bodies

_FILES = Path(__file__).parent / "site_files"
ARMS = ("two-link", "ur5")


def operators(chain: Chain) -> None:
    """l(k), H(k), M(k), P(k), D(k) and G(k) about the origin of every link."""
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    for k in chain.tip_to_base():
        p = links.p[k]
        shift = sub(p, links.p[chain.inboard(k)])
        motion, gain = links.H[k], _shifted_force(art.G[k], p)
        # a velocity at another point: v + ω × p
        hinge = motion[:3] + add(motion[3:], cross(motion[:3], p))
        for i in range(3):
            chain.out("shift", (k, i), shift[i])
        for i in range(6):
            chain.out("H", (k, i), hinge[i])
            chain.out("G", (k, i), gain[i])
        chain.out("D", (k, 0), art.D[k])
        for name, inertia in (("M", articulated_from(links.M[k])), ("P", art.P[k])):
            for j in range(6):
                column = _column(inertia, j, p)
                for i in range(6):
                    chain.out(name, (k, i, j), column[i])


def _shifted_force(f: Vector, p: Vector) -> Vector:
    """The same spatial force about the point p: N - p × F."""
    return sub(f[:3], cross(p, f[3:])) + f[3:]


def _column(inertia: Vector, j: int, p: Vector) -> Vector:
    """Column j of an inertia about p: the momentum of a unit velocity there."""
    unit = tuple(1.0 if i == j else 0.0 for i in range(6))
    # the velocity at the origin of a body whose velocity at p is the unit
    here = unit[:3] + sub(unit[3:], cross(unit[:3], p))
    return _shifted_force(articulated_times(inertia, here), p)


_ALGORITHM = Algorithm(
    operators,
    ("q",),
    {
        "shift": ("link", 3),
        "H": ("link", 6),
        "M": ("link", 6, 6),
        "P": ("link", 6, 6),
        "D": ("link", 1),
        "G": ("link", 6),
    },
    "articulated bodies",
)


def operators_module(arm: Arm) -> tuple[bytes, dict[str, Any]]:
    """The module of an arm, and its description for the wrapper."""
    module = wasm_module([ChosenQuestion("operators", arm, _ALGORITHM)], "unrolled")
    info = module_info(module, "")
    return module.content, {key: info[key] for key in ("name", "joints", "functions", "model")}


def operators_page() -> str:
    """The page as one HTML text."""
    arms = []
    for name in ARMS:
        arm = robolin.load(name)
        content, info = operators_module(arm)
        module = b64encode(content).decode("ascii")
        links = [link.name for link in arm.links]
        arms.append({"info": info, "module": module, "links": links})
    program = f'"use strict";\nconst boundModule = {binding_text()};\n'
    program += (_FILES / "operators.js").read_text("utf-8")
    style = page_file_text("style.css") + (_FILES / "operators.css").read_text("utf-8")
    page = (_FILES / "operators.html").read_text("utf-8")
    data = json.dumps(arms).replace("<", "\\u003c")
    policy = content_policy(style, program, wasm=True)
    for word, text in {"policy": policy, "style": style, "data": data, "program": program}.items():
        page = page.replace(f"${word}$", text)
    return page
