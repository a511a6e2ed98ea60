"""Decoders, and the loop that runs one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export, redefinable
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape
from stillflow.layers.base_layer import Layer
from stillflow.nn.recurrent.steps import recurrent_scope, transpose_batch_time
from stillflow.nn.rnn_cell.sizes import zero_state_tensors

if TYPE_CHECKING:
    from stillflow.ops.tensor_array.tensor_array import TensorArray


@export("contrib.seq2seq.Decoder")
class Decoder:
    """Base class of decoders, which give one element of a sequence after another."""

    @property
    def batch_size(self) -> Any:
        """The number of decoded sequences."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """The (nested) sizes of a step's outputs, without the batch dimension."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """The (nested) dtypes of a step's outputs."""
        raise NotImplementedError

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Return the initial finished flags (bool [batch]), inputs and state."""
        raise NotImplementedError

    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """Run one step: outputs, next state, next inputs, and the finished flags."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Return outputs and state after the last step; unchanged without such a method."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """True if `step` returns the finished flags of all sequences, including earlier ones."""
        return False


class BaseDecoder(Layer):
    """Decoder as a layer, which gets its initial values when it is called.

    A subclass defines `initialize(inputs, initial_state, ...)`, and the rest as for `Decoder`.

    Args:
      output_time_major, impute_finished, maximum_iterations, parallel_iterations, swap_memory: as
        for `dynamic_decode`.
    """

    def __init__(
        self,
        output_time_major: bool = False,
        impute_finished: bool = False,
        maximum_iterations: Any = None,
        parallel_iterations: int = 32,
        swap_memory: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.output_time_major, self.impute_finished = output_time_major, impute_finished
        self.maximum_iterations = maximum_iterations
        self.parallel_iterations, self.swap_memory = parallel_iterations, swap_memory

    batch_size: Any
    output_size: Any
    output_dtype: Any
    initialize: Any

    @property
    def tracks_own_finished(self) -> bool:
        """True if `step` returns the finished flags of all sequences, including earlier ones."""
        return False

    @redefinable
    def call(self, inputs: Any, initial_state: Any = None, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Decode; see `dynamic_decode`."""
        return dynamic_decode(
            self,
            output_time_major=self.output_time_major,
            impute_finished=self.impute_finished,
            maximum_iterations=self.maximum_iterations,
            parallel_iterations=self.parallel_iterations,
            swap_memory=self.swap_memory,
            decoder_init_input=inputs,
            decoder_init_kwargs={**kwargs, "initial_state": initial_state},
        )

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> Any:
        """Return the outputs and the state after the last step; by default left as they are."""
        raise NotImplementedError


@export("contrib.seq2seq.dynamic_decode")
def dynamic_decode(
    decoder: Any,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
    **kwargs: Any,
) -> tuple[Any, Any, Any]:
    """Run a decoder until all sequences are finished.

    Args:
      decoder: a Decoder, or a BaseDecoder, whose inputs come as `decoder_init_input` and
        `decoder_init_kwargs`.
      output_time_major: whether the outputs are [time, batch, ...].
      impute_finished: whether finished sequences keep their state and give zeros.
      maximum_iterations: int32 scalar, the most steps; None for no limit.
      parallel_iterations, swap_memory: as for `tf.while_loop`.
      scope: a variable scope or its name, "decoder" by default.

    Returns:
      The outputs [batch, time, ...], the last state, and the lengths int32 [batch].

    Raises:
      TypeError: if `decoder` is none.
      ValueError: if `maximum_iterations` is no scalar.
    """
    if not isinstance(decoder, (Decoder, BaseDecoder)):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    given: tuple[Any, ...] = ()
    named: dict[str, Any] = {}
    if isinstance(decoder, BaseDecoder):
        given = (kwargs.pop("decoder_init_input", None),)
        named = kwargs.pop("decoder_init_kwargs", {})
    if kwargs:
        raise TypeError(f"dynamic_decode() got unexpected keyword arguments {sorted(kwargs)}")
    with recurrent_scope(scope, "decoder", unique=True):
        if maximum_iterations is not None:
            maximum_iterations = tf.convert_to_tensor(
                maximum_iterations, dtype=tf.int32, name="maximum_iterations"
            )
            if maximum_iterations.get_shape().ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
        finished, inputs, state = decoder.initialize(*given, **named)
        body = _Body(decoder, impute_finished)
        if maximum_iterations is not None:
            finished = tf.logical_or(finished, maximum_iterations <= 0)
        lengths = tf.zeros_like(finished, dtype=tf.int32)
        time = tf.constant(0, dtype=tf.int32)
        arrays = nest.map_structure(
            lambda size, dtype: _array(decoder.batch_size, size, dtype),
            decoder.output_size, decoder.output_dtype,
        )  # fmt: skip
        _, arrays, state, _, _, lengths = tf.while_loop(
            lambda time, arrays, state, inputs, finished, lengths: tf.logical_not(
                tf.reduce_all(finished)
            ),
            body,
            loop_vars=(time, arrays, state, inputs, finished, lengths),
            parallel_iterations=parallel_iterations,
            maximum_iterations=maximum_iterations,
            swap_memory=swap_memory,
        )
        outputs = nest.map_structure(lambda array: array.stack(), arrays)
        try:
            outputs, state = decoder.finalize(outputs, state, lengths)
        except NotImplementedError:
            pass
        if not output_time_major:
            outputs = nest.map_structure(transpose_batch_time, outputs)
    return outputs, state, lengths


def _array(batch_size: Any, size: Any, dtype: Any) -> TensorArray:
    """Return an array for one of the outputs."""
    shape = None
    if isinstance(size, TensorShape) and size.ndims != 0:
        known = static_value(tf.convert_to_tensor(batch_size, name="batch_size"))
        shape = TensorShape([known]).concatenate(size)
    return tf.TensorArray(dtype=dtype, size=0, dynamic_size=True, element_shape=shape)


class _Body:
    """The body of the loop."""

    def __init__(self, decoder: Any, impute_finished: bool) -> None:
        self.decoder, self.impute_finished = decoder, impute_finished
        self.zeros = nest.map_structure(
            lambda size, dtype: zero_state_tensors(size, decoder.batch_size, dtype),
            decoder.output_size, decoder.output_dtype,
        )  # fmt: skip

    def __call__(
        self, time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any
    ) -> tuple[Any, ...]:
        outputs, next_state, next_inputs, now_finished = self.decoder.step(time, inputs, state)
        if not self.decoder.tracks_own_finished:
            now_finished = tf.logical_or(now_finished, finished)
        next_lengths = tf.where(
            tf.logical_not(finished), tf.fill(tf.shape(lengths), time + 1), lengths
        )
        nest.assert_same_structure(state, next_state)
        nest.assert_same_structure(arrays, outputs)
        nest.assert_same_structure(inputs, next_inputs)
        if self.impute_finished:
            outputs = nest.map_structure(
                lambda out, zero: tf.where(finished, zero, out), outputs, self.zeros
            )

            def keep(new: Any, old: Any) -> Any:
                if isinstance(old, tf.TensorArray):
                    return new
                new.set_shape(old.shape)
                return new if new.shape.ndims == 0 else tf.where(finished, old, new)

            next_state = nest.map_structure(keep, next_state, state)
        arrays = nest.map_structure(lambda array, out: array.write(time, out), arrays, outputs)
        return time + 1, arrays, next_state, next_inputs, now_finished, next_lengths
