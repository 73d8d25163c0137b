"""Arguments of the functions for PyTorch as tensors of one shape and type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

import torch

from robolin.api.differentiable import shapes_differ
from robolin.core.arm import Arm
from robolin.core.arrays import as_joint_array
from robolin.errors import RobolinError, UsageError

Tensor: TypeAlias = torch.Tensor


def checked_tensors(arm: Arm, values: Mapping[str, Any]) -> list[Tensor]:
    """Tensors (..., n) of one shape and type, also from numbers, arrays and mappings."""
    dtype = _common_type({k: v for k, v in values.items() if isinstance(v, torch.Tensor)})
    tensors = {name: _converted(arm, name, value, dtype) for name, value in values.items()}
    try:
        state = list(torch.broadcast_tensors(*tensors.values()))
    except RuntimeError:
        raise shapes_differ(tensors) from None
    # the compiler rejects the same tensor as two arguments
    return [each.clone() for each in state] if torch.compiler.is_compiling() else state


def _common_type(tensors: Mapping[str, Tensor]) -> torch.dtype:
    """The type to which torch promotes the tensors: float32 or float64."""
    for name, tensor in tensors.items():
        if tensor.is_complex():
            raise RobolinError(f"{name}: must be a tensor of real numbers, got {tensor.dtype}")
        if tensor.is_floating_point() and tensor.dtype.itemsize < 4:
            hint = f"call {name}.float() first"
            raise RobolinError(f"{name}: must be float32 or float64, got {tensor.dtype}", hint=hint)
    floats = [tensor for tensor in tensors.values() if tensor.is_floating_point()]
    # as in PyTorch, a tensor without axes does not change the type of the others
    types = [each.dtype for each in floats if each.dim()] or [each.dtype for each in floats]
    return reduce(torch.promote_types, types, torch.float32) if types else torch.float64


def _converted(arm: Arm, name: str, value: Any, dtype: torch.dtype) -> Tensor:
    if type(value) in (int, float):
        return torch.full((arm.n,), float(value), dtype=torch.float64).to(dtype)
    if not isinstance(value, torch.Tensor):
        return torch.tensor(as_joint_array(arm, name, value), dtype=dtype)
    if value.device.type != "cpu":
        raise UsageError(
            f"{name}: must be on the CPU, got {value.device}", hint="call .cpu() first"
        )
    if value.dim() and value.shape[-1] != arm.n:
        raise RobolinError(
            f"{name}: must have {arm.n} values along its last axis, one per joint of "
            f"'{arm.name}', got {value.shape[-1]}",
            hint=f"joint order: {', '.join(arm.joint_names)}",
        )
    return value.to(dtype) if value.dim() else value.to(dtype).expand(arm.n)


def numpy_arrays(tensors: Sequence[Tensor]) -> list[Any]:
    return [tensor.detach().contiguous().numpy() for tensor in tensors]
