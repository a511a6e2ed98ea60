"""Random numbers of rare distributions, from PyTorch's generators."""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.ops.torch_sources.parts import Text, source_of, torch_name


@source_of("Multinomial")
def multinomial_source(node: Node, logits: Any, count: Any) -> Call:
    wanted = Text(count.number or f"int({count})")
    return node.call(_classes, logits, wanted, Text(torch_name(node.output_dtype)))


def _classes(logits: Any, count: int, dtype: Any) -> Any:
    if not count:
        return torch.empty((logits.shape[0], 0), dtype=dtype, device=logits.device)
    found = torch.multinomial(torch.softmax(logits, -1), count, replacement=True)
    return found.to(dtype)


@source_of("RandomGamma")
def random_gamma_source(node: Node, shape: Any, alpha: Any) -> str:
    return f"torch._standard_gamma({alpha}.expand(*{shape.sizes}, *{alpha}.shape).contiguous())"


@source_of("RandomPoissonV2")
def random_poisson_source(node: Node, shape: Any, rate: Any) -> str:
    dtype = torch_name(node.outputs[0].dtype)
    return f"torch.poisson({rate}.expand(*{shape.sizes}, *{rate}.shape).contiguous()).to({dtype})"
