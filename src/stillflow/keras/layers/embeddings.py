"""`tf.keras.layers.Embedding`."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend.config import floatx
from stillflow.layers.base_layer import Layer
from stillflow.layers.identifiers import (
    constraint_of,
    initializer_of,
    regularizer_of,
    serialized,
)


@export("keras.layers.Embedding")
class Embedding(Layer):
    """Vectors for numbers.

    Args:
      input_dim: how many numbers there are.
      output_dim: the length of the vectors.
      embeddings_initializer, embeddings_regularizer, embeddings_constraint: of the vectors.
      activity_regularizer: `f(output)` gives a loss.
      mask_zero: whether 0 stands for nothing and is masked.
      input_length: the length of the sequences, if it is known.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        activity_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        input_length: Any = None,
        **kwargs: Any,
    ) -> None:
        if "input_shape" not in kwargs:
            kwargs["input_shape"] = (input_length or None,)
        dtype = kwargs.pop("dtype", floatx())
        super().__init__(dtype=dtype, **{**kwargs, "autocast": False})
        self.input_dim, self.output_dim = input_dim, output_dim
        self.embeddings_initializer = initializer_of(embeddings_initializer)
        self.embeddings_regularizer = regularizer_of(embeddings_regularizer)
        self.activity_regularizer = regularizer_of(activity_regularizer)
        self.embeddings_constraint = constraint_of(embeddings_constraint)
        self.mask_zero = self.supports_masking = mask_zero
        self.input_length = input_length

    def build(self, input_shape: Any) -> None:
        """Make `embeddings` [input_dim, output_dim]."""
        self.embeddings = self.add_weight(
            shape=(self.input_dim, self.output_dim), initializer=self.embeddings_initializer,
            name="embeddings", regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
        )  # fmt: skip
        self.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Tensor | None:
        """Return True where the numbers are not 0."""
        return tf.not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the input's shape and the length of the vectors."""
        batch, *sizes = TensorShape(input_shape).as_list()
        if self.input_length is None:
            return TensorShape([batch, *sizes, self.output_dim])
        several = isinstance(self.input_length, (list, tuple))
        lengths = list(self.input_length) if several else [self.input_length]
        fits = len(lengths) == len(sizes) and all(
            None in (a, b) or a == b for a, b in zip(lengths, sizes, strict=True)
        )
        if not fits:
            raise ValueError(
                f'"input_length" is {self.input_length}, but received input has shape '
                f"{(batch, *sizes)}"
            )
        lengths = [b if a is None else a for a, b in zip(lengths, sizes, strict=True)]
        return TensorShape([batch, *lengths, self.output_dim])

    def call(self, inputs: Any) -> Tensor:
        """Return the vectors."""
        if inputs.dtype.base_dtype not in (tf.int32, tf.int64):
            inputs = tf.cast(inputs, "int32")
        return tf.nn.embedding_lookup(self.embeddings, inputs)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        names = ("input_dim", "output_dim", "mask_zero", "input_length")
        kinds = ("initializer", "regularizer", "constraint")
        return {
            **super().get_config(),
            **{name: getattr(self, name) for name in names},
            **{
                f"embeddings_{k}": serialized(f"{k}s", getattr(self, f"embeddings_{k}"))
                for k in kinds
            },
            "activity_regularizer": serialized("regularizers", self.activity_regularizer),
        }
