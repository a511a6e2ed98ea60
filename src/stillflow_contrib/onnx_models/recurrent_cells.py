"""Recurrent cells that are operators of ONNX, and their weights in its order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillflow.ops.patterns import Term, added, matmul, multiplied, term
from stillflow.ops.recurrent.cell_patterns import Cell, GruCell, LstmCell, TanhCell
from stillflow_contrib.torch_sources import recurrent_cells as cells
from stillflow_contrib.torch_sources.recurrent_cells import hard_sigmoid, sigmoid

_HARD = {"activations": ["HardSigmoid", "Tanh"]}
_HARD_LSTM = {"activations": ["HardSigmoid", "Tanh", "Tanh"]}


class HardLstmCell(Cell):
    """The step of tf.keras.layers.LSTM with hard sigmoids, its default."""

    new = memory, output = cells.keras_lstm(hard_sigmoid)
    states = ("c", "h")
    shown = new


class HardGruCell(Cell):
    """The step of tf.keras.layers.GRU with hard sigmoids and `reset_after`."""

    output = cells.keras_gru(hard_sigmoid)
    new = shown = (output,)


def _reset_before(gate: Callable[[Any], Term]) -> Term:
    """Return the pattern of a step of tf.keras.layers.GRU without `reset_after`."""
    x = [cells.gated("x", "weights", "bias", part) for part in range(3)]
    x = [(*each, cells.sliced(matmul("x", "weights"), part),
          matmul("x", cells.sliced("weights", part))) for part, each in enumerate(x)]  # fmt: skip
    of_h = matmul("h", cells.sliced("weights of state", 0))  # of both gates in one product
    z, r = (
        gate(added(x[part], (
            matmul("h", cells.sliced("weights of state", part)), cells.sliced(of_h, part),
        )))
        for part in range(2)
    )  # fmt: skip
    own = matmul(multiplied(r, "h"), cells.sliced("weights of state", 2))
    c = term("Tanh", added(x[2], own))
    return added(multiplied(z, "h"), multiplied(term("Sub", 1.0, z), c))


class ResetBeforeCell(Cell):
    """The step of tf.keras.layers.GRU with sigmoids, and its reset gate before the product."""

    output = _reset_before(sigmoid)
    new = shown = (output,)


class HardResetBeforeCell(Cell):
    """The step of tf.keras.layers.GRU with hard sigmoids, its default."""

    output = _reset_before(hard_sigmoid)
    new = shown = (output,)


class BlockGruCell(Cell):
    """The step of tf.contrib.rnn.GRUBlockCell."""

    _arguments = ("x", "h", "weights", "weights of candidate", "bias", "bias of candidate")
    output = Term("GRUBlockCell", _arguments, 3)
    new = shown = (output,)


@dataclass
class Kind:
    """Operator of a cell, and the order of its gates.

    Attributes:
      operator: of ONNX.
      order: of the cell's gates in the operator: i, o, f, c of LSTM, and z, r, h of GRU.
      attributes: of the node.
      forgets: the place of the gate among the cell's own to which a number is added.
    """

    operator: str
    order: tuple[int, ...]
    attributes: dict[str, Any]
    forgets: int | None = None


KINDS: dict[type[Cell], Kind] = {
    LstmCell: Kind("LSTM", (0, 3, 2, 1), {}, 2),
    cells.BlockLstmCell: Kind("LSTM", (0, 3, 2, 1), {}, 2),
    cells.KerasLstmCell: Kind("LSTM", (0, 3, 1, 2), {}),
    HardLstmCell: Kind("LSTM", (0, 3, 1, 2), _HARD_LSTM),
    GruCell: Kind("GRU", (1, 0, 2), {}),
    BlockGruCell: Kind("GRU", (1, 0, 2), {}),
    ResetBeforeCell: Kind("GRU", (0, 1, 2), {}),
    HardResetBeforeCell: Kind("GRU", (0, 1, 2), _HARD),
    cells.KerasGruCell: Kind("GRU", (0, 1, 2), {"linear_before_reset": 1}),
    HardGruCell: Kind("GRU", (0, 1, 2), {"linear_before_reset": 1, **_HARD}),
    TanhCell: Kind("RNN", (0,), {}),
    cells.KerasRnnCell: Kind("RNN", (0,), {}),
}


@dataclass
class Layer:
    """An operator with its arrays.

    Attributes:
      operator: of ONNX.
      weights: of inputs [1, gates * units, depth] and states [1, gates * units, units], and biases
        [1, 2 * gates * units].
      peepholes: [1, 3 * units], or None.
      attributes: of its node.
    """

    operator: str
    weights: list[np.ndarray]
    peepholes: np.ndarray | None
    attributes: dict[str, Any]


def layer_of(cell: Cell, array: Callable[[str], np.ndarray], forget: float) -> Layer:
    """Return the operator of a cell.

    Args:
      cell: the cell.
      array: returns the value that a name in the loop stands for.
      forget: the number that is added to the gate that forgets.
    """
    kind = KINDS[type(cell)]
    named = {key: name for key, name in cell.names.items() if isinstance(key, str)}
    held = {key: array(name) for key, name in named.items() if key.startswith(_ARRAYS)}
    of_input, of_state, *biases = _gate_by_gate(held, len(kind.order))
    units = len(of_state)
    if kind.forgets is not None:
        biases[1][kind.forgets * units : (kind.forgets + 1) * units] = forget

    def arranged(array: np.ndarray) -> np.ndarray:
        gates = array.reshape(-1, len(kind.order), units)[:, kind.order]
        return np.ascontiguousarray(gates.transpose(1, 2, 0).reshape(1, array.shape[-1], -1))

    both = np.concatenate([arranged(bias)[..., 0] for bias in biases], 1)
    looks = [held[key].reshape(-1) for key in _PEEPHOLES if key in held]
    return Layer(
        kind.operator, [arranged(of_input), arranged(of_state), both],
        np.concatenate(looks)[None] if looks else None,
        {"hidden_size": units, **kind.attributes},
    )  # fmt: skip


_ARRAYS = ("weights", "bias", "vector")
_PEEPHOLES = ("vector of i", "vector of o", "vector of f")


def _gate_by_gate(held: dict[str, np.ndarray], gates: int) -> list[np.ndarray]:
    """Return the weights of inputs and states, and the biases of both, gate by gate."""
    kernel = np.concatenate(
        [held[key] for key in ("weights", "weights of candidate") if key in held], 1
    )
    state = held.get("weights of state")
    units = kernel.shape[1] // gates
    depth = len(kernel) - (units if state is None else 0)
    of_state = kernel[depth:] if state is None else state
    none = np.zeros(kernel.shape[1], kernel.dtype)
    biases = [held[key] for key in ("bias", "bias of candidate") if key in held]
    bias = np.concatenate(biases) if biases else none.copy()
    pair = list(bias) if bias.ndim == 2 else [bias, none]
    return [kernel[:depth], of_state, *pair]
