"""`tf.contrib.factorization.WALSModel`: matrix factorization by alternating least squares."""

from __future__ import annotations

from typing import Any, NamedTuple

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow_contrib.factorization.wals_sides import Side, cached
from stillflow_contrib.ops.factorization import masked_matmul, wals_compute_partial_lhs_and_rhs


class _Observed(NamedTuple):
    """Observed entries of the rows to be updated, numbered from 0."""

    entries: Any  # a SparseTensor
    transposed: bool  # whether it has columns where there should be rows
    updated: Any  # the numbers of the rows
    gathered: Any  # the numbers of the columns that occur
    count: Any  # of the rows


@export("contrib.factorization.WALSModel")
class WALSModel:
    """Factorization of a sparse matrix A to U [rows, k] and V [columns, k] with U V' near A.

    Made as small as possible, for U with V fixed and for V with U fixed in turn, is the sum of
    w (A - U V')^2, with w = `unobserved_weight` where A has no entry and the product of weights of
    row and column more where it has one, and of `regularization` times the squares of U and V.

    Args:
      input_rows: how many rows A has.
      input_cols: how many columns.
      n_components: k.
      unobserved_weight: of places without an entry.
      regularization: of factors; None is none.
      row_init: "random", or a float [rows, k], an array or a tensor, or a list of one per shard, or
        a function that gives these.
      col_init: the same for columns.
      num_row_shards: in how many variables the factors of rows are.
      num_col_shards: of columns.
      row_weights: a number, one per row, a list of them per shard, or None: entries weigh as much
        as other places.
      col_weights: the same for columns; None where `row_weights` is.
      use_factors_weights_cache: whether workers keep copies of factors and weights.
      use_gramian_cache: whether they do so of gramians.
      use_scoped_vars: whether variables are in name scopes of their own.

    Raises:
      ValueError: for weights that are negative or no numbers.
    """

    def __init__(
        self,
        input_rows: int,
        input_cols: int,
        n_components: int,
        unobserved_weight: float = 0.1,
        regularization: float | None = None,
        row_init: Any = "random",
        col_init: Any = "random",
        num_row_shards: int = 1,
        num_col_shards: int = 1,
        row_weights: Any = 1,
        col_weights: Any = 1,
        use_factors_weights_cache: bool = True,
        use_gramian_cache: bool = True,
        use_scoped_vars: bool = False,
    ) -> None:
        self._input_rows = input_rows
        self._input_cols = input_cols
        self._unobserved_weight = unobserved_weight
        self._regularization = regularization
        self._regularization_matrix = (
            None if regularization is None else regularization * tf.eye(n_components)
        )
        assert (row_weights is None) == (col_weights is None)
        self._rows = rows = Side("row", input_rows, num_row_shards)
        self._cols = cols = Side("col", input_cols, num_col_shards)
        rows.create_weights(row_weights, use_scoped_vars)
        cols.create_weights(col_weights, use_scoped_vars)
        rows.create_factors(n_components, row_init, use_scoped_vars)
        cols.create_factors(n_components, col_init, use_scoped_vars)
        rows.create_gramian(n_components)
        cols.create_gramian(n_components)
        for side, other in ((rows, cols), (cols, rows)):
            with tf.name_scope(f"{side.name}_prepare_gramian"):
                side.prepare_gramian = other.form_gramian()
        with tf.name_scope("transient_vars"):
            self._create_caches(use_factors_weights_cache, use_gramian_cache)

    def _create_caches(self, use_factors_weights: bool, use_gramian: bool) -> None:
        """Make the copies of workers, and the operations that fill them before updates."""
        sides = (self._rows, self._cols)
        fills, lets_go = [], []
        for side in sides:
            name = f"{side.name}_factors_cache"
            side.factors_cache, fill, let_go = cached(side.factors, name, use_factors_weights)
            fills.append([fill])
            lets_go.append([let_go])
        weights = []
        for side in sides:
            name = f"{side.name}_wt_cache"
            side.weights_cache, fill, _ = cached(side.weights, name, use_factors_weights)
            weights.append(fill)
        for place, side in enumerate(sides):
            name = f"{side.name}_gramian_cache"
            side.gramian_cache, fill, let_go = cached(side.gramian, name, use_gramian)
            fills[place].append(fill)
            lets_go[place].append(let_go)
        for side, mine, other in zip(sides, (0, 1), (1, 0)):
            side.initialize_update = tf.group(
                fills[other][0], lets_go[mine][0], fills[other][1], lets_go[mine][1]
            )
        if self._rows.weights_cache is None:
            self._worker_init = tf.no_op(name="worker_init")
        else:
            self._worker_init = tf.group(*weights, name="worker_init")

    @property
    def row_factors(self) -> list[Any]:
        """The variables of the rows' factors."""
        return self._rows.factors

    @property
    def col_factors(self) -> list[Any]:
        """The variables of the columns' factors."""
        return self._cols.factors

    @property
    def row_weights(self) -> Any:
        """The variables of the rows' weights, or None."""
        return self._rows.weights

    @property
    def col_weights(self) -> Any:
        """The variables of the columns' weights, or None."""
        return self._cols.weights

    _row_weights = row_weights  # names that programs of TensorFlow's look at
    _col_weights = col_weights

    @property
    def initialize_op(self) -> Operation:
        """Initializes the variables that workers share."""
        variables = self._rows.factors + self._cols.factors
        variables = variables + [self._rows.gramian, self._cols.gramian]
        if self._rows.weights is not None:
            variables = variables + self._rows.weights + self._cols.weights
        return tf.variables_initializer(variables)

    @property
    def worker_init(self) -> Operation:
        """Copies the weights; runs in each worker once before any update."""
        return self._worker_init

    @property
    def row_update_prep_gramian_op(self) -> Operation:
        """Forms the gramian that updates of rows need; runs in one worker before each sweep."""
        return self._rows.prepare_gramian

    @property
    def col_update_prep_gramian_op(self) -> Operation:
        """Forms the gramian that updates of columns need; runs in one worker before each sweep."""
        return self._cols.prepare_gramian

    @property
    def initialize_row_update_op(self) -> Operation:
        """The operation that copies the data for updates of rows.

        Runs in each worker before each sweep.
        """
        return self._rows.initialize_update

    @property
    def initialize_col_update_op(self) -> Operation:
        """The operation that copies the data for updates of columns.

        Runs in each worker per sweep.
        """
        return self._cols.initialize_update

    @classmethod
    def scatter_update(
        cls, factor: list[Any], indices: Any, values: Any, sharding_func: Any, name: Any = None
    ) -> Operation:
        """Write rows into variables that may be shards.

        Args:
          factor: the variables.
          indices: [n], numbers of rows.
          values: [n, k].
          sharding_func: gives the shard of each row and its place there.
          name: of the operation.

        Returns:
          The operation.
        """
        assert isinstance(factor, list)
        if len(factor) == 1:
            with tf.colocate_with(factor[0]):
                return tf.scatter_update(factor[0], indices, values, name=name).op
        shards, places = sharding_func(indices)
        shards = tf.cast(shards, tf.int32)
        split_places = tf.dynamic_partition(places, shards, len(factor))
        split_values = tf.dynamic_partition(values, shards, len(factor))
        written = [tf.scatter_update(*each) for each in zip(factor, split_places, split_values)]
        return tf.group(*written, name=name)

    def update_row_factors(
        self, sp_input: Any = None, transpose_input: bool = False
    ) -> tuple[Tensor | Operation, ...]:
        """Solves for the factors of some rows.

        Args:
          sp_input: a SparseTensor float [rows, columns] that has all entries of these rows.
          transpose_input: whether it is [columns, rows] instead.

        Returns:
          The new factors, the operation that writes them, and scalars for all rows as estimated
          from these: the loss, what is added to it by regularization, and the sum of weights.
        """
        return self._process(self._rows, self._cols, sp_input, transpose_input)

    def update_col_factors(
        self, sp_input: Any = None, transpose_input: bool = False
    ) -> tuple[Tensor | Operation, ...]:
        """Solves for the factors of some columns; otherwise as `update_row_factors`."""
        return self._process(self._cols, self._rows, sp_input, not transpose_input)

    def project_row_factors(
        self, sp_input: Any = None, transpose_input: bool = False, projection_weights: Any = None
    ) -> Tensor:
        """Return the factors that rows would have, which need not be those of the model.

        Args:
          sp_input: a SparseTensor float [rows, columns].
          transpose_input: whether it is [columns, rows] instead.
          projection_weights: of the rows, a scalar or one per row; 1 where it is None.

        Returns:
          float [rows with entries, k].
        """
        weights = 1 if projection_weights is None else projection_weights
        return self._process(self._rows, self._cols, sp_input, transpose_input, weights)[0]

    def project_col_factors(
        self, sp_input: Any = None, transpose_input: bool = False, projection_weights: Any = None
    ) -> Tensor:
        """Return the factors that columns would have; otherwise as `project_row_factors`."""
        weights = 1 if projection_weights is None else projection_weights
        return self._process(self._cols, self._rows, sp_input, not transpose_input, weights)[0]

    def _process(
        self, left: Side, right: Side, sp_input: Any, transposed: bool, weights: Any = None
    ) -> tuple[Any, Any, Any, Any, Any]:
        """Solves for factors of the left side; `weights`, if given, replace those of the model."""
        assert isinstance(sp_input, tf.SparseTensor)
        observed, factors = _renumbered(sp_input, transposed, right)
        gramian = right.gramian_cache
        new, row_weights, col_weights = self._solve(
            left, right, observed, factors, gramian, weights
        )
        update = self.scatter_update(
            left.factors, observed.updated, new, left.shard_of, name=f"{left.name}_update"
        )
        entries = observed.entries
        if transposed:
            entries = tf.sparse_transpose(entries)
        return (
            new,
            update,
            *self._losses(
                left,
                right,
                entries,
                new,
                factors,
                gramian,
                observed.count,
                row_weights,
                col_weights,
            ),
        )

    def _solve(
        self, left: Side, right: Side, observed: _Observed, factors: Any, gramian: Any, weights: Any
    ) -> tuple[Any, Any, Any]:
        """Return the new factors, and the weights of the rows and columns that occur, or None."""
        lhs = self._unobserved_weight * gramian
        if self._regularization_matrix is not None:
            lhs += self._regularization_matrix
        if left.weights is None:
            rhs = self._unobserved_weight * tf.sparse_tensor_dense_matmul(
                observed.entries, factors, adjoint_a=observed.transposed
            )
            return tf.transpose(tf.matrix_solve(lhs, tf.transpose(rhs))), None, None
        if weights is None:
            row_weights = tf.nn.embedding_lookup(
                left.weights_cache, observed.updated, partition_strategy="div"
            )
        else:
            row_weights = _one_per_row(weights, observed.updated)
        col_weights = tf.nn.embedding_lookup(
            right.weights_cache, observed.gathered, partition_strategy="div"
        )
        partial_lhs, rhs = wals_compute_partial_lhs_and_rhs(
            factors, col_weights, self._unobserved_weight, row_weights, observed.entries.indices,
            observed.entries.values, [], observed.count, observed.transposed,
            name="wals_compute_partial_lhs_rhs",
        )  # fmt: skip
        lhs = tf.expand_dims(lhs, 0) + partial_lhs
        rhs = tf.expand_dims(rhs, -1)
        return tf.squeeze(tf.matrix_solve(lhs, rhs), [2]), row_weights, col_weights

    def _losses(
        self, left: Side, right: Side, entries: Any, new: Any, factors: Any, gramian: Any,
        count: Any, row_weights: Any, col_weights: Any,
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        """Return loss, regularization and weights' sum, as if all rows were like these."""
        products = masked_matmul(new, factors, entries.indices, transpose_a=False, transpose_b=True)
        product = tf.SparseTensor(entries.indices, products, entries.dense_shape)
        product_squares = tf.square(product)
        squares = tf.square(tf.sparse_add(entries, product * (-1)))
        by_row = tf.constant(0.0) if row_weights is None else tf.expand_dims(row_weights, 1)
        by_col = tf.constant(0.0) if col_weights is None else tf.expand_dims(col_weights, 0)
        own_gramian = tf.matmul(new, new, transpose_a=True)
        share = left.size / tf.cast(count, tf.float32)
        loss = (
            self._unobserved_weight
            * (
                tf.sparse_reduce_sum(squares)
                - tf.sparse_reduce_sum(product_squares)
                + tf.trace(tf.matmul(own_gramian, gramian))
            )
            + tf.sparse_reduce_sum(by_row * (squares * by_col))
        ) * share
        if self._regularization is None:
            regularization = tf.constant(0.0)
        else:
            regularization = self._regularization * (
                tf.trace(own_gramian) * share + tf.trace(gramian)
            )
        sum_weights = self._unobserved_weight * tf.cast(left.size * right.size, tf.float32)
        if row_weights is not None:
            ones = tf.SparseTensor(
                entries.indices, tf.ones(tf.shape(entries.values)), entries.dense_shape
            )
            sum_weights += tf.sparse_reduce_sum(by_row * (ones * by_col)) * share
        return loss, regularization, sum_weights


def _renumbered(sp_input: Any, transposed: bool, right: Side) -> tuple[_Observed, Any]:
    """Return the entries with consecutive numbers of rows and columns, and their factors."""
    row_ids, col_ids = tf.split(value=sp_input.indices, num_or_size_splits=2, axis=1)
    rows, row_places = tf.unique(row_ids[:, 0])
    cols, col_places = tf.unique(col_ids[:, 0])
    col_ids = tf.expand_dims(tf.cast(col_places, tf.int64), 1)
    row_ids = tf.expand_dims(tf.cast(row_places, tf.int64), 1)
    updated, gathered = (cols, rows) if transposed else (rows, cols)
    width = [tf.cast(tf.shape(gathered)[0], tf.int64)]
    count = tf.cast(tf.shape(updated)[0], tf.int64)
    factors = tf.nn.embedding_lookup(right.factors_cache, gathered, partition_strategy="div")
    indices = tf.concat([row_ids, col_ids], 1)
    shape = tf.concat([width, [count]] if transposed else [[count], width], 0)
    entries = tf.SparseTensor(indices, sp_input.values, shape)
    return _Observed(entries, transposed, updated, gathered, count), factors


def _one_per_row(weights: Any, rows: Any) -> Tensor:
    """Weights [rows] of a scalar or vector of them."""
    count = tf.shape(rows)[0]
    with tf.control_dependencies([tf.assert_less_equal(tf.rank(weights), 1)]):
        return tf.cond(
            tf.equal(tf.rank(weights), 0),
            lambda: tf.ones([count]) * weights,
            lambda: tf.cast(weights, tf.float32),
        )
