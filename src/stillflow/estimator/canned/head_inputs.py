"""Checks of heads' inputs: labels, weights, logits, and the result of a loss function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.feature_column.cache import FeatureTransformationCache
from stillflow.feature_column.numeric import NumericColumn, numeric_column
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from stillflow.losses.reduction import Reduction
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.shape import expand_dims, shape
from stillflow.ops.control_flow.identity_and_group import identity, no_op
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.debugging.comparisons import (
    assert_equal,
    assert_greater,
    assert_less_equal,
    assert_non_negative,
)
from stillflow.ops.debugging.ranks import assert_rank_at_least
from stillflow.ops.math.cast import to_float
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.reductions import reduce_all, reduce_any
from stillflow.util.function_utils import fn_args

_LOGITS_SHAPE = "logits shape must be [D0, D1, ... DN, logits_dimension]"


def check_labels_given(labels: Any, contain: str = "contain") -> None:
    """Raise ValueError for missing labels; `contain` is the verb, of which there are two forms."""
    if labels is None:
        raise ValueError(
            "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: "
            f"Check that your data {contain} your label feature. Check that your input_fn properly "
            "parses and returns labels."
        )


def dense_labels(labels: Any, logits: Any, dimension: int) -> Tensor:
    """Labels in the shape of the logits, except for the last dimension.

    Labels are [D0, ..., DN, dimension], or without the last dimension, logits [D0, ..., DN,
    logits_dimension]. Shapes are checked when the labels are computed; ValueError if they are
    missing, sparse, or their static shape does not suit.
    """
    check_labels_given(labels)
    with name_scope(None, "labels", (labels, logits)) as scope:
        labels = with_last_dimension(labels, logits, dimension)
        labels_shape, logits_shape = shape(labels), shape(logits)
        message = _labels_shape_message(dimension, "estimator")
        with control_dependencies([assert_rank_at_least(labels, 2, message=message)]):
            check_last_dimension(labels, dimension)
            expected = concat([logits_shape[:-1], [dimension]], axis=0)
            return _of_shape(labels, expected, labels_shape, message, scope)


def labels_of_head(labels: Any, logits: Any, dimension: int) -> Tensor:
    """Return `dense_labels` in the public heads' order of operations."""
    check_labels_given(labels, "contains")
    with name_scope(None, "labels", (labels, logits)) as scope:
        labels = with_last_dimension(labels, logits, dimension)
        message = _labels_shape_message(dimension, "head")
        with control_dependencies([assert_rank_at_least(labels, 2, message=message)]):
            check_last_dimension(labels, dimension)
            expected = concat([shape(logits)[:-1], [dimension]], axis=0)
            return _of_shape(labels, expected, shape(labels), message, scope)


def _labels_shape_message(dimension: int, owner: str) -> str:
    return (
        f"labels shape must be [D0, D1, ... DN, {dimension}]. Suggested Fix: check your n_classes "
        f"argument to the {owner} and/or the shape of your label."
    )


def with_last_dimension(labels: Any, logits: Any, dimension: int) -> Tensor:
    """Return dense labels, with a last dimension of 1 if their rank is below the logits'."""
    labels = convert_to_tensor_or_sparse_tensor(labels)
    if isinstance(labels, SparseTensor):
        raise ValueError(
            "SparseTensor labels are not supported. labels must be a Tensor of shape [D0, D1, ..., "
            f"DN, {dimension}], e.g. [batch_size, {dimension}]. Suggested Fix (1): Check the label "
            f"feature in your data. Each example must contain {dimension} value(s). If not, your "
            "choice of label was probably incorrect. Suggested Fix (2): In your input_fn, use "
            "tf.sparse_tensor_to_dense() to turn labels into a Tensor."
        )
    if _one_less(labels, logits):
        return expand_dims(labels, -1)
    return labels


def check_last_dimension(labels: Any, dimension: int) -> None:
    """Raise ValueError for labels whose last dimension is known to differ."""
    found = None if labels.shape.ndims is None else labels.shape.as_list()[-1]
    if found not in (None, dimension):
        raise ValueError(
            f"Mismatched label shape. Expected labels dimension={dimension}.  Received {found}. "
            "Suggested Fix:If your classifier expects one-hot encoding label,check your n_classes "
            "argument to the estimator and/or the shape of your label. Otherwise, check the shape "
            "of your label."
        )


def _of_shape(labels: Any, expected: Any, labels_shape: Any, message: str, scope: str) -> Tensor:
    shown = ["expected_labels_shape: ", expected, "labels_shape: ", labels_shape]
    with control_dependencies([assert_equal(expected, labels_shape, message=message, data=shown)]):
        return identity(labels, name=scope)


def _one_less(tensor: Any, logits: Any) -> bool:
    ranks = (tensor.shape.ndims, logits.shape.ndims)
    return None not in ranks and ranks[0] == ranks[1] - 1


def labels_in_range(
    labels: Any, n_classes: Any, message: str | None = None, scope: str = "assert_range",
    must: str = "Labels must",
) -> Tensor:  # fmt: skip
    """Return the labels, which must lie in [0, n_classes) when they are computed.

    Without a `message` those of the errors begin with `must`.
    """
    with name_scope(None, scope, (labels,)):
        most = convert_to_tensor(n_classes - 1, dtype=labels.dtype)
        low_enough = assert_less_equal(labels, most, message=message or f"{must} <= n_classes - 1")
        not_negative = assert_non_negative(labels, message=message or f"{must} >= 0")
        with control_dependencies((low_enough, not_negative)):
            return identity(labels)


def example_weights(
    features: dict[str, Any], weight_column: Any, logits: Any, per_logit: bool = False
) -> Tensor | float:
    """Return the weights of examples: 1.0 without a column, else [D0, ..., DN, 1], float32.

    `weight_column` is a name of `features` or a numeric column; logits are [D0, ..., DN,
    logits_dimension]. `per_logit` allows a weight for each logit. TypeError for other columns,
    ValueError if the weights are no numbers.
    """
    with name_scope(None, "weights", (*features.values(), logits)) as scope:
        if weight_column is None:
            return 1.0
        weights = to_float(_raw_weights(features, weight_column), name="weights")
        weights_shape = shape(weights, name="weights_shape")
        logits_shape = shape(logits, name="logits_shape")
        shown = ["logits_shape: ", logits_shape, "weights_shape: ", weights_shape]
        message = "weights shape must be [D0, D1, ... DN] or [D0, D1, ... DN, 1]"
        if per_logit:
            message = (
                "weights shape must be [D0, D1, ... DN], [D0, D1, ... DN, 1] or [D0, D1, ... DN, "
                "logits_dimension]"
            )
        if _one_less(weights, logits):
            suits = assert_equal(logits_shape[:-1], weights_shape, message=message, data=shown)
            with control_dependencies([suits]):
                return expand_dims(weights, -1, name=scope)
        one_each = concat([logits_shape[:-1], [1]], axis=0)
        if per_logit:
            allowed = [logits_shape, one_each]
            found = reduce_any([reduce_all(equal(each, weights_shape)) for each in allowed])
            suits = Assert(found, data=[message, *shown])
        else:
            suits = assert_equal(one_each, weights_shape, message=message, data=shown)
        with control_dependencies([suits]):
            return identity(weights, name=scope)


def _raw_weights(features: dict[str, Any], weight_column: Any) -> Tensor:
    if isinstance(weight_column, str):
        weight_column = numeric_column(weight_column, shape=(1,))
    if not isinstance(weight_column, NumericColumn):
        raise TypeError(
            "Weight column must be either a string or _NumericColumn. Given type: "
            f"{type(weight_column)}."
        )
    return weight_column.get_dense_tensor(FeatureTransformationCache(features), None)


def checked_logits(logits: Any, dimension: Any) -> Tensor:
    """Return the logits as float32, whose last dimension must be the given one."""
    with name_scope(None, "logits", (logits,)) as scope:
        logits = to_float(logits)
        shown = [shape(logits)]
        is_matrix = assert_rank_at_least(logits, 2, data=shown, message=_LOGITS_SHAPE)
        with control_dependencies([is_matrix]):
            static = logits.shape
            last = None if static.ndims is None else static[-1]
            if last is None:
                suits = assert_equal(dimension, shown[0][-1], data=shown, message=_LOGITS_SHAPE)
                with control_dependencies([suits]):
                    return identity(logits, name=scope)
        # A dimension that nobody knows suits, unless shapes are of version 2.
        if isinstance(dimension, int) and last != dimension:
            raise ValueError(f"{_LOGITS_SHAPE}, got {static}.")
        return logits


def called_loss_fn(
    loss_fn: Callable[..., Any], labels: Any, logits: Any, features: Any, dimension: int = 1
) -> Tensor:
    """Return the result of the program's loss function: [D0, ..., DN, dimension], not reduced."""
    offered = {"features": features} if "features" in fn_args(loss_fn) else {}
    with name_scope(None, "call_loss_fn", [labels, logits, *features.values()]):
        loss = loss_fn(labels=labels, logits=logits, **offered)
        of_logits = shape(logits, name="logits_shape")
        wanted = concat([of_logits[:-1], [dimension]], 0, name="expected_loss_shape")
        of_loss = shape(loss, name="loss_shape")
        text = f"loss_fn must return Tensor of shape [D0, D1, ... DN, {dimension}]. "
        shown = [text, "logits_shape: ", of_logits, "loss_shape: ", of_loss]
        is_same = reduce_all(equal(of_loss, wanted))
        with control_dependencies([Assert(is_same, shown, name="check_loss_shape")]):
            return identity(loss)


def check_loss_fn(loss_fn: Any, *more: str) -> None:
    """Check a loss function's arguments: labels, logits, features and `more`."""
    if not loss_fn:
        return
    names = fn_args(loss_fn)
    for name in ("labels", "logits"):
        if name not in names:
            raise ValueError(f"loss_fn must contain argument: {name}. Given arguments: {names}")
    others = list(set(names) - {"labels", "logits", "features", *more})
    if others:
        raise ValueError(f"loss_fn has unexpected args: {others}")


def check_reduction(reduction: Any) -> None:
    """Raise ValueError for a reduction that does not give a scalar."""
    if reduction not in Reduction.all() or reduction == Reduction.NONE:
        raise ValueError(f"Invalid loss_reduction: {reduction}")


def checked_class_count(n_classes: Any) -> int:
    """Return the number of classes of a head for more than two; ValueError for any other."""
    if n_classes is None:
        raise ValueError("n_classes cannot be None")
    if isinstance(n_classes, int) and n_classes <= 2:
        raise ValueError(f"n_classes must be > 2: {n_classes}.")
    greater = assert_greater(
        convert_to_tensor(n_classes), 2, message="n_classes must be greater than 2"
    )
    with control_dependencies([greater]):
        no_op()
    return n_classes


def checked_thresholds(thresholds: Any) -> tuple[float, ...]:
    """Return a head's thresholds as a tuple; ValueError if one is not between 0 and 1."""
    thresholds = tuple(thresholds or ())
    if any(threshold <= 0.0 or threshold >= 1.0 for threshold in thresholds):
        raise ValueError(f"thresholds not in (0, 1): {(thresholds,)}.")
    return thresholds


def check_vocabulary(vocabulary: Any, error: type[Exception], listed: str) -> None:
    """Raise `error` for a vocabulary that is no list; `listed` tells what it should be."""
    if vocabulary is not None and not isinstance(vocabulary, (list, tuple)):
        raise error(f"label_vocabulary should be {listed}. Given type: {type(vocabulary)}")
