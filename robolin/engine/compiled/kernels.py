"""Kernels: an algorithm traced, compiled for this machine, and kept for next time."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any

from robolin.dynamics.algebra.comparison import Shape
from robolin.engine.compiled import kernel_cache
from robolin.engine.compiled.layout import Variant
from robolin.errors import UsageError

_POINTER, _WHOLE = ctypes.c_void_p, ctypes.c_int64
_KNOWN = (*[_POINTER] * 8, _WHOLE, _WHOLE)
_CALL = ctypes.CFUNCTYPE(None, *_KNOWN, _WHOLE, _WHOLE)
_SHARE = ctypes.CFUNCTYPE(_WHOLE, *_KNOWN, *[_WHOLE] * 3, _POINTER, _POINTER)


@dataclass(frozen=True)
class KernelSpec:
    """What a kernel is made from: an algorithm with its inputs and results, for one variant.

    algorithm: its entry in the catalogue, whose `run` is looked at only to compile
    optimized: or compiled in a tenth of the time, and half as quick at worst
    """

    name: str
    algorithm: Any
    needs: tuple[str, ...]
    gives: tuple[tuple[str, Shape], ...]
    variant: Variant
    width: int
    optimized: bool


@dataclass(frozen=True)
class Kernel:
    """Machine code, and how much scratch memory it wants.

    call:  for a range of rows
    share: for the pieces that a thread claims, as told in `entry_text`
    """

    call: Any
    share: Any
    scratch_vectors: int
    tables: int
    width: int
    keep_alive: Any


_kernels: dict[tuple[str, Variant, int, bool], Kernel] = {}
# for everything that goes into LLVM; again by its owner, whose signal handler may ask for a kernel
_lock = RLock()

if hasattr(os, "register_at_fork"):
    # a process forked off while another thread compiles would wait for that thread for ever
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def kernel_for(recipe: KernelSpec) -> Kernel:
    """The kernel from memory, from the cache folder, or compiled now."""
    key = _place(recipe)
    kernel = _kernels.get(key)
    if kernel is None:
        with _lock:
            kernel = _kernels.get(key) or _load_or_compile(recipe)
            _kernels[key] = kernel
    return kernel


def is_cached(recipe: KernelSpec) -> bool:
    """Whether a kernel is in memory or in the cache folder, so that nothing must be compiled."""
    if _place(recipe) in _kernels:
        return True
    with _lock:
        return kernel_cache.read_kernel(_key(recipe)) is not None


def _place(recipe: KernelSpec) -> tuple[str, Variant, int, bool]:
    return recipe.name, recipe.variant, recipe.width, recipe.optimized


def _load_or_compile(recipe: KernelSpec) -> Kernel:
    key = _key(recipe)
    stored = kernel_cache.read_kernel(key)
    if stored is None:
        stored = _compiled(recipe)
        kernel_cache.write_kernel(key, stored)
    return _linked(stored, recipe.width)


def _compiled(recipe: KernelSpec) -> bytes:
    """The kernel's object code behind one line that says what memory it needs."""
    from robolin.engine.compiled.kernel_text import trace

    text, scratch, tables = trace(
        recipe.algorithm.run, recipe.needs, dict(recipe.gives), recipe.variant, recipe.width
    )
    head = json.dumps({"scratch": scratch, "tables": tables}).encode()
    return head + b"\n" + object_code(text, recipe.optimized)


def object_code(text: str, optimized: bool = True) -> bytes:
    """Assembly to machine code: optimized, but with no liberty taken with the arithmetic."""
    llvm = _llvm()
    module = llvm.parse_assembly(text)
    machine = _machine(3 if optimized else 0)
    if optimized:
        _optimize(module, machine)
    code: bytes = machine.emit_object(module)
    return code


def _optimize(module: Any, machine: Any) -> None:
    llvm = _llvm()
    options = llvm.PipelineTuningOptions(speed_level=2)
    # the lanes are the vectors already; looking for more only takes time
    options.loop_vectorization = options.slp_vectorization = False
    options.loop_unrolling = options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def cached_function(text: str, name: str) -> tuple[int, Any]:
    """Where a function of a module begins, and what keeps it there; compiled once per machine."""
    with _lock:
        parts = {"text": text, **target_description()}
        key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        code = kernel_cache.read_kernel(key)
        if code is None:
            code = object_code(text)
            kernel_cache.write_kernel(key, code)
        engine = _engine_of(code)
        return engine.get_function_address(name), engine


def _engine_of(code: bytes) -> Any:
    """Machine code made ready to run, for as long as this is kept."""
    llvm = _llvm()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def _linked(stored: bytes, width: int) -> Kernel:
    head, _, code = stored.partition(b"\n")
    needs = json.loads(head)
    engine = _engine_of(code)
    call = _CALL(engine.get_function_address("call"))
    share = _SHARE(engine.get_function_address("share"))
    return Kernel(call, share, needs["scratch"], needs["tables"], width, engine)


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _machine(effort: int = 3) -> Any:
    # not to be kept: a machine remembers the alignment of the stack of the first text it is given
    llvm = _llvm()
    target = llvm.Target.from_default_triple()
    # fused multiply-add would round once where the source rounds twice
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=effort,
    )


@cache
def optimizing() -> bool:
    """Whether kernels are to be quick, or, with ROBOLIN_OPTIMIZE=0, to be there soon."""
    asked = os.environ.get("ROBOLIN_OPTIMIZE", "1")
    if asked not in ("0", "1"):
        hint = "1, or 0 to compile in a tenth of the time; it changes no result"
        raise UsageError(f"'{asked}' is neither 0 nor 1", where="ROBOLIN_OPTIMIZE", hint=hint)
    return asked == "1"


@cache
def host_width() -> int:
    """Doubles per vector register of this machine: 8, 4 or 2, or what ROBOLIN_WIDTH asks for."""
    asked = os.environ.get("ROBOLIN_WIDTH")
    if asked:
        if asked not in ("2", "4", "8"):
            hint = "2, 4 or 8; it changes no result"
            raise UsageError(f"'{asked}' is no width of a kernel", where="ROBOLIN_WIDTH", hint=hint)
        return int(asked)
    with _lock:
        features = _llvm().get_host_cpu_features()
    if features.get("avx512f"):
        return 8
    return 4 if features.get("avx") else 2


def _key(recipe: KernelSpec) -> str:
    """Everything the machine code depends on.

    The traced text follows from the sources of the algorithm, so their digest stands for it:
    a kernel in the cache then needs no tracing.
    """
    parts = {
        "sources": _sources_digest(),
        "algorithm": recipe.name,
        "variant": asdict(recipe.variant),
        "width": recipe.width,
        "optimized": recipe.optimized,
        **target_description(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def target_description() -> dict[str, Any]:
    """What the same text may become other machine code by."""
    llvm = _llvm()
    return {
        "llvm": llvm.llvm_version_info,
        "triple": llvm.get_default_triple(),
        "cpu": llvm.get_host_cpu_name(),
        "features": llvm.get_host_cpu_features().flatten(),
    }


@cache
def _sources_digest() -> str:
    package = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for room in ("dynamics", "engine"):
        for source in sorted((package / room).rglob("*.py")):
            place = source.relative_to(package).as_posix()
            digest.update(place.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()
