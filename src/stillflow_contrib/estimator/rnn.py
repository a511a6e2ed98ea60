"""Estimators of recurrent networks over columns of sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.classification_heads import classification_head
from stillflow.estimator.canned.optimizers import get_optimizer_instance
from stillflow.estimator.canned.partitions import (
    by_servers,
    by_servers_if_large,
    check_features,
)
from stillflow.estimator.estimator import Estimator
from stillflow.feature_column.input_layer import input_layer
from stillflow.feature_column.sequence_input_layer import concatenate_context_input
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.layers.core import dense
from stillflow.losses.reduction import Reduction
from stillflow.ops.summary.numbers import histogram
from stillflow.train.global_step import get_global_step
from stillflow.train.optimizer import Optimizer
from stillflow_contrib.estimator.extenders import clip_gradients_by_norm

_LEARNING_RATE = 0.05
_CLIP_NORM = 5.0
# Stands for no type of cell, which is not the same as None.
USE_DEFAULT = object()


def _cell(units: int, cell_type: Any) -> Any:
    cells = tf.nn.rnn_cell
    known = {"basic_rnn": cells.BasicRNNCell, "lstm": cells.BasicLSTMCell, "gru": cells.GRUCell}
    made = known.get(cell_type, cell_type)
    if not made or not issubclass(made, cells.RNNCell):
        raise ValueError(f"Supported cell types are {list(known)}; got {made}")
    return made(num_units=units)


def _cell_function(rnn_cell_fn: Any, num_units: Any, cell_type: Any) -> Callable[[Any], Any]:
    """Return the creator of cells for a mode: the program's, or layers of cells of one type.

    Raises:
      ValueError: if both are given.
    """
    if rnn_cell_fn and (num_units or cell_type != USE_DEFAULT):
        raise ValueError("num_units and cell_type must not be specified when using rnn_cell_fn")
    if rnn_cell_fn:
        return rnn_cell_fn
    kind = "basic_rnn" if cell_type == USE_DEFAULT else cell_type

    def make(mode: Any) -> Any:
        cells = [_cell(units, kind) for units in num_units]
        return cells[0] if len(cells) == 1 else tf.nn.rnn_cell.MultiRNNCell(cells)

    return make


def _last_outputs(outputs: Any, lengths: Any) -> Tensor:
    """Return the last step of each sequence of outputs [batch, steps, n]."""
    with tf.name_scope("select_last_activations", values=[outputs, lengths]):
        shape = tf.shape(outputs)
        batch, steps, width = (shape[axis] for axis in range(3))
        last = tf.to_int64(tf.range(batch) * steps) + lengths - 1
        found = tf.gather(tf.reshape(outputs, [batch * steps, width]), last)
        found.set_shape([outputs.shape[axis] for axis in (0, 2)])
        return found


def _logits(
    features: Any, mode: Any, units: Any, cell_fn: Any, columns: Any, context_columns: Any,
    partitioner: Any,
) -> Tensor:  # fmt: skip
    if not isinstance(units, int):
        raise ValueError(f"output_units must be an int.  Given type: {type(units)}")
    scope = tf.variable_scope(
        "sequence_input_layer", values=tuple(features.values()), partitioner=partitioner
    )
    with scope:
        inputs, lengths = tf.contrib.feature_column.sequence_input_layer(
            features=features, feature_columns=columns
        )
        histogram("sequence_length", lengths)
        if context_columns:
            context = input_layer(features=features, feature_columns=context_columns)
            inputs = concatenate_context_input(context, inputs)
    outputs, _ = tf.nn.dynamic_rnn(
        cell=cell_fn(mode), inputs=inputs, sequence_length=lengths, dtype=tf.float32,
        time_major=False,
    )  # fmt: skip
    last = _last_outputs(outputs, lengths)
    with tf.variable_scope("logits", values=(last,)):
        logits = dense(
            last, units=units, activation=None,
            kernel_initializer=tf.glorot_uniform_initializer(),
        )  # fmt: skip
    # A mask that heads of sequences would need; it stands in the graph without them too.
    tf.sequence_mask(lengths)
    return logits


class _Recurrent(Estimator):
    """An estimator of a head over a recurrent network.

    Args:
      head: makes predictions of logits.
      given: the constructor's arguments.
    """

    def __init__(self, head: Any, given: dict[str, Any], cell_fn: Any) -> None:
        columns = tuple(given["sequence_feature_columns"] or ())
        context_columns = tuple(given["context_feature_columns"] or ())

        def model_fn(features: Any, labels: Any, mode: Any, config: Any) -> Any:
            check_features(features)
            optimizer = given["optimizer"]
            if not isinstance(optimizer, Optimizer):
                made = get_optimizer_instance(optimizer, learning_rate=_LEARNING_RATE)
                optimizer = clip_gradients_by_norm(made, _CLIP_NORM)
            scope = tf.variable_scope(
                "rnn", values=tuple(features.values()), partitioner=by_servers(config)
            )
            with scope:
                partitioner = given["input_layer_partitioner"] or by_servers_if_large(config)
                logits = _logits(
                    features, mode, head.logits_dimension, cell_fn, columns, context_columns,
                    partitioner,
                )  # fmt: skip
                return head.create_estimator_spec(
                    features=features, mode=mode, labels=labels, logits=logits,
                    train_op_fn=lambda loss: optimizer.minimize(
                        loss, global_step=get_global_step()
                    ),
                )  # fmt: skip

        super().__init__(model_fn=model_fn, model_dir=given["model_dir"], config=given["config"])


@export("contrib.estimator.RNNClassifier")
class RNNClassifier(_Recurrent):
    """Classifies sequences by the last output of a recurrent network.

    Args:
      sequence_feature_columns: columns of sequences, of which the steps' inputs are made.
      context_feature_columns: columns of whole examples, appended to every step.
      num_units: the sizes of the layers of cells.
      cell_type: "basic_rnn" (by default), "lstm", "gru", or a class of cells.
      rnn_cell_fn: instead of both: makes a cell for a mode.
      model_dir: of checkpoints and events.
      n_classes: how many there are.
      weight_column: the key of the feature that weights examples, or a numeric column.
      label_vocabulary: the words that labels are; None if they are numbers.
      optimizer: an optimizer, or the name of one, whose gradients are clipped then.
      loss_reduction: how the losses of a batch become one.
      input_layer_partitioner: cuts variables of columns; into 64 MiB or more by default.
      config: a `RunConfig`.

    Raises:
      ValueError: for both a function for cells and sizes or types, and for heads' errors.
    """

    def __init__(
        self,
        sequence_feature_columns: Any,
        context_feature_columns: Any = None,
        num_units: Any = None,
        cell_type: Any = USE_DEFAULT,
        rnn_cell_fn: Callable[[Any], Any] | None = None,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Adagrad",
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        input_layer_partitioner: Any = None,
        config: Any = None,
    ) -> None:
        given = dict(locals())
        cell_fn = _cell_function(rnn_cell_fn, num_units, cell_type)
        head = classification_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(head, given, cell_fn)


@export("contrib.estimator.RNNEstimator")
class RNNEstimator(_Recurrent):
    """A head over the last output of a recurrent network.

    Args:
      head: a head of `tf.contrib.estimator` or `tf.estimator`.
      return_sequences: whether all outputs go to the head, which has to be one of sequences.
      sequence_feature_columns, context_feature_columns, ...: as of `RNNClassifier`.

    Raises:
      ValueError: for both a function for cells and sizes or types; for sequences, since no head of
        the public API takes them.
    """

    def __init__(
        self,
        head: Any,
        sequence_feature_columns: Any,
        context_feature_columns: Any = None,
        num_units: Any = None,
        cell_type: Any = USE_DEFAULT,
        rnn_cell_fn: Callable[[Any], Any] | None = None,
        return_sequences: bool = False,
        model_dir: str | None = None,
        optimizer: Any = "Adagrad",
        input_layer_partitioner: Any = None,
        config: Any = None,
    ) -> None:
        given = dict(locals())
        cell_fn = _cell_function(rnn_cell_fn, num_units, cell_type)
        if return_sequences:
            raise ValueError(
                "Provided head must be a `_SequentialHead` object when `return_sequences` is set "
                "to True."
            )
        super().__init__(head, given, cell_fn)
