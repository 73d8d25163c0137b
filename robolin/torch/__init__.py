"""PyTorch functions of the dynamics with exact derivatives; torch.compile supports them."""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    from robolin.errors import UsageError

    raise UsageError("robolin.torch requires PyTorch", hint="pip install torch") from error

from robolin.torch.autograd import function as function
from robolin.torch.learnable import ForwardDynamics as ForwardDynamics
from robolin.torch.learnable import InverseDynamics as InverseDynamics
