"""Layers without variables: activations, masks, shapes, functions."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend import reductions
from stillflow.keras.backend.config import image_data_format
from stillflow.keras.backend.shaping import repeat
from stillflow.keras.regularizers import L1L2
from stillflow.layers.base_layer import Layer
from stillflow.layers.identifiers import activation_of, serialized
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.keras_style.core import Dropout


class Elementwise(Layer):
    """A layer whose outputs have the shape of its inputs.

    Attributes:
      _config: the attributes that are the constructor's arguments.
    """

    _config: tuple[str, ...] = ()

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The input's shape."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), **{name: getattr(self, name) for name in self._config}}


@export("keras.layers.Masking")
class Masking(Elementwise):
    """Masks the steps of sequences whose features all have a value.

    Args:
      mask_value: the value.
    """

    _config = ("mask_value",)

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = self._compute_output_and_mask_jointly = True
        self.mask_value = mask_value

    def _kept(self, inputs: Any, keepdims: bool = False) -> Any:
        different = tf.not_equal(inputs, self.mask_value)
        return reductions.any_(different, axis=-1, keepdims=keepdims)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """False for masked steps."""
        return self._kept(inputs)

    def call(self, inputs: Any) -> Any:
        """Zeros in masked steps."""
        kept = self._kept(inputs, keepdims=True)
        outputs = inputs * tf.cast(kept, inputs.dtype)
        outputs._keras_mask = tf.squeeze(kept, axis=-1)
        return outputs


class _SpatialDropout(Dropout):
    """Dropout of whole channels.

    Args:
      rate: the part, in [0, 1).
      data_format: "channels_last" or "channels_first".
    """

    _rank: int

    def __init__(self, rate: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        data_format = image_data_format() if data_format is None else data_format
        if data_format not in {"channels_last", "channels_first"}:
            raise ValueError('data_format must be in {"channels_last", "channels_first"}')
        self.data_format = data_format
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _get_noise_shape(self, inputs: Any) -> Any:
        sizes = tf.shape(inputs)
        ones = (1,) * self._rank
        if self.data_format == "channels_first":
            return (sizes[0], sizes[1], *ones)
        return (sizes[0], *ones, sizes[self._rank + 1])


@export("keras.layers.SpatialDropout1D")
class SpatialDropout1D(_SpatialDropout):
    """Dropout of whole channels of sequences."""

    _rank = 1

    def __init__(self, rate: Any, **kwargs: Any) -> None:
        super().__init__(rate, "channels_last", **kwargs)


@export("keras.layers.SpatialDropout2D")
class SpatialDropout2D(_SpatialDropout):
    """Dropout of whole channels of images."""

    _rank = 2


@export("keras.layers.SpatialDropout3D")
class SpatialDropout3D(_SpatialDropout):
    """Dropout of whole channels of volumes."""

    _rank = 3


@export("keras.layers.Activation")
class Activation(Elementwise):
    """An activation as a layer.

    Args:
      activation: a function, or a name.
    """

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.activation = activation_of(activation)

    def call(self, inputs: Any) -> Any:
        """The activation of each element."""
        return self.activation(inputs)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "activation": serialized("activations", self.activation)}


@export("keras.layers.Reshape")
class Reshape(Layer):
    """Examples in another shape.

    Args:
      target_shape: of an example; -1 for what is left.
    """

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """[batch, *target_shape]."""
        batch, *sizes = TensorShape(input_shape).as_list()
        if None in sizes:
            return TensorShape([batch, *(s if s != -1 else None for s in self.target_shape)])
        return TensorShape([batch, *self._complete(sizes)])

    def _complete(self, sizes: list[int]) -> list[int]:
        target = list(self.target_shape)
        if sum(size < 0 for size in target) > 1:
            raise ValueError("Can only specify one unknown dimension.")
        known = int(np.prod([size for size in target if size >= 0], dtype=int))
        total = int(np.prod(sizes, dtype=int))
        unknown = [i for i, size in enumerate(target) if size < 0]
        fits = known != 0 and total % known == 0 if unknown else total == known
        if not fits:
            raise ValueError("total size of new array must be unchanged")
        for i in unknown:
            target[i] = total // known
        return target

    def call(self, inputs: Any) -> Any:
        """The same elements."""
        return tf.reshape(inputs, (tf.shape(inputs)[0], *self.target_shape))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "target_shape": self.target_shape}


@export("keras.layers.Permute")
class Permute(Layer):
    """Dimensions in another order.

    Args:
      dims: the old places of the dimensions, from 1.

    Raises:
      ValueError: if it is no order.
    """

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(dims) != list(range(1, len(dims) + 1)):
            raise ValueError(
                f"Invalid permutation `dims` for Permute Layer: {dims}. The set of indices in "
                "`dims` must be consecutive and start from 1."
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The sizes in the new order."""
        sizes = TensorShape(input_shape).as_list()
        return TensorShape([sizes[0], *(sizes[i] for i in self.dims)])

    def call(self, inputs: Any) -> Any:
        """The elements in the new order."""
        return tf.transpose(inputs, perm=(0, *self.dims))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "dims": self.dims}


@export("keras.layers.RepeatVector")
class RepeatVector(Layer):
    """[batch, features] as [batch, n, features].

    Args:
      n: how often each example is repeated.
    """

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = n
        self.input_spec = InputSpec(ndim=2)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """[batch, n, features]."""
        batch, features = TensorShape(input_shape).as_list()
        return TensorShape([batch, self.n, features])

    def call(self, inputs: Any) -> Any:
        """The repeated examples."""
        return repeat(inputs, self.n)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "n": self.n}


@export("keras.layers.ActivityRegularization")
class ActivityRegularization(Elementwise):
    """Adds a loss of its input, which it gives as it is.

    Args:
      l1, l2: factors of the absolute values and of the squares.
    """

    _config = ("l1", "l2")

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=L1L2(l1=l1, l2=l2), **kwargs)
        self.supports_masking = True
        self.l1, self.l2 = l1, l2
