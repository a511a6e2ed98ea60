"""`tf.contrib.learn.DynamicRnnEstimator`: recurrent networks over columns of sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.contrib.layers.optimization import OPTIMIZER_SUMMARIES, optimize_loss
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.train.momentum import MomentumOptimizer
from stillflow_contrib.learn.canned import recurrent_parts
from stillflow_contrib.learn.canned.recurrent_parts import (
    PredictionType,
    RNNKeys,
    mask_activations_and_labels,
    prediction_name,
    select_last_activations,
)
from stillflow_contrib.learn.estimator import Estimator
from stillflow_contrib.learn.keys import PredictionKey, ProblemType
from stillflow_contrib.learn.mode_keys import ModeKeys
from stillflow_contrib.learn.model_fn_ops import ModelFnOps
from stillflow_contrib.learn.targets import multi_class_target, regression_target


def state_name(place: int) -> str:
    """Return the name of a part of the state."""
    return f"{RNNKeys.STATE_PREFIX}_{place}"


def state_tuple_to_dict(state: Any) -> dict[str, Any]:
    """{name: tensor} of the parts of a state."""
    with tf.name_scope("state_tuple_to_dict"):
        return {
            state_name(place): None if part is None else tf.identity(part, name=state_name(place))
            for place, part in enumerate(nest.flatten(state))
        }


def dict_to_state_tuple(input_dict: dict[str, Any], cell: Any) -> Any:
    """Return the state of a cell from its parts among features; None if there is none of them.

    Raises:
      ValueError: if some are missing.
    """
    sizes = nest.flatten(cell.state_size)
    parts = []
    with tf.name_scope("dict_to_state_tuple"):
        for place, size in enumerate(sizes):
            part = input_dict.get(state_name(place))
            if part is None:
                continue
            checks = [
                tf.assert_rank(part, 2, name=f"check_state_{place}_rank"),
                tf.assert_equal(tf.shape(part)[1], size, name=f"check_state_{place}_shape"),
            ]
            with tf.control_dependencies(checks):
                parts.append(tf.identity(part, name=state_name(place)))
        if not parts:
            return None
        if len(parts) != len(sizes):
            raise ValueError(
                f"RNN state was partially specified.Expected zero or {len(sizes)} state Tensors; "
                f"got {len(parts)}"
            )
        return nest.pack_sequence_as(cell.zero_state(batch_size=1, dtype=tf.bool), parts)


def _with_context(sequences: Any, context: Any) -> Tensor:
    """Sequences [batch, steps, n] with the context [batch, m] added to each step."""
    checks = []
    for tensor, rank, name in ((sequences, 3, "sequence_input"), (context, 2, "context_input")):
        checks.append(
            tf.assert_rank(
                tensor, rank, message=f"{name} must have rank {rank}", data=[tf.shape(tensor)]
            )
        )
        message = f"{name} must have dtype float32; got {tensor.dtype}."
        checks.append(tf.assert_type(tensor, tf.float32, message=message))
    with tf.control_dependencies(checks):
        steps = tf.shape(sequences)[1]
        repeated = tf.tile(tf.expand_dims(context, 1), tf.concat([[1], [steps], [1]], 0))
    return tf.concat([sequences, repeated], 2)


def build_sequence_input(
    features: dict[str, Any], sequence_feature_columns: Any, context_feature_columns: Any,
    weight_collections: Any = None, scope: Any = None,
) -> Tensor:  # fmt: skip
    """Return the input of a recurrent network.

    Args:
      features: tensors by name.
      sequence_feature_columns: columns of `tf.contrib.layers`, of what has steps.
      context_feature_columns: features that are constant over all steps, or None.
      weight_collections: where variables are listed.
      scope: of variables.

    Returns:
      float [batch, steps, n].
    """
    layers = tf.contrib.layers
    columns = list(sequence_feature_columns) + list(context_feature_columns or [])
    tensors = {**features, **layers.transform_features(dict(features), columns)}
    given = {"weight_collections": weight_collections, "scope": scope}
    sequences = layers.sequence_input_from_feature_columns(
        columns_to_tensors=tensors, feature_columns=sequence_feature_columns, **given
    )
    if context_feature_columns is None:
        return sequences
    context = layers.input_from_feature_columns(
        columns_to_tensors=tensors, feature_columns=context_feature_columns, **given
    )
    return _with_context(sequences, context)


def construct_rnn(
    initial_state: Any, sequence_input: Any, cell: Any, num_label_columns: int,
    dtype: Any = None, parallel_iterations: int | None = 32, swap_memory: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """Return a recurrent network and a dense layer over each step.

    Returns:
      Logits [batch, steps, num_label_columns], and the last state.
    """
    with tf.name_scope("RNN"):
        outputs, state = tf.nn.dynamic_rnn(
            cell=cell, inputs=sequence_input, initial_state=initial_state,
            dtype=dtype or tf.float32, parallel_iterations=parallel_iterations,
            swap_memory=swap_memory, time_major=False,
        )  # fmt: skip
        logits = tf.contrib.layers.fully_connected(
            inputs=outputs, num_outputs=num_label_columns, activation_fn=None, trainable=True
        )
        return logits, state


def _single_value_predictions(
    logits: Any, lengths: Any, target_column: Any, problem_type: int, probabilities: bool
) -> dict[str, Any]:
    """Return the predictions of sequences, by their last steps."""
    with tf.name_scope("SingleValuePrediction"):
        last = select_last_activations(logits, lengths)
        name = prediction_name(problem_type)
        if not probabilities:
            return {name: target_column.logits_to_predictions(last, proba=False)}
        likely = target_column.logits_to_predictions(last, proba=True)
        return {PredictionKey.PROBABILITIES: likely, name: tf.argmax(likely, 1)}


def _loss(
    several: bool, logits: Any, labels: Any, lengths: Any, target_column: Any, features: Any
) -> Any:
    """Return the loss of all steps, or of the last ones: a scalar."""
    if several:
        with tf.name_scope("MultiValueLoss"):
            logits, labels = mask_activations_and_labels(logits, labels, lengths)
            return target_column.loss(logits, labels, features)
    with tf.name_scope("SingleValueLoss"):
        return target_column.loss(select_last_activations(logits, lengths), labels, features)


def output_alternatives(
    prediction_type: int, problem_type: int, prediction_dict: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the exported outputs: predictions of sequences, without the state."""
    if prediction_type == PredictionType.MULTIPLE_VALUE:
        return None
    if prediction_type == PredictionType.SINGLE_VALUE:
        outputs = {k: v for k, v in prediction_dict.items() if RNNKeys.STATE_PREFIX not in k}
        return {"dynamic_rnn_output": (problem_type, outputs)}
    raise ValueError(f"Unrecognized prediction_type: {prediction_type}")


def dynamic_rnn_model_fn(
    cell_type: Any, num_units: Any, target_column: Any, problem_type: int, prediction_type: int,
    optimizer: Any, sequence_feature_columns: Any, context_feature_columns: Any = None,
    predict_probabilities: bool = False, learning_rate: Any = None,
    gradient_clipping_norm: float | None = None, dropout_keep_probabilities: Any = None,
    sequence_length_key: str = RNNKeys.SEQUENCE_LENGTH_KEY, dtype: Any = None,
    parallel_iterations: int | None = None, swap_memory: bool = True,
    name: str = "DynamicRNNModel",
) -> Callable[..., ModelFnOps]:  # fmt: skip
    """Return the model function of a `DynamicRnnEstimator`, whose arguments most of these are.

    Raises:
      ValueError: for types that there are not, or probabilities of numbers.
    """
    if problem_type not in (ProblemType.CLASSIFICATION, ProblemType.LINEAR_REGRESSION):
        raise ValueError(
            "problem_type must be ProblemType.LINEAR_REGRESSION or ProblemType.CLASSIFICATION; "
            f"got {problem_type}"
        )
    if prediction_type not in (PredictionType.SINGLE_VALUE, PredictionType.MULTIPLE_VALUE):
        raise ValueError(
            "prediction_type must be PredictionType.MULTIPLE_VALUEs or "
            f"PredictionType.SINGLE_VALUE; got {prediction_type}"
        )
    if problem_type != ProblemType.CLASSIFICATION and predict_probabilities:
        raise ValueError(
            "predict_probabilities can only be set to True for problem_type "
            f"ProblemType.CLASSIFICATION; got {problem_type}."
        )
    several = prediction_type == PredictionType.MULTIPLE_VALUE

    def model_fn(features: Any, labels: Any, mode: str) -> ModelFnOps:
        loss = metrics = train_op = None
        with tf.name_scope(name):
            lengths = features.get(sequence_length_key)
            inputs = build_sequence_input(
                features, sequence_feature_columns, context_feature_columns
            )
            dropout = dropout_keep_probabilities if mode == ModeKeys.TRAIN else None
            cell = recurrent_parts.construct_rnn_cell(num_units, cell_type, dropout)
            logits, state = construct_rnn(
                dict_to_state_tuple(features, cell), inputs, cell,
                target_column.num_label_columns, dtype, parallel_iterations, swap_memory,
            )  # fmt: skip
            predict = _several_predictions if several else _single_value_predictions
            predictions = predict(
                logits, lengths, target_column, problem_type, predict_probabilities
            )
            if mode != ModeKeys.INFER:
                loss = _loss(several, logits, labels, lengths, target_column, features)
            predictions.update(state_tuple_to_dict(state))
            if mode != ModeKeys.INFER:
                metrics = recurrent_parts.get_eval_metric_ops(
                    problem_type, prediction_type, lengths, predictions, labels
                )
            if mode == ModeKeys.TRAIN:
                train_op = optimize_loss(
                    loss=loss, global_step=None, learning_rate=learning_rate, optimizer=optimizer,
                    clip_gradients=gradient_clipping_norm, summaries=OPTIMIZER_SUMMARIES,
                )  # fmt: skip
        return ModelFnOps(
            mode=mode, predictions=predictions, loss=loss, train_op=train_op,
            eval_metric_ops=metrics,
            output_alternatives=output_alternatives(prediction_type, problem_type, predictions),
        )  # fmt: skip

    return model_fn


def _several_predictions(
    logits: Any, lengths: Any, target_column: Any, problem_type: int, probabilities: bool
) -> dict[str, Any]:
    return recurrent_parts.multi_value_predictions(
        logits, target_column, problem_type, probabilities
    )


def _target(problem_type: int, num_classes: int | None) -> tuple[str, Any]:
    """Return the name of the prediction, and its target column."""
    if problem_type == ProblemType.LINEAR_REGRESSION:
        return "Regressor", regression_target()
    if problem_type == ProblemType.CLASSIFICATION:
        if not num_classes:
            raise ValueError("For CLASSIFICATION problem_type, num_classes must be specified.")
        return "Classifier", multi_class_target(n_classes=num_classes)
    raise ValueError(
        "problem_type must be either ProblemType.LINEAR_REGRESSION or "
        f"ProblemType.CLASSIFICATION; got {problem_type}"
    )


@export("contrib.learn.DynamicRnnEstimator")
class DynamicRnnEstimator(Estimator):
    """A recurrent network that predicts something of sequences or of each of their steps.

    Features may hold "sequence_length" [batch], and an initial state as "rnn_cell_state_0" and so
    on; predictions hold the last state under these names.

    Args:
      problem_type: `ProblemType.CLASSIFICATION` or `ProblemType.LINEAR_REGRESSION`.
      prediction_type: 1 to predict something of each sequence, 2 of each of its steps.
      sequence_feature_columns: columns of `tf.contrib.layers`, of what has steps.
      context_feature_columns: features that are constant over all steps, or None.
      num_classes: how many classes there are.
      num_units: the widths of layers.
      cell_type: "basic_rnn", "lstm", "gru", or a subclass of `RNNCell`.
      optimizer: as of `tf.contrib.layers.optimize_loss`.
      learning_rate: its rate, unless `optimizer` is an object.
      predict_probabilities: whether to predict probabilities of classes too.
      momentum: for the optimizer "Momentum".
      gradient_clipping_norm: the largest norm of gradients, or None.
      dropout_keep_probabilities: of the inputs of each layer, and of the last outputs; or None.
      model_dir: the folder of checkpoints and event files.
      feature_engineering_fn: changes features and labels before the model sees them.
      config: a `RunConfig` of `tf.contrib.learn`.

    Raises:
      ValueError: for types that there are not, or classes without their number.
    """

    def __init__(
        self,
        problem_type: int,
        prediction_type: int,
        sequence_feature_columns: Any,
        context_feature_columns: Any = None,
        num_classes: int | None = None,
        num_units: Any = None,
        cell_type: Any = "basic_rnn",
        optimizer: Any = "SGD",
        learning_rate: Any = 0.1,
        predict_probabilities: bool = False,
        momentum: float | None = None,
        gradient_clipping_norm: float | None = 5.0,
        dropout_keep_probabilities: Any = None,
        model_dir: str | None = None,
        feature_engineering_fn: Any = None,
        config: Any = None,
    ) -> None:
        kinds = {
            PredictionType.MULTIPLE_VALUE: "MultiValueDynamicRNN",
            PredictionType.SINGLE_VALUE: "SingleValueDynamicRNN",
        }
        if prediction_type not in kinds:
            raise ValueError(
                "prediction_type must be one of PredictionType.MULTIPLE_VALUE or "
                f"PredictionType.SINGLE_VALUE; got {prediction_type}"
            )
        kind, target_column = _target(problem_type, num_classes)
        if isinstance(optimizer, str) and optimizer == "Momentum":
            optimizer = MomentumOptimizer(learning_rate, momentum)
        model_fn = dynamic_rnn_model_fn(
            cell_type, num_units, target_column, problem_type, prediction_type, optimizer,
            sequence_feature_columns, context_feature_columns, predict_probabilities,
            learning_rate, gradient_clipping_norm, dropout_keep_probabilities,
            name=kinds[prediction_type] + kind,
        )  # fmt: skip
        super().__init__(
            model_fn=model_fn, model_dir=model_dir, config=config,
            feature_engineering_fn=feature_engineering_fn,
        )  # fmt: skip
