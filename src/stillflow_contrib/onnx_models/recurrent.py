"""Forms of recurrent networks: cuDNN's, a node of ONNX for each layer, and those of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.ops.recurrent.cudnn_layout import Layout
from stillflow_contrib.onnx_models.nodes import Nodes, form

# By mode: ONNX's operator, and where its gates stand in cuDNN's order.
_KINDS = {
    "lstm": ("LSTM", [0, 3, 1, 2]), "gru": ("GRU", [1, 0, 2]),
    "rnn_tanh": ("RNN", [0]), "rnn_relu": ("RNN", [0]),
}  # fmt: skip


def _layout(o: Nodes) -> Layout:
    x, h = o.op._inputs[:2]
    time_major = getattr(o.a, "time_major", True)
    directions = 2 if o.a.direction == b"bidirectional" else 1
    parts, units = (o.sizes(h, place, end)[0] for place, end in
                    (((0, 1), (2, 3)) if time_major else ((1, 2), (2, 3))))  # fmt: skip
    size = o.sizes(x, 2, 3)[0]
    mode = o.a.input_mode
    skips = mode == b"skip_input" or (mode == b"auto_select" and units == size)
    o.only(not skips, "whose input has no weights")
    o.only(not getattr(o.a, "num_proj", 0), "with a projection")
    o.only(not (o.a.is_training and o.a.dropout), "with dropout")
    return Layout(o.a.rnn_mode.decode(), parts // directions, units, size, directions)


class _Weights:
    """Cuts the weights of parts off a vector, their gates in ONNX's order."""

    def __init__(self, o: Nodes, layout: Layout, params: str) -> None:
        self.o, self.layout, self.params, self.start = o, layout, params, 0
        self.order = _KINDS[layout.mode][1]

    def next(self, *sizes: int) -> str:
        """Return the next piece, [gates, units, *sizes], as [1, gates * units, *sizes]."""
        o, gates, units = self.o, len(self.order), self.layout.units
        end = self.start + gates * units * (sizes[0] if sizes else 1)
        piece = o.Reshape(o.Slice(self.params, [self.start], [end]), [gates, units, *sizes])
        self.start = end
        piece = o.Gather(piece, self.order, axis=0) if gates > 1 else piece
        return str(o.Reshape(piece, [1, gates * units, *sizes]))


def _joined(o: Nodes, parts: list[str], axis: int = 0) -> str:
    return parts[0] if len(parts) == 1 else str(o.Concat(*parts, axis=axis))


def _parameters(o: Nodes, layout: Layout, params: str) -> list[tuple[str, str, str]]:
    """Return the weights of inputs and states, and the biases, of each layer."""
    cut, parts = _Weights(o, layout, params), range(layout.parts)
    given = [layout.weights(part)[0][1] for part in parts]
    matrices = [(cut.next(given[part]), cut.next(layout.units)) for part in parts]
    biases = [_joined(o, [cut.next(), cut.next()], axis=1) for _ in parts]
    layers = [slice(first, first + layout.directions) for first in parts[:: layout.directions]]
    return [
        (
            _joined(o, [w for w, _ in matrices[layer]]),
            _joined(o, [r for _, r in matrices[layer]]),
            _joined(o, biases[layer]),
        )
        for layer in layers
    ]  # fmt: skip


@form("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3")
def cudnn_rnn(o: Nodes) -> list[Any]:
    layout, is_half = _layout(o), o.T == "float16"  # which no CPU computes
    x, h, c, params = (o.to(each, "float32") if is_half else each for each in o.ins()[:4])
    lengths = o.ins()[4] if len(o.op._inputs) > 4 else ""
    is_lstm, is_batch_major = layout.mode == "lstm", not getattr(o.a, "time_major", True)

    def turned(value: str) -> str:
        return str(o.Transpose(value, perm=[1, 0, 2])) if is_batch_major else value

    x, h, c = turned(x), turned(h), turned(c) if is_lstm else c
    how: dict[str, Any] = {"hidden_size": layout.units}
    if layout.directions == 2:
        how["direction"] = "bidirectional"
    if layout.mode == "gru":
        how["linear_before_reset"] = 1
    if layout.mode == "rnn_relu":
        how["activations"] = ["Relu"] * layout.directions
    ends: list[list[str]] = [[], []]
    for layer, weights in enumerate(_parameters(o, layout, params)):
        first = layer * layout.directions
        states = [
            o.Slice(state, [first], [first + layout.directions], [0])
            for state in ((h, c) if is_lstm else (h,))
        ]
        operator = getattr(o, _KINDS[layout.mode][0])
        x, *last = operator(x, *weights, lengths, *states, outputs=1 + len(states), **how)
        x = o.Reshape(o.Transpose(x, perm=[0, 2, 1, 3]), [0, 0, layout.units * layout.directions])
        for found, state in zip(ends, last):
            found.append(state)
    nothing = np.array(0, "float32" if is_half else o.T)
    last_c = turned(_joined(o, ends[1])) if is_lstm else o.Identity(nothing)
    outputs = [turned(x), turned(_joined(o, ends[0])), last_c]
    if is_half:
        outputs = [o.to(each, o.T) for each in outputs]
    return [*outputs, *[None] * (len(o.op._outputs) - 3)]


@form("GRUBlockCell")
def gru_block_cell(o: Nodes) -> list[Any]:
    x, h, weights, of_candidate, bias, bias_of_candidate = o.ins()
    gates = o.Sigmoid(o.Gemm(o.Concat(x, h, axis=1), weights, bias))
    r, u = o.Split(gates, axis=1, num_outputs=2, outputs=2)
    both = o.Concat(x, o.Mul(r, h), axis=1)
    c = o.Tanh(o.Gemm(both, of_candidate, bias_of_candidate))
    return [r, u, c, o.Add(o.Mul(u, h), o.Mul(o.Sub(np.array(1, o.T), u), c))]


@form("BlockLSTM", "BlockLSTMV2")
def block_lstm(o: Nodes) -> list[Any]:
    """Write a `Loop` over time, all of whose values are wanted; beyond the end they are 0."""
    b: Any = o.b
    x, c, h = o.ins()[1:4]
    outside, b.nodes = b.nodes, []
    step, goes_on, *state = (b.fresh("in") for _ in range(4))
    values = _block_step(o, o.Gather(x, step, axis=0), *state)
    body = b.subgraph("body", [step, goes_on, *state], [goes_on, values[1], values[6], *values])
    b.nodes = outside
    _, _, *made = o.Loop(o.i64(o.x), "", c, h, body=body, outputs=9)
    missing = o.Sub(o.size(x, 0), o.size(made[0], 0))
    ends = o.cat([0, 0, 0], missing, [0, 0])
    return [o.Pad(each, ends) for each in made]


def _block_step(o: Nodes, x: str, c: str, h: str) -> list[str]:
    """Return the gate i, memory, gates f and o, candidate, its tangent and output of a step."""
    weights, *peepholes, bias = o.ins()[4:]
    gates = o.Gemm(o.Concat(x, h, axis=1), weights, bias)
    i, *middle, out = o.Split(gates, axis=1, num_outputs=4, outputs=4)
    candidate, f = middle if o.op.type == "BlockLSTM" else middle[::-1]
    looks = o.a.use_peephole

    def gate(value: str, place: int, memory: str) -> str:
        return str(o.Sigmoid(o.Add(value, o.Mul(peepholes[place], memory)) if looks else value))

    if o.op.type == "BlockLSTM":
        f = o.Add(f, np.array(o.a.forget_bias, o.out))
    i, f, candidate = gate(i, 0, c), gate(f, 1, c), o.Tanh(candidate)
    memory = o.Add(o.Mul(f, c), o.Mul(i, candidate))
    if o.a.cell_clip > 0:
        limit = np.array(o.a.cell_clip, o.out)
        memory = o.Clip(memory, -limit, limit)
    out, tangent = gate(out, 2, memory), o.Tanh(memory)
    return [i, memory, f, out, candidate, tangent, o.Mul(out, tangent)]
