"""Computing in another element type than the tensors' own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node

HALVES = (dtypes.float16, dtypes.bfloat16)


def in_type(function: Callable[..., Any], dtype: Any, count: int) -> Callable[..., Any]:
    """Make `function`, which may give a tuple led by its tensor, compute in torch type `dtype`.

    The first `count` arguments are converted to it, and the result back.
    """

    def computed(*args: Any) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        result = function(*[arg.to(dtype) for arg in args[:count]], *args[count:])
        if isinstance(result, tuple):
            return result[0].to(args[0].dtype), *result[1:]
        return result.to(args[0].dtype)

    return computed


def is_on_cpu(node: Node) -> bool:
    """Return True if a plan places the node on the CPU."""
    return str(getattr(node, "device", "cpu")).startswith("cpu")


def precise_on_cpu(node: Node, function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Run `function` in single precision for half-precision nodes on the CPU.

    TF sums products of halves in single precision or better; torch's own kernels for them are
    slower than single precision on most CPUs, and need instructions that virtual machines
    sometimes announce but do not run.
    """
    if node.T in HALVES and is_on_cpu(node):
        return in_type(function, torch.float32, count)
    return function
