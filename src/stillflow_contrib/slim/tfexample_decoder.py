"""Items of `Example` messages, made of features."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.sparse_tensor import SparseTensor as _SparseTensor
from stillflow.ops.sparse.dense import sparse_tensor_to_dense
from stillflow.ops.sparse.rearranging import sparse_reshape
from stillflow_contrib.slim.data_decoder import DataDecoder

_Features = dict[str, Any]


def _dense(value: Any) -> Any:
    return sparse_tensor_to_dense(value) if isinstance(value, _SparseTensor) else value


@export("contrib.slim.tfexample_decoder.ItemHandler")
class ItemHandler(abc.ABC):
    """Handler that makes an item of features.

    Args:
      keys: the name of a feature, or several.
    """

    def __init__(self, keys: Any) -> None:
        self._keys = keys if isinstance(keys, (tuple, list)) else [keys]

    @property
    def keys(self) -> Any:
        """The names of the features that it needs."""
        return self._keys

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors: _Features) -> Any:
        """Return the item that {name: feature} make."""


@export("contrib.slim.tfexample_decoder.ItemHandlerCallback")
class ItemHandlerCallback(ItemHandler):
    """Handler that makes an item by a function of {name: feature}.

    Args:
      keys: the names of the features.
      func: the function.
    """

    def __init__(self, keys: Any, func: Callable[[_Features], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: _Features) -> Any:
        return self._func(keys_to_tensors)


@export("contrib.slim.tfexample_decoder.BoundingBox")
class BoundingBox(ItemHandler):
    """Boxes `[count, 4]` of four features.

    Args:
      keys: their names, "ymin", "xmin", "ymax" and "xmax" by default.
      prefix: text before each of them.

    Raises:
      ValueError: there are not four.
    """

    def __init__(self, keys: Any = None, prefix: str = "") -> None:
        if keys is None:
            keys = ["ymin", "xmin", "ymax", "xmax"]
        elif len(keys) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(keys)}")
        super().__init__([prefix + key for key in keys])

    def tensors_to_item(self, keys_to_tensors: _Features) -> Any:
        sides = [keys_to_tensors[key] for key in self._keys]
        rows = [
            tf.expand_dims(side.values if isinstance(side, _SparseTensor) else side, 0)
            for side in sides
        ]
        return tf.transpose(tf.concat(rows, 0))


@export("contrib.slim.tfexample_decoder.Tensor")
class Tensor(ItemHandler):
    """A feature as a dense tensor.

    Args:
      tensor_key: its name.
      shape_keys: features that hold its shape, one or several.
      shape: its shape, if that is known.
      default_value: value of empty cells of a sparse feature.

    Raises:
      ValueError: both a shape and features that hold it.
    """

    def __init__(
        self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0
    ) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        if shape_keys and not isinstance(shape_keys, list):
            shape_keys = [shape_keys]
        self._tensor_key, self._shape_keys = tensor_key, shape_keys
        self._shape, self._default_value = shape, default_value
        super().__init__([tensor_key, *(shape_keys or [])])

    def tensors_to_item(self, keys_to_tensors: _Features) -> Any:
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            sizes = [_dense(keys_to_tensors[key]) for key in self._shape_keys]
            shape = tf.reshape(tf.stack(sizes), [-1])
        if isinstance(tensor, _SparseTensor):
            if shape is not None:
                tensor = sparse_reshape(tensor, shape)
            return sparse_tensor_to_dense(tensor, self._default_value)
        return tensor if shape is None else tf.reshape(tensor, shape)


@export("contrib.slim.tfexample_decoder.LookupTensor")
class LookupTensor(Tensor):
    """A feature as a dense tensor, looked up in a table.

    Args:
      table: the table.
      tensor_key, shape_keys, shape, default_value: as of `Tensor`.
    """

    def __init__(
        self, tensor_key: str, table: Any, shape_keys: Any = None, shape: Any = None,
        default_value: Any = "",
    ) -> None:  # fmt: skip
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: _Features) -> Any:
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


@export("contrib.slim.tfexample_decoder.BackupHandler")
class BackupHandler(ItemHandler):
    """An item made one way, or another way if it is empty.

    Args:
      handler: the first way.
      backup: the other one.

    Raises:
      ValueError: one of them is no `ItemHandler`.
    """

    def __init__(self, handler: Any, backup: Any) -> None:
        for name, given in (("Primary", handler), ("Backup", backup)):
            if not isinstance(given, ItemHandler):
                raise ValueError(f"{name} handler is of type {type(given)} instead of ItemHandler")
        self._handler, self._backup = handler, backup
        super().__init__(handler.keys + backup.keys)

    def tensors_to_item(self, keys_to_tensors: _Features) -> Any:
        item = self._handler.tensors_to_item(keys_to_tensors)
        return tf.cond(
            pred=tf.equal(tf.reduce_prod(tf.shape(item)), 0),
            true_fn=lambda: self._backup.tensors_to_item(keys_to_tensors),
            false_fn=lambda: item,
        )


@export("contrib.slim.tfexample_decoder.SparseTensor")
class SparseTensor(ItemHandler):
    """A sparse tensor of two features: last indices, and values.

    Args:
      indices_key: the feature of indices, "indices" by default.
      values_key: the feature of values, "values" by default.
      shape_key: the feature of the shape.
      shape: the shape; that of the feature of indices if there is neither.
      densify: whether a dense tensor is made of it.
      default_value: value of empty cells in it.
    """

    def __init__(
        self, indices_key: str | None = None, values_key: str | None = None,
        shape_key: str | None = None, shape: Any = None, densify: bool = False,
        default_value: Any = 0,
    ) -> None:  # fmt: skip
        self._indices_key = indices_key or "indices"
        self._values_key = values_key or "values"
        self._shape_key, self._shape = shape_key, shape
        self._densify, self._default_value = densify, default_value
        super().__init__([self._indices_key, self._values_key, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: _Features) -> Any:
        indices = keys_to_tensors[self._indices_key]
        values = keys_to_tensors[self._values_key]
        if self._shape_key:
            shape = _dense(keys_to_tensors[self._shape_key])
        else:
            shape = self._shape or indices.dense_shape
        rank = tf.shape(indices.indices)[1]
        last = tf.cast(indices.values, tf.int64)
        others = tf.slice(indices.indices, [0, 0], tf.stack([-1, rank - 1]))
        places = tf.concat([others, tf.reshape(last, [-1, 1])], 1)
        tensor = _SparseTensor(places, values.values, shape)
        return sparse_tensor_to_dense(tensor, self._default_value) if self._densify else tensor


@export("contrib.slim.tfexample_decoder.Image")
class Image(ItemHandler):
    """A picture, or several, of an encoded feature.

    Args:
      image_key: the feature of the encoded picture, "image/encoded" by default.
      format_key: the feature of its format, "image/format" by default; "raw" means bytes of the
        type, anything else what `tf.image.decode_image` tells by itself.
      shape: the shape of the picture, if that is known.
      channels: how many channels it gets.
      dtype: its type.
      repeated: whether the feature holds several pictures.
      dct_method: as of `tf.image.decode_jpeg`.
    """

    def __init__(
        self, image_key: str | None = None, format_key: str | None = None, shape: Any = None,
        channels: int = 3, dtype: Any = tf.uint8, repeated: bool = False, dct_method: str = "",
    ) -> None:  # fmt: skip
        super().__init__([image_key or "image/encoded", format_key or "image/format"])
        self._shape, self._channels, self._dtype = shape, channels, dtype
        self._repeated, self._dct_method = repeated, dct_method

    def tensors_to_item(self, keys_to_tensors: _Features) -> Any:
        encoded, kind = (keys_to_tensors[key] for key in self._keys)
        if self._repeated:
            return tf.map_fn(lambda one: self._decode(one, kind), encoded, dtype=self._dtype)
        return self._decode(encoded, kind)

    def _decode(self, encoded: Any, kind: Any) -> Any:
        channels = self._channels

        def any_format() -> Any:
            return tf.cast(tf.image.decode_image(encoded, channels=channels), self._dtype)

        def jpeg() -> Any:
            decoded = tf.image.decode_jpeg(encoded, channels=channels, dct_method=self._dct_method)
            return tf.cast(decoded, self._dtype)

        def by_content() -> Any:
            return tf.cond(tf.image.is_jpeg(encoded), jpeg, any_format, name="cond_jpeg")

        def raw() -> Any:
            return tf.decode_raw(encoded, out_type=self._dtype)

        is_raw = tf.logical_or(tf.equal(kind, "raw"), tf.equal(kind, "RAW"))
        image = tf.case([(is_raw, raw)], default=by_content, exclusive=True)
        image.set_shape([None, None, channels])
        return image if self._shape is None else tf.reshape(image, self._shape)


@export("contrib.slim.tfexample_decoder.TFExampleDecoder")
class TFExampleDecoder(DataDecoder):
    """Decodes serialized `Example`s.

    Args:
      keys_to_features: {name: `tf.FixedLenFeature` or the like}.
      items_to_handlers: {name of an item: `ItemHandler`}.
    """

    def __init__(
        self, keys_to_features: dict[str, Any], items_to_handlers: dict[str, ItemHandler]
    ) -> None:
        self._keys_to_features = keys_to_features
        self._items_to_handlers = items_to_handlers

    def list_items(self) -> list[str]:
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Any = None) -> Sequence[Any]:
        """Return the wanted items of a serialized example, all by default."""
        example = tf.parse_single_example(serialized_example, self._keys_to_features)
        for key, feature in sorted(self._keys_to_features.items()):
            if isinstance(feature, tf.FixedLenFeature):
                example[key] = tf.reshape(example[key], feature.shape)
        handlers = [self._items_to_handlers[item] for item in items or self._items_to_handlers]
        return [
            handler.tensors_to_item({key: example[key] for key in handler.keys})
            for handler in handlers
        ]
