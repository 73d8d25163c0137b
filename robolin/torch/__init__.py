"""PyTorch functions with exact derivatives, which torch can differentiate and compile."""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    from robolin.errors import UsageError

    raise UsageError("robolin.torch requires PyTorch", hint="pip install torch") from error

from robolin.torch.autograd import function as function
from robolin.torch.learnable import ForwardDynamics as ForwardDynamics
from robolin.torch.learnable import InverseDynamics as InverseDynamics
