"""Batches of matrices: products, powers, blocks, covariances made of any numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.operation import Tensor


def clip_covariance(covariance: Any, maximum_variance_ratio: Any, minimum_variance: Any) -> Tensor:
    """Covariances [..., d, d] with no variance too small.

    Args:
      covariance: [..., d, d].
      maximum_variance_ratio: how often the largest variance of a matrix may hold another one.
      minimum_variance: none is below.
    """
    diagonal = tf.matrix_diag_part(covariance)
    largest = tf.reduce_max(diagonal, axis=-1, keepdims=True)
    clipped = tf.maximum(diagonal, largest / maximum_variance_ratio)
    return tf.matrix_set_diag(covariance, tf.maximum(clipped, minimum_variance))


def paddings_of_last_axes(rank: Any, *amounts: Any) -> Tensor:
    """Return paddings that leave `rank` axes as they are, and pad those behind by `amounts`."""
    return tf.concat([tf.zeros([rank, 2], dtype=tf.int32), list(amounts)], axis=0)


def block_diagonal(
    matrices: Sequence[Any], dtype: Any = tf.float32, name: str | None = "block_diagonal"
) -> Tensor:
    """Return the block-diagonal matrix of matrices [..., rows, columns]."""
    blocks: list[Any] = [tf.convert_to_tensor(matrix, dtype=dtype) for matrix in matrices]
    rows, columns, batch = tf.Dimension(0), tf.Dimension(0), tf.TensorShape(None)
    for block in blocks:
        shape = block.get_shape().with_rank_at_least(2)
        batch = batch.merge_with(shape[:-2])
        rows += shape[-2]
        columns += shape[-1]
    total = tf.add_n([tf.shape(block)[-1] for block in blocks])
    padded = []
    current: Any = 0
    for block in blocks:
        block_shape = tf.shape(block)
        before = current
        current += block_shape[-1]
        after = total - current
        paddings = paddings_of_last_axes(tf.rank(block) - 1, (before, after))
        padded.append(tf.pad(block, paddings))
    blocked = tf.concat(padded, -2, name=name)
    blocked.set_shape(batch.concatenate((rows, columns)))
    return blocked


def power_sums_tensor(array_size: Any, power_matrix: Any, multiplier: Any) -> Tensor:
    """Return sums of A^i B (A^i)^T over i from 0: none, the first, the first two, ...

    Args:
      array_size: how many of them.
      power_matrix: [d, d], A.
      multiplier: [d, d], B.

    Returns:
      [array_size, d, d].
    """
    array_size = tf.cast(array_size, tf.int32)
    matrix: Any = tf.convert_to_tensor(power_matrix)
    identity = tf.eye(tf.shape(matrix)[0], dtype=matrix.dtype)
    identity.set_shape(tf.convert_to_tensor(matrix).get_shape())
    powers = tf.scan(
        lambda previous, _: tf.matmul(previous, matrix),
        tf.range(array_size - 1),
        initializer=identity,
    )
    first = tf.expand_dims(multiplier, 0)
    others = tf.matmul(batch_times_matrix(powers, multiplier), powers, adjoint_b=True)
    sums = tf.cumsum(tf.concat([first, others], 0))
    return tf.concat([tf.expand_dims(tf.zeros_like(multiplier), 0), sums], 0)


def matrix_to_powers(matrix: Any, powers: Any) -> Tensor:
    """Powers [n, d, d] of one matrix [d, d], for integers [n]."""
    tiled = tf.tile(tf.expand_dims(matrix, 0), [tf.size(powers), 1, 1])
    return batch_matrix_pow(tiled, powers)


def batch_matrix_pow(matrices: Any, powers: Any) -> Tensor:
    """Each of [n, d, d] to its power of [n], integers, by squaring."""
    batch: Any = tf.convert_to_tensor(matrices)
    powers = tf.cast(powers, tf.int32)
    identity = tf.expand_dims(tf.diag(tf.ones([tf.shape(batch)[1]], dtype=batch.dtype)), 0)
    identities = tf.tile(identity, [tf.shape(batch)[0], 1, 1])

    def more(_: Any, exponents: Any, __: Any) -> Any:
        return tf.reduce_any(tf.greater(exponents, tf.ones_like(exponents)))

    def halve(base: Any, exponents: Any, rest: Any) -> tuple[Any, ...]:
        """Keep the product rest * base ** exponents, with exponents half as large."""
        is_even = tf.equal(exponents % 2, tf.zeros(tf.shape(exponents), dtype=tf.int32))
        moved = tf.where(is_even, rest, tf.matmul(rest, base))
        squared = tf.matmul(base, base)
        unfinished = tf.greater(exponents, 1)
        halved = (exponents - exponents % 2) // 2
        steps = [(moved, rest), (squared, base), (halved, exponents)]
        rest, base, exponents = (tf.where(unfinished, new, old) for new, old in steps)
        return base, exponents, rest

    base, exponents, rest = tf.while_loop(more, halve, [batch, powers, identities])
    is_zero = tf.equal(exponents, tf.zeros_like(exponents, dtype=tf.int32))
    return tf.where(is_zero, identities, tf.matmul(base, rest))


def batch_times_matrix(batch: Any, matrix: Any, adj_x: bool = False, adj_y: bool = False) -> Tensor:
    """Every matrix of a batch times one.

    Args:
      batch: [n, a, b].
      matrix: [b, c].
      adj_x: whether those of the batch are transposed before.
      adj_y: whether `matrix` is.

    Returns:
      [n, a, c].
    """
    left: Any = tf.convert_to_tensor(batch)
    right: Any = tf.convert_to_tensor(matrix)
    assert left.get_shape().ndims == 3 and right.get_shape().ndims == 2
    if adj_x:
        left = tf.transpose(left, [0, 2, 1])
    number, rows = (dimension.value for dimension in left.get_shape().dims[:2])
    shape = tf.shape(left)
    number = shape[0] if number is None else number
    rows = shape[1] if rows is None else rows
    flat = tf.reshape(left, [-1, shape[2]])
    axis = 0 if adj_y else 1
    columns = right.get_shape().as_list()[axis]
    columns = tf.shape(right)[axis] if columns is None else columns
    return tf.reshape(tf.matmul(flat, right, adjoint_b=adj_y), [number, rows, columns])


def matrix_times_batch(matrix: Any, batch: Any, adj_x: bool = False, adj_y: bool = False) -> Tensor:
    """One matrix [a, b] times every one of a batch [n, b, c]: [n, a, c]."""
    transposed = batch_times_matrix(batch, matrix, adj_x=not adj_y, adj_y=not adj_x)
    return tf.transpose(transposed, [0, 2, 1])


def make_toeplitz_matrix(inputs: Any, name: str | None = None) -> Tensor:
    """Return the symmetric Toeplitz matrix of blocks [n, d, d]: [n * d, n * d]."""
    blocks, size = (tf.shape(inputs)[axis] for axis in (0, 1))
    side = size * blocks
    row = tf.reshape(tf.range(blocks), shape=[1, -1])
    tiles = tf.gather(inputs, tf.abs(row - tf.transpose(row)))
    rows = tf.transpose(tiles, [0, 2, 1, 3])
    return tf.identity(tf.reshape(rows, [side, side]), name=name)


def sign_magnitude_positive_definite(
    raw: Any, off_diagonal_scale: Any = 0.0, overall_scale: Any = 0.0
) -> Tensor:
    """Covariances of any numbers: signs above the diagonal say signs, those below magnitudes.

    Args:
      raw: [..., d, d], any numbers.
      off_diagonal_scale: logarithm of the scale of all but the diagonal.
      overall_scale: logarithm of the scale of all.

    Returns:
      [..., d, d], positive definite.
    """
    numbers: Any = tf.convert_to_tensor(raw)
    diagonal = tf.matrix_diag_part(numbers)

    def padded(value: Any, rank: Any) -> Tensor:
        """Return the value with trailing dimensions of 1, to broadcast."""
        value = tf.convert_to_tensor(value, dtype=numbers.dtype.base_dtype)
        shape = tf.shape(value)
        ones = tf.ones([rank - tf.rank(value)], dtype=rank.dtype)
        return tf.reshape(value, tf.concat([shape, ones], axis=0))

    scaled = (
        numbers
        + padded(off_diagonal_scale, tf.rank(numbers))
        + padded(overall_scale, tf.rank(numbers))
    )
    sign_magnitude = tf.exp(scaled / 2.0) * tf.nn.softsign(tf.matrix_transpose(numbers))
    sign_magnitude.set_shape(numbers.get_shape())
    upper = tf.matrix_band_part(sign_magnitude, 0, -1)
    cholesky = tf.matrix_set_diag(
        upper, tf.exp((diagonal + padded(overall_scale, tf.rank(diagonal))) / 2.0)
    )
    return tf.matmul(cholesky, cholesky, transpose_a=True)


def transform_to_covariance_matrices(input_vectors: Any, matrix_size: int) -> Tensor:
    """Covariances [batch, size, size], by a dense layer of vectors [batch, width]."""
    combined = tf.contrib.layers.fully_connected(
        input_vectors, matrix_size**2 + 2, activation_fn=None
    )
    numbers = combined[..., :-2]
    shape = tf.concat([tf.shape(combined)[:-1], [matrix_size, matrix_size]], 0)
    return sign_magnitude_positive_definite(
        raw=tf.reshape(numbers, shape),
        off_diagonal_scale=combined[..., -2],
        overall_scale=combined[..., -1],
    )


def variable_covariance_matrix(
    size: int, name: str, dtype: Any, initial_diagonal_values: Any = None,
    initial_overall_scale_log: Any = 0.0,
) -> Tensor:  # fmt: skip
    """Return a covariance [size, size] that is trained.

    Args:
      size: its dimension.
      name: of the result, and the beginning of the names of its variables.
      dtype: of all of them.
      initial_diagonal_values: [size], variances to start from, before they are scaled.
      initial_overall_scale_log: the logarithm of the scale to start from.
    """
    raw = tf.get_variable(
        f"{name}_pre_transform", [size, size], dtype, initializer=tf.zeros_initializer()
    )
    if initial_diagonal_values is not None:
        raw += tf.matrix_diag(tf.log(initial_diagonal_values))
    off_diagonal = tf.get_variable(
        f"{name}_off_diagonal_scale", dtype=dtype, initializer=tf.constant(-5.0, dtype=dtype)
    )
    overall = tf.convert_to_tensor(initial_overall_scale_log, dtype=dtype) + tf.get_variable(
        f"{name}_overall_scale", [], dtype, initializer=tf.zeros_initializer()
    )
    covariance = sign_magnitude_positive_definite(raw, off_diagonal, overall)
    return tf.identity(covariance, name=name)


def replicate_state(start_state: Any, batch_size: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return a nested state with its tensors [...] repeated: [batch_size, ...]."""

    def replicated(state: Any) -> Tensor:
        row = tf.expand_dims(state, 0)
        ones = tf.ones([tf.rank(state)], dtype=tf.int32)
        return tf.tile(row, tf.concat([[batch_size], ones], 0))

    return nest.map_structure(replicated, start_state)


def batch_start_time(times: Any) -> Any:
    """[batch]: the first of times [batch, window]."""
    return times[:, 0]


def batch_end_time(times: Any) -> Any:
    """[batch]: the last of times [batch, window]."""
    return times[:, -1]
