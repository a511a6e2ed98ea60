"""Examples as operations of forests take them: dense features, sparse ones behind them, labels."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.ops.boosted_trees.resources import refused
from stillflow.ops.io.stored import to_stored
from stillflow_contrib.ops.tensor_forest.words import Words

FLOAT, CATEGORICAL = range(2)

_SPEC = re.compile(rb"dense_features_size: (\S+) dense: \[(.*?)\] sparse: \[(.*?)\]", re.DOTALL)
_COLUMN = re.compile(rb"\{name: (\S*) original_type: (-?\d+) size: (\S+)\}")


class Specification:
    """Specification of the kind of data behind each feature.

    Args:
      serialized: the result of `TensorForestDataSpec.SerializeToString`.

    Raises:
      InvalidArgumentError: if it is something else.
    """

    def __init__(self, serialized: bytes) -> None:
        found = _SPEC.fullmatch(serialized)
        if found is None:
            raise refused(f"input_spec is no specification of data: {serialized!r}")
        self.dense_size = int(found[1])
        columns = [(int(kind), int(size)) for _, kind, size in _COLUMN.findall(found[2])]
        self.dense_types = [kind for kind, size in columns for _ in range(size)]
        sparse = _COLUMN.findall(found[3])
        self.sparse_type = int(sparse[0][1]) if sparse else CATEGORICAL


class Examples:
    """The features of a batch.

    Args:
      spec: what they were made of.
      dense: float32 [n, features], or of another rank if there are none.
      indices, values, shape: those of a sparse tensor, int64, float32, int64; `indices` is of
        another rank than 2 if there is none.
    """

    def __init__(self, spec: Specification, dense: Any, indices: Any, values: Any, shape: Any):
        self.spec = spec
        dense, indices = to_stored(dense), to_stored(indices)
        self._dense: Any = np.ascontiguousarray(dense) if dense.ndim == 2 else None
        # Feature bagging gives a tree fewer than the specification counts.
        self._is_plain = dense.ndim == 2 and dense.shape[1] >= spec.dense_size
        self._rows: Any = None
        if indices.ndim == 2:
            self._rows, self._columns = indices[:, 0], indices[:, 1]
            self._values = to_stored(values)
            self._width = max(1, int(self._columns.max(initial=0)) + 1)
            self._keys = self._rows * self._width + self._columns
        if self._dense is not None:
            self.count = len(self._dense)
        else:
            self.count = int(to_stored(shape)[0]) if self._rows is not None else 0

    def values(self, examples: Any, features: Any) -> Any:
        """Return the values of features of examples, float32.

        Args:
          examples, features: their numbers, int64 of one shape, or of shapes that can be made one.
        """
        sparse = features >= self.spec.dense_size
        if not sparse.any():
            return self._dense_values(examples, features)
        examples, features = np.broadcast_arrays(examples, features)
        found = np.empty(features.shape, np.float32)
        found[sparse] = self._sparse_values(examples[sparse], features[sparse])
        found[~sparse] = self._dense_values(examples[~sparse], features[~sparse])
        return found

    def rows(self, most: int) -> Any:
        """Return the dense features, float32 [n, width], if the features up to one are in them."""
        return self._dense if self._is_plain and most < self.spec.dense_size else None

    def value(self, example: int, feature: int) -> Any:
        """Return the value of one feature of one example, float32."""
        if self._is_plain and feature < self.spec.dense_size:
            return self._dense[example, feature]
        return self.values(np.array([example]), np.array([feature]))[0]

    def _dense_values(self, examples: Any, features: Any) -> Array:
        if self._is_plain:
            return self._dense[examples, features]
        if self._dense is None:
            return np.zeros(np.broadcast_shapes(examples.shape, features.shape), np.float32)
        # TensorFlow reads on in the rows that follow; behind the last one there is nothing here.
        width = self._dense.shape[1]
        flat = self._dense.reshape(-1)
        places = examples * width + features
        inside = places < len(flat)
        return np.where(inside, flat[np.where(inside, places, 0)], np.float32(0))

    def _sparse_values(self, examples: Any, features: Any) -> Array:
        if self._rows is None or not len(self._keys):
            return np.zeros(len(examples), np.float32)
        keys = examples * self._width + features
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        there = (self._keys[places] == keys) & (features < self._width)
        return np.where(there, self._values[places], np.float32(0))

    def draw(self, example: int, words: Words) -> tuple[int, Any, int]:
        """Draw a feature of the example: its number, the example's value, the kind of data."""
        total, first, own = self.spec.dense_size, 0, 0
        if self._rows is not None:
            first, last = np.searchsorted(self._rows, [example, example + 1])
            own = int(last - first)
        place = words.below(total + own)
        if place < len(self.spec.dense_types):
            return place, self.value(example, place), self.spec.dense_types[place]
        if not own:
            return 0, np.float32(0), self.spec.sparse_type  # an empty row
        feature = int(self._columns[first + place - total]) + total
        return feature, self.value(example, feature), self.spec.sparse_type

    def draw_each(self, examples: Any, words: Words) -> tuple[Any, Any, Any] | None:
        """Return the results of `draw` for one example after the other, as arrays.

        None if features may be sparse or missing.
        """
        spec = self.spec
        if not self._is_plain or self._rows is not None:
            return None
        if not 0 < spec.dense_size == len(spec.dense_types):
            return None
        features = np.array([words.below(spec.dense_size) for _ in range(len(examples))], np.int64)
        return features, self._dense[examples, features], np.array(spec.dense_types)[features]


class Targets:
    """Labels and weights of a batch.

    Args:
      labels: float32, one or more for each example.
      weights: float32; an example behind the last weight has the weight 1.
      is_regression: whether an example has a label for each output.
    """

    def __init__(self, labels: Any, weights: Any, is_regression: bool) -> None:
        labels, weights = to_stored(labels), to_stored(weights).reshape(-1)
        self.count = len(labels) if labels.ndim else 0
        width = labels.shape[1] if is_regression and labels.ndim > 1 else 1
        self._labels = labels.reshape(-1)[: self.count * max(1, width)]
        self.outputs = self._labels.reshape(-1, max(1, width))
        self.weights = np.ones(self.count, np.float32)
        self.weights[: len(weights)] = weights[: self.count]
        self._classes: dict[int, Array] = {}

    def classes(self, count: int) -> Array:
        """Return the labels as numbers of classes, int64 [n].

        Raises:
          InvalidArgumentError: if one is not below `count`.
        """
        if count in self._classes:
            return self._classes[count]
        with np.errstate(invalid="ignore"):
            found = self.outputs[:, 0].astype(np.int32).astype(np.int64)
        if len(found) and found.max() >= count:
            raise refused(
                "Got label greater than indicated number of classes. Is params.num_classes set "
                f"correctly? {int(found.max())} of {count}"
            )
        if len(found) and found.min() < 0:
            raise refused(f"Got a negative label, {int(found.min())}")
        self._classes[count] = found
        return found
