"""Dense layers, dropout, activations, masks, shapes.

`tf.layers.dense` imports this module, so parts of Keras that it does not use are imported late.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dims import is_known
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow.keras.backend.config import floatx, image_data_format
from stillflow.layers import utils
from stillflow.layers.base_layer import Layer
from stillflow.layers.identifiers import (
    activation_of,
    constraint_of,
    initializer_of,
    regularizer_of,
    serialized,
)
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.learning_phase import learning_phase
from stillflow.linalg.tensordot import tensordot
from stillflow.nn.dropout import dropout
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.linalg.matmul import mat_mul_op
from stillflow.ops.math.cast import cast
from stillflow.ops.nn.bias import bias_add


@export("keras.layers.Dense")
class Dense(Layer):
    """`activation(matmul(inputs, kernel) + bias)`.

    Args:
      units: the number of outputs.
      activation: a function, or None.
      use_bias: whether there is a bias.
      kernel_initializer, bias_initializer: give the first values.
      kernel_regularizer, bias_regularizer, activity_regularizer: give losses.
      kernel_constraint, bias_constraint: what optimizers project with.

    Example:
      >>> layer = tf.keras.layers.Dense(4, activation="relu")
      >>> y = layer(tf.placeholder(tf.float32, [None, 3]))
      >>> y.shape.as_list(), [w.shape.as_list() for w in layer.weights]
      ([None, 4], [[3, 4], [4]])
    """

    def __init__(
        self,
        units: Any,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        if "input_shape" not in kwargs and "input_dim" in kwargs:
            kwargs["input_shape"] = (kwargs.pop("input_dim"),)
        super().__init__(activity_regularizer=regularizer_of(activity_regularizer), **kwargs)
        self.units = int(units)
        self.activation, self.use_bias = activation_of(activation), use_bias
        self.kernel_initializer, self.bias_initializer = map(
            initializer_of, (kernel_initializer, bias_initializer)
        )
        self.kernel_regularizer, self.bias_regularizer = map(
            regularizer_of, (kernel_regularizer, bias_regularizer)
        )
        self.kernel_constraint, self.bias_constraint = map(
            constraint_of, (kernel_constraint, bias_constraint)
        )
        self.supports_masking = True
        self.input_spec = InputSpec(min_ndim=2)

    def _add_for(self, role: str, shape: list[Any]) -> Any:
        """Return a variable with the initializer and so on that begin with its name."""
        own = {
            kind: getattr(self, f"{role}_{kind}")
            for kind in ("initializer", "regularizer", "constraint")
        }
        return self.add_weight(role, shape=shape, dtype=self.dtype, trainable=True, **own)

    def build(self, input_shape: Any) -> None:
        """Make `kernel` [last dimension, units] and `bias` [units]."""
        dtype = dtypes.as_dtype(self.dtype or floatx())
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(f"Unable to build `Dense` layer with non-floating point dtype {dtype}")
        last = dimension_value(TensorShape(input_shape)[-1])
        if last is None:
            raise ValueError(
                "The last dimension of the inputs to `Dense` should be defined. Found `None`."
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: last})
        self.kernel = self._add_for("kernel", [last, self.units])
        self.bias = self._add_for("bias", [self.units]) if self.use_bias else None
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        """Map the last dimension of inputs of any rank."""
        rank = len(inputs.shape)
        if rank > 2:
            outputs = tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        else:
            outputs = self._matmul(cast(inputs, self._compute_dtype))
        if self.use_bias:
            outputs = bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def _matmul(self, inputs: Any) -> Tensor:
        if isinstance(inputs, SparseTensor):
            from stillflow import sparse

            product: Tensor = sparse.sparse_dense_matmul(inputs, self.kernel)
            return product
        return mat_mul_op(inputs, self.kernel)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the input's shape with `units` at the end."""
        input_shape = TensorShape(input_shape).with_rank_at_least(2)
        if dimension_value(input_shape[-1]) is None:
            raise ValueError(
                f"The innermost dimension of input_shape must be defined, but saw: {input_shape}"
            )
        return input_shape[:-1].concatenate(self.units)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "units": self.units,
            "activation": serialized("activations", self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": serialized("initializers", self.kernel_initializer),
            "bias_initializer": serialized("initializers", self.bias_initializer),
            "kernel_regularizer": serialized("regularizers", self.kernel_regularizer),
            "bias_regularizer": serialized("regularizers", self.bias_regularizer),
            "activity_regularizer": serialized("regularizers", self.activity_regularizer),
            "kernel_constraint": serialized("constraints", self.kernel_constraint),
            "bias_constraint": serialized("constraints", self.bias_constraint),
        }


@export("keras.layers.Dropout")
class Dropout(Layer):
    """Layer that sets a random part of the inputs to 0 in training, and scales up the others.

    Args:
      rate: the part, in [0, 1).
      noise_shape: the shape of the draws, None for sizes of the inputs; broadcast to them.
      seed: of the draw.
    """

    def __init__(
        self, rate: Any, noise_shape: Any = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed
        self.supports_masking = True

    def _get_noise_shape(self, inputs: Any) -> Tensor | tuple[Any, ...] | None:
        if self.noise_shape is None:
            return None
        sizes = shape(inputs)
        return convert_to_tensor(
            [sizes[i] if size is None else size for i, size in enumerate(self.noise_shape)]
        )

    def call(self, inputs: Any, training: Any = None) -> Tensor:
        """Drop in training; else gives the inputs."""
        if training is None:
            training = learning_phase()
        return utils.smart_cond(
            training,
            lambda: dropout(
                inputs, noise_shape=self._get_noise_shape(inputs), seed=self.seed, rate=self.rate
            ),
            lambda: identity(inputs),
        )

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the input's shape."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        config = {"rate": self.rate, "noise_shape": self.noise_shape, "seed": self.seed}
        return {**super().get_config(), **config}


@export("keras.layers.Flatten")
class Flatten(Layer):
    """Flatten every axis except the batch axis.

    Args:
      data_format: "channels_first" to bring channels to the end before.
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = utils.normalize_data_format(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Tensor:
        """Return inputs of shape [batch, features]."""
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = transpose(inputs, perm=[0, *range(2, rank), 1])
        batch = dimension_value(inputs.shape[0]) or shape(inputs)[0]
        outputs = reshape(inputs, (batch, -1))
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """[batch, features], None where unknown."""
        batch, *rest = TensorShape(input_shape).as_list()
        sizes = tuple(rest)
        features = int(np.prod(sizes, dtype=np.int64)) if is_known(sizes) else None
        return TensorShape([batch, features or None])

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "data_format": self.data_format}


class Elementwise(Layer):
    """A layer whose outputs have the shape of its inputs.

    Attributes:
      _config: the attributes that are the constructor's arguments.
    """

    _config: tuple[str, ...] = ()

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the input's shape."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
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

    def _kept(self, inputs: Any, keepdims: bool = False) -> Tensor:
        from stillflow.keras.backend import reductions

        different = tf.not_equal(inputs, self.mask_value)
        return reductions.any_(different, axis=-1, keepdims=keepdims)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Tensor:
        """Return False for masked steps."""
        return self._kept(inputs)

    def call(self, inputs: Any) -> Tensor:
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

    def _get_noise_shape(self, inputs: Any) -> tuple[Any, ...]:
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

    def call(self, inputs: Any) -> Tensor:
        """Return the activation of each element."""
        return self.activation(inputs)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
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
        batch, *rest = TensorShape(input_shape).as_list()
        sizes = tuple(rest)
        if not is_known(sizes):
            return TensorShape([batch, *(s if s != -1 else None for s in self.target_shape)])
        return TensorShape([batch, *self._complete(sizes)])

    def _complete(self, sizes: tuple[int, ...]) -> list[int]:
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

    def call(self, inputs: Any) -> Tensor:
        """Return the same elements."""
        return tf.reshape(inputs, (tf.shape(inputs)[0], *self.target_shape))

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
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
        order = self.dims = tuple(dims)
        rank = 1 + len(order)
        if {*order} != {*range(1, rank)}:
            raise ValueError(
                f"Invalid permutation `dims` for Permute Layer: {dims}. The set of indices in "
                "`dims` must be consecutive and start from 1."
            )
        self.input_spec = InputSpec(ndim=rank)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the sizes in the new order."""
        sizes = TensorShape(input_shape).as_list()
        return TensorShape([sizes[0], *(sizes[i] for i in self.dims)])

    def call(self, inputs: Any) -> Tensor:
        """Return the elements in the new order."""
        return tf.transpose(inputs, perm=(0, *self.dims))

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
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

    def call(self, inputs: Any) -> Tensor:
        """Return the repeated examples."""
        from stillflow.keras.backend.shaping import repeat

        return repeat(inputs, self.n)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "n": self.n}


@export("keras.layers.ActivityRegularization")
class ActivityRegularization(Elementwise):
    """Layer that adds a loss of its input, which it returns unchanged.

    Args:
      l1, l2: factors of the absolute values and of the squares.
    """

    _config = ("l1", "l2")

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        from stillflow.keras.regularizers import L1L2

        super().__init__(activity_regularizer=L1L2(l1=l1, l2=l2), **kwargs)
        self.supports_masking = True
        self.l1, self.l2 = l1, l2
