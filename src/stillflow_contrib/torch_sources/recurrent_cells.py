"""Recurrent cells that are layers of PyTorch: their patterns, and their weights.

The runtime has patterns of its own cells; here stand those that only exported modules ask for, and
what follows for the weights of `nn.LSTM`, `nn.RNN` and their cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from stillflow.export.capture import Parameter
from stillflow.export.layers import Layer, LayerFinder, dtype_of
from stillflow.ops.patterns import Term, added, matmul, multiplied, term
from stillflow.ops.recurrent.cell_patterns import Cell, LstmCell, TanhCell


def _anything(value: Any) -> bool:
    del value
    return True


def _part(number: int) -> Callable[[Any], bool]:
    """Return the test for the indices of one of several equal parts along the last axis."""

    def test(index: Any) -> bool:
        if isinstance(index, tuple) and len(index) == 2 and index[0] == slice(None):
            index = index[1]
        if not isinstance(index, slice) or index.step not in (None, 1):
            return False
        first, last = index.start or 0, index.stop
        return first > 0 if last is None else first == number * (last - first)

    return test


def _axis(*axes: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and value in axes


def _biased(value: Any, bias: Any) -> tuple[Any, ...]:
    return Term("BiasAdd", (value, bias), attrs=(("data_format", b"NHWC"),)), value


_WHOLE = _biased(added(matmul("x", "weights"), matmul("h", "weights of state")), "bias")
_Gate = Callable[[Any], Term]


def sigmoid(value: Any) -> Term:
    """Return the pattern of a gate."""
    return term("Sigmoid", value)


def hard_sigmoid(value: Any) -> Term:
    """Return the pattern of a gate of three straight lines, which TensorFlow 1's Keras prefers."""
    line = added(multiplied(value, 0.2), 0.5)
    return term("Maximum", term("Minimum", line, 1.0), 0.0)


def _lstm_gate(part: int) -> tuple[Any, ...]:
    """Return the patterns of a gate before its function: a part of one product, or of two."""
    kernel = term("Split", "weights", 4, _axis(1, -1), output=part)
    bias = term("Split", "bias", 4, _axis(0, -1), output=part)
    state = matmul("h", term("StridedSlice", "weights of state", _part(part)))
    both = added(_biased(matmul("x", kernel), bias), state)
    return term("Split", _WHOLE, 4, _axis(1, -1), output=part), both


def keras_lstm(gate: _Gate) -> tuple[Term, Term]:
    """Return the patterns of memory and output; the gates are i, f, c, o."""
    i, f, c, o = map(_lstm_gate, range(4))
    memory = added(multiplied(gate(f), "c"), multiplied(gate(i), term("Tanh", c)))
    return memory, multiplied(gate(o), term("Tanh", memory))


class KerasLstmCell(Cell):
    """The step of tf.keras.layers.LSTM with sigmoids, in both of its implementations.

    The gates are i, f, c, o; kernel, recurrent kernel and bias are variables of their own.
    """

    new = memory, output = keras_lstm(sigmoid)
    states = ("c", "h")
    shown = new


def sliced(value: Any, part: int) -> Term:
    """Return the pattern of one of several equal parts along the last axis."""
    return term("StridedSlice", value, _part(part))


def gated(given: str, weights: str, bias: Any, part: int) -> tuple[Any, ...]:
    """Return the patterns of a product with its bias for a gate: of parts, or a part of it."""
    whole = _biased(matmul(given, weights), bias)[0]
    own = _biased(matmul(given, sliced(weights, part)), sliced(bias, part))[0]
    return sliced(whole, part), own


def keras_gru(gate: _Gate) -> Term:
    """Return the pattern of a step with `reset_after`; the bias has two rows."""
    of_x, of_h = (
        [gated(given, weights, term("Unpack", "bias", 0, output=row), part) for part in range(3)]
        for row, (given, weights) in enumerate([("x", "weights"), ("h", "weights of state")])
    )
    z, r = (gate(added(of_x[part], of_h[part])) for part in range(2))
    c = term("Tanh", added(of_x[2], multiplied(r, of_h[2])))
    return added(multiplied(z, "h"), multiplied(term("Sub", 1.0, z), c))


class KerasGruCell(Cell):
    """The step of tf.keras.layers.GRU with sigmoids and `reset_after`, as cuDNN has it.

    The gates are z, r, h; the bias has a row for the inputs and one for the state.
    """

    output = keras_gru(sigmoid)
    new = shown = (output,)


class KerasRnnCell(Cell):
    """The step of tf.keras.layers.SimpleRNN."""

    output = term(
        "Tanh", added(_biased(matmul("x", "weights"), "bias"), matmul("h", "weights of state"))
    )
    new = shown = (output,)


class BlockLstmCell(Cell):
    """The step of tf.contrib.rnn.LSTMBlockCell without peepholes and clipping."""

    _arguments = ("x", "c", "h", "weights", _anything, _anything, _anything, "bias")
    _attrs = (("use_peephole", False), ("cell_clip", -1.0))
    memory = Term("LSTMBlockCell", _arguments, 1, attrs=_attrs)
    output = Term("LSTMBlockCell", _arguments, 6, attrs=_attrs)
    states, new = ("c", "h"), (memory, output)
    shown = (memory, output)


# `tf.nn.dropout` of a cell's inputs or outputs, with the share that stays.
_RATE = ("rate", term("Sub", 1.0, "keep"))
_RANDOM = added(
    multiplied(term("RandomUniform", term("Shape", "x", _anything)), _anything), _anything
)
DROPOUT = multiplied(
    multiplied("x", ("scale", term("RealDiv", 1.0, term("Sub", 1.0, _RATE)))),
    term("Cast", term("GreaterEqual", _RANDOM, _RATE), _anything),
)

# Cells, with the layer's class and the order of its gates: TensorFlow's LSTM has i, j, f, o.
CLASSES: dict[type[Cell], tuple[str, tuple[int, ...]]] = {
    LstmCell: ("LSTM", (0, 2, 1, 3)), BlockLstmCell: ("LSTM", (0, 2, 1, 3)),
    KerasLstmCell: ("LSTM", (0, 1, 2, 3)), TanhCell: ("RNN", (0,)),
    KerasGruCell: ("GRU", (1, 0, 2)), KerasRnnCell: ("RNN", (0,)),
}  # fmt: skip


def layer_of(
    finder: LayerFinder, cell: Cell, parameter: Callable[[str], Parameter | None], forget: float,
    suffix: str,
) -> Layer | None:  # fmt: skip
    """Return the layer of a cell; None if its weights are used elsewhere, too.

    Args:
      finder: of the program's layers.
      cell: the cell.
      parameter: returns the parameter that a name of the cell's is.
      forget: the number that is added to the gates f; it is a constant of the layer's second bias.
      suffix: of the names of its tensors.
    """
    keys = [key for key in ("weights", "weights of state", "bias") if key in cell.names]
    found = {key: parameter(cell.names[key]) for key in keys}
    weights = {key: each for key, each in found.items() if each is not None and each.trainable}
    key = finder.key_for(list(weights.values())) if len(weights) == len(keys) else None
    if key is None or "weights" not in weights:
        return None
    kernel, bias = weights["weights"], weights.get("bias")
    name, gates = CLASSES[type(cell)]
    width = kernel.value.shape[1] // len(gates)
    order: tuple[Any, ...] = (gates,) if gates != tuple(range(len(gates))) else ()
    state = weights.get("weights of state")
    depth = kernel.value.shape[0] - (0 if state else width)
    options = [str(depth), str(width), *([] if bias else ["bias=False"]), *dtype_of(kernel)]
    kind = f"nn.{name}" if suffix else f"nn.{name}Cell"
    layer = Layer(key, f"{kind}({', '.join(options)})", lambda _: f"self.{key}")
    if state:
        more = (None, *order) if order else ()
        layer.weights = {"weight_ih": (kernel, (1, 0), *more), "weight_hh": (state, (1, 0), *more)}
    else:
        layer.weights = {
            "weight_ih": (kernel, (1, 0), (0, depth), *order),
            "weight_hh": (kernel, (1, 0), (depth, depth + width), *order),
        }
    if bias and bias.value.ndim == 2:  # both biases are trained
        shape = (bias.value.shape[1],)
        rows = {"bias_ih": (0, 1), "bias_hh": (1, 2)}
        layer.weights |= {part: (bias, None, row, *order, shape) for part, row in rows.items()}
    elif bias:
        layer.weights["bias_ih"] = (bias, None, None, *order) if order else (bias, None)
        constant = torch.zeros_like(bias.value)
        constant[width : 2 * width] = forget
        layer.constants = {f"bias_hh{suffix}": constant}
    layer.weights = {f"{part}{suffix}": value for part, value in layer.weights.items()}
    finder.keys.add(key)
    return layer


def run_dropout(series: Any, keep: Any) -> Any:
    """Return a series of which a share stays, as `tf.nn.dropout` in each step gives it."""
    return torch.where(torch.rand_like(series) < keep, series / keep, 0.0)


def run_mask(series: Any, lengths: Any) -> Any:
    """Return a series [time, batch, depth] with zeros beyond the lengths of its rows."""
    steps = torch.arange(len(series), device=series.device).unsqueeze(1)
    return torch.where((steps < lengths).unsqueeze(2), series, 0.0)


def run_layer(layer: Any, series: Any, *state: Any) -> tuple[Any, ...]:
    """Return a recurrent layer's outputs for a series [time, batch, depth], and its last states."""
    if not series.numel():
        return (series.new_zeros(len(series), *state[0].shape), *state)
    given = [each.unsqueeze(0) for each in state]
    outputs, last = layer(series, tuple(given) if len(given) > 1 else given[0])
    return (outputs, *[each[0] for each in (last if len(given) > 1 else [last])])


def run_lengths(layer: Any, series: Any, lengths: Any, *state: Any) -> tuple[Any, ...]:
    """Return a recurrent layer's outputs and last states; beyond a row's length outputs are 0.

    The states of a row are those at its end.
    """
    if not series.numel():
        return run_layer(layer, series, *state)
    rows = torch.nn.utils.rnn.pack_padded_sequence(
        series, lengths.clamp(1, len(series)).cpu(), enforce_sorted=False
    )
    given = [each.unsqueeze(0) for each in state]
    rows, last = layer(rows, tuple(given) if len(given) > 1 else given[0])
    outputs, _ = torch.nn.utils.rnn.pad_packed_sequence(rows, total_length=len(series))
    begun = lengths.gt(0).unsqueeze(1)
    pairs = zip(last if len(given) > 1 else [last], state)
    return (torch.where(begun, outputs, 0.0), *[torch.where(begun, a[0], b) for a, b in pairs])
