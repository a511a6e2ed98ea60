"""Parts of recurrent estimators: cells, masks and predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow_contrib.learn.keys import PredictionKey, ProblemType

if TYPE_CHECKING:
    from stillflow.nn.rnn_cell.base import RNNCell
    from stillflow.nn.rnn_cell.simple import UnitsCell


class RNNKeys:
    """The names of features and predictions."""

    FINAL_STATE_KEY = "final_state"
    LABELS_KEY = "__labels__"
    SEQUENCE_LENGTH_KEY = "sequence_length"
    STATE_PREFIX = "rnn_cell_state"


class PredictionType:
    """Kinds of predictions: one of each sequence, or of each of its steps."""

    SINGLE_VALUE = 1
    MULTIPLE_VALUE = 2


def _cell(cell_type: Any, num_units: int) -> UnitsCell:
    cells = tf.contrib.rnn
    known = {"basic_rnn": cells.BasicRNNCell, "lstm": cells.LSTMCell, "gru": cells.GRUCell}
    made = known.get(cell_type, cell_type)
    if not made or not issubclass(made, cells.RNNCell):
        raise ValueError(f"The supported cell types are {list(known)}; got {made}")
    return made(num_units=num_units)


def construct_rnn_cell(
    num_units: Any, cell_type: Any = "basic_rnn", dropout_keep_probabilities: Any = None
) -> RNNCell:
    """Make a cell of one or more layers.

    Args:
      num_units: the widths of layers, or one width.
      cell_type: "basic_rnn", "lstm", "gru", or a subclass of `RNNCell`.
      dropout_keep_probabilities: of the inputs of each layer, and of the last outputs; or None.

    Raises:
      ValueError: for another type, or another number of probabilities.
    """
    widths = num_units if isinstance(num_units, (list, tuple)) else [num_units]
    layers = [_cell(cell_type, width) for width in widths]
    if dropout_keep_probabilities:
        layers = apply_dropout(layers, dropout_keep_probabilities)
    is_single = len(layers) == 1
    return layers[0] if is_single else tf.contrib.rnn.MultiRNNCell(layers)


def apply_dropout(
    cells: list[Any], dropout_keep_probabilities: Any, random_seed: int | None = None
) -> list[Any]:
    """Cells that drop some of their inputs; the last one some of its outputs too.

    Raises:
      ValueError: if there is not one probability more than cells.
    """
    if len(dropout_keep_probabilities) != len(cells) + 1:
        raise ValueError(
            "The number of dropout probabilities must be one greater than the number of cells. "
            f"Got {len(cells)} cells and {len(dropout_keep_probabilities)} dropout probabilities."
        )
    wrap = tf.contrib.rnn.DropoutWrapper
    *inner, of_last, of_outputs = dropout_keep_probabilities
    wrapped = [wrap(cell, keep, 1.0, seed=random_seed) for cell, keep in zip(cells, inner)]
    return [*wrapped, wrap(cells[-1], of_last, of_outputs)]


def get_eval_metric_ops(
    problem_type: int, prediction_type: int, sequence_length: Any,
    prediction_dict: dict[str, Any], labels: Any,
) -> dict[str, Any]:  # fmt: skip
    """{"accuracy": (value, update)} of classes; nothing of numbers."""
    if problem_type != ProblemType.CLASSIFICATION:
        return {}
    predictions = prediction_dict[PredictionKey.CLASSES]
    if prediction_type == PredictionType.MULTIPLE_VALUE:
        predictions, labels = mask_activations_and_labels(predictions, labels, sequence_length)
    accuracy = tf.contrib.metrics.streaming_accuracy(predictions=predictions, labels=labels)
    return {"accuracy": accuracy}


def select_last_activations(activations: Any, sequence_lengths: Any) -> Tensor:
    """Return the last step of each sequence of outputs [batch, steps, n].

    Args:
      activations: the outputs.
      sequence_lengths: [batch], or None if all sequences are full.
    """
    with tf.name_scope("select_last_activations", values=[activations, sequence_lengths]):
        shape = tf.shape(activations)
        batch, steps, width = shape[0], shape[1], shape[2]
        if sequence_lengths is None:
            sequence_lengths = steps
        rows = tf.reshape(activations, [-1, width])
        last = tf.gather(rows, tf.range(batch) * steps + sequence_lengths - 1)
        last.set_shape([activations.get_shape()[0], activations.get_shape()[2]])
        return last


def mask_activations_and_labels(
    activations: Any, labels: Any, sequence_lengths: Any
) -> tuple[Any, Any]:
    """Return outputs and labels of all steps inside their sequences, concatenated.

    Args:
      activations: [batch, steps, n].
      labels: [batch, steps].
      sequence_lengths: [batch], or None if all sequences are full.

    Returns:
      [count, n] and [count].
    """
    values = [activations, labels, sequence_lengths]
    with tf.name_scope("mask_activations_and_labels", values=values):
        shape = tf.shape(labels)
        batch, steps = shape[0], shape[1]
        if sequence_lengths is None:
            count = steps * batch
            return tf.reshape(activations, [count, -1]), tf.reshape(labels, [count])
        mask = tf.sequence_mask(sequence_lengths, steps)
        return tf.boolean_mask(activations, mask), tf.boolean_mask(labels, mask)


def prediction_name(problem_type: int) -> str:
    """Return the name of predictions."""
    if problem_type == ProblemType.CLASSIFICATION:
        return PredictionKey.CLASSES
    return PredictionKey.SCORES


def multi_value_predictions(
    activations: Any, target_column: Any, problem_type: int, predict_probabilities: bool
) -> dict[str, Any]:
    """Return the predictions of each step.

    Args:
      activations: logits [batch, steps, n].
      target_column: makes predictions of logits.
      problem_type: a `ProblemType`.
      predict_probabilities: whether to give probabilities too.

    Returns:
      {name: [batch, steps]}, and of probabilities [batch, steps, classes].
    """
    with tf.name_scope("MultiValuePrediction"):
        shape = tf.shape(activations)
        flat = tf.reshape(activations, [-1, shape[2]])
        predictions = {}
        if predict_probabilities:
            probabilities = target_column.logits_to_predictions(flat, proba=True)
            chosen = tf.argmax(probabilities, 1)
            if target_column.num_label_columns == 1:
                probabilities_shape = tf.concat([shape[:2], [2]], 0)
            else:
                probabilities_shape = shape
            key = PredictionKey.PROBABILITIES
            predictions[key] = tf.reshape(probabilities, probabilities_shape, name=key)
        else:
            chosen = target_column.logits_to_predictions(flat, proba=False)
        name = prediction_name(problem_type)
        predictions[name] = tf.reshape(chosen, [shape[0], shape[1]], name=name)
        return predictions
