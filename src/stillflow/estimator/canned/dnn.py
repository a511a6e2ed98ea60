"""Canned estimators of dense layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.classification_heads import classification_head
from stillflow.estimator.canned.optimizers import get_optimizer_instance
from stillflow.estimator.canned.partitions import by_servers, by_servers_if_large, check_features
from stillflow.estimator.canned.regression_head import RegressionHead
from stillflow.estimator.estimator import Estimator
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.spec import EstimatorSpec
from stillflow.feature_column.feature_layers import DenseFeatures
from stillflow.feature_column.input_layer import InputLayer
from stillflow.feature_column.transforming import is_feature_column_v2
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.engine.model import Model
from stillflow.layers.core import Dense, Dropout
from stillflow.layers.normalization import BatchNormalization
from stillflow.losses.reduction import Reduction
from stillflow.ops.nn.activations import relu
from stillflow.ops.summary.numbers import histogram, scalar

_LEARNING_RATE = 0.05


@export("estimator.DNNClassifier")
class DNNClassifier(Estimator):
    """Classifies by dense layers.

    Args:
      hidden_units: how many units each hidden layer has.
      feature_columns: dense columns of features.
      model_dir: the folder of checkpoints and event files.
      n_classes: how many classes there are.
      weight_column: of the weights of examples: a name, a numeric column, or None.
      label_vocabulary: the words that labels are; None if they are numbers.
      optimizer: a name, a function that makes an `Optimizer`, or one.
      activation_fn: of hidden layers.
      dropout: the part of a hidden layer's outputs that training sets to 0; None for none.
      input_layer_partitioner: cuts the variables of columns.
      config: a `RunConfig`.
      warm_start_from: see `Estimator`.
      loss_reduction: a `tf.losses.Reduction`.
      batch_norm: whether the outputs of hidden layers are normalized.
    """

    def __init__(
        self, hidden_units: Sequence[int], feature_columns: Any, model_dir: Any = None,
        n_classes: int = 2, weight_column: Any = None, label_vocabulary: Any = None,
        optimizer: Any = "Adagrad", activation_fn: Any = relu, dropout: float | None = None,
        input_layer_partitioner: Any = None, config: Any = None, warm_start_from: Any = None,
        loss_reduction: Any = Reduction.SUM, batch_norm: bool = False,
    ) -> None:  # fmt: skip
        head = classification_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = _model_fn(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout,
            input_layer_partitioner, batch_norm,
        )  # fmt: skip
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


@export("estimator.DNNEstimator")
class DNNEstimator(Estimator):
    """Estimator like `DNNClassifier`, with any head.

    Args:
      head: has a `logits_dimension`, and makes the spec with `create_estimator_spec`, which is
        given an `Optimizer` of `tf.train`.
      hidden_units, feature_columns, ...: as of `DNNClassifier`.
    """

    def __init__(
        self, head: Any, hidden_units: Sequence[int], feature_columns: Any,
        model_dir: Any = None, optimizer: Any = "Adagrad", activation_fn: Any = relu,
        dropout: float | None = None, input_layer_partitioner: Any = None, config: Any = None,
        warm_start_from: Any = None, batch_norm: bool = False,
    ) -> None:  # fmt: skip
        model_fn = _model_fn(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout,
            input_layer_partitioner, batch_norm,
        )  # fmt: skip
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


@export("estimator.DNNRegressor")
class DNNRegressor(Estimator):
    """Predicts numbers by dense layers.

    Args:
      label_dimension: how many numbers a label has.
      hidden_units, feature_columns, ...: as of `DNNClassifier`.
    """

    def __init__(
        self, hidden_units: Sequence[int], feature_columns: Any, model_dir: Any = None,
        label_dimension: int = 1, weight_column: Any = None, optimizer: Any = "Adagrad",
        activation_fn: Any = relu, dropout: float | None = None,
        input_layer_partitioner: Any = None, config: Any = None, warm_start_from: Any = None,
        loss_reduction: Any = Reduction.SUM, batch_norm: bool = False,
    ) -> None:  # fmt: skip
        head = RegressionHead(weight_column, label_dimension, loss_reduction)
        model_fn = _model_fn(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout,
            input_layer_partitioner, batch_norm,
        )  # fmt: skip
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


def _model_fn(
    head: Any, hidden_units: Sequence[int], feature_columns: Any, optimizer: Any,
    activation_fn: Any, dropout: float | None, input_layer_partitioner: Any, batch_norm: bool,
) -> Callable[..., Any]:  # fmt: skip
    columns = tuple(feature_columns or [])

    def model_fn(features: Any, labels: Any, mode: Any, config: Any) -> EstimatorSpec:
        chosen = get_optimizer_instance(optimizer, _LEARNING_RATE)
        check_features(features)
        with tf.variable_scope("dnn", values=features.values(), partitioner=by_servers(config)):
            logit_fn = dnn_logit_fn_builder(
                head.logits_dimension, hidden_units, columns, activation_fn, dropout,
                input_layer_partitioner or by_servers_if_large(config), batch_norm,
            )  # fmt: skip
            return head.create_estimator_spec(
                features=features, mode=mode, labels=labels, optimizer=chosen,
                logits=logit_fn(features, mode),
            )  # fmt: skip

    return model_fn


@export("estimator.experimental.dnn_logit_fn_builder")
def dnn_logit_fn_builder(
    units: int, hidden_units: Sequence[int], feature_columns: Any, activation_fn: Any,
    dropout: float | None, input_layer_partitioner: Any, batch_norm: bool,
) -> Callable[[Any, Any], Any]:  # fmt: skip
    """Return a function from features and mode to logits [batch, units].

    Args:
      units: the last dimension of the logits.
      hidden_units, feature_columns, ...: as of `DNNClassifier`.

    Raises:
      ValueError: if `units` is no int.
    """
    if not isinstance(units, int):
        raise ValueError(f"units must be an int.  Given type: {type(units)}")

    def dnn_logit_fn(features: Any, mode: Any) -> Tensor:
        model = _DNNModel(
            units, hidden_units, feature_columns, activation_fn, dropout, input_layer_partitioner,
            batch_norm,
        )  # fmt: skip
        return model(features, mode)

    return dnn_logit_fn


def add_summaries(value: Any, tag: str) -> None:
    """Add summaries of a layer's output: the part of zeros, and a histogram."""
    scalar(f"{tag}/fraction_of_zero_values", tf.nn.zero_fraction(value))
    histogram(f"{tag}/activation", value)


class _DNNModel(Model):
    """Dense layers over columns; as attributes of a model they have resource variables."""

    def __init__(
        self, units: int, hidden_units: Sequence[int], feature_columns: Any, activation_fn: Any,
        dropout: float | None, input_layer_partitioner: Any, batch_norm: bool,
    ) -> None:  # fmt: skip
        super().__init__(name="dnn")
        self._partitioner = input_layer_partitioner
        self._input: Any
        if is_feature_column_v2(feature_columns):
            self._input = DenseFeatures(feature_columns, name="input_layer")
        else:  # of such are shared embeddings
            self._input = InputLayer(feature_columns, name="input_layer", create_scope_now=False)
        self._steps: tuple[tuple[str, Any, Any, Any], ...] = ()
        for number, size in enumerate(hidden_units):
            with tf.variable_scope(f"hiddenlayer_{number}") as scope:
                dense = self._dense(scope, size, activation_fn)
                dropped = norm = None
                if dropout is not None:
                    dropped = Dropout(rate=dropout)
                if batch_norm:
                    name = f"batchnorm_{number}"
                    norm = BatchNormalization(momentum=0.999, name=name, _scope=name)
                self._add(scope.name, dense, dropped, norm)
        with tf.variable_scope("logits") as scope:
            self._add(scope.name, self._dense(scope, units, None), None, None)

    @staticmethod
    def _dense(scope: Any, units: int, activation: Any) -> Dense:
        return Dense(
            units, activation=activation, kernel_initializer=tf.glorot_uniform_initializer(),
            name=scope, _scope=scope,
        )  # fmt: skip

    def _add(self, scope_name: str, *layers: Any) -> None:
        self._steps = (*self._steps, (scope_name, *layers))
        for layer in layers:
            if layer is not None:
                setattr(self, layer.name, layer)

    def call(self, features: Any, mode: Any) -> Tensor:
        """Return the logits."""
        training = mode == ModeKeys.TRAIN
        # Names of operations are those of the scope around the model.
        around = tf.get_default_graph().get_name_scope().rsplit("/", 1)[0]
        with tf.name_scope(f"{around}/"):
            with tf.variable_scope("input_from_feature_columns", partitioner=self._partitioner):
                net = self._input(features)
            for scope_name, dense, dropped, norm in self._steps:
                net = dense(net)
                if dropped is not None and training:
                    net = dropped(net, training=True)
                if norm is not None:
                    net = norm(net, training=training)
                add_summaries(net, scope_name)
        return net
