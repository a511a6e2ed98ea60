"""The cells of simple recurrent networks, LSTMs (1997) and GRUs (2014)."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.keras.backend.bias import bias_add
from stillflow.keras.backend.products import dot
from stillflow.keras.backend.shaping import concatenate
from stillflow.keras.layers.recurrent.cells import StandardCell
from stillflow.layers.identifiers import activation_of
from stillflow.layers.signatures import arguments
from stillflow.variables.no_dependency import NoDependency


@export("keras.layers.SimpleRNNCell")
class SimpleRNNCell(StandardCell):
    """`activation(input * kernel + output before * recurrent_kernel + bias)`.

    Args:
      See `StandardCell`.
    """

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))

    def build(self, input_shape: Any) -> None:
        """Make `kernel`, `recurrent_kernel` and `bias`."""
        self._add_kernels(input_shape)
        self.bias = self._add("bias", (self.units,)) if self.use_bias else None
        self.built = True

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        """(output, [output])."""
        before = states[0]
        mask = self.get_dropout_mask_for_cell(inputs, training)
        recurrent_mask = self.get_recurrent_dropout_mask_for_cell(before, training)
        h = dot(inputs if mask is None else inputs * mask, self.kernel)
        if self.bias is not None:
            h = bias_add(h, self.bias)
        if recurrent_mask is not None:
            before = before * recurrent_mask
        output = h + dot(before, self.recurrent_kernel)
        if self.activation is not None:
            output = self.activation(output)
        return output, [output]


def masked(x: Any, masks: Any, count: int) -> list[Any]:
    """`x` for each gate, with a mask of its own if there are some."""
    return [x] * count if masks is None else [x * mask for mask in masks]


@export("keras.layers.GRUCell")
class GRUCell(StandardCell):
    """A gated recurrent unit.

    Args:
      recurrent_activation: of the gates.
      implementation: 1 for a product for each gate, 2 for one product of all.
      reset_after: whether the reset gate comes after the product with the state.
      others: see `StandardCell`.
    """

    _own_config = ("implementation", "reset_after")

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        reset_after: bool = False,
        **kwargs: Any,
    ) -> None:
        given = arguments(locals())
        for name in ("recurrent_activation", "implementation", "reset_after"):
            del given[name]
        super().__init__(**given)
        self.recurrent_activation = activation_of(recurrent_activation)
        self.implementation, self.reset_after = implementation, reset_after

    def build(self, input_shape: Any) -> None:
        """Make `kernel`, `recurrent_kernel` and `bias`; gates are update, reset, new."""
        self._add_kernels(input_shape, gates=3)
        shape = (2, 3 * self.units) if self.reset_after else (3 * self.units,)
        self.bias = self._add("bias", shape) if self.use_bias else None
        self.built = True

    def _gate(self, x: Any, i: int) -> Any:
        """Return a gate's part of the last dimension."""
        first, last = self.units * i, self.units * (i + 1)
        part = slice(first or None, None if i == 2 else last)
        return x[:, part] if x.shape.ndims == 2 else x[part]

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        """(output, [output])."""
        before = states[0]
        masks = self.get_dropout_mask_for_cell(inputs, training, count=3)
        recurrent_masks = self.get_recurrent_dropout_mask_for_cell(before, training, count=3)
        biases: Any = None, None
        if self.use_bias:
            biases = tf.unstack(self.bias) if self.reset_after else (self.bias, None)
        if self.implementation == 1:
            z, new = self._by_gates(inputs, before, masks, recurrent_masks, biases)
        else:
            z, new, before = self._at_once(inputs, before, masks, recurrent_masks, biases)
        h = z * before + (1 - z) * new
        return h, [h]

    def _by_gates(
        self, inputs: Any, before: Any, masks: Any, recurrent_masks: Any, biases: Any
    ) -> tuple[Any, Any]:
        parts = masked(inputs, masks if 0.0 < self.dropout < 1.0 else None, 3)
        xs = [dot(x, self._gate(self.kernel, i)) for i, x in enumerate(parts)]
        if self.use_bias:
            xs = [bias_add(x, self._gate(biases[0], i)) for i, x in enumerate(xs)]
        used = recurrent_masks if 0.0 < self.recurrent_dropout < 1.0 else None
        hs = masked(before, used, 3)
        kernel = self.recurrent_kernel
        products = [dot(hs[i], self._gate(kernel, i)) for i in range(2)]
        has_bias = self.reset_after and self.use_bias
        if has_bias:
            products = [bias_add(x, self._gate(biases[1], i)) for i, x in enumerate(products)]
        z = self.recurrent_activation(xs[0] + products[0])
        r = self.recurrent_activation(xs[1] + products[1])
        if self.reset_after:
            new = dot(hs[2], self._gate(kernel, 2))
            new = r * (bias_add(new, self._gate(biases[1], 2)) if has_bias else new)
        else:
            new = dot(r * hs[2], self._gate(kernel, 2))
        return z, self.activation(xs[2] + new)

    def _at_once(
        self, inputs: Any, before: Any, masks: Any, recurrent_masks: Any, biases: Any
    ) -> tuple[Any, Any, Any]:
        if 0.0 < self.dropout < 1.0:
            inputs = inputs * masks[0]
        x = dot(inputs, self.kernel)
        if self.use_bias:
            x = bias_add(x, biases[0])
        xs = [self._gate(x, i) for i in range(3)]
        if 0.0 < self.recurrent_dropout < 1.0:
            before = before * recurrent_masks[0]
        units, kernel = self.units, self.recurrent_kernel
        if self.reset_after:
            inner = dot(before, kernel)
            inner = bias_add(inner, biases[1]) if self.use_bias else inner
        else:
            inner = dot(before, kernel[:, : 2 * units])
        update, reset = inner[:, :units], inner[:, units : 2 * units]
        z = self.recurrent_activation(xs[0] + update)
        r = self.recurrent_activation(xs[1] + reset)
        if self.reset_after:
            new = r * inner[:, 2 * units :]
        else:
            new = dot(r * before, kernel[:, 2 * units :])
        return z, self.activation(xs[2] + new), before


class MemoryCell(StandardCell):
    """A cell with a memory behind gates: input, forget, new, output."""

    unit_forget_bias: bool
    recurrent_activation: Any

    def _add_bias(self) -> None:
        self.bias = None
        if self.use_bias:
            initializer = self._bias_with_ones if self.unit_forget_bias else None
            self.bias = self._add("bias", (self.units * 4,), initializer)

    def _bias_with_ones(self, _: Any, *args: Any, **kwargs: Any) -> Any:
        parts = (
            (self.bias_initializer, self.units),
            (tf.ones_initializer(), self.units),
            (self.bias_initializer, self.units * 2),
        )
        return concatenate([make((size,), *args, **kwargs) for make, size in parts])

    def _carry_and_output(self, gate: Any, c: Any) -> tuple[Any, Any]:
        """Return the new memory and the output gate, of what `gate(i)` gives for each gate."""
        i = self.recurrent_activation(gate(0))
        f = self.recurrent_activation(gate(1))
        c = f * c + i * self.activation(gate(2))
        return c, self.recurrent_activation(gate(3))


@export("keras.layers.LSTMCell")
class LSTMCell(MemoryCell):
    """A long short-term memory.

    Args:
      recurrent_activation: of the gates.
      unit_forget_bias: whether the forget gate's bias begins with ones.
      implementation: 1 for a product for each gate, 2 for one product of all.
      others: see `StandardCell`.
    """

    _own_config = ("unit_forget_bias", "implementation")

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        given = arguments(locals())
        for name in ("recurrent_activation", "unit_forget_bias", "implementation"):
            del given[name]
        super().__init__(**given)
        self.recurrent_activation = activation_of(recurrent_activation)
        self.unit_forget_bias, self.implementation = unit_forget_bias, implementation
        self.state_size = NoDependency([self.units, self.units])

    def build(self, input_shape: Any) -> None:
        """Make `kernel`, `recurrent_kernel` and `bias`; gates are input, forget, new, output."""
        self._add_kernels(input_shape, gates=4)
        self._add_bias()
        self.built = True

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        """(output, [output, memory])."""
        h, c = states[0], states[1]
        masks = self.get_dropout_mask_for_cell(inputs, training, count=4)
        recurrent_masks = self.get_recurrent_dropout_mask_for_cell(h, training, count=4)
        masks = masks if 0.0 < self.dropout < 1.0 else None
        recurrent_masks = recurrent_masks if 0.0 < self.recurrent_dropout < 1.0 else None
        if self.implementation == 1:
            parts = masked(inputs, masks, 4)
            kernels = tf.split(self.kernel, num_or_size_splits=4, axis=1)
            xs = [dot(x, kernel) for x, kernel in zip(parts, kernels, strict=True)]
            if self.use_bias:
                biases = tf.split(self.bias, num_or_size_splits=4, axis=0)
                xs = [bias_add(x, bias) for x, bias in zip(xs, biases, strict=True)]
            hs = masked(h, recurrent_masks, 4)
            c, o = self._carry_and_output(lambda i: xs[i] + self._recurrent(hs[i], i), c)
        else:
            z = dot(inputs if masks is None else inputs * masks[0], self.kernel)
            h = h if recurrent_masks is None else h * recurrent_masks[0]
            z += dot(h, self.recurrent_kernel)
            z = bias_add(z, self.bias) if self.use_bias else z
            gates = tf.split(z, num_or_size_splits=4, axis=1)
            c, o = self._carry_and_output(lambda i: gates[i], c)
        h = o * self.activation(c)
        return h, [h, c]

    def _recurrent(self, h: Any, i: int) -> Any:
        """Return a state's part of a gate."""
        units = self.units
        part = slice(units * i or None, None if i == 3 else units * (i + 1))
        return dot(h, self.recurrent_kernel[:, part])

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """Zeros, in a list."""
        return list(super().get_initial_state(inputs, batch_size, dtype))


@export("keras.experimental.PeepholeLSTMCell")
class PeepholeLSTMCell(LSTMCell):
    """A long short-term memory whose gates look at the memory (Gers et al., 2002)."""

    input_gate_peephole_weights: Any
    forget_gate_peephole_weights: Any
    output_gate_peephole_weights: Any

    def build(self, input_shape: Any) -> None:
        """Make the variables, including three for the peepholes."""
        super().build(input_shape)
        for gate in ("input", "forget", "output"):
            name = f"{gate}_gate_peephole_weights"
            weight = self.add_weight(
                shape=(self.units,), name=name, initializer=self.kernel_initializer
            )
            setattr(self, name, weight)

    def _carry_and_output(self, gate: Any, c: Any) -> tuple[Any, Any]:
        i = self.recurrent_activation(gate(0) + self.input_gate_peephole_weights * c)
        f = self.recurrent_activation(gate(1) + self.forget_gate_peephole_weights * c)
        c = f * c + i * self.activation(gate(2))
        return c, self.recurrent_activation(gate(3) + self.output_gate_peephole_weights * c)
