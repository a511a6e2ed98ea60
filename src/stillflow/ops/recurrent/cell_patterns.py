"""Cells of recurrent networks as patterns of kernel calls, and their kernels for all time steps.

A loop's body computes a cell one time step at a time. The runtime looks for these patterns in the
body, by operations and wiring alone, and runs a found cell as one step over all iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.recurrent.lstm_layer import lstm_layer, lstm_layer_gradient, product


@dataclass(eq=False, frozen=True)
class Term:
    """A call in a pattern.

    Attributes:
      kinds: types of operations, separated by spaces.
      arguments: for each of the call's arguments a term, a name to bind, a test, its value, or a
        tuple of such alternatives.
      output: the number of the result.
      commutes: whether two arguments may stand in either order.
    """

    kinds: str
    arguments: tuple[Any, ...]
    output: int = 0
    commutes: bool = False


def _term(kinds: str, *arguments: Any, output: int = 0) -> Term:
    return Term(kinds, arguments, output)


def _sum(a: Any, b: Any) -> Term:
    return Term("Add AddV2 AddN", (a, b), commutes=True)


def _product(a: Any, b: Any) -> Term:
    return Term("Mul", (a, b), commutes=True)


def chosen(mask: Any, x: Any, y: Any) -> Term:
    """Return the pattern of rows of x where a vector is true, else of y."""
    return _term("Select", mask, x, y)


def _is_last(axis: Any) -> bool:
    return isinstance(axis, int) and axis in (1, -1)


def _is_first(axes: Any) -> bool:
    return list(axes) == [0] if isinstance(axes, (list, tuple)) else False


def _is_matrix(shape: Any) -> bool:
    return isinstance(shape, tuple) and len(shape) == 2 and shape[0] == 1


def _parts(value: Any, count: int) -> tuple[Term, ...]:
    """Return the patterns of equal parts along the last axis."""
    return tuple(_term("Split", value, count, _is_last, output=k) for k in range(count))


added = _sum
ROW_SUM = _term("BiasAddGrad", "rows")
PRODUCT_SUM = _term("MatMul", "left", "right")


class LstmCell:
    """The step of BasicLSTMCell and LSTMCell of tf.nn.rnn_cell, without peepholes.

    Concatenation of input and output, MatMul, BiasAdd, Split into four gates (i, j, f, o); then
    memory = sigmoid(f + forget_bias) * memory + sigmoid(i) * tanh(j), and
    output = sigmoid(o) * tanh(memory). After the end of a sequence, where there are lengths,
    Select keeps the state.
    """

    both = _term("ConcatV2", "x", "h", "axis")
    product = _term("MatMul", both, "weights")
    gates = _term("BiasAdd", product, "bias")
    _i, _ci, _f, _o = _parts(gates, 4)
    i, ci, o = _term("Sigmoid", _i), _term("Tanh", _ci), _term("Sigmoid", _o)
    f = _term("Sigmoid", _sum(_f, "forget_bias"))
    memory = _sum(_product(f, "c"), _product(i, ci))
    co = _term("Tanh", memory)
    output = _product(o, co)
    # The state as one matrix: memory and output side by side.
    parts_of_state = _parts("state", 2)
    state = _term("ConcatV2", memory, output, "axis of state")

    shown: tuple[Any, ...] = (both, i, ci, f, o, co, memory, output, "c", "h")

    def __init__(self, names: Mapping[Any, str], forget_bias: float, wanted: set[str]) -> None:
        self.names, self.forget_bias = names, forget_bias
        self.wanted = {key for key in self.shown if names[key] in wanted}
        self.keep = not self.wanted.isdisjoint((self.i, self.ci, self.f, self.o, self.co))

    def run(self, known: dict[str, Any], constants: Mapping[str, Any]) -> dict[str, Any]:
        """Add the values of all iterations to `known`; return the last values of the state."""
        value = _values(self.names, known, constants)
        x, ended = as_tensor(value("x")), None
        if "mask" in self.names:
            ended = as_tensor(value("mask"))
        state = self._state(value)
        made = lstm_layer(
            x, value("weights"), value("bias"), state, self.forget_bias, ended, self.keep
        )
        found: dict[Any, Any] = {self.memory: made.memory, self.output: made.output}
        if made.parts is not None:
            found.update(zip((self.i, self.ci, self.f, self.o, self.co), made.parts, strict=True))
        if self.wanted.intersection(("c", "h", self.both)):
            found["c"] = [state[0], *made.state_memory[:-1].unbind()]
            found["h"] = [state[1], *made.state_output[:-1].unbind()]
        if self.both in self.wanted:
            found[self.both] = torch.cat([x, torch.stack(found["h"])], 2)
        known.update((self.names[key], found[key]) for key in self.wanted)
        memory, output = made.state_memory[-1], made.state_output[-1]
        if "state" in self.names:
            return {self.names["state"]: torch.cat([memory, output], 1)}
        return {self.names["c"]: memory.clone(), self.names["h"]: output.clone()}

    def _state(self, value: Any) -> tuple[Any, Any]:
        if "state" not in self.names:
            return value("c"), value("h")
        memory, output = value("state").chunk(2, 1)
        return memory.contiguous(), output.contiguous()


class LstmCellGradient:
    """The gradient of the same step, as tf.gradients makes it.

    The gradient of the gates follows from those of output and memory; MatMul takes it to inputs and
    output, which two Slices part. With lengths, Select keeps the gradients of ended sequences.
    """

    _of_memory = _sum("of_c", _term("TanhGrad", _product("o", "of_h"), "co"))
    _of_f = _term("SigmoidGrad", _product(_of_memory, "before"), "f")
    # A batch of one is summed up as if the forget bias had been broadcast to it.
    of_f_of_one = _term("Reshape", _term("Sum", _of_f, _is_first, False), _is_matrix)
    _gates = (
        _term("SigmoidGrad", _product(_of_memory, "ci"), "i"),
        _term("TanhGrad", _product("i", _of_memory), "ci"),
        (_of_f, of_f_of_one),
        _term("SigmoidGrad", _product("of_h", "co"), "o"),
    )
    gates = _term("ConcatV2", *_gates, "axis")
    of_before = _product("f", _of_memory)
    of_both = _term("MatMul", gates, "weights")
    of_x, of_output = _term("Slice", of_both, "of_x_part"), _term("Slice", of_both, "of_h_part")

    parts = ("i", "ci", "f", "o", "co", "before")

    def __init__(self, names: Mapping[Any, str], depth: int, wanted: set[str]) -> None:
        self.names, self.depth = names, depth
        self.of_x_wanted = names.get(self.of_x) in wanted
        self.of_ended = "masked" not in names

    def run(self, known: dict[str, Any], constants: Mapping[str, Any]) -> dict[str, Any]:
        """Add the values of all iterations to `known`; return the last values of the state."""
        value = _values(self.names, known, constants)
        parts = [as_list(value(key)) for key in self.parts]
        of_outputs = None
        if "given" in self.names:
            of_outputs = [each.contiguous() for each in as_list(value("given"))]
        ended = as_tensor(value("mask")) if "mask" in self.names else None
        _, backwards = in_memory(parts[0])
        state = (value("m_c"), value("m_h"))
        weights = value("weights")
        gates, memory, output = lstm_layer_gradient(
            parts, of_outputs, weights, self.depth, state, ended, backwards, self.of_ended
        )
        known[self.names[self.gates]] = _in_turn(gates, backwards)
        if self.of_x_wanted:
            flat = product(gates.flatten(0, 1), weights[: self.depth].t())
            of_x = flat.view(*gates.shape[:2], self.depth)
            known[self.names[self.of_x]] = _in_turn(of_x, backwards)
        return {self.names["m_c"]: memory, self.names["m_h"]: output}


def _values(
    names: Mapping[Any, str], known: Mapping[str, Any], constants: Mapping[str, Any]
) -> Callable[[Any], Any]:
    """Return a function from keys of a pattern to what they stand for."""

    def value(key: Any) -> Any:
        name = names[key]
        return known[name] if name in known else constants[name]

    return value


def _in_turn(stored: Any, backwards: bool) -> Sequence[Any]:
    parts = stored.unbind()
    return parts[::-1] if backwards else parts


def as_list(values: Any) -> Sequence[Any]:
    """Return the values of iterations as a sequence of tensors."""
    return values.unbind() if isinstance(values, torch.Tensor) else values


def as_tensor(values: Any) -> Any:
    """Return the values of iterations as one tensor, without a copy where they are one."""
    if isinstance(values, torch.Tensor):
        return values
    found, backwards = in_memory(values)
    return torch.stack(list(values)) if found is None or backwards else found


def in_memory(values: Sequence[Any]) -> tuple[Any, bool]:
    """Return the tensor of which values are the parts in order, and whether the order is reversed.

    None if they are not.
    """
    first, last = values[0], values[-1]
    size = first.numel() * first.element_size()
    backwards = last.data_ptr() < first.data_ptr()
    base = last if backwards else first
    start, store = base.data_ptr(), base.untyped_storage().data_ptr()
    ordered = reversed(values) if backwards else values
    for number, each in enumerate(ordered):
        if (
            each.data_ptr() != start + number * size
            or each.shape != first.shape
            or each.dtype != first.dtype
            or not each.is_contiguous()
            or each.untyped_storage().data_ptr() != store
        ):
            return None, backwards
    shape = (len(values), *first.shape)
    return base.as_strided(shape, (first.numel(), *first.stride())), backwards


def sum_of_rows(rows: Any) -> Any:
    """Return the sum of all rows of all iterations."""
    rows = _joined(rows)[0]
    return rows.reshape(-1, rows.shape[-1]).sum(0)


def sum_of_products(left: Any, right: Any, total: Any) -> Any:
    """Return the sum of the iterations' products, the left one transposed, and of `total`."""
    (a, back_a), (b, back_b) = _joined(left), _joined(right)
    if back_a != back_b:
        a, b = torch.stack(list(as_list(left))), torch.stack(list(as_list(right)))
    return product(a.reshape(-1, a.shape[-1]).t(), b.reshape(-1, b.shape[-1])).add_(total)


def _joined(values: Any) -> tuple[Any, bool]:
    if isinstance(values, torch.Tensor):
        return values, False
    found, backwards = in_memory(values)
    return (torch.stack(list(values)), False) if found is None else (found, backwards)
