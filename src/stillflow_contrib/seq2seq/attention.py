"""Attention mechanisms: Bahdanau's, Luong's, and monotonic ones."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow import nest
from stillflow.graph.dtypes import as_dtype
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.layers.base import Layer
from stillflow.layers.core import Dense
from stillflow.nn.rnn_cell.sizes import zero_state_tensors
from stillflow_contrib.seq2seq.memory import mask_score, prepare_memory
from stillflow_contrib.seq2seq.probabilities import monotonic_probabilities


@export("contrib.seq2seq.AttentionMechanism")
class AttentionMechanism:
    """Base class of attention mechanisms."""

    @property
    def alignments_size(self) -> Any:
        """The number of weights."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """The size of the state of a step."""
        raise NotImplementedError


class BaseAttentionMechanism(AttentionMechanism):
    """A mechanism whose memory and queries may go through layers first.

    Args:
      query_layer, memory_layer: layers, or None.
      memory: [batch, time, ...].
      probability_fn: of scores and the state before; gives the weights.
      memory_sequence_length: the lengths of the memory's sequences.
      check_inner_dims_defined: whether the sizes behind the first two must be known.
      score_mask_value: the score behind the ends of sequences; minus infinity by default.
      custom_key_value_fn: of keys and values; gives others.
      name: of the scope.

    Raises:
      TypeError: if a layer is no layer, or `probability_fn` is not callable.
    """

    def __init__(
        self,
        query_layer: Any,
        memory: Any,
        probability_fn: Callable[..., Any],
        memory_sequence_length: Any = None,
        memory_layer: Any = None,
        check_inner_dims_defined: bool = True,
        score_mask_value: Any = None,
        custom_key_value_fn: Any = None,
        name: str | None = None,
    ) -> None:
        for which, layer in (("query_layer", query_layer), ("memory_layer", memory_layer)):
            if layer is not None and not isinstance(layer, Layer):
                raise TypeError(f"{which} is not a Layer: {type(layer).__name__}")
        self._query_layer, self._memory_layer = query_layer, memory_layer
        self.dtype = memory_layer.dtype
        if not callable(probability_fn):
            raise TypeError(
                f"probability_fn must be callable, saw type: {type(probability_fn).__name__}"
            )
        if score_mask_value is None:
            score_mask_value = as_dtype(self.dtype).as_numpy_dtype(-np.inf)
        self._probability_fn = lambda score, previous: probability_fn(
            mask_score(score, memory_sequence_length, score_mask_value), previous
        )
        with tf.name_scope(name, "BaseAttentionMechanismInit", nest.flatten(memory)):
            self._values = prepare_memory(memory, memory_sequence_length, check_inner_dims_defined)
            self._keys = memory_layer(self._values) if memory_layer else self._values
            if custom_key_value_fn is not None:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            keys = self._keys
            self._batch_size = dimension_value(keys.shape[0]) or tf.shape(keys)[0]
            self._alignments_size = dimension_value(keys.shape[1]) or tf.shape(keys)[1]

    memory_layer = property(lambda self: self._memory_layer)
    query_layer = property(lambda self: self._query_layer)
    values = property(lambda self: self._values)
    keys = property(lambda self: self._keys)
    batch_size = property(lambda self: self._batch_size)

    @property
    def alignments_size(self) -> int:
        return self._alignments_size

    @property
    def state_size(self) -> int:
        return self._alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Tensor:
        """Return the weights before the first step."""
        return zero_state_tensors(self._alignments_size, batch_size, dtype)

    def initial_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return the state before the first step."""
        return self.initial_alignments(batch_size, dtype)

    _SCOPE: str

    def _score(self, query: Any) -> Any:
        """Return the scores [batch, time] of a query."""
        raise NotImplementedError

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """Return the weights [batch, time], and the next state, for a query [batch, n]."""
        with tf.variable_scope(None, self._SCOPE, [query]):
            score = self._score(query)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


def _dense(units: Any, name: str, dtype: Any) -> Dense:
    return Dense(units, name=name, use_bias=False, dtype=tf.float32 if dtype is None else dtype)


def _memoryless(probability_fn: Any) -> Callable[[Any, Any], Any]:
    """Return a function of scores as one of scores and the state before."""
    function = tf.nn.softmax if probability_fn is None else probability_fn
    return lambda score, _: function(score)


class _Luong(BaseAttentionMechanism):
    """Scores are products of query and keys."""

    _scale: bool

    def _score(self, query: Any) -> Tensor:
        scale = None
        if self._scale:
            scale = tf.get_variable(
                "attention_g", dtype=query.dtype, initializer=tf.ones_initializer, shape=()
            )
        depth, units = query.get_shape()[-1], self._keys.get_shape()[-1]
        if depth != units:
            raise ValueError(
                "Incompatible or unknown inner dimensions between query and keys.  Query "
                f"({query}) has units: {depth}.  Keys ({self._keys}) have units: {units}.  Perhaps "
                f"you need to set num_units to the keys' dimension ({units})?"
            )
        score = tf.matmul(tf.expand_dims(query, 1), self._keys, transpose_b=True)
        score = tf.squeeze(score, [1])
        return score if scale is None else scale * score


class _Bahdanau(BaseAttentionMechanism):
    """Scores come from a layer that sees query and keys."""

    _num_units: int
    _normalize: bool

    def _score(self, query: Any) -> Tensor:
        return self._compare(self.query_layer(query) if self.query_layer else query, query.dtype)

    def _compare(self, processed: Any, dtype: Any) -> Tensor:
        units = self._num_units
        v = tf.get_variable("attention_v", [units], dtype=dtype)
        if not self._normalize:
            processed = tf.expand_dims(processed, 1)
            return tf.reduce_sum(v * tf.tanh(self._keys + processed), [2])
        initializer = tf.constant_initializer(math.sqrt(1.0 / units))
        g = tf.get_variable("attention_g", dtype=dtype, initializer=initializer, shape=())
        b = tf.get_variable("attention_b", [units], dtype=dtype, initializer=tf.zeros_initializer())
        processed = tf.expand_dims(processed, 1)
        normed = g * v * tf.rsqrt(tf.reduce_sum(tf.square(v)))
        return tf.reduce_sum(normed * tf.tanh(self._keys + processed + b), [2])


class _Monotonic(BaseAttentionMechanism):
    """Attention starts at the first element."""

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Tensor:
        """All weight on the first element."""
        first = tf.zeros((batch_size,), dtype=tf.int32)
        return tf.one_hot(first, self._alignments_size, dtype=dtype)


def _monotonic(sigmoid_noise: float, mode: str, seed: int | None) -> Callable[..., Any]:
    return functools.partial(
        monotonic_probabilities, sigmoid_noise=sigmoid_noise, mode=mode, seed=seed
    )


@export("contrib.seq2seq.LuongAttention")
class LuongAttention(_Luong):
    """Multiplicative attention (Luong et al., 2015).

    Args:
      num_units: the size of keys and queries.
      memory: [batch, time, ...].
      memory_sequence_length: the lengths of the memory's sequences.
      scale: whether scores are scaled by a variable.
      probability_fn: of scores; softmax by default.
      score_mask_value: the score behind the ends of sequences.
      dtype: of the layer; float32 by default.
      custom_key_value_fn: of keys and values; gives others.
      name: of the scope.
    """

    _SCOPE = "luong_attention"

    def __init__(
        self,
        num_units: Any,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Any = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Any = None,
        name: str = "LuongAttention",
    ) -> None:
        super().__init__(
            query_layer=None, memory_layer=_dense(num_units, "memory_layer", dtype),
            memory=memory, probability_fn=_memoryless(probability_fn),
            memory_sequence_length=memory_sequence_length, score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn, name=name,
        )  # fmt: skip
        self._num_units, self._scale, self._name = num_units, scale, name


@export("contrib.seq2seq.BahdanauAttention")
class BahdanauAttention(_Bahdanau):
    """Additive attention (Bahdanau et al., 2015).

    Args:
      num_units: the size of keys and queries.
      memory: [batch, time, ...].
      memory_sequence_length: the lengths of the memory's sequences.
      normalize: whether the weights are normalized (Salimans and Kingma, 2016).
      probability_fn: of scores; softmax by default.
      score_mask_value: the score behind the ends of sequences.
      dtype: of the layers; float32 by default.
      custom_key_value_fn: of keys and values; gives others.
      name: of the scope.
    """

    _SCOPE = "bahdanau_attention"

    def __init__(
        self,
        num_units: Any,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Any = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Any = None,
        name: str = "BahdanauAttention",
    ) -> None:
        super().__init__(
            query_layer=_dense(num_units, "query_layer", dtype),
            memory_layer=_dense(num_units, "memory_layer", dtype), memory=memory,
            probability_fn=_memoryless(probability_fn), custom_key_value_fn=custom_key_value_fn,
            memory_sequence_length=memory_sequence_length, score_mask_value=score_mask_value,
            name=name,
        )  # fmt: skip
        self._num_units, self._normalize, self._name = num_units, normalize, name


@export("contrib.seq2seq.BahdanauMonotonicAttention")
class BahdanauMonotonicAttention(_Bahdanau, _Monotonic):
    """Additive attention that only moves forward.

    Args:
      num_units, memory, memory_sequence_length, normalize, score_mask_value, dtype, name: as of
        `BahdanauAttention`.
      sigmoid_noise: the standard deviation of noise added to scores.
      sigmoid_noise_seed: of the noise.
      score_bias_init: the first value of a variable added to scores.
      mode: as of `monotonic_attention`.
    """

    _SCOPE = "bahdanau_monotonic_attention"

    def __init__(
        self,
        num_units: Any,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        super().__init__(
            query_layer=_dense(num_units, "query_layer", dtype),
            memory_layer=_dense(num_units, "memory_layer", dtype), memory=memory,
            probability_fn=_monotonic(sigmoid_noise, mode, sigmoid_noise_seed),
            memory_sequence_length=memory_sequence_length, score_mask_value=score_mask_value,
            name=name,
        )  # fmt: skip
        self._num_units, self._normalize, self._name = num_units, normalize, name
        self._score_bias_init = score_bias_init

    def _score(self, query: Any) -> Tensor:
        processed = self.query_layer(query) if self.query_layer else query
        score = self._compare(processed, query.dtype)
        bias = self._score_bias_init
        return score + tf.get_variable(
            "attention_score_bias", dtype=processed.dtype, initializer=bias
        )


@export("contrib.seq2seq.LuongMonotonicAttention")
class LuongMonotonicAttention(_Luong, _Monotonic):
    """Multiplicative attention that only moves forward.

    Args:
      num_units, memory, memory_sequence_length, scale, score_mask_value, dtype, name: as of
        `LuongAttention`.
      sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode: as of
        `BahdanauMonotonicAttention`.
    """

    _SCOPE = "luong_monotonic_attention"

    def __init__(
        self,
        num_units: Any,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        super().__init__(
            query_layer=None, memory_layer=_dense(num_units, "memory_layer", dtype),
            memory=memory, probability_fn=_monotonic(sigmoid_noise, mode, sigmoid_noise_seed),
            memory_sequence_length=memory_sequence_length, score_mask_value=score_mask_value,
            name=name,
        )  # fmt: skip
        self._num_units, self._scale, self._name = num_units, scale, name
        self._score_bias_init = score_bias_init

    def _score(self, query: Any) -> Tensor:
        score, bias = super()._score(query), self._score_bias_init
        return score + tf.get_variable("attention_score_bias", dtype=query.dtype, initializer=bias)
