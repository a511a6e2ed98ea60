"""`tf.keras.backend.rnn`: a step function along time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor

Step = Callable[[Any, Any], tuple[Any, Any]]


def _swapped(x: Any) -> Tensor:
    """Return the first two dimensions exchanged."""
    return tf.transpose(x, [1, 0, *range(2, len(x.shape))])


def _expanded(mask: Any, x: Any, fixed: int = 1) -> Tensor:
    """Return a mask in the shape of `x`, of which it has the first `fixed` dimensions."""
    for _ in range(len(x.shape) - len(mask.shape)):
        mask = tf.expand_dims(mask, -1)
    return tf.tile(mask, [1] * fixed + x.shape.as_list()[fixed:])


def _chosen(mask: Any, x: Any, other: Any) -> Any:
    return tf.where(_expanded(mask, x), x, other)


@export("keras.backend.rnn")
def rnn(
    step_function: Step,
    inputs: Any,
    initial_states: Any,
    go_backwards: bool = False,
    mask: Any = None,
    constants: Any = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> tuple[Any, Any, Any]:
    """Run a step function along time.

    Args:
      step_function: `f(input, states + constants)` gives (output, new states).
      inputs: [batch, time, ...], or a structure of such.
      initial_states: a list of [batch, ...].
      go_backwards: whether to begin with the last step.
      mask: [batch, time]; where it is False, states and output stay as they were.
      constants: a list of tensors for all steps.
      unroll: whether the steps are put into the graph one by one, rather than as a loop.
      input_length: how many steps there are at most.
      time_major: whether time comes first, in outputs too.
      zero_output_for_mask: whether masked outputs are zeros.

    Returns:
      (last output, all outputs, last states).

    Raises:
      ValueError: if an unrolled loop has an unknown length, or there is a mask and no state.
    """
    if not time_major:
        inputs = nest.map_structure(_swapped, inputs)
    flat = nest.flatten(inputs)
    for x in flat:
        x.shape.with_rank_at_least(3)
    steps, batch = flat[0].shape[0], flat[0].shape[1]
    loop = _Loop(step_function, inputs, tuple(constants or ()), go_backwards)
    # Looked at before the mask, as TensorFlow does, whether the loop is unrolled or not.
    loop.length = tf.shape(flat[0])[0]
    if mask is not None:
        mask = tf.cast(mask, tf.bool) if mask.dtype != tf.bool else mask
        mask = tf.expand_dims(mask, -1) if len(mask.shape) == 2 else mask
        mask = mask if time_major else _swapped(mask)
    loop.mask, loop.zero_output = mask, zero_output_for_mask
    if unroll:
        if not steps:
            raise ValueError("Unrolling requires a fixed number of timesteps.")
        last, outputs, states = loop.unrolled(initial_states, int(steps))
    else:
        last, outputs, states = loop.rolled(initial_states, input_length)

    def finished(x: Any) -> Tensor:
        if isinstance(x, Tensor):
            x.set_shape([steps, batch, *x.shape.as_list()[2:]])
        return x

    outputs = nest.map_structure(finished, outputs)
    return last, outputs if time_major else nest.map_structure(_swapped, outputs), states


class _Loop:
    """Shared state of one loop's steps: `length`, a tensor, and a mask [time, batch, 1] or None.

    Masked outputs are zeros if `zero_output`.
    """

    length: Any
    mask: Any
    zero_output: bool

    def __init__(self, step: Step, inputs: Any, constants: tuple[Any, ...], backwards: bool):
        self._step, self._inputs, self._constants = step, inputs, constants
        self._backwards = backwards

    # ---- one by one

    def unrolled(self, initial_states: Any, steps: int) -> tuple[Any, Any, Any]:
        """Return the steps as parts of the graph of their own."""
        columns = [self._in_order(tf.unstack(x)) for x in nest.flatten(self._inputs)]
        masks = None if self.mask is None else self._in_order(tf.unstack(self.mask))
        states: Any = tuple(initial_states)
        outputs: list[Any] = []
        for i in range(steps):
            x = nest.pack_sequence_as(self._inputs, [column[i] for column in columns])
            output, new_states = self._step(x, tuple(states) + self._constants)
            if masks is not None:
                before = outputs[-1] if outputs else tf.zeros_like(output)
                output = _chosen(masks[i], output, before)
                pairs = zip(states, new_states, strict=False)
                new_states = [_chosen(masks[i], new, old) for old, new in pairs]
            states = new_states
            outputs.append(output)
        last, all_outputs = outputs[-1], tf.stack(outputs)
        if masks is not None and self.zero_output:
            last = _chosen(masks[-1], last, tf.zeros_like(last))
            kept = _expanded(self.mask, all_outputs, fixed=2)
            all_outputs = tf.where(kept, all_outputs, tf.zeros_like(all_outputs))
        return last, all_outputs, states

    def _in_order(self, slices: list[Any]) -> list[Any]:
        return slices[::-1] if self._backwards else slices

    # ---- as a loop

    def rolled(self, initial_states: Any, input_length: Any) -> tuple[Any, Any, Any]:
        """Return the steps as a `tf.while_loop`."""
        states = tuple(initial_states)
        flat = nest.flatten(self._inputs)
        arrays = tuple(
            tf.TensorArray(dtype=x.dtype, size=self.length, tensor_array_name=f"input_ta_{i}")
            for i, x in enumerate(flat)
        )
        self._arrays = tuple(
            array.unstack(tf.reverse(x, [0]) if self._backwards else x)
            for array, x in zip(arrays, flat, strict=True)
        )
        first = nest.pack_sequence_as(self._inputs, [x[0] for x in flat])
        # Only for the shapes and dtypes of the outputs.
        self._example, _ = self._step(first, states + self._constants)
        collected = tuple(
            tf.TensorArray(
                dtype=x.dtype, size=self.length, element_shape=x.shape,
                tensor_array_name=f"output_ta_{i}",
            )
            for i, x in enumerate(nest.flatten(self._example))
        )  # fmt: skip
        self._initial_states = initial_states
        time = tf.constant(0, dtype="int32", name="time")
        body: Any = self._plain_step
        carried: tuple[Any, ...] = time, collected
        if self.mask is not None:
            if not states:
                raise ValueError(_NO_STATES)
            body, carried = self._masked_step, (time, collected, self._begin_masked())
        final = tf.while_loop(
            lambda time, *_: time < self.length, body, (*carried, *states),
            parallel_iterations=32, swap_memory=True, maximum_iterations=input_length,
        )  # fmt: skip
        outputs = tuple(array.stack() for array in final[1])
        last = tuple(x[-1] for x in outputs)
        return (
            nest.pack_sequence_as(self._example, last),
            nest.pack_sequence_as(self._example, outputs),
            final[len(carried) :],
        )

    def _read(self, time: Any) -> Tensor:
        return nest.pack_sequence_as(self._inputs, [array.read(time) for array in self._arrays])

    def _plain_step(self, time: Any, collected: Any, *states: Any) -> tuple[Any, ...]:
        output, new_states = self._step(self._read(time), tuple(states) + self._constants)
        flat = _with_shapes(states, new_states)
        collected = _written(collected, time, nest.flatten(output))
        return time + 1, collected, *nest.pack_sequence_as(self._initial_states, flat)

    def _begin_masked(self) -> tuple[Any, ...]:
        """Put the mask into an array; give zeros for the output before the first step."""
        mask = tf.reverse(self.mask, [0]) if self._backwards else self.mask
        array = tf.TensorArray(dtype=tf.bool, size=self.length, tensor_array_name="mask_ta")
        self._masks = array.unstack(mask)
        self._zeros = tuple(tf.zeros_like(x) for x in nest.flatten(self._example))
        return self._zeros

    def _masked_step(
        self, time: Any, collected: Any, before: Any, *states: Any
    ) -> tuple[Tensor | tuple[Any], ...]:
        x = self._read(time)
        mask = self._masks.read(time)
        output, new_states = self._step(x, tuple(states) + self._constants)
        flat: Any = nest.flatten(output)
        others = self._zeros if self.zero_output else nest.flatten(before)
        masks = [_expanded(mask, x) for x in flat]
        flat = tuple(tf.where(m, x, y) for m, x, y in zip(masks, flat, others, strict=True))
        flat_states = nest.flatten(states)
        flat_new = _with_shapes(states, new_states)
        masks = [_expanded(mask, x) for x in flat_states]
        final = tuple(
            tf.where(m, x, y) for m, x, y in zip(masks, flat_new, flat_states, strict=True)
        )
        collected = _written(collected, time, flat)
        return time + 1, collected, flat, *nest.pack_sequence_as(new_states, final)


def _with_shapes(states: Any, new_states: Any) -> list[Any]:
    """Return the new states with the static shapes of the old ones."""
    flat: list[Any] = nest.flatten(new_states)
    for old, new in zip(nest.flatten(states), flat, strict=False):
        if isinstance(new, Tensor):
            new.set_shape(old.shape)
    return flat


def _written(arrays: Any, time: Any, values: Any) -> tuple[Any, ...]:
    return tuple(array.write(time, x) for array, x in zip(arrays, values, strict=True))


_NO_STATES = (
    "No initial states provided! When using masking in an RNN, you should provide initial states "
    "(and your step function should return as its first state at time `t` the output at time "
    "`t-1`)."
)
