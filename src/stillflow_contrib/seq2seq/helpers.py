"""Helpers: the next inputs of a decoder's cell."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export, redefinable
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.nn.recurrent.steps import transpose_batch_time
from stillflow_contrib.seq2seq.sampling import categorical_sample

if TYPE_CHECKING:
    from stillflow.ops.tensor_array.tensor_array import TensorArray


def unstacked(value: Any) -> TensorArray:
    """Return a TensorArray of the rows of a tensor."""
    return tf.TensorArray(
        dtype=value.dtype, size=tf.shape(value)[0], element_shape=value.get_shape()[1:]
    ).unstack(value)


def lookup(embedding: Any) -> Callable[[Any], Any]:
    """Return the function that embeds numbers, given itself or by its vectors."""
    if callable(embedding):
        return embedding
    return lambda ids: tf.nn.embedding_lookup(embedding, ids)


# The rank of tokens by their argument's name.
_TOKEN_RANKS = {"start_tokens": (1, "vector"), "end_token": (0, "scalar")}


def as_tokens(value: Any, name: str) -> Tensor:
    """Return an argument of `_TOKEN_RANKS` as a tensor."""
    return tf.convert_to_tensor(value, dtype=tf.int32, name=name)


def of_token_rank(tokens: Any, name: str) -> Any:
    """Return the same tensor; raise a ValueError if it is of another rank than its argument."""
    rank, kind = _TOKEN_RANKS[name]
    if tokens.get_shape().ndims != rank:
        raise ValueError(f"{name} must be a {kind}")
    return tokens


@export("contrib.seq2seq.Helper")
class Helper:
    """Base class of samplers of a decoder's outputs and next inputs."""

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        raise NotImplementedError("batch_size has not been implemented")

    @property
    def sample_ids_shape(self) -> Any:
        """The shape of a sample, without the batch dimension."""
        raise NotImplementedError("sample_ids_shape has not been implemented")

    @property
    def sample_ids_dtype(self) -> Any:
        """The dtype of a sample."""
        raise NotImplementedError("sample_ids_dtype has not been implemented")

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return the initial finished flags (bool [batch]) and inputs."""
        raise NotImplementedError

    @redefinable
    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Tensor:
        """Return samples of outputs."""
        raise NotImplementedError

    @redefinable
    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return the finished flags, the next inputs, and the next state."""
        raise NotImplementedError


class _ScalarSamples(Helper):
    """A helper whose samples are int32 scalars."""

    _batch_size: Any

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def sample_ids_shape(self) -> TensorShape:
        return TensorShape([])

    @property
    def sample_ids_dtype(self) -> DType:
        return tf.int32


@export("contrib.seq2seq.CustomHelper")
class CustomHelper(Helper):
    """A helper made of functions.

    Args:
      initialize_fn: gives what is finished, and the first inputs.
      sample_fn: of time, outputs and state; gives samples.
      next_inputs_fn: of time, outputs, state and sample_ids; gives what is finished, the next
        inputs and the next state.
      sample_ids_shape: of a sample; a scalar by default.
      sample_ids_dtype: of a sample; int32 by default.
    """

    def __init__(
        self,
        initialize_fn: Callable[..., Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        self._functions = {
            "Initialize": initialize_fn, "Sample": sample_fn, "NextInputs": next_inputs_fn
        }  # fmt: skip
        self._batch_size: Any = None
        self._sample_ids_shape = TensorShape(sample_ids_shape or [])
        self._sample_ids_dtype = sample_ids_dtype or tf.int32

    def _call(self, which: str, scope: str | None, **given: Any) -> Any:
        """Call one of the functions in a name scope."""
        # Samples are no values of the scope.
        values = [given[key] for key in ("time", "outputs", "state") if key in given]
        with tf.name_scope(scope, type(self).__name__ + which, values):
            return self._functions[which](**given)

    @property
    def batch_size(self) -> Any:
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    @property
    def sample_ids_shape(self) -> TensorShape:
        return self._sample_ids_shape

    @property
    def sample_ids_dtype(self) -> DType:
        return self._sample_ids_dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        with tf.name_scope(name, f"{type(self).__name__}Initialize"):
            finished, inputs = self._functions["Initialize"]()
            self._batch_size = tf.size(finished) if self._batch_size is None else self._batch_size
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._call("Sample", name, time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        found: tuple[Any, Any, Any] = self._call(
            "NextInputs", name, time=time, outputs=outputs, state=state, sample_ids=sample_ids
        )
        return found


@export("contrib.seq2seq.TrainingHelper")
class TrainingHelper(_ScalarSamples):
    """Helper with the elements of known sequences, one after the other.

    Args:
      inputs: (nested) [batch, time, ...].
      sequence_length: int32 [batch].
      time_major: whether inputs are [time, batch, ...].
      name: of the scope.

    Raises:
      ValueError: if the lengths are no vector.
    """

    def __init__(
        self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None
    ) -> None:
        with tf.name_scope(name, "TrainingHelper", [inputs, sequence_length]):
            self._inputs = tf.convert_to_tensor(inputs, name="inputs")
            steps = self._inputs if time_major else transpose_batch_time(self._inputs)
            self._input_tas = unstacked(steps)
            lengths = tf.convert_to_tensor(sequence_length, name="sequence_length")
            shape = lengths.get_shape()
            if shape.ndims != 1:
                raise ValueError(
                    f"Expected sequence_length to be a vector, but received shape: {shape}"
                )
            self._sequence_length = lengths
            self._zero_inputs = tf.zeros_like(steps[0, :])
            self._batch_size = tf.size(sequence_length)

    inputs = property(lambda self: self._inputs)
    sequence_length = property(lambda self: self._sequence_length)

    def _read(self, all_finished: Any, time: Any) -> Tensor:
        read = functools.partial(self._input_tas.read, time)
        return tf.cond(all_finished, lambda: self._zero_inputs, read)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        with tf.name_scope(name, "TrainingHelperInitialize"):
            finished = tf.equal(0, self._sequence_length)
            return finished, self._read(tf.reduce_all(finished), 0)

    @redefinable
    def sample(
        self, time: Any, outputs: Any, name: str | None = None, **unused_kwargs: Any
    ) -> Tensor:
        with tf.name_scope(name, "TrainingHelperSample", [time, outputs]):
            return tf.cast(tf.argmax(outputs, axis=-1), tf.int32)

    @redefinable
    def next_inputs(
        self, time: Any, outputs: Any, state: Any, name: str | None = None, **unused_kwargs: Any
    ) -> tuple[Any, Any, Any]:
        with tf.name_scope(name, "TrainingHelperNextInputs", [time, outputs, state]):
            next_time = time + 1
            finished = next_time >= self._sequence_length
            return finished, self._read(tf.reduce_all(finished), next_time), state


def _one_tensor(outputs: Any) -> None:
    if not isinstance(outputs, Tensor):
        raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")


@export("contrib.seq2seq.GreedyEmbeddingHelper")
class GreedyEmbeddingHelper(_ScalarSamples):
    """Helper with the embedding of the most likely output.

    Args:
      embedding: a function of numbers, or the vectors.
      start_tokens: int32 [batch], the first inputs.
      end_token: int32 scalar, which finishes a sequence.

    Raises:
      ValueError: if a token is of the wrong rank.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding_fn = lookup(embedding)
        given = {"start_tokens": start_tokens, "end_token": end_token}
        start, end = (as_tokens(value, name) for name, value in given.items())
        self._start_tokens = of_token_rank(start, "start_tokens")
        self._batch_size = tf.size(start_tokens)
        self._end_token = of_token_rank(end, "end_token")
        self._start_inputs = self._embedding_fn(start)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return tf.tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Tensor:
        _one_tensor(outputs)
        return tf.argmax(outputs, axis=-1, output_type=tf.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        finished = tf.equal(sample_ids, self._end_token)
        next_inputs = tf.cond(
            tf.reduce_all(finished),
            lambda: self._start_inputs,
            lambda: self._embedding_fn(sample_ids),
        )
        return finished, next_inputs, state


@export("contrib.seq2seq.SampleEmbeddingHelper")
class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Helper with the embedding of an output drawn by its probability.

    Args:
      embedding, start_tokens, end_token: as of `GreedyEmbeddingHelper`.
      softmax_temperature: by which logarithms are divided; 1 by default.
      seed: of the random choices.
    """

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Tensor:
        _one_tensor(outputs)
        heat = self._softmax_temperature
        return categorical_sample(outputs if heat is None else outputs / heat, seed=self._seed)


@export("contrib.seq2seq.InferenceHelper")
class InferenceHelper(Helper):
    """Helper with functions of the outputs.

    Args:
      sample_fn: of outputs; gives samples.
      sample_shape, sample_dtype: of a sample.
      start_inputs: the first inputs.
      end_fn: of samples; gives what is finished, bool [batch].
      next_inputs_fn: of samples; gives the next inputs, the samples themselves by default.
    """

    def __init__(
        self,
        sample_fn: Callable[..., Any],
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any] | None = None,
    ) -> None:
        self._sample_fn, self._end_fn, self._next_inputs_fn = sample_fn, end_fn, next_inputs_fn
        self._sample_shape, self._sample_dtype = TensorShape(sample_shape), sample_dtype
        self._batch_size = tf.shape(start_inputs)[0]
        self._start_inputs = tf.convert_to_tensor(start_inputs, name="start_inputs")

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def sample_ids_shape(self) -> TensorShape:
        return self._sample_shape

    @property
    def sample_ids_dtype(self) -> DType:
        return self._sample_dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return tf.tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Tensor:
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        function = self._next_inputs_fn
        next_inputs = sample_ids if function is None else function(sample_ids)
        return self._end_fn(sample_ids), next_inputs, state
