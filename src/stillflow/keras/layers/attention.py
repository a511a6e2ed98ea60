"""Attention layers."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend.config import floatx
from stillflow.layers.base_layer import Layer


class BaseDenseAttention(Layer):
    """Means of values, weighted by how well queries and keys fit.

    Args:
      causal: whether each step looks at those before only.
    """

    def __init__(self, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.causal = causal
        self.supports_masking = True

    def _calculate_scores(self, query: Any, key: Any) -> Any:
        """Return the scores of query steps for key steps: [batch, of query, of key]."""
        raise NotImplementedError

    def _apply_scores(self, scores: Any, value: Any, scores_mask: Any = None) -> Any:
        """Means of values, weighted by scores where the mask is True."""
        if scores_mask is not None:
            scores -= 1.0e9 * tf.cast(tf.logical_not(scores_mask), dtype=floatx())
        return tf.matmul(tf.nn.softmax(scores), value)

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Return the weighted means.

        Args:
          inputs: [query, value] or [query, value, key], each [batch, time, features].
          mask: [mask of the query, mask of the value].
        """
        self._check(inputs, mask)
        query, value = inputs[0], inputs[1]
        key = inputs[2] if len(inputs) > 2 else value
        query_mask, value_mask = mask or (None, None)
        scores = self._calculate_scores(query=query, key=key)
        masks = []
        if value_mask is not None:
            masks.append(tf.expand_dims(value_mask, axis=-2))
        if self.causal:
            sizes = tf.shape(scores)
            shape = tf.concat([tf.ones_like(sizes[:-2]), sizes[-2:]], axis=0)
            masks.append(lower_triangular_mask(shape))
        kept = tf.logical_and(*masks) if len(masks) == 2 else (masks or [None])[0]
        result = self._apply_scores(scores=scores, value=value, scores_mask=kept)
        if query_mask is not None:
            result *= tf.cast(tf.expand_dims(query_mask, axis=-1), dtype=result.dtype)
        return result

    def compute_mask(self, inputs: Any, mask: Any = None) -> Tensor | None:
        """Return the mask of the query."""
        self._check(inputs, mask)
        return convert_to_tensor(mask[0]) if mask and mask[0] is not None else None

    def _check(self, inputs: Any, mask: Any) -> None:
        kind = type(self).__name__
        if not isinstance(inputs, list):
            raise ValueError(
                f"{kind} layer must be called on a list of inputs, namely [query, value] or "
                "[query, value, key]."
            )
        if not 2 <= len(inputs) <= 3:
            raise ValueError(
                f"{kind} layer accepts inputs list of length 2 or 3, namely [query, value] or "
                f"[query, value, key]. Given length: {len(inputs)}"
            )
        if mask and not isinstance(mask, list):
            raise ValueError(f"{kind} layer mask must be a list, namely [query_mask, value_mask].")
        if mask and len(mask) != 2:
            raise ValueError(
                f"{kind} layer mask must be a list of length 2, namely [query_mask, value_mask]. "
                f"Given length: {len(mask)}"
            )

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "causal": self.causal}


def lower_triangular_mask(shape: Any) -> Any:
    """Return True at and below the diagonals of matrices of `shape`, [..., rows, columns]."""
    rows = tf.cumsum(tf.ones(shape=shape, dtype=tf.int32), axis=-2)
    columns = tf.cumsum(tf.ones(shape=shape, dtype=tf.int32), axis=-1)
    return tf.greater_equal(rows, columns)


class ScaledAttention(BaseDenseAttention):
    """Attention with scores that a factor may scale.

    Args:
      use_scale: whether there is a factor that is learned.
      causal: whether each step looks at those before only.
    """

    def __init__(self, use_scale: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale
        self.scale: Any = None

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "use_scale": self.use_scale}


@export("keras.layers.Attention")
class Attention(ScaledAttention):
    """Attention whose scores are products (Luong et al., 2015)."""

    def __init__(self, use_scale: bool = False, **kwargs: Any) -> None:
        super().__init__(use_scale, **kwargs)

    def build(self, input_shape: Any) -> None:
        """Make `scale`."""
        if self.use_scale:
            self.scale = self.add_weight(
                name="scale", shape=(), initializer=tf.ones_initializer(), dtype=self.dtype,
                trainable=True,
            )  # fmt: skip
        super().build(input_shape)

    def _calculate_scores(self, query: Any, key: Any) -> Tensor:
        scores = tf.matmul(query, key, transpose_b=True)
        return scores if self.scale is None else scores * self.scale


@export("keras.layers.AdditiveAttention")
class AdditiveAttention(ScaledAttention):
    """Attention whose scores are sums (Bahdanau et al., 2015)."""

    def __init__(self, use_scale: bool = True, **kwargs: Any) -> None:
        super().__init__(use_scale, **kwargs)

    def build(self, input_shape: Any) -> None:
        """Make `scale` [features]."""
        if self.use_scale:
            features = TensorShape(input_shape[1]).as_list()[-1]
            self.scale = self.add_weight(
                name="scale", shape=[features], initializer=tf.glorot_uniform_initializer(),
                dtype=self.dtype, trainable=True,
            )  # fmt: skip
        super().build(input_shape)

    def _calculate_scores(self, query: Any, key: Any) -> Any:
        query, key = tf.expand_dims(query, axis=-2), tf.expand_dims(key, axis=-3)
        scale = 1.0 if self.scale is None else self.scale
        return tf.reduce_sum(scale * tf.tanh(query + key), axis=-1)
