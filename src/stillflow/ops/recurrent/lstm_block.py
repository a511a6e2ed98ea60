"""LSTM cells in one operation, for one time step and for a whole sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.nn.bias import bias_add_grad_op
from stillflow.ops.recurrent.native_kernels import LstmLoop, takes_lstm
from stillflow.ops.recurrent.operands import biases, check_operands, state, weights
from stillflow.ops.samples import Bad, Sample, Samples

_INPUTS = "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
_GATES = "i: T, cs: T, f: T, o: T, ci: T, co: T"
_TYPES = "T: {half, float}"
_PEEPHOLE_GRADS = "wci_grad: T, wcf_grad: T, wco_grad: T"

# Where the four parts of the weights' columns stand: input gate, memory, forget gate, output gate.
_ICFO, _IFCO = (0, 1, 2, 3), (0, 2, 1, 3)


class _Cell:
    """The arithmetic of a cell, for one layout of its gates."""

    def __init__(self, node: Node, order: tuple[int, ...], forget_bias: float = 0.0) -> None:
        self.order, self.forget_bias = order, forget_bias
        self.peephole = node.use_peephole
        self.clip = getattr(node, "cell_clip", 0.0)

    def parts(self, gates: Any) -> tuple[Any, ...]:
        """Return the input gate's, memory's, forget gate's and output gate's part of columns."""
        parts = gates.chunk(4, dim=-1)
        return tuple(parts[i] for i in self.order)

    def limit(self) -> float:
        """Return the largest number that the memory may hold."""
        return self.clip if self.clip > 0 else inf

    def loop(self, peepholes: Sequence[Any], c: Any, outputs: Sequence[Any]) -> LstmLoop | None:
        """Run the steps by the native loop if possible; `c` is the memory before the first one."""
        weights = tuple(peepholes) if self.peephole else ()
        if c.ndim != 2 or not takes_lstm(c, *weights, *outputs):
            return None
        rows, cells = c.shape
        return LstmLoop(self.order, weights, rows, cells, outputs)

    def forward(self, gates: Any, c_prev: Any, wci: Any, wcf: Any, wco: Any) -> tuple[Any, ...]:
        """All outputs of a step, from the gates before their activations."""
        outputs = tuple(torch.empty_like(c_prev) for _ in range(7))
        loop = self.loop((wci, wcf, wco), c_prev, outputs)
        if loop is not None and takes_lstm(gates):
            loop.forward(0, gates, c_prev, self.forget_bias, self.limit())
            return outputs
        i, ci, f, o = self.parts(gates)
        f = f + self.forget_bias
        if self.peephole:
            i, f = i + c_prev * wci, f + c_prev * wcf
        i, ci, f = torch.sigmoid(i), torch.tanh(ci), torch.sigmoid(f)
        cs = i * ci + f * c_prev
        if 0 < self.clip <= torch.finfo(cs.dtype).max:
            cs = cs.clamp(-self.clip, self.clip)
        co = torch.tanh(cs)
        o = torch.sigmoid(o + cs * wco if self.peephole else o)
        return i, cs, f, o, ci, co, o * co

    def step(self, gates: Any, wci: Any, wcf: Any, wco: Any) -> Callable[[Any, Any], None]:
        """Return the same as `forward` at every step of a sequence, into memory that is there.

        Args:
          gates: where those of the step are; what is in it does not stay.
        """
        to_i, to_ci, to_f, to_o = self.parts(gates)
        spare = torch.empty_like(to_i)
        peephole, clip, forget_bias = self.peephole, self.clip, self.forget_bias

        def run(c_prev: Any, out: Any) -> None:
            i, cs, f, o, ci, co, h = out
            to_f.add_(forget_bias)
            if peephole:
                to_i.add_(torch.mul(c_prev, wci, out=spare))
                to_f.add_(torch.mul(c_prev, wcf, out=spare))
            torch.sigmoid(to_i, out=i)
            torch.tanh(to_ci, out=ci)
            torch.sigmoid(to_f, out=f)
            torch.mul(i, ci, out=cs).add_(torch.mul(f, c_prev, out=spare))
            if clip > 0:
                cs.clamp_(-clip, clip)
            torch.tanh(cs, out=co)
            if peephole:
                to_o.add_(torch.mul(cs, wco, out=spare))
            torch.sigmoid(to_o, out=o)
            torch.mul(o, co, out=h)

        return run

    def backward(
        self, c_prev: Any, peepholes: tuple[Any, ...], outputs: tuple[Any, ...], dc: Any, dh: Any
    ) -> tuple[Any, Any, tuple[Any, ...]]:
        """Gradients of the memory before, the gates and the peepholes."""
        loop = None if self.peephole else self.loop((), c_prev, outputs)
        if loop is not None and takes_lstm(dc, dh):
            dc_prev, dgates = torch.empty_like(c_prev), c_prev.new_empty((len(dc), 4 * dc.shape[1]))
            nothing = torch.zeros_like(dc)
            loop.backward(0, c_prev, (dc, nothing), (dh, nothing), dc_prev, dgates)
            return dc_prev, dgates, tuple(torch.zeros_like(w) for w in peepholes)
        i, cs, f, o, ci, co = outputs
        wci, wcf, wco = peepholes
        do = o * (1 - o) * dh * co
        dcs = (1 - co * co) * dh * o + dc
        if self.peephole:
            dcs = dcs + do * wco
        dci = (1 - ci * ci) * dcs * i
        df = f * (1 - f) * dcs * c_prev
        di = i * (1 - i) * dcs * ci
        ordered = [di, dci, df, do]
        dgates = torch.cat([ordered[self.order.index(k)] for k in range(4)], dim=-1)
        dc_prev = dcs * f
        if not self.peephole:
            return dc_prev, dgates, tuple(torch.zeros_like(w) for w in peepholes)
        dc_prev = dc_prev + di * wci + df * wcf
        weights = ((di * c_prev).sum(0), (df * c_prev).sum(0), (do * cs).sum(0))
        return dc_prev, dgates, weights

    def peephole_sums(self, cs: Any, c0: Any, dgates: Any) -> list[Any]:
        """Gradients of the weights of peepholes, from the memory and gates of all steps."""
        before = torch.cat([c0[None], cs])[: len(cs)]
        di, _, df, do = self.parts(dgates)
        return [(di * before).sum((0, 1)), (df * before).sum((0, 1)), (do * cs).sum((0, 1))]

    def step_back(
        self, outputs: Sequence[Any], c0: Any, peepholes: Sequence[Any], dgates: Any
    ) -> Callable[[int, Any, Any], tuple[Any, Sequence[Any]]]:
        """Return the same as `backward` at every step of a sequence.

        Args:
          outputs: of all steps [time, batch, cells].
          c0: the memory before the first one.
          peepholes: the weights.
          dgates: receives the gradients of the gates [time, batch, 4 * cells].

        Returns:
          A function from a step to the gradients of the memory before and, if there are peepholes,
          of their weights.
        """
        wci, wcf, wco = peepholes
        i, _, f, o, ci, co = outputs
        # Values that depend on no other step are computed for all steps.
        slopes = [i * (1 - i), 1 - ci * ci, f * (1 - f), o * (1 - o), 1 - co * co]
        of_steps = [*outputs, *slopes, *(part[: len(i)] for part in self.parts(dgates))]
        steps = list(zip(*(each.unbind() for each in of_steps), strict=True))
        spare, mul = torch.empty_like(c0), torch.mul

        def run(t: int, dc: Any, dh: Any) -> tuple[Any, Sequence[Any]]:
            i, cs, f, o, ci, co, i_slope, ci_slope, f_slope, o_slope, co_slope, di, dci, df, do = (
                steps[t]
            )
            c_prev = steps[t - 1][1] if t else c0
            mul(mul(o_slope, dh, out=spare), co, out=do)
            dcs = mul(mul(co_slope, dh, out=spare), o).add_(dc)
            if self.peephole:
                dcs.add_(mul(do, wco, out=spare))
            mul(mul(ci_slope, dcs, out=spare), i, out=dci)
            mul(mul(f_slope, dcs, out=spare), c_prev, out=df)
            mul(mul(i_slope, dcs, out=spare), ci, out=di)
            dc_prev = mul(dcs, f)
            if not self.peephole:
                return dc_prev, ()
            dc_prev.add_(mul(di, wci, out=spare)).add_(mul(df, wcf, out=spare))
            return dc_prev, ((di * c_prev).sum(0), (df * c_prev).sum(0), (do * cs).sum(0))

        return run


# ---- one time step

lstm_block_cell_op = op(
    f"""
    LSTMBlockCell({_INPUTS}) -> ({_GATES}, h: T)
    forget_bias: float = 1
    cell_clip: float = 3
    use_peephole: bool = false
    {_TYPES}
""",
    cost=Cost("cells", places=(0, 3)),
)


_PEEPHOLES = ("wci", "wcf", "wco")


def _check_cell(
    node: Node, x: int, batch: int, inputs: int, cells: int, peepholes: tuple[str, ...]
) -> None:
    """Raise an error if inputs after number `x` do not fit these sizes."""
    given = [biases(x + 4 + i, name, 1) for i, name in enumerate(peepholes)]
    states = [state(x + 1, "cs_prev"), state(x + 2, "h_prev")]
    last = [weights(x + 3, "w", 4), *given, biases(x + 7, "b", 4)]
    check_operands(node, batch, inputs, cells, [*states, *last])


@lstm_block_cell_op.check
def lstm_block_cell_check(node: Node) -> None:
    (batch, inputs), (_, cells) = dims.with_rank(node.dims(0), 2), dims.with_rank(node.dims(1), 2)
    if node.planning and batch is not None and inputs is not None and cells is not None:
        _check_cell(node, 0, batch, inputs, cells, _PEEPHOLES if node.use_peephole else ())


@lstm_block_cell_op.shape
def lstm_block_cell_shape(node: Node) -> OutputDims:
    (batch, _), (_, cells) = dims.with_rank(node.dims(0), 2), dims.with_rank(node.dims(1), 2)
    return [(batch, cells)] * 7


@lstm_block_cell_op.kernel
def lstm_block_cell_kernel(node: Node) -> Kernel:
    cell = _Cell(node, _ICFO, node.forget_bias)

    def run(
        x: Any, c: Any, h: Any, w: Any, wci: Any, wcf: Any, wco: Any, b: Any
    ) -> tuple[torch.Tensor, ...]:
        return cell.forward(torch.addmm(b, torch.cat([x, h], 1), w), c, wci, wcf, wco)

    return run


@lstm_block_cell_op.gradient
def lstm_block_cell_gradient(node: Node, *grads: Any) -> Gradients:
    x, c_prev, h_prev, w, *_ = node.inputs
    batch, inputs = x.get_shape().with_rank(2).as_list()
    cells = c_prev.get_shape().with_rank(2).as_list()[1]
    if inputs is None:
        raise ValueError("input_size from `x` should not be None.")
    if cells is None:
        raise ValueError("cell_size from `cs_prev` should not be None.")
    c_prev_grad, dgates, *peepholes = lstm_block_cell_grad_op(
        *node.inputs, *node.outputs[:6], grads[1], grads[6], use_peephole=node.use_peephole
    )
    rows = -1 if batch is None else batch
    xh_grad = matmul(dgates, w, transpose_b=True)
    x_grad = slice_(xh_grad, (0, 0), (rows, inputs))
    h_prev_grad = slice_(xh_grad, (0, inputs), (rows, cells))
    w_grad = matmul(concat([x, h_prev], 1), dgates, transpose_a=True)
    return [x_grad, c_prev_grad, h_prev_grad, w_grad, *peepholes, bias_add_grad_op(dgates)]


lstm_block_cell_grad_op = op(
    f"""
    LSTMBlockCellGrad({_INPUTS}, {_GATES}, cs_grad: T, h_grad: T) -> \
(cs_prev_grad: T, dicfo: T, {_PEEPHOLE_GRADS})
    use_peephole: bool
    {_TYPES}
""",
    cost=Cost("cells", places=(0, 3)),
)


@lstm_block_cell_grad_op.shape
def lstm_block_cell_grad_shape(node: Node) -> OutputDims:
    (batch, _), (_, cells) = dims.with_rank(node.dims(0), 2), dims.with_rank(node.dims(1), 2)
    return [(batch, cells), (batch, dims.multiply(cells, 4)), (cells,), (cells,), (cells,)]


@lstm_block_cell_grad_op.kernel
def lstm_block_cell_grad_kernel(node: Node) -> Kernel:
    cell = _Cell(node, _ICFO)

    def run(x: Any, c: Any, h: Any, w: Any, *rest: Any) -> tuple[torch.Tensor, ...]:
        peepholes, (_, *outputs, dc, dh) = rest[:3], rest[3:]
        dc_prev, dgates, weights = cell.backward(c, peepholes, tuple(outputs), dc, dh)
        return dc_prev, dgates, *weights

    return run


# ---- a sequence


def _block_check(node: Node) -> None:
    if not node.planning:
        return
    x, c_prev = node.dims(1), node.dims(2)
    if x is not None and len(x) != 3:
        raise ValueError("x must be 3D")
    if c_prev is not None and len(c_prev) != 2:
        raise ValueError("cs_prev must be 2D")
    if not (dims.is_known(x) and dims.is_known(c_prev)):
        return
    _, batch, inputs = x
    _check_cell(node, 1, batch, inputs, c_prev[1], _PEEPHOLES)


def _block_shape(node: Node) -> list[tuple[int | None, ...]]:
    time, batch, _ = dims.with_rank(node.dims(1), 3)
    cells = dims.divide(dims.with_rank(node.dims(8), 1)[0], 4)
    return [(time, batch, cells)] * 7


def _block_forward(
    cell: _Cell, length: Any, x: Any, c: Any, h: Any, w: Any, wci: Any, wcf: Any, wco: Any, b: Any
) -> tuple[Any, ...]:
    length, inputs = int(length), x.shape[2]
    shape = (x.shape[0], *c.shape)
    outputs = tuple(torch.zeros(shape, dtype=x.dtype, device=x.device) for _ in range(7))
    # The inputs' part of the gates needs no loop.
    projected = torch.matmul(x[:length], w[:inputs]) + b
    gates, recurrent = projected.new_empty(projected.shape[1:]), w[inputs:]
    loop = cell.loop((wci, wcf, wco), c, outputs)
    if loop is not None and takes_lstm(projected):
        for t, given in enumerate(projected.unbind()):
            torch.addmm(given, h, recurrent, out=gates)
            loop.forward(t, gates, c, cell.forget_bias, cell.limit())
            c, h = outputs[1][t], outputs[6][t]
        return outputs
    step = cell.step(gates, wci, wcf, wco)
    steps = zip(projected.unbind(), *(each.unbind() for each in outputs), strict=False)
    for given, *out in steps:
        torch.addmm(given, h, recurrent, out=gates)
        step(c, out)
        c, h = out[1], out[6]
    return outputs


def _block_backward(
    cell: _Cell, length: Any, x: Any, c0: Any, h0: Any, w: Any, *rest: Any
) -> tuple[torch.Tensor, ...]:
    length, inputs = int(length), x.shape[2]
    peepholes, b, (*gates, h), (dcs, dhs) = rest[:3], rest[3], rest[4:11], rest[11:]
    recurrent = w[inputs:].t()
    dc, dh = torch.zeros_like(c0), torch.zeros_like(h0)
    sums = [torch.zeros_like(p) for p in peepholes]
    dgates = torch.zeros((x.shape[0], x.shape[1], b.shape[0]), dtype=x.dtype, device=x.device)
    loop = cell.loop(peepholes, c0, gates)
    if loop is not None and takes_lstm(dcs, dhs):
        for t in range(length - 1, -1, -1):
            before = gates[1][t - 1] if t else c0
            loop.backward(t, before, (dc, dcs[t]), (dh, dhs[t]), dc, dgates[t])
            torch.mm(dgates[t], recurrent, out=dh)
        if cell.peephole:
            sums = cell.peephole_sums(gates[1][:length], c0, dgates[:length])
    else:
        step = cell.step_back([gate[:length] for gate in gates], c0, peepholes, dgates)
        for t in range(length - 1, -1, -1):
            dc, weights = step(t, dc + dcs[t], dh + dhs[t])
            dh = dgates[t] @ recurrent
            if weights:
                sums = [total + part for total, part in zip(sums, weights, strict=True)]
    before = torch.cat([h0[None], h[: max(length - 1, 0)]])[:length]
    xh = torch.cat([x[:length], before], 2).reshape(-1, w.shape[0])
    flat = dgates[:length].reshape(-1, b.shape[0])
    return (dgates @ w[:inputs].t(), dc, dh, xh.t() @ flat, *sums, flat.sum(0))


def _block_kernel(order: tuple[int, ...]) -> Callable[[Node], Any]:
    def kernel(node: Node) -> Callable[..., Any]:
        return partial(_block_forward, _Cell(node, order, getattr(node, "forget_bias", 0.0)))

    return kernel


def _block_grad_kernel(order: tuple[int, ...]) -> Callable[[Node], Any]:
    return lambda node: partial(_block_backward, _Cell(node, order))


def _block_grad_shape(node: Node) -> OutputDims:
    return [node.dims(k) for k in range(1, 9)]


block_lstm_op = op(
    f"""
    BlockLSTM(seq_len_max: int64, {_INPUTS}) -> ({_GATES}, h: T)
    forget_bias: float = 1
    cell_clip: float = 3
    use_peephole: bool = false
    {_TYPES}
""",
    numbers=("seq_len_max",),
    cost=Cost("cells", places=(1, 4)),
)

block_lstm_v2_op = op(
    f"""
    BlockLSTMV2(seq_len_max: int64, {_INPUTS}) -> ({_GATES}, h: T)
    cell_clip: float = 0
    use_peephole: bool = false
    {_TYPES}
""",
    numbers=("seq_len_max",),
    cost=Cost("unknown"),
)

block_lstm_grad_op, block_lstm_grad_v2_op = (
    op(
        f"""
        {name}(seq_len_max: int64, {_INPUTS}, {_GATES}, h: T, cs_grad: T, h_grad: T) -> \
(x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, {_PEEPHOLE_GRADS}, b_grad: T)
        use_peephole: bool
        {_TYPES}
    """,
        cost=cost,
        numbers=("seq_len_max",),
    )
    for name, cost in (
        ("BlockLSTMGrad", Cost("cells", places=(1, 4))),
        ("BlockLSTMGradV2", Cost("unknown")),
    )
)


def block_lstm_gradient(node: Node, *grads: Any) -> list[Tensor | None]:
    """Gradients of both versions; TF 1.15 differentiates the second by the first one's operation.

    `BlockLSTMGrad` takes the gates in the first version's order.
    """
    outputs = list(node.outputs)
    result = block_lstm_grad_op(
        *node.inputs, *outputs, grads[1], grads[6], use_peephole=node.use_peephole
    )
    return [None, *result]


for _card, _order in ((block_lstm_op, _ICFO), (block_lstm_v2_op, _IFCO)):
    _card.check(_block_check)
    _card.shape(_block_shape)
    _card.kernel(_block_kernel(_order))
    _card.gradient(block_lstm_gradient)
for _card, _order in ((block_lstm_grad_op, _ICFO), (block_lstm_grad_v2_op, _IFCO)):
    _card.shape(_block_grad_shape)
    _card.kernel(_block_grad_kernel(_order))


def _weights(inputs: int, cells: int) -> list[np.ndarray]:
    random = np.random.RandomState(0)
    shapes = [(inputs + cells, 4 * cells), (cells,), (cells,), (cells,), (4 * cells,)]
    return [random.uniform(-0.5, 0.5, shape).astype(np.float32) for shape in shapes]


@lstm_block_cell_op.samples
def lstm_block_cell_samples() -> Samples:
    random = np.random.RandomState(1)
    x, c, h = (random.randn(2, n).astype(np.float32) for n in (3, 2, 2))
    for options in ({}, {"use_peephole": True}, {"forget_bias": 0.0, "cell_clip": -1.0}):
        yield Sample(x, c, h, *_weights(3, 2), grad=False, **options)
    yield Bad(x[0], c, h, *_weights(3, 2), match="must be rank 2")


@block_lstm_op.samples
def block_lstm_samples() -> Samples:
    random = np.random.RandomState(1)
    x, c, h = (random.randn(*s).astype(np.float32) for s in ((4, 2, 3), (2, 2), (2, 2)))
    for options in ({}, {"use_peephole": True}, {"forget_bias": 0.0, "cell_clip": -1.0}):
        yield Sample(np.int64(3), x, c, h, *_weights(3, 2), grad=False, **options)
    yield Bad(np.int64(3), x[0], c, h, *_weights(3, 2), match="must be rank 3|must be 3D")
