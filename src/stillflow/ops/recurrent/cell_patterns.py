"""Cells of recurrent networks as patterns of kernel calls, and their kernels for all time steps.

A loop's body computes a cell one time step at a time. The runtime looks for these patterns in the
body, by operations and wiring alone, and runs a found cell as one step over all iterations.

Names in patterns that begin with "axis" stand for the last axis of a matrix, with "weights" or
"bias" for values that are the same in all iterations, with "number" for constants of one element,
with "x part" or "h part" for the columns that belong to inputs or outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.patterns import Term, added, matmul, multiplied, term
from stillflow.ops.recurrent.gru_layer import gru_layer, gru_layer_gradient
from stillflow.ops.recurrent.lstm_layer import lstm_layer, lstm_layer_gradient, product

_Found = tuple[dict[Any, Any], dict[str, Any]]


def _affine(x: Any, weights: str, bias: str) -> Term:
    return Term("BiasAdd", (matmul(x, weights), bias), attrs=(("data_format", b"NHWC"),))


def _gate(value: Any, peephole: str, memory: Any) -> Term:
    """Return the pattern of a gate, which may see the memory."""
    return term("Sigmoid", (value, added(value, multiplied(peephole, memory))))


def _peepholes(names: Mapping[Any, str], value: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    i, f, o = (value(key) if (key := f"vector of {gate}") in names else None for gate in "ifo")
    return i, f, o


def chosen(mask: Any, x: Any, y: Any) -> Term:
    """Return the pattern of rows of x where a vector is true, else of y."""
    return term("Select", mask, x, y)


def _is_last(axis: Any) -> bool:
    return isinstance(axis, int) and axis in (1, -1)


def _is_first(axes: Any) -> bool:
    return list(axes) == [0] if isinstance(axes, (list, tuple)) else False


def _is_matrix(shape: Any) -> bool:
    return isinstance(shape, tuple) and len(shape) == 2 and shape[0] == 1


def _summed_up(value: Term) -> tuple[Term, Term]:
    """Return a pattern, or that of its rows' sum.

    A batch of one is summed up as if the other operand, a number, had been broadcast to it.
    """
    return value, term("Reshape", term("Sum", value, _is_first, False), _is_matrix)


def _parts(value: Any, count: int) -> tuple[Term, ...]:
    """Return the patterns of equal parts along the last axis."""
    return tuple(term("Split", value, count, _is_last, output=k) for k in range(count))


ROW_SUM = term("BiasAddGrad", "rows")
MATRIX_SUM = term("Sum", "rows", _is_first, False)  # of a matrix, its rank is to be asked for
PRODUCT_SUM = matmul("left", "right", transpose_a=True)


class Cell:
    """A cell of a recurrent network, and its kernel for all iterations.

    Attributes:
      output: its pattern.
      states, new: names of its states, and the patterns of their next values.
      parts_of_state, state: those where all states are one matrix, "state".
      shown: terms and names whose values the kernel gives to others.
    """

    output: Any
    states: tuple[str, ...] = ("h",)
    new: tuple[Any, ...] = ()
    parts_of_state: tuple[Any, ...] = ()
    state: Any = None
    shown: tuple[Any, ...] = ()

    def __init__(self, names: Mapping[Any, str], wanted: set[str]) -> None:
        self.names = names
        self.wanted = {key for key in self.shown if key in names and names[key] in wanted}
        self.packed: list[Any] = []  # weights that are constants, as the kernel takes them

    def run(self, known: dict[str, Any], constants: Mapping[str, Any]) -> dict[str, Any]:
        """Add the values of all iterations to `known`; return the last values of the states."""
        value = _values(self.names, known, constants)
        ended = as_tensor(value("mask")) if "mask" in self.names else None
        fixed = constants.keys() >= {self.names["weights"], self.names["bias"]}
        packed = self.packed if fixed else []
        found, after = self.compute(value, as_tensor(value("x")), ended, packed)
        known.update((self.names[key], found[key]) for key in self.wanted)
        return {self.names[key]: last for key, last in after.items()}

    def compute(self, value: Any, x: Any, ended: Any, packed: list[Any]) -> _Found:
        """Return the wanted values of all iterations, and the last ones of the states."""
        raise NotImplementedError


class LstmCell(Cell):
    """The step of BasicLSTMCell and LSTMCell of tf.nn.rnn_cell, with peepholes or without.

    Concatenation of input and output, MatMul, BiasAdd, Split into four gates (i, j, f, o); then
    memory = sigmoid(f + forget_bias) * memory + sigmoid(i) * tanh(j), and
    output = sigmoid(o) * tanh(memory). After the end of a sequence, where there are lengths,
    Select keeps the state.
    """

    both = term("ConcatV2", "x", "h", "axis")
    gates = _affine(both, "weights", "bias")
    _i, _ci, _f, _o = _parts(gates, 4)
    _f = added(_f, "number of bias")
    i, ci = _gate(_i, "vector of i", "c"), term("Tanh", _ci)
    f = _gate(_f, "vector of f", "c")
    memory = added(multiplied(f, "c"), multiplied(i, ci))
    o = _gate(_o, "vector of o", memory)
    co = term("Tanh", memory)
    output = multiplied(o, co)
    states, new = ("c", "h"), (memory, output)
    # The state as one matrix: memory and output side by side.
    parts_of_state = _parts("state", 2)
    state = term("ConcatV2", memory, output, "axis of state")

    shown = (both, i, ci, f, o, co, memory, output, "c", "h")

    def compute(self, value: Any, x: Any, ended: Any, packed: list[Any]) -> _Found:
        state = self._state(value)
        keep = not self.wanted.isdisjoint((self.i, self.ci, self.f, self.o, self.co))
        bias = float(value("number of bias"))
        peepholes = _peepholes(self.names, value)
        made = lstm_layer(
            x, value("weights"), value("bias"), state, bias, ended, keep, peepholes, packed
        )
        found: dict[Any, Any] = {self.memory: made.memory, self.output: made.output}
        if made.parts is not None:
            found.update(zip((self.i, self.ci, self.f, self.o, self.co), made.parts, strict=True))
        if self.wanted.intersection(("c", "h", self.both)):
            found["c"] = [state[0], *made.state_memory[:-1].unbind()]
            found["h"] = [state[1], *made.state_output[:-1].unbind()]
        if self.both in self.wanted:
            found[self.both] = torch.cat([x, torch.stack(found["h"])], 2)
        memory, output = made.state_memory[-1], made.state_output[-1]
        if "state" in self.names:
            return found, {"state": torch.cat([memory, output], 1)}
        return found, {"c": memory.clone(), "h": output.clone()}

    def _state(self, value: Any) -> tuple[Any, Any]:
        if "state" not in self.names:
            return value("c"), value("h")
        memory, output = value("state").chunk(2, 1)
        return memory.contiguous(), output.contiguous()


class TanhCell(Cell):
    """The step of BasicRNNCell of tf.nn.rnn_cell: output = tanh(MatMul([input, output]) + bias)."""

    both = term("ConcatV2", "x", "h", "axis")
    output = term("Tanh", _affine(both, "weights", "bias"))
    new = (output,)
    shown: tuple[Any, ...] = (both, output, "h")

    def compute(self, value: Any, x: Any, ended: Any, packed: list[Any]) -> _Found:
        made, found = self._layer((None, value("weights")), (None, value("bias")), value, x, ended)
        return found, {"h": made.state[-1].clone()}

    def _layer(
        self, weights: Any, biases: Any, value: Any, x: Any, ended: Any
    ) -> tuple[Any, dict[Any, Any]]:
        state = value("h")
        made = gru_layer(x, weights, biases, state, ended)
        found: dict[Any, Any] = {self.output: made.output}
        found["h"] = [state, *made.state[:-1].unbind()]
        if self.both in self.wanted:
            found[self.both] = torch.cat([x, torch.stack(found["h"])], 2)
        return made, found


class GruCell(TanhCell):
    """The step of GRUCell of tf.nn.rnn_cell.

    The gates r and u are sigmoid(MatMul([input, output]) + bias), the candidate c is
    tanh(MatMul([input, r * output]) + bias); then output = u * output + (1 - u) * c.
    """

    both = term("ConcatV2", "x", "h", "axis")
    gates = term("Sigmoid", _affine(both, "weights", "bias"))
    r, u = _parts(gates, 2)
    reset = multiplied(r, "h")
    both_reset = term("ConcatV2", "x", reset, "axis of candidate")
    c = term("Tanh", _affine(both_reset, "weights of candidate", "bias of candidate"))
    kept = term("Sub", 1.0, u)
    output = added(multiplied(u, "h"), multiplied(kept, c))
    new = (output,)
    shown = (both, gates, r, u, reset, both_reset, c, kept, output, "h")

    def compute(self, value: Any, x: Any, ended: Any, packed: list[Any]) -> _Found:
        weights = value("weights"), value("weights of candidate")
        biases = value("bias"), value("bias of candidate")
        made, found = self._layer(weights, biases, value, x, ended)
        found.update({self.gates: made.gates, self.reset: made.reset_state, self.c: made.candidate})
        found[self.r], found[self.u] = made.gates.chunk(2, 2)
        if self.kept in self.wanted:
            found[self.kept] = 1 - found[self.u]
        if self.both_reset in self.wanted:
            found[self.both_reset] = torch.cat([x, made.reset_state], 2)
        return found, {"h": made.state[-1].clone()}


CELLS: tuple[type[Cell], ...] = (LstmCell, GruCell, TanhCell)


class CellGradient:
    """The gradient of a cell's step, as tf.gradients makes it, and its kernel for all iterations.

    With lengths, Select keeps the gradients of ended sequences.

    Attributes:
      gates: the pattern with which the search begins.
      states: names for the gradients of the states after the step, as the loop carries them.
      of: names for the same as the step takes them, with the gradient of its output added.
      before: for each state the terms whose sum is its gradient before the step.
      results: terms of the gradients that the kernel gives to others: for each kernel its gates,
        and then the gradient of the inputs by them.
      kernels: names of the kernels.
      pieces: terms for equal parts of the first kernel's gates that others may take.
      parts: names of values of the step forward.
    """

    gates: Any
    states: tuple[str, ...] = ("m_h",)
    of: tuple[str, ...] = ("of_h",)
    before: tuple[tuple[Any, ...], ...] = ()
    results: tuple[tuple[Any, Any], ...] = ()
    kernels: tuple[str, ...] = ("weights",)
    pieces: tuple[Any, ...] = ()
    parts: tuple[str, ...] = ()

    def __init__(self, names: Mapping[Any, str], depth: int, wanted: set[str]) -> None:
        self.names, self.depth, self.wanted = names, depth, wanted

    def run(self, known: dict[str, Any], constants: Mapping[str, Any]) -> dict[str, Any]:
        """Add the values of all iterations to `known`; return the last values of the states."""
        value = _values(self.names, known, constants)
        parts = [as_list(value(key)) for key in self.parts]
        ended = as_tensor(value("mask")) if "mask" in self.names else None
        of_outputs: Any = None
        for key in ("given", "given too"):
            if key in self.names:
                own = [each.contiguous() for each in as_list(value(key))]
                of_outputs = list(map(torch.add, own, of_outputs)) if of_outputs else own
        if "masked" in self.names and ended is not None:
            of_outputs = torch.where(ended[:, :, None], 0, torch.stack(of_outputs)).unbind()
        backwards = in_memory(parts[0])[1]
        weights = [value(key) for key in self.kernels]
        found, after = self.compute(value, weights, parts, of_outputs, ended, backwards)
        for stored, kernel, (gates, of_x) in zip(found, weights, self.results, strict=True):
            known[self.names[gates]] = _in_turn(stored, backwards)
            for key, piece in zip(self.pieces, stored.chunk(4, 2), strict=False):
                if key is not None:
                    known[self.names[key]] = _in_turn(piece, backwards)
            if self.names.get(of_x) in self.wanted:
                flat = product(stored.flatten(0, 1), kernel[: self.depth].t())
                shape = *stored.shape[:2], self.depth
                known[self.names[of_x]] = _in_turn(flat.view(shape), backwards)
        return dict(zip((self.names[key] for key in self.states), after, strict=True))

    def compute(
        self, value: Any, weights: Any, parts: Any, of_outputs: Any, ended: Any, backwards: bool
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the gradients of gates by each kernel, and those of the states."""
        raise NotImplementedError


class LstmCellGradient(CellGradient):
    """The gradient of an LSTM's step.

    The gradient of the gates follows from those of output and memory; MatMul takes it to inputs and
    output, which two Slices part.
    """

    of_o = term("SigmoidGrad", multiplied("of_h", "co"), "o")
    _of_co = term("TanhGrad", multiplied("o", "of_h"), "co")
    _of_memory = (
        added("of_c", _of_co),
        added("of_c", _of_co, _summed_up(multiplied("vector of o", of_o))),
    )
    of_f = term("SigmoidGrad", multiplied(_of_memory, "memory"), "f")
    of_i = term("SigmoidGrad", multiplied(_of_memory, "ci"), "i")
    _of_ci = term("TanhGrad", multiplied("i", _of_memory), "ci")
    gates = term("ConcatV2", of_i, _of_ci, _summed_up(of_f), of_o, "axis")
    of_both = matmul(gates, "weights", transpose_b=True)
    states, of = ("m_c", "m_h"), ("of_c", "of_h")
    before: tuple[tuple[Any, ...], ...] = (
        (multiplied("f", _of_memory),), (term("Slice", of_both, "h part"),),
    )  # fmt: skip
    results = ((gates, term("Slice", of_both, "x part")),)
    parts = ("i", "ci", "f", "o", "co", "memory")

    def compute(
        self, value: Any, weights: Any, parts: Any, of_outputs: Any, ended: Any, backwards: bool
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        state = value("m_c"), value("m_h")
        gates, *after = lstm_layer_gradient(
            parts, of_outputs, weights[0], self.depth, state, ended, backwards,
            peepholes=_peepholes(self.names, value),
        )  # fmt: skip
        return [gates], after


class PeepholeGradient(LstmCellGradient):
    """The gradient of the step of an LSTM with peepholes, which takes those of the gates, too."""

    _kind = LstmCellGradient
    before = (
        (
            *_kind.before[0], _summed_up(multiplied("vector of f", _kind.of_f)),
            _summed_up(multiplied("vector of i", _kind.of_i)),
        ),
        _kind.before[1],
    )  # fmt: skip
    pieces = (_kind.of_i, None, _kind.of_f, _kind.of_o)


class TanhCellGradient(CellGradient):
    """The gradient of a tanh cell's step."""

    gates = term("TanhGrad", "of_h", "output")
    of_both = matmul(gates, "weights", transpose_b=True)
    before = ((term("Slice", of_both, "h part"),),)
    results = ((gates, term("Slice", of_both, "x part")),)
    parts = ("output",)

    def compute(
        self, value: Any, weights: Any, parts: Any, of_outputs: Any, ended: Any, backwards: bool
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        (_, of_c), after = gru_layer_gradient(
            parts, of_outputs, (None, *weights), self.depth, value("m_h"), ended, backwards
        )
        return [of_c], [after]


class GruCellGradient(CellGradient):
    """The gradient of a gated recurrent unit's step."""

    of_c = term("TanhGrad", multiplied("kept", "of_h"), "c")
    _of_both_reset = matmul(of_c, "weights of candidate", transpose_b=True)
    _of_reset = term("Slice", _of_both_reset, "h part of candidate")
    _of_u = added(multiplied("of_h", "h"), _summed_up(term("Neg", multiplied("of_h", "c"))))
    _of_gates = term("ConcatV2", multiplied(_of_reset, "h"), _of_u, "axis")
    gates = term("SigmoidGrad", _of_gates, "gates")
    _of_both = matmul(gates, "weights", transpose_b=True)
    before = (
        (multiplied("u", "of_h"), multiplied("r", _of_reset), term("Slice", _of_both, "h part")),
    )
    results = (
        (gates, term("Slice", _of_both, "x part")),
        (of_c, term("Slice", _of_both_reset, "x part of candidate")),
    )
    kernels = ("weights", "weights of candidate")
    parts = ("c", "h", "r", "u", "kept", "gates")

    def compute(
        self, value: Any, weights: Any, parts: Any, of_outputs: Any, ended: Any, backwards: bool
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        *parts, gates = parts
        for r, u, both in zip(parts[2], parts[3], gates, strict=True):
            # The kernel knows the gates by these alone.
            if r.data_ptr() != both.data_ptr() or u.data_ptr() != both[:, r.shape[1] :].data_ptr():
                raise ValueError("the gates are not those of the step")
        found, after = gru_layer_gradient(
            parts, of_outputs, weights, self.depth, value("m_h"), ended, backwards
        )
        return found, [after]


GRADIENTS: tuple[type[CellGradient], ...] = (
    LstmCellGradient, PeepholeGradient, GruCellGradient, TanhCellGradient,
)  # fmt: skip


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
