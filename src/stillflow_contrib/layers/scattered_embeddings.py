"""Embeddings whose numbers are picked by hashes from one pool of trained numbers."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.nn.embedding import as_list
from stillflow_contrib.layers.embedding_lookups import combiner_or_mean
from stillflow_contrib.ops.feature_crossing import sparse_feature_cross

# Look-up values of empty rows: values that no feature has by chance.
_EMPTY_STRING, _EMPTY_NUMBER = "6ZxWzWOHxZ", 1288896567
_COMBINERS = {"sum": "sparse_segment_sum", "mean": "sparse_segment_mean",
              "sqrtn": "sparse_segment_sqrt_n"}  # fmt: skip


@export("contrib.layers.scattered_embedding_lookup")
def scattered_embedding_lookup(
    params: Any, values: Any, dimension: int, name: str | None = None, hash_key: int | None = None
) -> Tensor:
    """Vectors of features, whose numbers come from one pool.

    Args:
      params: the pool [n], or a list of its parts.
      values: features of any rank, strings or whole numbers.
      dimension: of the vectors.
      name: a name scope.
      hash_key: the key of the hashes.

    Returns:
      [*values, dimension].

    Raises:
      ValueError: without a dimension, or if the parts are not of the sizes that `tf.nn` asks for.
    """
    if dimension is None:
        raise ValueError("You must specify dimension.")
    return sampled_scattered_embedding_lookup(
        params, values, dimension=dimension, hash_key=hash_key, name=name
    )


def sampled_scattered_embedding_lookup(
    params: Any,
    values: Any,
    dimension: Any = None,
    sampled_candidates: Any = None,
    hash_key: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Vectors of features, or some of their numbers.

    Args:
      params: the pool [n], or a list of its parts.
      values: features of any rank, strings or whole numbers.
      dimension: of the vectors, if all numbers are wanted.
      sampled_candidates: [*values, k], which numbers are.
      hash_key: the key of the hashes.
      name: a name scope.

    Raises:
      ValueError: without either, or if the parts are not of the sizes that `tf.nn` asks for.
    """
    params = as_list(params)
    with tf.name_scope(name, "scattered_embedding_lookup", [*params, dimension, values]):
        shape = tf.shape(values)
        values = tf.reshape(values, [-1, 1])
        if sampled_candidates is None:
            if dimension is None:
                raise ValueError("You must specify either dimension or sampled_candidates.")
            if dimension <= 0:
                raise ValueError(f"Dimension must be >0. Given is {dimension}")
            every = tf.expand_dims(tf.range(0, dimension), 0)
            candidates = tf.tile(every, tf.shape(values))
        else:
            last = tf.subtract(tf.rank(sampled_candidates), 1)
            dimension = tf.shape(sampled_candidates)[last]
            candidates = _checked_candidates(sampled_candidates, shape, dimension)
        ids = sparse_feature_cross(
            [candidates, values], hashed_output=True, num_buckets=_size(params),
            hash_key=hash_key,
        )  # fmt: skip
        ids = tf.sparse_tensor_to_dense(ids)
        result = tf.nn.embedding_lookup(params, ids, partition_strategy="div")
        return tf.reshape(result, tf.concat([shape, [dimension]], 0))


def _checked_candidates(candidates: Any, values_shape: Any, dimension: Any) -> Any:
    """Return the numbers that are wanted of each vector, [values, k]."""
    shape = tf.shape(candidates)
    expected = tf.concat([values_shape, tf.reshape(dimension, shape=[1])], 0)
    fits = tf.reduce_all(tf.equal(shape, expected))
    told = [
        "The shape of sampled_candidates: ", shape, " does not match the shape of values: ",
        values_shape,
    ]  # fmt: skip
    with tf.control_dependencies([tf.Assert(fits, told)]):
        return tf.reshape(candidates, [-1, dimension])


def _size(params: list[Any]) -> int:
    """Return the number of elements of the pool."""
    sizes = []
    for part in params:
        shape = part.get_shape()
        shape.assert_has_rank(1)
        shape.assert_is_fully_defined()
        sizes.append(shape.as_list()[0])
    total, count = sum(sizes), len(sizes)
    for place, size in enumerate(sizes):
        expected = (total - place - 1) // count + 1
        if size != expected:
            raise ValueError(f"Tensor {place} in params has size {size}, expected {expected}.")
    return total


@export("contrib.layers.scattered_embedding_lookup_sparse")
def scattered_embedding_lookup_sparse(
    params: Any,
    sparse_values: Any,
    dimension: int,
    combiner: str | None = None,
    default_value: Any = None,
    name: str | None = None,
    hash_key: int | None = None,
) -> Tensor:
    """Return the combined vectors of each row's features; their numbers come from one pool.

    Args:
      params: the pool [n], or a list of its parts.
      sparse_values: SparseTensor [batch, features] of strings or whole numbers.
      dimension: of the vectors.
      combiner: "mean", "sum" or "sqrtn".
      default_value: the feature of empty rows.
      name: a name scope.
      hash_key: the key of the hashes.

    Returns:
      [batch, dimension].

    Raises:
      TypeError: if `sparse_values` is not sparse.
      ValueError: for another combiner.
    """
    combiner = combiner_or_mean(combiner)
    params = as_list(params)
    if not isinstance(sparse_values, tf.SparseTensor):
        raise TypeError("sparse_values must be SparseTensor")
    with tf.name_scope(name, "scattered_embedding_lookup_sparse", [*params, sparse_values]) as sc:
        if default_value is None:
            text = sparse_values.dtype == tf.string
            default_value = _EMPTY_STRING if text else _EMPTY_NUMBER
        sparse_values, _ = tf.sparse_fill_empty_rows(sparse_values, default_value)
        rows = _rows(sparse_values)
        values, places = tf.unique(sparse_values.values)
        embeddings = scattered_embedding_lookup(params, values, dimension, hash_key=hash_key)
        if combiner not in _COMBINERS:
            raise ValueError("Combiner must be one of 'mean', 'sqrtn' or 'sum'.")
        combine = getattr(tf, _COMBINERS[combiner])
        return combine(embeddings, places, rows, name=sc)


def sampled_scattered_embedding_lookup_sparse(
    params: Any,
    sp_values: Any,
    dimension: Any = None,
    sampled_candidates: Any = None,
    hash_key: int | None = None,
    with_sign_hash: bool = False,
    name: str | None = None,
) -> Any:
    """Return the sums of each row's vectors, or of some of their numbers.

    Args:
      params: the pool [n], or a list of its parts.
      sp_values: SparseTensor [batch, features] of strings or whole numbers.
      dimension: of the vectors, if all numbers are wanted.
      sampled_candidates: [batch, k], which numbers are.
      hash_key: the key of the hashes.
      with_sign_hash: whether hashes pick signs as well.
      name: a name scope.

    Raises:
      TypeError: if `sp_values` is not sparse.
    """
    if not isinstance(sp_values, tf.SparseTensor):
        raise TypeError("sp_values must be SparseTensor")
    with tf.name_scope(
        name, "sampled_scattered_embedding_lookup_sparse",
        [sp_values, params, dimension, sampled_candidates],
    ) as scope:  # fmt: skip
        numbers = sp_values.indices[:, 0]
        if sampled_candidates is not None:
            sampled_candidates = tf.gather(sampled_candidates, numbers)
        picked = {
            "dimension": dimension, "sampled_candidates": sampled_candidates, "hash_key": hash_key,
        }  # fmt: skip
        embeddings = sampled_scattered_embedding_lookup(
            params, sp_values.values, name="values_lookup", **picked
        )
        if with_sign_hash:
            signs = sampled_scattered_embedding_lookup(
                tf.constant([-1.0, 1.0]), sp_values.values, name="signs_lookup", **picked
            )
            embeddings = tf.multiply(signs, embeddings, name="signs_hash")
        rows = tf.cast(numbers, tf.int32)
        return tf.unsorted_segment_sum(
            embeddings, rows, num_segments=tf.shape(sp_values)[0], name=scope
        )


def _rows(sparse: Any) -> Tensor:
    return tf.cast(sparse.indices[:, 0], tf.int32)
