"""Descriptions of Examples' features: FixedLenFeature, VarLenFeature and others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stillflow.graph import dtypes, tensor_shape
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.constants import constant
from stillflow.ops.sparse.reshaping import sparse_merge
from stillflow.platform import tf_logging


@export("io.VarLenFeature", "VarLenFeature")
class VarLenFeature(NamedTuple):
    """A feature with any number of values, parsed to a sparse tensor.

    Attributes:
      dtype: float32, int64 or string.

    Example:
      >>> example, features = tf.train.Example(), {"words": tf.VarLenFeature(tf.int64)}
      >>> example.features.feature["words"].int64_list.value.extend([4, 7, 1])
      >>> tf.parse_single_example(example.SerializeToString(), features)["words"].values
      <tf.Tensor 'ParseSingleExample/ParseSingleExample:1' shape=(?,) dtype=int64>
    """

    dtype: Any


@export("io.SparseFeature", "SparseFeature")
class SparseFeature(NamedTuple):
    """A sparse tensor whose indices and values are two (or more) features.

    Attributes:
      index_key: the name of the feature of indices, or a list for several dimensions.
      value_key: the name of the feature of values.
      dtype: of the values.
      size: the size of the dimension, or a list of sizes.
      already_sorted: whether the indices are sorted.
    """

    index_key: Any
    value_key: Any
    dtype: Any
    size: Any
    already_sorted: Any = False


@export("io.FixedLenFeature", "FixedLenFeature")
class FixedLenFeature(NamedTuple):
    """A feature of a fixed shape, parsed to a dense tensor.

    Attributes:
      shape: its shape.
      dtype: float32, int64 or string.
      default_value: value of a missing feature; without one the feature is required.

    Example:
      >>> example, features = tf.train.Example(), {"size": tf.FixedLenFeature([2], tf.int64)}
      >>> example.features.feature["size"].int64_list.value.extend([28, 28])
      >>> tf.parse_single_example(example.SerializeToString(), features)
      {'size': <tf.Tensor 'ParseSingleExample/ParseSingleExample:0' shape=(2,) dtype=int64>}
    """

    shape: Any
    dtype: Any
    default_value: Any = None


@export("io.FixedLenSequenceFeature", "FixedLenSequenceFeature")
class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of rows of a fixed shape, parsed to a dense tensor.

    Attributes:
      shape: of a row.
      dtype: float32, int64 or string.
      allow_missing: whether it may be missing, which is no rows.
      default_value: the padding value.
    """

    shape: Any
    dtype: Any
    allow_missing: Any = False
    default_value: Any = None


class Parameters:
    """Features as the ops take them: keys, types, shapes, sparse and dense apart."""

    def __init__(self) -> None:
        self.sparse_keys: list[str] = []
        self.sparse_types: list[Any] = []
        self.dense_keys: list[str] = []
        self.dense_types: list[Any] = []
        self.dense_shapes: list[Any] = []
        self.dense_defaults: dict[str, Any] = {}

    def add_sparse(self, key: str, dtype: Any, conflict: str) -> None:
        """Add a sparse feature, unless it is there.

        Raises:
          ValueError: if it is there with another type.
        """
        if key not in self.sparse_keys:
            self.sparse_keys.append(key)
            self.sparse_types.append(dtype)
            return
        known = self.sparse_types[self.sparse_keys.index(key)]
        if known != dtype:
            raise ValueError(f"Conflicting type {known} vs {conflict} for feature {key}.")

    def add_dense(self, key: str, feature: Any) -> None:
        self.dense_keys.append(key)
        self.dense_shapes.append(feature.shape)
        self.dense_types.append(feature.dtype)
        if feature.default_value is not None:
            self.dense_defaults[key] = feature.default_value

    def check(self) -> None:
        """Raise an error for no features, and for one name of two features.

        Raises:
          ValueError: if so.
        """
        if not self.dense_keys and not self.sparse_keys:
            raise ValueError("Must provide at least one sparse key or dense key")
        both = set(self.dense_keys) & set(self.sparse_keys)
        if both:
            raise ValueError(f"Dense and sparse keys must not intersect; intersection: {both}")


def _need_type(key: str, feature: Any) -> None:
    if not feature.dtype:
        raise ValueError(f"Missing type for feature {key}.")


def _add_var_len(made: Parameters, key: str, feature: VarLenFeature) -> None:
    _need_type(key, feature)
    made.sparse_keys.append(key)
    made.sparse_types.append(feature.dtype)


def _add_sparse(made: Parameters, key: str, feature: SparseFeature) -> None:
    for field in ("index_key", "value_key"):
        if not getattr(feature, field):
            raise ValueError(f"Missing {field} for SparseFeature {feature}.")
    _need_type(key, feature)
    index_keys = feature.index_key
    if isinstance(index_keys, str):
        index_keys = [index_keys]
    elif len(index_keys) > 1:
        tf_logging.warning(
            "SparseFeature is a complicated feature config and should only be used after careful "
            "consideration of VarLenFeature."
        )
    for index_key in sorted(index_keys):
        made.add_sparse(index_key, dtypes.int64, "int64")
    made.add_sparse(feature.value_key, feature.dtype, str(feature.dtype))


def _add_fixed_len(made: Parameters, key: str, feature: FixedLenFeature) -> None:
    _need_type(key, feature)
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}.")
    shape = tensor_shape.as_shape(feature.shape)
    if feature.shape and shape._dims and shape._dims[0] is None:
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. "
            "Consider using FixedLenSequenceFeature."
        )
    if not shape.is_fully_defined():
        raise ValueError(
            f"All dimensions of shape for feature {key} need to be known but received "
            f"{feature.shape!s}."
        )
    made.add_dense(key, feature)


def _add_sequence(made: Parameters, key: str, feature: FixedLenSequenceFeature) -> None:
    _need_type(key, feature)
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}.")
    if feature.allow_missing:
        made.dense_defaults[key] = None
    made.add_dense(key, feature)


_ADD: dict[Any, Callable[[Parameters, str, Any], None]] = {
    VarLenFeature: _add_var_len,
    SparseFeature: _add_sparse,
    FixedLenFeature: _add_fixed_len,
    FixedLenSequenceFeature: _add_sequence,
}
ALL = tuple(_ADD)


def parameters(features: Any, types: Sequence[Any] = ALL) -> Parameters:
    """Return described features as arguments of the ops, in the order of their names.

    ValueError if a description is not complete, or of another kind than `types`.
    """
    made = Parameters()
    for key in sorted(features or ()):
        feature = features[key]
        kind = next((kind for kind in ALL if isinstance(feature, kind)), None)
        if kind is None:
            raise ValueError(f"Invalid feature {key}:{feature}.")
        if kind not in types:
            raise ValueError(f"Unsupported {kind.__name__} {feature}.")
        _ADD[kind](made, key, feature)
    return made


def with_row_dimension(features: Any) -> Any:
    """Return the features, those of sequences with the dimension that counts their rows."""
    if not features:
        return features
    made = dict(features)
    for key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise ValueError(
                    "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
                )
            made[key] = feature._replace(shape=[None, *feature.shape])
    return made


def merged_sparse(features: Any, parsed: dict[str, Any]) -> dict[str, Any]:
    """Return the parsed features, with the sparse tensors that `SparseFeature`s describe."""
    found = dict(parsed)
    for key in sorted(features):
        feature = features[key]
        if not isinstance(feature, SparseFeature):
            continue
        if isinstance(feature.index_key, str):
            indices = found[feature.index_key]
        else:
            indices = [found[index_key] for index_key in feature.index_key]
        found[key] = sparse_merge(
            indices,
            found[feature.value_key],
            vocab_size=feature.size,
            already_sorted=feature.already_sorted,
        )
    return {key: value for key, value in found.items() if key in features}


def clean(key: str) -> str:
    """Return a name of a feature as a part of a node's name."""
    return re.sub("[^A-Za-z0-9_.\\-/]", "_", key)


def defaults(made: Parameters, shapes: Sequence[Any]) -> list[Any]:
    """Return the default of each dense feature as a tensor; empty where it must be there."""
    return [
        _default(key, made.dense_defaults.get(key), dtype, shape)
        for key, dtype, shape in zip(made.dense_keys, made.dense_types, shapes, strict=True)
    ]


def _default(key: str, value: Any, dtype: Any, shape: Any) -> Tensor:
    if shape.ndims and shape.dims[0].value is None:
        if value is None:
            return convert_to_tensor("" if dtype == dtypes.string else 0, dtype=dtype)
        filler = convert_to_tensor(value, dtype=dtype, name=f"padding_{clean(key)}")
        return reshape(filler, [])
    if value is None:
        return constant([], dtype=dtype)
    if isinstance(value, Tensor):
        return value
    return reshape(convert_to_tensor(value, dtype=dtype, name=f"key_{clean(key)}"), shape)
