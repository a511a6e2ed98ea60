"""Arithmetic, reductions, matrix products and losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.node import Call, Node
from stillflow.ops.torch_sources.parts import axes_of, is_plain, rank_of, source_of, tuple_text


@source_of("MatMul")
def mat_mul_source(node: Node, a: Any, b: Any) -> Any:
    if not node.dtype(0).is_floating:
        return None
    left = f"{a}.T" if node.transpose_a else str(a)
    right = f"{b}.T" if node.transpose_b else str(b)
    return f"{left} @ {right}"


@source_of("BatchMatMul", "BatchMatMulV2")
def batch_mat_mul_source(node: Node, a: Any, b: Any) -> Any:
    if not node.dtype(0).is_floating:
        return None
    left = f"{a}.mT" if node.adj_x else str(a)
    right = f"{b}.mT" if node.adj_y else str(b)
    return f"{left} @ {right}"


def _chosen(name: str, test: str) -> Callable[..., Any]:
    """Return the source of a choice; of equal operands the first one has the whole gradient."""

    def source(node: Node, x: Any, y: Any) -> Any:
        if not is_plain(node) or not node.dtype(0).is_floating:
            return f"torch.{name}({x}, {y})" if is_plain(node) else None
        return f"torch.where({x} {test} {y}, {y}, {x})"

    return source


for _op, _function, _test in (("Maximum", "maximum", "<"), ("Minimum", "minimum", ">")):
    source_of(_op)(_chosen(_function, _test))


@source_of("FloorDiv")
def floor_div_source(node: Node, x: Any, y: Any) -> Any:
    if not is_plain(node):
        return None
    return f'torch.div({x}, {y.operand}, rounding_mode="floor")'


@source_of("FloorMod")
def floor_mod_source(node: Node, x: Any, y: Any) -> Any:
    return f"torch.remainder({x}, {y})" if is_plain(node) else None


@source_of("SquaredDifference")
def squared_difference_source(node: Node, x: Any, y: Any) -> str | None:
    if not node.dtype(0).is_floating:
        return None
    return f"({x} - {y.operand}).square()"


def _reduction(name: str) -> Callable[..., Any]:
    def source(node: Node, x: Any, axis: Any) -> Any:
        axes = axes_of(node, axis, rank_of(node))
        if axes is None or not is_plain(node):
            return None
        if not axes:
            return f"{x}.clone()"
        keep = ", keepdim=True" if node.keep_dims else ""
        return f"{x}.{name}({tuple_text(axes)}{keep})"

    return source


for _op, _function in (("All", "all"), ("Any", "any"), ("Mean", "mean")):
    source_of(_op)(_reduction(_function))


@source_of("Softmax")
def softmax_source(node: Node, x: Any) -> str:
    return f"torch.softmax({x}, -1)"


@source_of("LogSoftmax")
def log_softmax_source(node: Node, x: Any) -> str:
    return f"torch.log_softmax({x}, -1)"


@source_of("SparseSoftmaxCrossEntropyWithLogits")
def sparse_cross_entropy_source(node: Node, logits: Any, labels: Any) -> list[Any]:
    gradient = node.call(_sparse_gradient, logits, labels)
    return [f'F.cross_entropy({logits}, {labels}.long(), reduction="none")', gradient]


def _sparse_gradient(logits: Any, labels: Any) -> Any:
    from stillflow.graph.lazy import torch

    classes = torch.arange(logits.shape[1], device=logits.device)
    return torch.softmax(logits, -1) - (labels.unsqueeze(1) == classes).to(logits.dtype)


@source_of("SoftmaxCrossEntropyWithLogits")
def cross_entropy_source(node: Node, logits: Any, labels: Any) -> list[Any]:
    loss = f"-({labels} * torch.log_softmax({logits}, -1)).sum(-1)"
    return [loss, f"torch.softmax({logits}, -1) - {labels}"]


@source_of("LRN")
def lrn_source(node: Node, x: Any) -> Call:
    args = (node.depth_radius, node.bias, node.alpha, node.beta)
    return node.call(_local_response, x, *args)


def _local_response(x: Any, radius: int, bias: float, alpha: float, beta: float) -> Any:
    """Local response normalization over the channels, which come last."""
    from stillflow.graph.lazy import F

    window = 2 * radius + 1
    squares = F.pad(x.square(), (radius, radius)).unfold(-1, window, 1).sum(-1)
    return x / (bias + alpha * squares).pow(beta)


@source_of("L2Loss")
def l2_loss_source(node: Node, x: Any) -> str:
    return f"{x}.square().sum() / 2"
