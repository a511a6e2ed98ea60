"""Layers of several inputs: sums, products, concatenation."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.dims import is_known
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend import shaping
from stillflow.keras.backend.products import batch_dot
from stillflow.keras.backend.reductions import all_
from stillflow.layers.base_layer import Layer

Shape = tuple[Any, ...] | None


def _tuples(shapes: Any) -> list[Shape]:
    """Shapes as tuples, None for unknown ones."""
    if not isinstance(shapes, list):
        return shapes
    found = [TensorShape(shape) for shape in shapes]
    return [None if shape.ndims is None else tuple(shape.as_list()) for shape in found]


def _broadcast(first: Shape, second: Shape) -> Shape:
    """Return the shape of an element-wise operation on two others, without the batch."""
    if first is None or second is None:
        return None
    if len(first) < len(second):
        first, second = second, first
    if not second:
        return first
    front, back = first[: -len(second)], first[-len(second) :]
    sizes = list(front)
    for i, j in zip(back, second, strict=True):
        if i is None or j is None:
            sizes.append(None)
        elif i == 1 or j == 1 or i == j:
            sizes.append(j if i == 1 else i)
        else:
            raise ValueError(
                f"Operands could not be broadcast together with shapes {first} {second}"
            )
    return tuple(sizes)


class _Merge(Layer):
    """An element-wise function of several inputs."""

    _reshape_required = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def _merge(self, inputs: list[Any]) -> Any:
        raise NotImplementedError

    def build(self, input_shape: Any) -> None:
        """Check that the inputs fit."""
        shapes = _tuples(input_shape)
        if not isinstance(shapes, list):
            raise ValueError("A merge layer should be called on a list of inputs.")
        if len(shapes) < 2:
            raise ValueError(
                "A merge layer should be called on a list of at least 2 inputs. Got "
                f"{len(shapes)} inputs."
            )
        if len({shape[0] for shape in shapes if shape is not None} - {None}) > 1:
            raise ValueError(
                "Can not merge tensors with different batch sizes. Got tensors with shapes : "
                f"{shapes}"
            )
        self._merged_shape(shapes)
        ranks = {None if shape is None else len(shape) for shape in shapes}
        self._reshape_required = None in ranks or len(ranks) > 1
        self.built = True

    def _merged_shape(self, shapes: list[Shape]) -> Shape:
        merged: Shape = None if shapes[0] is None else shapes[0][1:]
        for shape in shapes[1:]:
            merged = _broadcast(merged, None if shape is None else shape[1:])
        return merged

    def call(self, inputs: Any) -> Tensor:
        """Return the function of the inputs; those of fewer dimensions get some after the batch."""
        if not isinstance(inputs, list):
            raise ValueError("A merge layer should be called on a list of inputs.")
        if not self._reshape_required:
            return self._merge(inputs)
        ranks = [x.shape.ndims for x in inputs]
        if None in ranks:
            return self._merge_unknown(inputs)
        reshaped = []
        for x, rank in zip(inputs, ranks, strict=True):
            for _ in range(max(ranks) - rank):
                x = tf.expand_dims(x, axis=1)
            reshaped.append(x)
        return self._merge(reshaped)

    def _merge_unknown(self, inputs: list[Any]) -> Any:
        """Broadcast inputs of unknown ranks from the right, with the batch there."""
        moved = [_batch_last(x) for x in inputs]
        merged = self._merge(moved)
        if all(new is old for new, old in zip(moved, inputs, strict=True)):
            return merged
        rank = merged.shape.ndims
        if rank is not None:
            return tf.transpose(merged, [rank - 1, *range(rank - 1)]) if rank > 1 else merged
        shape = tf.shape(merged)
        count = tf.shape(shape)[0]
        batch = shape[count - 1]
        new_shape = shaping.concatenate([tf.expand_dims(batch, axis=-1), shape[: count - 1]])
        merged = tf.transpose(tf.reshape(merged, (-1, batch)), perm=(1, 0))
        return tf.reshape(merged, new_shape)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the broadcast shape."""
        shapes = _tuples(input_shape)
        merged = self._merged_shape(shapes)
        batches = {shape[0] for shape in shapes if shape is not None} - {None}
        batch = batches.pop() if len(batches) == 1 else None
        return TensorShape(None if merged is None else (batch, *merged))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return True where all masks are."""
        masks = _masks(inputs, mask)
        if masks is None:
            return None
        joined = [tf.expand_dims(m, axis=0) for m in masks if m is not None]
        return all_(shaping.concatenate(joined, axis=0), axis=0, keepdims=False)


def _batch_last(x: Any) -> Any:
    rank = x.shape.ndims
    if rank is not None:
        return tf.transpose(x, perm=[*range(1, rank), 0]) if rank > 1 else x
    shape = tf.shape(x)
    new_shape = shaping.concatenate([shape[1:], tf.expand_dims(shape[0], axis=-1)])
    flat = tf.reshape(x, tf.stack([shape[0], tf.reduce_prod(shape[1:])], axis=0))
    return tf.reshape(tf.transpose(flat, perm=(1, 0)), new_shape)


def _masks(inputs: Any, mask: Any) -> list[Any] | None:
    if mask is None:
        return None
    for name, value in (("mask", mask), ("inputs", inputs)):
        if not isinstance(value, list):
            raise ValueError(f"`{name}` should be a list.")
    if len(mask) != len(inputs):
        raise ValueError("The lists `inputs` and `mask` should have the same length.")
    return None if all(m is None for m in mask) else mask


@export("keras.layers.Add")
class Add(_Merge):
    """The sum of the inputs."""

    def _merge(self, inputs: list[Any]) -> Tensor:
        output = inputs[0]
        for x in inputs[1:]:
            output += x
        return output


@export("keras.layers.Subtract")
class Subtract(_Merge):
    """The difference of two inputs."""

    def build(self, input_shape: Any) -> None:
        """Check that the inputs fit."""
        super().build(input_shape)
        if len(input_shape) != 2:
            raise ValueError(_TWO.format("Subtract"))

    def _merge(self, inputs: list[Any]) -> Any:
        if len(inputs) != 2:
            raise ValueError(_TWO.format("Subtract"))
        return inputs[0] - inputs[1]


@export("keras.layers.Multiply")
class Multiply(_Merge):
    """The product of the inputs."""

    def _merge(self, inputs: list[Any]) -> Any:
        output = inputs[0]
        for x in inputs[1:]:
            output *= x
        return output


@export("keras.layers.Average")
class Average(Add):
    """The mean of the inputs."""

    def _merge(self, inputs: list[Any]) -> Tensor:
        return super()._merge(inputs) / len(inputs)


@export("keras.layers.Maximum")
class Maximum(_Merge):
    """The largest of the inputs."""

    def _merge(self, inputs: list[Any]) -> Any:
        output = inputs[0]
        for x in inputs[1:]:
            output = tf.maximum(output, x)
        return output


@export("keras.layers.Minimum")
class Minimum(_Merge):
    """The smallest of the inputs."""

    def _merge(self, inputs: list[Any]) -> Any:
        output = inputs[0]
        for x in inputs[1:]:
            output = tf.minimum(output, x)
        return output


@export("keras.layers.Concatenate")
class Concatenate(_Merge):
    """The inputs after each other along an axis.

    Args:
      axis: the axis.
    """

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def build(self, input_shape: Any) -> None:
        """Check that the inputs fit."""
        shapes = _tuples(input_shape)
        if not isinstance(shapes, list) or len(shapes) < 2:
            raise ValueError(
                "A `Concatenate` layer should be called on a list of at least 2 inputs"
            )
        if not all(shape is None for shape in shapes):
            others = [TensorShape(shape).as_list() for shape in shapes]
            for sizes in others:
                del sizes[self.axis]
            if len({tuple(sizes) for sizes in others}) > 1:
                raise ValueError(
                    "A `Concatenate` layer requires inputs with matching shapes except for the "
                    f"concat axis. Got inputs shapes: {shapes}"
                )
        self.built = True

    def _merge(self, inputs: list[Any]) -> Tensor:
        return shaping.concatenate(inputs, axis=self.axis)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape of an input with the sum of the sizes along the axis."""
        if not isinstance(input_shape, list):
            raise ValueError("A `Concatenate` layer should be called on a list of inputs.")
        shapes = [TensorShape(shape).as_list() for shape in input_shape]
        sizes = tuple(shape[self.axis] for shape in shapes)
        shapes[0][self.axis] = sum(sizes) if is_known(sizes) else None
        return TensorShape(shapes[0])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the masks after each other."""
        masks = _masks(inputs, mask)
        if masks is None:
            return None
        full = []
        for x, m in zip(inputs, masks, strict=True):
            if m is None:
                full.append(tf.ones_like(x, dtype="bool"))
            elif m.shape.ndims < x.shape.ndims:
                full.append(tf.expand_dims(m, axis=-1))
            else:
                full.append(m)
        return all_(shaping.concatenate(full, axis=self.axis), axis=-1, keepdims=False)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "axis": self.axis}


@export("keras.layers.Dot")
class Dot(_Merge):
    """The products of the examples of two inputs.

    Args:
      axes: the axis of each input to sum over; one number for both.
      normalize: whether the inputs are divided by their lengths along it.

    Raises:
      TypeError, ValueError: if the axes are nothing of the kind.
    """

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(axes, (int, list, tuple)):
            raise TypeError("Invalid type for `axes` - should be a list or an int.")
        pair = (axes, axes) if isinstance(axes, int) else axes
        is_pair, are_integers = len(pair) == 2, all(isinstance(axis, int) for axis in pair)
        if not (is_pair and are_integers):
            wanted = 'list elements should be "int".' if is_pair else "should contain two elements."
            raise ValueError(f"Invalid format for `axes` - {wanted}")
        self.axes, self.normalize = axes, normalize

    def _axes(self, ranks: Any) -> list[int]:
        axes = [self.axes] * 2 if isinstance(self.axes, int) else self.axes
        pairs = zip(axes, ranks, strict=True)
        return [axis % rank if axis < 0 else axis for axis, rank in pairs]

    def build(self, input_shape: Any) -> None:
        """Check that the inputs fit."""
        shapes = _tuples(input_shape)
        if not isinstance(shapes, list) or len(shapes) != 2:
            raise ValueError("A `Dot` layer should be called on a list of 2 inputs.")
        first, second = shapes
        if first is not None and second is not None:
            axes = self._axes([len(first), len(second)])
            sizes = first[axes[0]], second[axes[1]]
            if sizes[0] != sizes[1]:
                raise ValueError(
                    f"Dimension incompatibility {sizes[0]} != {sizes[1]}. Layer shapes: "
                    f"{first}, {second}"
                )
        self.built = True

    def _merge(self, inputs: list[Any]) -> Tensor:
        if len(inputs) != 2:
            raise ValueError("A `Dot` layer should be called on exactly 2 inputs")
        axes = self._axes([x.shape.ndims for x in inputs])
        if self.normalize:
            inputs = [tf.nn.l2_normalize(x, axis=a) for x, a in zip(inputs, axes, strict=True)]
        return batch_dot(inputs[0], inputs[1], axes)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the sizes of both inputs without those that are summed over."""
        if not isinstance(input_shape, list) or len(input_shape) != 2:
            raise ValueError("A `Dot` layer should be called on a list of 2 inputs.")
        first, second = (TensorShape(shape).as_list() for shape in input_shape)
        axes = self._axes([len(first), len(second)])
        first.pop(axes[0])
        second.pop(axes[1])
        output = first + second[1:]
        return TensorShape(output + [1] if len(output) == 1 else output)

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """None."""
        return

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "axes": self.axes, "normalize": self.normalize}


_TWO = "A `{}` layer should be called on exactly 2 inputs"


@export("keras.layers.add")
def add(inputs: Any, **kwargs: Any) -> Any:
    """Return the sum of the inputs; arguments are those of `Add`."""
    return Add(**kwargs)(inputs)


@export("keras.layers.subtract")
def subtract(inputs: Any, **kwargs: Any) -> Any:
    """Return the difference of two inputs; arguments are those of `Subtract`."""
    return Subtract(**kwargs)(inputs)


@export("keras.layers.multiply")
def multiply(inputs: Any, **kwargs: Any) -> Any:
    """Return the product of the inputs; arguments are those of `Multiply`."""
    return Multiply(**kwargs)(inputs)


@export("keras.layers.average")
def average(inputs: Any, **kwargs: Any) -> Any:
    """Return the mean of the inputs; arguments are those of `Average`."""
    return Average(**kwargs)(inputs)


@export("keras.layers.maximum")
def maximum(inputs: Any, **kwargs: Any) -> Any:
    """Return the largest of the inputs; arguments are those of `Maximum`."""
    return Maximum(**kwargs)(inputs)


@export("keras.layers.minimum")
def minimum(inputs: Any, **kwargs: Any) -> Any:
    """Return the smallest of the inputs; arguments are those of `Minimum`."""
    return Minimum(**kwargs)(inputs)


@export("keras.layers.concatenate")
def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Tensor:
    """Return the inputs after each other along an axis."""
    return Concatenate(axis=axis, **kwargs)(inputs)


@export("keras.layers.dot")
def dot(inputs: Any, axes: Any, normalize: bool = False, **kwargs: Any) -> Tensor:
    """Return the products of the examples of two inputs."""
    return Dot(axes=axes, normalize=normalize, **kwargs)(inputs)
