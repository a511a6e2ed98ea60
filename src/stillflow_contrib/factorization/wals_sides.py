"""Rows' and columns' state of a `WALSModel`: factors, weights and their copies."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Operation, Tensor


@dataclasses.dataclass(eq=False)
class Side:
    """The rows of a factorized matrix, or its columns.

    Args:
      name: "row" or "col".
      size: how many there are.
      shards: in how many variables their factors and weights are.
    """

    name: str
    size: int
    shards: int
    weights: Any = None
    factors: Any = None
    gramian: Any = None
    prepare_gramian: Any = None
    factors_cache: Any = None
    weights_cache: Any = None
    gramian_cache: Any = None
    initialize_update: Any = None

    def _sizes(self) -> list[int]:
        """Return the number of rows of each shard."""
        size, more = divmod(self.size, self.shards)
        return [size + 1] * more + [size] * (self.shards - more)

    def _variables(self, kind: str, values: Callable[[int, int], Any], scoped: bool) -> list[Any]:
        name = f"{self.name}_{kind}"
        with tf.name_scope(name) if scoped else nullcontext():
            return [
                tf.Variable(
                    lambda shard=shard, size=size: values(shard, size),
                    dtype=tf.float32, name=f"{name}_shard_{shard}",
                )
                for shard, size in enumerate(self._sizes())
            ]  # fmt: skip

    def create_weights(self, initial: Any, scoped: bool) -> None:
        """Make the variables of weights; none where `initial` is None.

        Raises:
          ValueError: for what is neither numbers that are not negative nor one of them.
        """
        if initial is None:
            return
        if isinstance(initial, Iterable):
            shards: Any = initial
            if self.shards == 1 and len(shards) == self.size:
                shards = [shards]
            assert len(shards) == self.shards
            self.weights = self._variables("weights", lambda shard, _: shards[shard], scoped)
        elif isinstance(initial, numbers.Real) and float(initial) >= 0:
            self.weights = self._variables(
                "weights", lambda _, size: initial * tf.ones([size]), scoped
            )
        else:
            raise ValueError(
                "Invalid weight initialization argument. Must be one of these: None, a real "
                "non-negative real number, or a list of lists of non-negative real numbers (or "
                "equivalent iterables) corresponding to sharded factors."
            )

    def create_factors(self, width: int, initial: Any, scoped: bool) -> None:
        """Make the variables of factors [size, width]."""
        if callable(initial):
            initial = initial()
        random = isinstance(initial, str) and initial == "random"
        if isinstance(initial, list):
            assert len(initial) == self.shards
        elif not random and self.shards == 1:
            initial = [initial]

        def values(shard: int, size: int) -> Any:
            return tf.random_normal([size, width]) if random else initial[shard]

        self.factors = self._variables("factors", values, scoped)

    def create_gramian(self, width: int) -> None:
        """Make the variable of the factors' products with each other [width, width]."""
        zeros = tf.zeros([width, width])
        self.gramian = tf.Variable(zeros, dtype=tf.float32, name=f"{self.name}_gramian")

    def form_gramian(self) -> Operation:
        """Return the operation that computes the gramian of the factors as they are."""
        parts = []
        for factor in self.factors:
            with tf.colocate_with(factor):
                parts.append(tf.matmul(factor, factor, transpose_a=True))
        with tf.colocate_with(self.gramian):
            return tf.assign(self.gramian, tf.add_n(parts)).op

    def shard_of(self, ids: Any) -> tuple[Any, Any]:
        """Return the shards of rows, and their places there."""
        size, more = divmod(self.size, self.shards)
        shard = tf.maximum(ids // (size + 1), (ids - more) // size)
        return shard, tf.where_v2(shard < more, ids % (size + 1), (ids - more) % size)


def _temporary(name: str) -> Any:
    return tf.Variable(
        1.0, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES], validate_shape=False,
        name=name,
    )  # fmt: skip


def _copy(variable: Any, cache: Any) -> Tensor:
    return tf.assign(cache, variable, validate_shape=False)


def cached(variables: Any, name: str, use: bool) -> tuple[Any, Any, Any]:
    """Local copies of variables, which a worker reads in their place.

    Args:
      variables: one, a list of them, or None.
      name: of the copies.
      use: whether there are copies at all.

    Returns:
      The copies, or the variables themselves, or None; what copies; and what lets the copies go.
    """
    if variables is None:
        return None, None, None
    if not use:
        return variables, tf.no_op(), tf.no_op()
    if not isinstance(variables, list):
        cache = _temporary(name)
        with tf.colocate_with(cache):
            return cache, _copy(variables, cache), _copy(1.0, cache)
    caches = [_temporary(f"{name}_shard_{place}") for place in range(len(variables))]
    resets = []
    copied = None
    for variable, cache in zip(variables, caches):
        with tf.colocate_with(cache):
            with tf.control_dependencies([] if copied is None else [copied]):
                copied = _copy(variable, cache)  # one after the other: less memory at a time
            resets.append(_copy(1.0, cache))
    return caches, copied, tf.group(*resets)
