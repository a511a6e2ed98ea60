"""A gated recurrent unit in one operation."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops import native_calls
from stillflow.ops.arrays.concat import concat
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.nn.bias import bias_add_grad_op
from stillflow.ops.recurrent.operands import biases, check_operands, state, weights
from stillflow.ops.samples import Bad, Sample, Samples

_INPUTS = "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"

gru_block_cell_op = op(
    f"""
    GRUBlockCell({_INPUTS}) -> (r: T, u: T, c: T, h: T)
    T: {{float}}
""",
    cost=Cost("cells", places=(0, 2, 3)),
)


_OPERANDS = (
    state(1, "h_prev"), weights(2, "w_ru", 2), weights(3, "w_c", 1), biases(4, "b_ru", 2),
    biases(5, "b_c", 1),
)  # fmt: skip


@gru_block_cell_op.check
def gru_block_cell_check(node: Node) -> None:
    (batch, inputs), (_, cells) = dims.with_rank(node.dims(0), 2), dims.with_rank(node.dims(1), 2)
    if node.planning and batch is not None and inputs is not None and cells is not None:
        check_operands(node, batch, inputs, cells, _OPERANDS)


@gru_block_cell_op.shape
def gru_block_cell_shape(node: Node) -> OutputDims:
    (batch, _), (_, cells) = dims.with_rank(node.dims(0), 2), dims.with_rank(node.dims(1), 2)
    return [(batch, cells)] * 4


_FEW = 1 << 18  # products that torch does not compute faster


def _by_loop(x: Any, h: Any, w_ru: Any, *rest: Any) -> list[Any] | None:
    """Return the results of a cell of few numbers; None without a loop."""
    x = x.contiguous()  # a step of a batch of sequences is not
    if w_ru.numel() * len(x) > _FEW or not native_calls.take(x, h, w_ru, *rest):
        return None
    rows, cells = h.shape
    made = [torch.empty_like(h) for _ in range(4)]
    room = h.new_empty(3 * rows * cells)
    tensors = (x, h, w_ru, *rest, *made, room)
    given = [rows, x.shape[1], cells, *(each.data_ptr() for each in tensors)]
    library: Any = native.library()
    library.gru_cell(native_calls.int64s(given))
    return made


@gru_block_cell_op.kernel
def gru_block_cell_kernel(node: Node) -> Kernel:
    def run(x: Any, h: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> Any:
        if (found := _by_loop(x, h, w_ru, w_c, b_ru, b_c)) is not None:
            return found
        gates = torch.sigmoid(torch.addmm(b_ru, torch.cat([x, h], 1), w_ru))
        r, u = gates.chunk(2, dim=1)
        c = torch.tanh(torch.addmm(b_c, torch.cat([x, h * r], 1), w_c))
        return r.contiguous(), u.contiguous(), c, u * h + (1 - u) * c

    return run


@gru_block_cell_op.gradient
def gru_block_cell_gradient(node: Node, *grads: Any) -> Gradients:
    x, h_prev, *_ = node.inputs
    r, u, c, _ = node.outputs
    d_x, d_h_prev, d_c, d_ru = gru_block_cell_grad_op(*node.inputs, r, u, c, grads[3])
    w_ru_grad = matmul(concat([x, h_prev], 1), d_ru, transpose_a=True)
    b_ru_grad = bias_add_grad_op(d_ru)
    w_c_grad = matmul(concat([x, h_prev * r], 1), d_c, transpose_a=True)
    b_c_grad = bias_add_grad_op(d_c)
    return [d_x, d_h_prev, w_ru_grad, w_c_grad, b_ru_grad, b_c_grad]


gru_block_cell_grad_op = op(
    f"""
    GRUBlockCellGrad({_INPUTS}, r: T, u: T, c: T, d_h: T) -> \
(d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T)
    T: {{float}}
""",
    cost=Cost("cells", places=(0, 2, 3)),
)


@gru_block_cell_grad_op.shape
def gru_block_cell_grad_shape(node: Node) -> OutputDims:
    (batch, _), (_, cells) = dims.with_rank(node.dims(0), 2), dims.with_rank(node.dims(1), 2)
    _, both = dims.with_rank(node.dims(2), 2)
    return [node.dims(0), (batch, cells), (batch, cells), (batch, both)]


@gru_block_cell_grad_op.kernel
def gru_block_cell_grad_kernel(node: Node) -> Kernel:
    def run(
        x: Any, h: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any, r: Any, u: Any, c: Any, d_h: Any
    ) -> tuple[Any, Any, Any, Any]:
        inputs = x.shape[1]
        d_c = d_h * (1 - u) * (1 - c * c)
        d_u = d_h * (h - c) * u * (1 - u)
        by_candidate = d_c @ w_c.t()
        d_hr = by_candidate[:, inputs:]
        d_ru = torch.cat([d_hr * h * r * (1 - r), d_u], 1)
        by_gates = d_ru @ w_ru.t()
        d_x = by_gates[:, :inputs] + by_candidate[:, :inputs]
        return d_x, by_gates[:, inputs:] + d_hr * r + d_h * u, d_c, d_ru

    return run


@gru_block_cell_op.samples
def gru_block_cell_samples() -> Samples:
    random = np.random.RandomState(1)
    shapes = [(2, 3), (2, 2), (5, 4), (5, 2), (4,), (2,)]
    x, *rest = (random.uniform(-0.5, 0.5, shape).astype(np.float32) for shape in shapes)
    yield Sample(x, *rest, grad=(3,))
    yield Bad(x[0], *rest, match="must be rank 2")
