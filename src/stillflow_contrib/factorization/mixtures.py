"""`tf.contrib.factorization.gmm`: the graph of mixtures of normal distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.identity_and_group import with_dependencies

FULL_COVARIANCE = "full"
DIAG_COVARIANCE = "diag"
# Keeps the mean of no points finite.
_EPSILON = np.finfo(float).eps
# Keeps covariances invertible.
_LEAST_VARIANCE = 1e-3


def covariance(points: Any, diag: bool) -> Tensor:
    """Return the covariance [width, width] of points [n, width].

    With `diag` the variances [1, width].
    """
    count = tf.cast(tf.shape(points)[0], tf.float32)
    points -= tf.reduce_mean(points, 0, keepdims=True)
    if diag:
        return tf.reduce_sum(tf.square(points), 0, keepdims=True) / (count - 1)
    return tf.matmul(points, points, transpose_a=True) / (count - 1)


def _random_points(data: list[Any], number: int, seed: int) -> Tensor:
    """Return some of the points."""
    count = tf.add_n([tf.shape(each)[0] for each in data])
    with tf.control_dependencies([tf.assert_less_equal(number, count)]):
        below = tf.cast(count, tf.int64)
        drawn = tf.random_uniform([number], 0, below, dtype=tf.int64, seed=seed)
    rows = drawn % tf.cast(count, tf.int64)
    return tf.nn.embedding_lookup(data, rows, partition_strategy="div")


@export("contrib.factorization.GmmAlgorithm")
class GmmAlgorithm:
    """A mixture of normal distributions, which expectation maximization fits to points.

    Args:
      data: a list of tensors of points, each float [n, width].
      num_classes: how many distributions there are.
      initial_means: float [num_classes, width]; random points where it is None.
      params: what is trained, letters: "w" for weights, "m" for means, "c" for covariances.
      covariance_type: "full", or "diag" for variances only.
      random_seed: of the random points.

    Raises:
      Exception: for another `covariance_type`.
    """

    CLUSTERS_WEIGHT = "alphas"
    CLUSTERS_VARIABLE = "clusters"
    CLUSTERS_COVS_VARIABLE = "clusters_covs"

    def __init__(
        self,
        data: list[Any],
        num_classes: int,
        initial_means: Any = None,
        params: str = "wmc",
        covariance_type: str = FULL_COVARIANCE,
        random_seed: int = 0,
    ) -> None:
        if covariance_type not in (DIAG_COVARIANCE, FULL_COVARIANCE):
            raise Exception(  # TensorFlow's class
                f"programmer error: Invalid covariance type: {covariance_type}"
            )
        self._params = params
        self._random_seed = random_seed
        self._full = covariance_type == FULL_COVARIANCE
        self._num_classes = num_classes
        self._dimensions = tf.shape(data[0])[1]
        self._min_var = tf.diag(tf.ones(tf.stack([self._dimensions]))) * _LEAST_VARIANCE
        self._create_variables()
        self._init_ops = self._initializers(data, initial_means)
        self._define(data)

    def _create_variables(self) -> None:
        empty = tf.constant([], dtype=tf.float32)
        self._means = tf.Variable(empty, name=self.CLUSTERS_VARIABLE, validate_shape=False)
        self._covs = tf.Variable(empty, name=self.CLUSTERS_COVS_VARIABLE, validate_shape=False)
        number = self._num_classes
        self._alpha = tf.Variable(
            tf.tile([1.0 / number], [number]), name=self.CLUSTERS_WEIGHT, validate_shape=False
        )
        self._initialized = tf.Variable(False, dtype=tf.bool, name="initialized")

    def _initializers(self, data: list[Any], initial_means: Any) -> list[Any]:
        """Return the initializers of means and covariances that are not set."""
        if initial_means is None:
            initial_means = _random_points(data, self._num_classes, self._random_seed)
        means = tf.expand_dims(initial_means, 1)
        cov = covariance(data[0], diag=not self._full) + self._min_var
        if self._full:
            covs = tf.tile(tf.expand_dims(cov, 0), [self._num_classes, 1, 1])
        else:
            covs = tf.tile(tf.expand_dims(tf.diag_part(cov), 0), [self._num_classes, 1])
        with tf.colocate_with(self._initialized):
            initialized = with_dependencies([means, covs], tf.identity(self._initialized))
        return [
            self._unless(initialized, self._means, means),
            self._unless(initialized, self._covs, covs),
        ]

    def _unless(self, initialized: Any, variable: Any, value: Any) -> Operation:
        with tf.colocate_with(variable):
            assigned = tf.assign(variable, value, validate_shape=False)
            assigned = with_dependencies([assigned], tf.assign(self._initialized, True))
            return tf.cond(initialized, tf.no_op, lambda: assigned).op

    def init_ops(self) -> Operation:
        """Return the operation that sets means and covariances."""
        return tf.group(*self._init_ops)

    def training_ops(self) -> Operation:
        """Return the operation of a step."""
        return tf.group(*self._train_ops)

    def is_initialized(self) -> Any:
        """Return a bool variable: whether means and covariances are set."""
        return self._initialized

    def alphas(self) -> Any:
        """Return the variable of weights [num_classes]."""
        return self._alpha

    def clusters(self) -> Any:
        """Return the variable of means [num_classes, 1, width]."""
        return self._means

    def covariances(self) -> Any:
        """Return the variable of covariances [num_classes, width, width], or variances."""
        return self._covs

    def assignments(self) -> list[Any]:
        """Return the most likely distribution of each point, int64 [n], per tensor of points."""
        return [tf.argmax(shares, 1) for shares in self._shares]

    def scores(self) -> Tensor:
        """Return the logarithm of each point's likelihood."""
        return self._scores

    def log_likelihood_op(self) -> Tensor:
        """Return the logarithm of the likelihood, a scalar."""
        return self._log_likelihood

    def _define(self, data: list[Any]) -> None:
        """Build a step, shard by shard, and the likelihoods."""
        self._shares: list[Any] = []  # of each distribution in each point, [n, num_classes]
        log_points = []  # the logarithms of points' likelihoods, [n, 1]
        sums = []  # of shares, of shares times points, of those times points
        for shard in data:
            count = tf.shape(shard)[0]
            shard = tf.expand_dims(shard, 0)
            logs = self._full_logs(shard) if self._full else self._diag_logs(shard)
            logs += tf.log(self._alpha)
            log_points.append(tf.reduce_logsumexp(logs, axis=1, keepdims=True))
            logs = tf.expand_dims(logs, 0)
            self._shares.append(
                tf.reshape(tf.exp(logs - log_points[-1]), tf.stack([count, self._num_classes]))
            )
            sums.append(self._sums(shard, self._shares[-1]))
        self._train_ops = self._maximize(*(list(each) for each in zip(*sums)))
        self._log_likelihood = tf.reduce_logsumexp([tf.reduce_logsumexp(p) for p in log_points])
        by_class = [points + tf.log(part) for points, part in zip(log_points, self._shares)]
        self._scores = tf.squeeze(tf.reduce_logsumexp(by_class, axis=2, keepdims=True), axis=0)

    def _full_logs(self, shard: Any) -> Tensor:
        """Return the logarithms of densities [n, num_classes] at points [1, n, width]."""
        offsets = shard - self._means
        root = tf.cholesky(self._covs + self._min_var)
        volume = 2.0 * tf.reduce_sum(tf.log(tf.matrix_diag_part(root)), 1)
        columns = tf.transpose(offsets, perm=[0, 2, 1])
        standardized = tf.matrix_triangular_solve(root, columns, lower=True)
        quadratic = tf.transpose(tf.reduce_sum(tf.square(standardized), 1))
        normalization = tf.cast(self._dimensions, tf.float32) * tf.log(2 * np.pi)
        return -0.5 * (quadratic + normalization + volume)

    def _diag_logs(self, shard: Any) -> Tensor:
        """Return the same, of variances."""
        log_det = tf.reduce_sum(tf.log(self._covs + _LEAST_VARIANCE), 1, keepdims=True)
        squares = tf.squared_difference(shard, self._means)
        precisions = tf.expand_dims(1.0 / (self._covs + _LEAST_VARIANCE), 2)
        distances = tf.transpose(tf.squeeze(tf.matmul(squares, precisions), [2]))
        constant = tf.cast(self._dimensions, tf.float32) * tf.log(2.0 * np.pi)
        return -0.5 * (constant + tf.transpose(log_det) + distances)

    def _sums(self, shard: Any, shares: Any) -> tuple[Any, Any, Any]:
        """Return sums over points [1, n, width]: of shares, times points, and times squares."""
        points_in = tf.reduce_sum(shares, 0, keepdims=True)
        points = tf.matmul(shares, tf.squeeze(shard, [0]), transpose_a=True)
        points = tf.expand_dims(points, 1)
        repeated = tf.concat([shard] * self._num_classes, 0)
        columns = tf.transpose(repeated, perm=[0, 2, 1])
        weighted = tf.concat(
            [
                tf.expand_dims(columns[each, :, :] * shares[:, each], 0)
                for each in range(self._num_classes)
            ],
            0,
        )
        return points_in, points, tf.matmul(weighted, repeated)

    def _maximize(self, counts: list[Any], points: list[Any], squares: list[Any]) -> list[Any]:
        """Return the updates of weights, means and covariances to those of the points by shares."""
        with tf.control_dependencies(self._shares):
            in_class = tf.squeeze(tf.add_n(counts), axis=[0])
            if "w" in self._params:
                mean = in_class / len(counts)
                total = tf.cast(tf.reduce_sum(mean), tf.float32)
                train_ops = [self._alpha.assign(mean / (total + _EPSILON))]
            else:
                train_ops = [tf.no_op()]
            in_class = tf.reshape(in_class, [self._num_classes, 1, 1])
            if "m" in self._params:
                moved = self._means.assign(tf.div(tf.add_n(points), in_class + _EPSILON))
            else:
                moved = tf.no_op()
            with tf.control_dependencies([moved]):
                new = self._new_covariances(tf.add_n(squares) / (in_class + _EPSILON))
                if "c" in self._params:
                    with tf.control_dependencies([moved, new]):
                        train_ops.append(tf.assign(self._covs, new, validate_shape=False))
        return train_ops

    def _new_covariances(self, squares: Any) -> Tensor:
        """Covariances from means of squares [num_classes, width, width]."""

        def of_class(number: int) -> Tensor:
            mean = self._means.value()[number, :, :]
            outer = tf.matmul(mean, mean, transpose_a=True)
            whole = squares[number, :, :] - outer + self._min_var
            return tf.expand_dims(whole if self._full else tf.diag_part(whole), 0)

        return tf.concat(list(map(of_class, range(self._num_classes))), 0)


@export("contrib.factorization.gmm")
def gmm(
    inp: Any, initial_clusters: Any, num_clusters: int, random_seed: int,
    covariance_type: str = FULL_COVARIANCE, params: str = "wmc",
) -> tuple[Any, Any, list[Any], Any, Any, Any]:  # fmt: skip
    """Build the graph of a mixture of normal distributions.

    Args:
      inp: points float [n, width], or a list of such tensors.
      initial_clusters: "random", or means [num_clusters, width]; a tensor counts as "random".
      num_clusters: how many distributions there are.
      random_seed: of random means.
      covariance_type: "full" or "diag".
      params: what is trained, letters of "wmc": weights, means, covariances.

    Returns:
      The logarithm of the likelihood, those of the points, [the distributions of points], the
      operation of a step, the one that initializes, and a variable that says whether it has run.
    """
    means = None
    if not isinstance(initial_clusters, tf.Tensor) and not _is_random(initial_clusters):
        means = tf.constant(initial_clusters, dtype=tf.float32)
    data = inp if isinstance(inp, list) else [inp]
    model = GmmAlgorithm(data, num_clusters, means, params, covariance_type, random_seed)
    assignments = model.assignments()
    scores, loss = model.scores(), model.log_likelihood_op()
    return (
        loss, scores, [assignments], model.training_ops(), model.init_ops(),
        model.is_initialized(),
    )  # fmt: skip


def _is_random(initial: Any) -> bool:
    return isinstance(initial, str) and initial == "random"
