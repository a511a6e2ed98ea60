"""Random numbers: those of PyTorch's generators, not of TensorFlow's seeds."""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.ops.torch_sources.parts import Text, source_of, torch_name


def _options(node: Node) -> str:
    return f"dtype={torch_name(node.outputs[0].dtype)}, device=self.device"


@source_of("RandomUniform")
def random_uniform_source(node: Node, shape: Any) -> str:
    return f"torch.rand({shape.sizes}, {_options(node)})"


@source_of("RandomStandardNormal")
def random_normal_source(node: Node, shape: Any) -> str:
    return f"torch.randn({shape.sizes}, {_options(node)})"


@source_of("TruncatedNormal")
def truncated_normal_source(node: Node, shape: Any) -> str:
    empty = f"torch.empty({shape.sizes}, {_options(node)})"
    return f"nn.init.trunc_normal_({empty}, a=-2.0, b=2.0)"


@source_of("RandomUniformInt")
def random_uniform_int_source(node: Node, shape: Any, least: Any, limit: Any) -> Call:
    first, last = (Text(each.number or f"int({each})") for each in (least, limit))
    dtype = Text(torch_name(node.outputs[0].dtype))
    return node.call(_integers, first, last, Text(shape.sizes), dtype, Text("self.device"))


def _integers(first: int, last: int, shape: Any, dtype: Any, device: Any) -> Any:
    if 0 in shape:
        return torch.empty(shape, dtype=dtype, device=device)
    return torch.randint(first, last, shape, dtype=dtype, device=device)


@source_of("RandomShuffle")
def random_shuffle_source(node: Node, x: Any) -> Call:
    return node.call(_shuffled, x)


def _shuffled(x: Any) -> Any:
    return x[torch.randperm(x.shape[0], device=x.device)] if x.ndim else x
