"""Files of a WebAssembly target: the module, a JavaScript wrapper, its types and a test."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

from robolin import __version__
from robolin.codegen.c_files import header_contract_lines
from robolin.codegen.functions import ChosenQuestion, valid_states
from robolin.codegen.wasm_module import WasmFunction, WasmModule, wasm_module
from robolin.core.arm import Arm
from robolin.core.arm_parts import axis_to_z, transpose
from robolin.core.choices import SourceLayout
from robolin.core.quantity_table import QUANTITIES, has_units_by_label, joint_unit, unit_of
from robolin.core.text import printable
from robolin.dynamics.algebra.trigonometry import DOUBLE
from robolin.engine.compiled.layout import HEAD_DOUBLES, LINK_DOUBLES, MASS
from robolin.evaluation.methods import Method


def wasm_files(
    questions: Sequence[ChosenQuestion],
    prefix: str,
    layout: SourceLayout,
    method: Method,
    states: int,
) -> dict[str, bytes | Iterator[str]]:
    """All files by name: bytes of the module, lines of texts."""
    module = wasm_module(questions, layout)
    return {
        f"{prefix}.wasm": module.content,
        f"{prefix}.mjs": wrapper_text(module, f"{prefix}.wasm"),
        f"{prefix}.d.mts": types_text(module),
        f"{prefix}_test.mjs": _test_text(module, prefix, method, states),
    }


def wrapper_text(module: WasmModule, file: str) -> Iterator[str]:
    """JavaScript module: names, shapes and units, and functions that take and return arrays."""
    yield f"export const info = {_json(module_info(module, file), 2)};"
    template = resources.files("robolin.codegen") / "wasm_template.mjs"
    yield from template.read_text("utf-8").splitlines()


_BINDING = "/** Functions of an instance of the module. */"


def binding_text() -> str:
    """JavaScript expression: a function of `info` that returns `bind`, for pages of one file."""
    template = resources.files("robolin.codegen") / "wasm_template.mjs"
    text = template.read_text("utf-8").partition(_BINDING)[2].replace("export function", "function")
    return f"(info) => {{{text}return bind;\n}}"


def module_info(module: WasmModule, file: str) -> dict[str, Any]:
    """Names, units, shapes and addresses of a module, for its wrapper."""
    arm = module.functions[0].question.arm
    included = {
        key: value for each in module.functions for key, value in each.question.contract.items()
    }
    return {
        "name": arm.name,
        "file": file,
        "robolin": __version__,
        "digest": arm.digest,
        "joints": list(arm.joint_names),
        "units": [joint_unit("position", joint.turns) for joint in arm.joints],
        "assumptions": header_contract_lines(included or {"arm": arm.name}),
        "functions": {each.name: _function_info(module, each) for each in module.functions},
        "model": _model_info(module, arm),
    }


def _function_info(module: WasmModule, function: WasmFunction) -> dict[str, Any]:
    n, address = function.question.arm.n, module.addresses
    inputs = {name: (address[region], (n,)) for name, region in function.inputs.items()}
    results = {
        name: (address[function.region(name)], shape) for name, shape in function.results.items()
    }
    return {
        "algorithm": function.question.algorithm.title,
        "layout": "unrolled" if function.unrolled else "loops",
        "inputs": {name: _array(function, name, *each) for name, each in inputs.items()},
        "results": {name: _array(function, name, *each) for name, each in results.items()},
    }


def _array(
    function: WasmFunction, name: str, address: int, shape: tuple[int, ...]
) -> dict[str, Any]:
    return {"address": address, "shape": list(shape), "unit": _unit(function.question.arm, name)}


def _unit(arm: Arm, name: str) -> str:
    """The unit; entries of some results have individual units, which are not listed."""
    quantity = name.removesuffix("_given")
    parts = QUANTITIES[quantity].parts if quantity in QUANTITIES else ("closure",)
    if any(part.startswith("closure") for part in parts) or has_units_by_label(quantity):
        return "SI"
    return unit_of(quantity, [joint.kind for joint in arm.joints])


def _model_info(module: WasmModule, arm: Arm) -> dict[str, Any] | None:
    """Inertias and frames that change the numbers in memory; None if they are constants."""
    if any(function.unrolled for function in module.functions):
        return None
    numbers = sorted(at for region, at in module.addresses.items() if region.startswith("numbers"))
    links = [
        {
            "mass": link.inertia.mass,
            "com": link.inertia.com,
            "rotary": link.inertia.rotary,
            "axes": transpose(axis_to_z(link.joint.axis)),
        }
        for link in arm.links_tip_to_base
    ]
    frames = {
        name: {
            "link": frame.link,
            "rotation": frame.pose.rotation,
            "translation": frame.pose.translation,
        }
        for name, frame in arm.frames.items()
        if frame.link != arm.base
    }
    start = HEAD_DOUBLES + MASS
    return {
        "numbers": numbers,
        "start": start,
        "stride": LINK_DOUBLES,
        "gravity": arm.gravity,
        "links": links,
        "frames": frames,
    }


_TYPES = """\
/** One number per joint, or a matrix in row-major order. */
export type Numbers = ArrayLike<number>;
/** 0: success; k: joint k, counted from 1, moves no inertia; -1: angle; -2: singular. */
export type Status = number;
export interface ArrayInfo { address: number; shape: number[]; unit: string }
export interface FunctionInfo {
  algorithm: string;
  layout: "unrolled" | "loops";
  inputs: Record<string, ArrayInfo>;
  results: Record<string, ArrayInfo>;
}
export declare const info: {
  name: string;
  file: string;
  robolin: string;
  digest: string;
  joints: string[];
  units: string[];
  assumptions: string[];
  functions: Record<string, FunctionInfo>;
};
"""
_LOADING = """\
  /** Gravity in m/s² in the axes of the robot's root; needs --layout loops. */
  set_gravity(gravity: Numbers): void;
  /** Point mass in kg on a link, at a position in m; needs --layout loops. */
  set_payload(frame: string, mass: number, position?: Numbers): void;
}
export declare function explain(status: Status): string;
export declare function load(source?: BufferSource | Response | URL | string): Promise<Arm>;
export declare function bind(exports: WebAssembly.Exports): Arm;
"""


def types_text(module: WasmModule) -> Iterator[str]:
    """TypeScript declarations of the wrapper."""
    yield from _TYPES.splitlines()
    yield "export interface Arm {"
    for function in module.functions:
        info = _function_info(module, function)
        yield f"  /** {_comment(info['algorithm'])}"
        for kind, arrays in (("", info["inputs"]), ("returns ", info["results"])):
            for name, each in arrays.items():
                size = " × ".join(map(str, each["shape"])) or "1"
                yield f"   * {kind}{name}: {size}, {each['unit']}"
        yield "   */"
        inputs = ", ".join(f"{name}: Numbers" for name in info["inputs"])
        results = "".join(f"; {name}: Float64Array" for name in info["results"])
        yield f"  {function.name}({inputs}): {{ status: Status{results} }};"
    yield from _LOADING.splitlines()


_TEST = """\
import {{ info, load }} from "./{prefix}.mjs";

// states and results: doubles in base64
const cases = {cases};

const numbers = (text) => {{
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float64Array(bytes.buffer);
}};
const bits = (values) => new BigUint64Array(values.buffer, values.byteOffset, values.length);

/** Compare every number of every state by its bits. */
export async function check(source) {{
  const arm = await load(source);
  let compared = 0, wrong = 0;
  for (const [name, {{ inputs, results }}] of Object.entries(cases)) {{
    const given = inputs.map(numbers);
    const expected = Object.entries(results).map(([key, text]) => [key, numbers(text)]);
    for (let state = 0; state < {states}; ++state) {{
      const n = info.joints.length;
      const found = arm[name](...given.map((all) => all.subarray(state * n, (state + 1) * n)));
      wrong += found.status !== 0;
      for (const [key, all] of expected) {{
        const size = found[key].length;
        const right = bits(all.subarray(state * size, (state + 1) * size));
        bits(found[key]).forEach((each, i) => {{ wrong += each !== right[i]; ++compared; }});
      }}
    }}
  }}
  return {{ compared, wrong }};
}}

if (typeof process !== "undefined" && process.argv[1]?.endsWith("{prefix}_test.mjs")) {{
  const {{ compared, wrong }} = await check();
  console.log(`{prefix}: ${{compared}} numbers, ${{wrong}} differences`);
  process.exitCode = wrong ? 1 : 0;
}}
"""


def _test_text(module: WasmModule, prefix: str, method: Method, states: int) -> Iterator[str]:
    """Test that compares results with robolin's, bit by bit."""
    cases = {}
    for function in module.functions:
        question = function.question
        inputs, results = valid_states(question, method, states, DOUBLE)
        cases[function.name] = {
            "inputs": [_base64(inputs[name]) for name in question.arguments],
            "results": {name: _base64(results[name]) for name in function.results},
        }
    text = _TEST.format(prefix=prefix, cases=_json(cases, 1), states=states)
    yield from text.splitlines()


def _base64(values: Any) -> str:
    return b64encode(values.astype("<f8").tobytes()).decode()


def _json(value: Any, indent: int) -> str:
    """JSON in ASCII with arrays of numbers on one line, also valid inside a script element."""
    text = json.dumps(value, indent=indent, default=list).replace("<", "\\u003c")
    return re.sub(
        r"\[\s+(-?\d[^\[\]{}\"]*?)\s+\]",
        lambda match: "[" + re.sub(r"\s+", " ", match[1]) + "]",
        text,
    )


def _comment(text: str) -> str:
    return printable(text).replace("*/", "* /")
