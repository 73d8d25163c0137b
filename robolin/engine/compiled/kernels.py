"""Kernels: trace an algorithm, compile it for this machine, and cache the machine code.

Machine code is loaded only from the folder `kernels` that robolin creates in the cache: a real
folder of the user that no other user may enter.  A cache file starts with a digest of that folder's
inode number, the file's name and its content.  Damaged files are compiled again, and so are files
of a folder that was copied, unpacked or checked out from elsewhere.
"""

from __future__ import annotations

import ctypes
import json
import os
import stat
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import Any, TypeAlias

from robolin.core.progress import running
from robolin.core.records import dataclass
from robolin.dynamics.algebra.trigonometry import DOUBLE, Precision
from robolin.dynamics.algorithm import Shape
from robolin.engine.compiled.layout import Variant
from robolin.errors import UsageError

_POINTER, _INT64 = ctypes.c_void_p, ctypes.c_int64
_KNOWN = (*[_POINTER] * 8, _INT64, _INT64)
_CALL = ctypes.CFUNCTYPE(None, *_KNOWN, _INT64, _INT64)
_SHARE = ctypes.CFUNCTYPE(_INT64, *_KNOWN, *[_INT64] * 3, _POINTER, _POINTER)


@dataclass(frozen=True)
class KernelSpec:
    """Everything that determines a kernel: algorithm, inputs, results, variant, vector width.

    algorithm: entry of the catalogue; its `run` is used only to compile
    optimized: False compiles in a tenth of the time, and the kernel is up to twice as slow
    precision: double, or float for single-precision kernels
    """

    name: str
    algorithm: Any
    needs: tuple[str, ...]
    gives: tuple[tuple[str, Shape], ...]
    variant: Variant
    width: int
    optimized: bool
    precision: Precision = DOUBLE


@dataclass(frozen=True)
class Kernel:
    """Machine code and the size of its scratch memory.

    call:  computes a range of rows
    share: computes the pieces that a thread claims; see `llvm_text.entries`
    """

    call: Any
    share: Any
    scratch_vectors: int
    tables: int
    width: int
    keep_alive: Any


_MemoryKey: TypeAlias = tuple[str, Variant, int, bool, str]

_kernels: dict[_MemoryKey, Kernel] = {}
# guards all LLVM calls; reentrant, because a signal handler may request a kernel
_lock = RLock()

if hasattr(os, "register_at_fork"):
    # a child forked while another thread compiles would wait for that thread forever
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def kernel_for(spec: KernelSpec) -> Kernel:
    """Return the kernel from memory or the cache folder, or compile it."""
    key = _memory_key(spec)
    kernel = _kernels.get(key)
    if kernel is None:
        with _lock:
            kernel = _kernels.get(key) or _load_or_compile(spec)
            _kernels[key] = kernel
    return kernel


def is_cached(spec: KernelSpec) -> bool:
    """True if the kernel is in memory or in the cache folder."""
    if _memory_key(spec) in _kernels:
        return True
    with _lock:
        return read_kernel(_key(spec)) is not None


def _memory_key(spec: KernelSpec) -> _MemoryKey:
    return spec.name, spec.variant, spec.width, spec.optimized, spec.precision.real


def _load_or_compile(spec: KernelSpec) -> Kernel:
    key = _key(spec)
    stored = read_kernel(key)
    if stored is None:
        with running(f"compiling {spec.name}"):
            stored = _compiled(spec)
        write_kernel(key, stored)
    return _linked(stored, spec.width)


def _compiled(spec: KernelSpec) -> bytes:
    """One line of JSON with the memory sizes, then the object code of the kernel."""
    from robolin.engine.compiled.kernel_text import trace

    text, scratch, tables = trace(
        spec.algorithm.run, spec.needs, dict(spec.gives), spec.variant, spec.width, spec.precision
    )
    head = json.dumps({"scratch": scratch, "tables": tables}).encode()
    return head + b"\n" + object_code(text, spec.optimized)


def object_code(text: str, optimized: bool = True, vectorize: bool = False) -> bytes:
    """Compile LLVM assembly to machine code, without transformations that change rounding."""
    llvm = _llvm()
    module = llvm.parse_assembly(text)
    machine = _machine(3 if optimized else 0)
    if optimized:
        _optimize(module, machine, vectorize)
    code: bytes = machine.emit_object(module)
    return code


def _optimize(module: Any, machine: Any, vectorize: bool) -> None:
    llvm = _llvm()
    options = llvm.PipelineTuningOptions(speed_level=2)
    # kernels are vectorized already; these passes would only take time
    options.loop_vectorization = options.slp_vectorization = vectorize
    options.loop_unrolling = options.loop_interleaving = vectorize
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def cached_function(text: str, name: str) -> tuple[int, Any]:
    """Address of a compiled function and the engine that keeps it loaded; cached on disk."""
    engine = cached_engine(text)
    return engine.get_function_address(name), engine


def cached_engine(text: str, vectorize: bool = False, optimized: bool = True) -> Any:
    """The engine that keeps the functions of LLVM assembly loaded; cached on disk."""
    with _lock:
        options = {"vectorize": vectorize, "optimized": optimized}
        parts = {"text": text, **options, **target_description()}
        key = sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        code = read_kernel(key)
        if code is None:
            with running("compiling"):
                code = object_code(text, optimized, vectorize)
            write_kernel(key, code)
        return _engine_of(code)


def cached_kernel_of(
    spec: KernelSpec, numbers: bytes, text: Callable[[], str] | None
) -> Kernel | None:
    """A kernel without memory, for one arm with these numbers; cached on disk.

    text: its assembly; None to return None if the kernel is not in the cache folder
    """
    with _lock:
        key = sha256(_key(spec).encode() + numbers).hexdigest()
        code = read_kernel(key)
        if code is None:
            if text is None:
                return None
            with running(f"compiling {spec.name}"):
                code = object_code(text(), spec.optimized)
            write_kernel(key, code)
        return _linked(b'{"scratch": 0, "tables": 0}\n' + code, spec.width)


def _engine_of(code: bytes) -> Any:
    """Load machine code; it stays valid as long as the returned engine."""
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
def has_compiler() -> bool:
    """Return whether llvmlite is installed; without it, algorithms run on floats and arrays."""
    return find_spec("llvmlite") is not None


def require_compiler(what: str) -> None:
    """Reject what only compiled code computes if llvmlite is not installed."""
    if not has_compiler():
        raise UsageError(f"{what} requires the package llvmlite", hint="pip install llvmlite")


def can_compile() -> bool:
    """Return whether kernels can be compiled; if not, warn once that batches take longer."""
    if not has_compiler():
        warn_once(
            "llvmlite is not installed: batches run without compiled code, with the same results "
            "but 25 to 100 times slower; install it with `pip install llvmlite`"
        )
    return has_compiler()


@cache
def _llvm() -> Any:
    require_compiler("compiled code")
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _machine(effort: int = 3) -> Any:
    # create a new one each time: a machine keeps the stack alignment of its first module
    llvm = _llvm()
    target = llvm.Target.from_default_triple()
    # no fused multiply-add: it would round once where the source rounds twice
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=effort,
    )


@cache
def optimizing() -> bool:
    """True to optimize kernels (default); False with ROBOLIN_OPTIMIZE=0, which compiles faster."""
    setting = os.environ.get("ROBOLIN_OPTIMIZE", "1")
    if setting not in ("0", "1"):
        hint = "use 1, or 0 to compile ten times faster; results are identical"
        raise UsageError(f"must be 0 or 1, got '{setting}'", where="ROBOLIN_OPTIMIZE", hint=hint)
    return setting == "1"


@cache
def host_width() -> int:
    """Doubles per vector register of this machine: 8, 4 or 2, or ROBOLIN_WIDTH if set."""
    text = os.environ.get("ROBOLIN_WIDTH")
    if text:
        if text not in ("2", "4", "8"):
            hint = "use 2, 4 or 8; results are identical"
            raise UsageError(f"must be 2, 4 or 8, got '{text}'", where="ROBOLIN_WIDTH", hint=hint)
        return int(text)
    with _lock:
        features = _llvm().get_host_cpu_features()
    if features.get("avx512f"):
        return 8
    return 4 if features.get("avx") else 2


def _key(spec: KernelSpec) -> str:
    """Cache key: hash of everything that the machine code depends on.

    A digest of the sources replaces the traced text, so cached kernels need no tracing.
    """
    parts = {
        "sources": _sources_digest(),
        "algorithm": spec.name,
        "variant": asdict(spec.variant),
        "width": spec.width,
        "optimized": spec.optimized,
        "precision": spec.precision.real,
        **target_description(),
    }
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def default_triple() -> str:
    """LLVM name of this machine."""
    triple: str = _llvm().get_default_triple()
    return triple


def target_description() -> dict[str, Any]:
    """LLVM version and target machine, which the machine code depends on besides the text."""
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
    digest = sha256()
    for folder in ("dynamics", "engine"):
        for source in sorted((package / folder).rglob("*.py")):
            path = source.relative_to(package).as_posix()
            digest.update(path.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()


LARGEST_FOLDER = 64 * 1024 * 1024
_SUFFIX, _PART = ".kernel", ".part"
_DIGEST_BYTES = 32


def cache_folder() -> Path | None:
    """Folder of the kernels, in ROBOLIN_CACHE or the user's caches; None without a home folder."""
    # an empty HOME would mean the root folder
    home = os.path.expanduser("~") if os.environ.get("HOME") != "" else ""
    for variable, path, below in (
        ("ROBOLIN_CACHE", os.environ.get("ROBOLIN_CACHE"), ""),
        ("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME"), "robolin"),
        ("HOME", home if os.path.isdir(home) else "", ".cache/robolin"),
    ):
        if path and os.path.isabs(path):
            return Path(path, below, "kernels")
        if path:
            warn_once(f"{variable} is ignored: '{path}' is not an absolute path")
    return None


def read_kernel(key: str) -> bytes | None:
    """The kernel stored under this key; None if it is missing, damaged or not private."""
    kernels = cache_folder()
    if kernels is None:
        return None
    path = kernels / (key + _SUFFIX)
    try:
        inode = _private_inode(kernels)
        data = _read_own(path)
    except OSError:
        return None
    digest, content = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if _digest(inode, key, content) != digest:
        return None
    with suppress(OSError):
        os.utime(path)  # mark as recently used
    return content


def write_kernel(key: str, content: bytes) -> None:
    """Store a kernel; warn once if the folder cannot be written."""
    kernels = cache_folder()
    try:
        if kernels is None:
            raise PermissionError("the user has no home folder")
        kernels.parent.mkdir(parents=True, exist_ok=True)
        kernels.mkdir(mode=0o700, exist_ok=True)
        digest = _digest(_private_inode(kernels), key, content)
        _write_atomically(kernels / (key + _SUFFIX), digest + content)
        _remove_old_files(kernels)
    except OSError as error:
        reason = error.strerror or str(error)
        where = f" in {kernels}" if kernels else ""
        hint = "set ROBOLIN_CACHE to a writable folder"
        warn_once(f"compiled kernels cannot be cached{where} ({reason}); {hint}")


def _private_inode(kernels: Path) -> int:
    """Inode number of the folder, which must be the user's and closed to others."""
    info = os.lstat(kernels)
    if not stat.S_ISDIR(info.st_mode):
        raise PermissionError("the path is a symbolic link or a file, not a folder")
    if hasattr(os, "getuid"):
        if info.st_uid != os.getuid():
            raise PermissionError("the folder belongs to another user")
        if info.st_mode & 0o077:
            raise PermissionError(f"other users can access the folder; run chmod 700 {kernels}")
    return info.st_ino


def _read_own(path: Path) -> bytes:
    """Content of a regular file; the owner is checked again in case the folder was exchanged."""
    flags = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    handle = os.open(path, os.O_RDONLY | sum(flags))
    with open(handle, "rb") as stream:
        info = os.fstat(handle)
        # a file that another process has just replaced has no link left
        own = not hasattr(os, "getuid") or (info.st_uid == os.getuid() and info.st_nlink <= 1)
        if not own or not stat.S_ISREG(info.st_mode) or info.st_size > LARGEST_FOLDER:
            raise PermissionError("the file is not a kernel file")
        return stream.read()


def _digest(inode: int, key: str, content: bytes) -> bytes:
    return sha256(f"{inode} {key}\n".encode() + content).digest()


def _write_atomically(path: Path, content: bytes) -> None:
    from tempfile import mkstemp

    handle, part = mkstemp(dir=path.parent, prefix=".", suffix=_PART)
    try:
        with open(handle, "wb") as stream:
            stream.write(content)
        os.replace(part, path)
    finally:
        with suppress(OSError):
            os.unlink(part)


def _remove_old_files(kernels: Path) -> None:
    """Remove the least recently used files beyond the limit, also temporary ones."""
    files = []
    for path in kernels.iterdir():
        with suppress(OSError):
            info = path.stat()
            files.append((info.st_mtime, info.st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= LARGEST_FOLDER:
            return
        with suppress(OSError):
            path.unlink()
        total -= size


@cache
def warn_once(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=2)
