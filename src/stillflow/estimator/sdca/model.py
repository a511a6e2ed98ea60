"""A linear model, the operations that train it by dual coordinate ascent, and its losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import stillflow as tf
from stillflow.estimator.sdca.partitioned_weights import PartitionedWeights, is_partitioned
from stillflow.estimator.sdca.tables import ShardedTable
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.sdca.cards import sdca_fprint_op, sdca_optimizer_v2_op
from stillflow.platform import tf_logging as logging
from stillflow.variables.base import VariableV2
from stillflow.variables.scatter import ScatterMethods

_LOSSES = ("logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss")
_KINDS = ("sparse_features_weights", "dense_features_weights")
_FEATURES = ("sparse_features", "dense_features")


class LinearModel:
    """Linear model whose weights SDCA trains.

    Args:
      examples: a dict of `sparse_features`, a list of `SparseFeatures`; `dense_features`, a list
        of float32 [batch, width]; `example_labels`, `example_weights` [batch]; `example_ids`,
        strings [batch].
      variables: a dict of `sparse_features_weights` and `dense_features_weights`, lists of
        variables (or of lists of their parts), one for each of the features.
      options: a dict of `loss_type`, `symmetric_l1_regularization`,
        `symmetric_l2_regularization`, and perhaps `num_loss_partitions`, `num_table_shards`,
        `adaptive`.

    Raises:
      ValueError: if an argument is missing, or for unsupported numbers and losses.
    """

    _suffix = "_unshrunk"
    _table: Callable[..., ShardedTable] = ShardedTable

    def __init__(self, examples: Any, variables: Any, options: Any) -> None:
        if not examples or not variables or not options:
            raise ValueError("examples, variables and options must all be specified.")
        if options["loss_type"] not in _LOSSES:
            raise ValueError("Unsupported loss_type: ", options["loss_type"])
        self._check(("example_labels", "example_weights", "example_ids"), examples)
        self._check((*_FEATURES,), examples, lists=True)
        self._check(_KINDS, variables, lists=True)
        names = ("loss_type", "symmetric_l2_regularization", "symmetric_l1_regularization")
        self._check(names, options)
        self._check_options(options)
        self._examples, self._variables, self._options = examples, variables, options
        self._slots = {kind: [self._slot(each) for each in variables[kind]] for kind in _KINDS}
        self._hashtable = self._table(
            key_dtype=tf.int64, value_dtype=tf.float32, num_shards=self._num_table_shards(),
            default_value=[0.0, 0.0, 0.0, 0.0],
            # Fingerprints never begin with 0 or 1.
            empty_key=[0, 0], deleted_key=[1, 1],
        )  # fmt: skip
        tf.summary.scalar("approximate_duality_gap", self.approximate_duality_gap())
        tf.summary.scalar("examples_seen", self._hashtable.size())

    # ---- arguments

    def _check(self, items: Any, given: Any, lists: bool = False) -> None:
        for name in items:
            if given[name] is None:
                raise ValueError(f"{name} must be specified.")
            if lists and not isinstance(given[name], list):
                raise ValueError(f"{name} must be a list.")

    def _check_options(self, options: Any) -> None:
        if options["symmetric_l2_regularization"] <= 0.0:
            raise ValueError("symmetric_l2_regularization should be positive.")
        if options["symmetric_l2_regularization"] <= 1.0:
            logging.warn(
                "symmetric_l2_regularization for SDCA should typically be larger than for online "
                "optimization methods. Recommended value is of the order of the average L2 norm "
                "of the training examples."
            )
        if options["symmetric_l1_regularization"] < 0.0:
            raise ValueError("symmetric_l1_regularization should be non-negative.")

    def _l1(self) -> float:
        return self._options["symmetric_l1_regularization"]

    def _l2(self) -> float:
        return self._options["symmetric_l2_regularization"]

    def _num_table_shards(self) -> int:
        shards = self._options.get("num_table_shards")
        return 1 if shards is None else shards

    # ---- variables

    def _slot(self, variable: Any) -> Any:
        """Return the slots for a variable's unshrunk values, one for each of its parts."""
        if not is_partitioned(variable):
            with tf.device(variable.device):
                return self._new_slot(variable)
        slots = []
        for part in variable:
            with tf.colocate_with(part):
                slots.append(self._new_slot(part))
        return slots

    def _new_slot(self, variable: Any) -> ScatterMethods:
        zeros = tf.zeros_like(variable.initialized_value(), tf.float32)
        return self._make_variable(zeros, variable.op.name + self._suffix)

    def _make_variable(self, initial_value: Any, name: str) -> Any:
        return VariableV2(initial_value, name=name)

    def _parts(self) -> Iterator[Any]:
        """All variables, in parts."""
        for kind in _KINDS:
            for variable in self._variables[kind]:
                yield from _as_list(variable)

    # ---- losses

    def _sum_of_weights(self, of_each: Callable[[Any], Any]) -> list[Tensor]:
        sums = []
        for part in self._parts():
            weights = convert_to_tensor(part)
            with tf.device(weights.device):
                sums.append(tf.reduce_sum(of_each(tf.cast(weights, tf.float64))))
        return sums

    def _l1_loss(self) -> Tensor:
        with tf.name_scope("sdca/l1_loss"):
            return self._l1() * tf.add_n(self._sum_of_weights(tf.abs))

    def _l2_loss(self, l2: float) -> Tensor:
        with tf.name_scope("sdca/l2_loss"):
            return l2 * tf.add_n(self._sum_of_weights(tf.square)) / 2.0

    def _linear_predictions(self, examples: Any) -> Any:
        with tf.name_scope("sdca/prediction"):
            batch_size = tf.shape(examples["example_ids"])[0]
            predictions = tf.zeros([batch_size])
            weights = [as_tensor(each) for each in self._variables["sparse_features_weights"]]
            for column, variable in zip(examples["sparse_features"], weights):
                sums = column_predictions(column, variable)
                predictions += tf.pad(sums, [[0, batch_size - tf.shape(sums)[0]]])
            rows = [as_tensor(each) for each in examples["dense_features"]]
            weights = [as_tensor(each) for each in self._variables["dense_features_weights"]]
            for place, variable in enumerate(weights):
                predictions += tf.squeeze(tf.matmul(rows[place], tf.expand_dims(variable, -1)))
        return predictions

    def predictions(self, examples: Any) -> Tensor:
        """Predictions [batch]: probabilities, counts, or numbers, by the loss.

        Args:
          examples: as of the constructor.

        Raises:
          ValueError: if an argument is missing.
        """
        self._check(("example_weights", *_FEATURES), examples)
        self._check(_FEATURES, examples, lists=True)
        result = self._linear_predictions(examples)
        if self._options["loss_type"] == "logistic_loss":
            with tf.name_scope("sdca/logistic_prediction"):
                return tf.sigmoid(result)
        if self._options["loss_type"] == "poisson_loss":
            with tf.name_scope("sdca/poisson_prediction"):
                return tf.exp(result)
        return result

    def unregularized_loss(self, examples: Any) -> Tensor:
        """Return the mean loss of examples, a float64 scalar.

        Args:
          examples: as of the constructor.

        Raises:
          ValueError: if an argument is missing.
        """
        self._check_labelled(examples)
        with tf.name_scope("sdca/unregularized_loss"):
            predictions = tf.cast(self._linear_predictions(examples), tf.float64)
            labels, weights = (
                tf.cast(convert_to_tensor(examples[name]), tf.float64)
                for name in ("example_labels", "example_weights")
            )
            if self._options["loss_type"] == "squared_loss":
                squares = tf.square(tf.subtract(labels, predictions))
                total = tf.reduce_sum(tf.multiply(squares, weights))
                return total / (2.0 * tf.reduce_sum(weights))
            losses = self._losses(labels, predictions)
            return tf.reduce_sum(tf.multiply(losses, weights)) / tf.reduce_sum(weights)

    def _losses(self, labels: Any, predictions: Any) -> Tensor:
        """Return the loss of each example. A hinge is never smoothed here, as in TensorFlow."""
        if self._options["loss_type"] == "logistic_loss":
            return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=predictions)
        if self._options["loss_type"] == "poisson_loss":
            return tf.nn.log_poisson_loss(targets=labels, log_input=predictions)
        ones = tf.ones_like(predictions)
        signs = tf.subtract(2 * labels, ones)
        return tf.nn.relu(tf.subtract(ones, tf.multiply(signs, predictions)))

    def _check_labelled(self, examples: Any) -> None:
        self._check(("example_labels", "example_weights", *_FEATURES), examples)
        self._check(_FEATURES, examples, lists=True)

    def regularized_loss(self, examples: Any) -> Tensor:
        """Return the mean loss of examples and the cost of weights, a float64 scalar.

        Args:
          examples: as of the constructor.

        Raises:
          ValueError: if an argument is missing.
        """
        self._check_labelled(examples)
        with tf.name_scope("sdca/regularized_loss"):
            weights = convert_to_tensor(examples["example_weights"])
            penalty = self._l1_loss() + self._l2_loss(self._options["symmetric_l2_regularization"])
            total = tf.reduce_sum(tf.cast(weights, tf.float64))
            return penalty / total + self.unregularized_loss(examples)

    def _as_double(self, values: Any) -> Tensor:
        return tf.to_double(values)

    def approximate_duality_gap(self) -> Tensor:
        """Return the duality gap of all examples seen: a float64 scalar."""
        with tf.name_scope("sdca/approximate_duality_gap"):
            _, tables = self._hashtable.export_sharded()
            sums: list[Any] = []
            for values in tables:
                # One after the other: as doubles, tables may take much memory.
                with tf.device(values.device), tf.control_dependencies(sums):
                    sums.append(tf.reduce_sum(self._as_double(values), 0))
            summed = tf.add_n(sums)
            primal, dual, weights = summed[1], summed[2], summed[3]
            gap = primal + dual + self._l1_loss() + 2.0 * self._l2_loss(self._l2())
            return gap / weights

    # ---- training

    def minimize(self, global_step: Any = None, name: str | None = None) -> Operation:
        """Return an operation that trains on the examples, before weights are shrunk.

        Args:
          global_step: a variable that is counted up, or None.
          name: of the operation.
        """
        with tf.name_scope(name, "sdca/minimize"):
            columns = self._examples["sparse_features"]
            ids = sdca_fprint_op(convert_to_tensor(self._examples["example_ids"]))
            state = self._hashtable.lookup(ids)
            slots = self._slots["sparse_features_weights"]
            weights = [self._gather(slot, each.feature_indices)
                       for slot, each in zip(slots, columns)]  # fmt: skip
            state, sparse, dense = self._step(columns, weights, state)
            with tf.control_dependencies([state]):
                updates = [self._hashtable.insert(ids, state)]
                for each, update in zip(weights, sparse):
                    updates += each.add(update)
                for slot, update in zip(self._slots["dense_features_weights"], dense):
                    updates += _add_dense(slot, update)
            if self._has_no(global_step):
                return tf.group(*updates)
            with tf.control_dependencies(updates):
                return tf.assign_add(global_step, 1, name=name).op

    def _has_no(self, global_step: Any) -> bool:
        return global_step is None

    def _gather(self, slot: Any, features: Any) -> PartitionedWeights:
        """Return the weights of the features of a batch."""
        distinct = tf.cast(tf.unique(tf.cast(features, tf.int32))[0], tf.int64)
        return PartitionedWeights(slot, distinct, self._where)

    def _where(self, condition: Any, x: Any, y: Any) -> Tensor:
        return tf.where_v2(condition, x, y)

    def _step(self, columns: Any, weights: Any, state: Any) -> Any:
        values = [each.feature_values for each in columns]
        dense_features, example_weights, labels = (
            [as_tensor(each) for each in self._examples["dense_features"]],
            convert_to_tensor(self._examples["example_weights"]),
            convert_to_tensor(self._examples["example_labels"]),
        )
        return sdca_optimizer_v2_op(
            [each.example_indices for each in columns],
            [each.feature_indices for each in columns],
            [each for each in values if each is not None],
            dense_features, example_weights, labels,
            [each.features for each in weights], [each.gathered for each in weights],
            [as_tensor(each) for each in self._slots["dense_features_weights"]], state,
            loss_type=self._options["loss_type"], l1=self._l1(), l2=self._l2(),
            num_loss_partitions=self._options.get("num_loss_partitions", 1),
            num_inner_iterations=1, adaptive=self._options.get("adaptive", True),
        )  # fmt: skip

    def update_weights(self, train_op: Any) -> Operation:
        """Return an operation that gives variables the trained weights, shrunk.

        Args:
          train_op: the result of `minimize`; it runs before.
        """
        with tf.control_dependencies([train_op]):
            updates = [
                part.assign(slot)
                for kind in _KINDS
                for variable, slots in zip(self._variables[kind], self._slots[kind])
                for part, slot in zip(_as_list(variable), _as_list(slots))
            ]
        return self._shrink(updates)

    def _shrink(self, updates: list[Any]) -> Operation:
        if self._l1() <= 0:
            return tf.group(*updates)
        shrinkage = self._l1() / self._l2()
        with tf.control_dependencies(updates):
            updates = []
            for part in self._parts():
                with tf.device(part.device):
                    sign = tf.sign(part)
                    shrunk = sign * tf.maximum(0.0, tf.abs(part) - shrinkage)
                    updates.append(part.assign(shrunk))
            return tf.group(*updates)


def _as_list(variable: Any) -> Any:
    return variable if is_partitioned(variable) else [variable]


def as_tensor(value: Any) -> Tensor:
    """Return a tensor of a variable or of its parts."""
    return convert_to_tensor(tf.concat(value, axis=0) if is_partitioned(value) else value)


def column_predictions(column: Any, weights: Any) -> Tensor:
    """Return a column's predictions, [the last example with features + 1]."""
    products = tf.multiply(tf.gather(weights, column.feature_indices), column.feature_values)
    return tf.segment_sum(products, column.example_indices)


def _add_dense(slot: Any, update: Any) -> list[Any]:
    if not is_partitioned(slot):
        return [tf.assign_add(slot, update)]
    sizes = [part.shape.as_list()[0] for part in slot]
    return [tf.assign_add(part, each) for part, each in
            zip(slot, tf.split(update, num_or_size_splits=sizes))]  # fmt: skip
