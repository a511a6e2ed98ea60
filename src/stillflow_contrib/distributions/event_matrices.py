"""Samples of vectors as matrices, whose columns are the samples, and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import stillflow as tf
from stillflow.distributions.layout import pick_vector, rotate_transpose
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.ops.control_flow.identity_and_group import with_dependencies


class EventMatrices:
    """Conversion of vector samples to matrices: [samples, ..., n] as [..., n, samples].

    Args:
      batch_ndims: how many axes the batch has.
      validate_args: whether the graph checks numbers of axes.
    """

    def __init__(self, batch_ndims: Any, validate_args: bool) -> None:
        self._validate_args = validate_args
        with self._shape_scope(), tf.name_scope("init"):
            self._batch_ndims = self._checked(convert_to_tensor(batch_ndims, name="batch_ndims"))
            self._batch_known = static_value(self._batch_ndims) is not None
            if not self._batch_known:
                self._no_batch = tf.equal(self._batch_ndims, 0)
            self._event_ndims = convert_to_tensor(1, name="event_ndims")

    @staticmethod
    def _shape_scope() -> name_scope:
        return tf.name_scope("DistributionShape")

    @contextmanager
    def _name_scope(self, name: str, *values: Any) -> Iterator[None]:
        with self._shape_scope():
            with tf.name_scope(name, values=[*values, self._batch_ndims, self._event_ndims]):
                yield

    def _checked(self, ndims: Any) -> Tensor:
        if static_value(ndims) is not None or not self._validate_args:
            return ndims
        checks = [tf.assert_rank(ndims, 0), tf.assert_non_negative(ndims)]
        return with_dependencies(checks, ndims)

    def _ndims(self, x: Any) -> Tensor:
        with self._name_scope("get_shape", x):
            if x.shape.ndims is None:
                return tf.rank(x, name="ndims")
            return convert_to_tensor(x.shape.ndims, dtype=tf.int32, name="ndims")

    def _sample_ndims(self, x: Any) -> Tensor:
        with self._name_scope("get_shape", x):
            ndims = self._ndims(x)
            known, batch = static_value(ndims), static_value(self._batch_ndims)
            if known is not None and batch is not None:
                if known - batch < 1:
                    raise ValueError(
                        f"expected batch_ndims({batch}) + event_ndims(1) <= ndims({known})"
                    )
                return convert_to_tensor(known - batch - 1, name="sample_ndims")
            with tf.name_scope("sample_ndims"):
                found = ndims - self._batch_ndims - self._event_ndims
                if self._validate_args:
                    found = with_dependencies([tf.assert_non_negative(found)], found)
            return found

    def _shapes(self, x: Any) -> tuple[Any, Any, Any]:
        """Return the shapes of samples, batch and event."""
        with self._name_scope("get_shape", x):
            sample = self._sample_ndims(x)
            zero = tf.zeros([], dtype=tf.int32, name="zero")
            return (
                _slice(x, [zero], sample, "sample_shape"),
                _slice(x, [sample], self._batch_ndims, "batch_shape"),
                _slice(x, [sample, self._batch_ndims], self._event_ndims, "event_shape"),
            )

    def make(self, x: Any) -> tuple[Any, Any]:
        """Return samples as matrices, and the shape that the samples have."""
        with self._name_scope("make_batch_of_event_sample_matrices", x):
            x = convert_to_tensor(x, name="x")
            sample, batch, event = self._shapes(x)
            event = pick_vector(False, [1], event)
            x = tf.reshape(x, shape=tf.concat([[-1], batch, event], 0))
            return rotate_transpose(x, shift=-1), sample

    def undo(self, x: Any, sample_shape: Any) -> Tensor:
        """Return the samples of matrices."""
        with self._name_scope("undo_make_batch_of_event_sample_matrices", x, sample_shape):
            x = convert_to_tensor(x, name="x")
            sample_shape = convert_to_tensor(sample_shape, name="sample_shape")
            x = rotate_transpose(x, shift=1)
            if self._batch_known:
                _, batch, event = self._shapes(x)
            else:
                batch, event = self._found_shapes(x)
            return tf.reshape(x, shape=tf.concat([sample_shape, batch, event], 0))

    def _found_shapes(self, x: Any) -> tuple[Any, Any]:
        shape = tf.shape(x)
        batch = shape[1 : 1 + self._batch_ndims]
        # TensorFlow asks here for an axis that stands for a missing batch; there is none.
        extended = tf.logical_and(False, self._no_batch)
        start = tf.where_v2(extended, 2, 1 + self._batch_ndims)
        return batch, shape[start : start + self._event_ndims]


def _slice(x: Any, before: list[Any], size: Any, name: str) -> Tensor:
    """Return a part of a tensor's shape, a constant if it is known."""
    starts, length = [static_value(each) for each in before], static_value(size)
    if x.shape.ndims is not None and length is not None and None not in starts:
        start = sum(starts)
        known = x.shape[start : start + length].as_list()
        if None not in known:
            return convert_to_tensor(known, dtype=tf.int32, name=name)
    return tf.slice(tf.shape(x), [sum(before)], [size])
