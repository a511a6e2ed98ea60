"""`Estimator.export` of `tf.contrib.learn`: bundles, from before there were SavedModels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.platform import tf_logging as logging
from stillflow.train.checkpoint_management import latest_checkpoint
from stillflow.train.global_step import create_global_step, get_global_step
from stillflow.train.saver import Saver
from stillflow.util.deprecation import deprecated
from stillflow_contrib.session_bundle import exporter, gc

_SUCCEEDED = deprecated("2017-03-25", "Please use Estimator.export_savedmodel() instead.")
_UNNEEDED = deprecated(
    "2017-03-25",
    "signature_fns are deprecated. For canned Estimators they are no longer needed. For custom "
    "Estimators, please return output_alternatives from your model_fn via ModelFnOps.",
)
_Signatures = tuple[Any, dict[str, Any]]


def _check(examples: Any) -> None:
    if examples is None:
        raise ValueError("examples cannot be None when using this signature fn.")


def _part(predictions: Any, key: str) -> Tensor:
    return predictions[key] if isinstance(predictions, dict) else predictions


@_UNNEEDED
def generic_signature_fn(examples: Any, unused_features: Any, predictions: Any) -> _Signatures:
    """Return the signature of a model that gives predictions.

    Args:
      examples: the tensor of serialized `Example`s.
      unused_features: the features made of them.
      predictions: a tensor, or tensors by name.

    Returns:
      The signature, and {} for named ones.

    Raises:
      ValueError: without examples.
    """
    _check(examples)
    given = predictions if isinstance(predictions, dict) else {"outputs": predictions}
    return exporter.generic_signature({"inputs": examples, **given}), {}


@_UNNEEDED
def classification_signature_fn(
    examples: Any, unused_features: Any, predictions: Any
) -> _Signatures:
    """Return the signature of a model that gives classes; otherwise as `generic_signature_fn`."""
    _check(examples)
    classes = _part(predictions, "classes")
    return exporter.classification_signature(examples, classes_tensor=classes), {}


@_UNNEEDED
def classification_signature_fn_with_prob(
    examples: Any, unused_features: Any, predictions: Any
) -> _Signatures:
    """Return the signature of a model that gives probabilities.

    Otherwise as `generic_signature_fn`.
    """
    _check(examples)
    probabilities = _part(predictions, "probabilities")
    return exporter.classification_signature(examples, scores_tensor=probabilities), {}


@_UNNEEDED
def regression_signature_fn(examples: Any, unused_features: Any, predictions: Any) -> _Signatures:
    """Return the signature of a model that gives numbers; otherwise as `generic_signature_fn`."""
    _check(examples)
    signature = exporter.regression_signature(input_tensor=examples, output_tensor=predictions)
    return signature, {}


@_UNNEEDED
def logistic_regression_signature_fn(
    examples: Any, unused_features: Any, predictions: Any
) -> _Signatures:
    """Return the signature of a model that gives the probability of the second of two classes."""
    _check(examples)
    probabilities = _part(predictions, "probabilities")
    shape = probabilities.get_shape()
    if len(shape) != 2:
        logging.fatal(
            "Expected predictions to have rank 2, but received predictions with rank: %s and "
            "shape: %s", len(shape), shape,
        )  # fmt: skip
    if shape[1] != 2:
        logging.fatal(
            "Expected predictions to have 2nd dimension: 2, but received predictions with 2nd "
            "dimension: %s and shape: %s. Did you mean to use regression_signature_fn or "
            "classification_signature_fn_with_prob instead?", shape[1], shape,
        )  # fmt: skip
    signature = exporter.regression_signature(
        input_tensor=examples, output_tensor=probabilities[:, 1]
    )
    return signature, {}


@_SUCCEEDED
def parse_features(estimator: Any, examples: Any) -> Any:
    """Features as those that the estimator was trained with, parsed from examples."""
    return estimator._get_feature_ops_from_example(examples)


@deprecated("2016-09-23", "Please use Estimator.export_savedmodel() instead.")
def export_estimator(
    estimator: Any, export_dir: Any, signature_fn: Any = None, input_fn: Any = parse_features,
    default_batch_size: int | None = 1, exports_to_keep: int | None = None,
) -> None:  # fmt: skip
    """Export a model; the arguments are those of `Estimator.export`."""
    export_bundle(
        estimator, export_dir, signature_fn, input_fn, default_batch_size, exports_to_keep
    )


def _inputs(
    estimator: Any, input_fn: Any, batch_size: int | None, key: str | None, of_examples: bool
) -> tuple[Any, Any]:
    """Return the tensor of examples, or None, and the features."""
    if of_examples:
        examples = tf.placeholder(tf.string, shape=[batch_size], name="input_example_tensor")
        return examples, (input_fn or parse_features)(estimator, examples)
    features, _ = input_fn()
    return None if key is None else features.pop(key), features


def _signature_function(estimator: Any) -> Callable[..., _Signatures]:
    create = getattr(estimator, "_create_signature_fn", None)
    if create is not None:
        return create()
    logging.warn(
        "Change warning: `signature_fn` will be required after2016-08-01.\n"
        "Using generic signatures for now.  To maintain this behavior, pass:\n"
        "  signature_fn=export.generic_signature_fn\n"
        "Also consider passing a regression or classification signature; see cl/126430915 for an "
        "example."
    )
    return generic_signature_fn


@_SUCCEEDED
def export_bundle(
    estimator: Any,
    export_dir: Any,
    signature_fn: Any,
    input_fn: Any,
    default_batch_size: int | None,
    exports_to_keep: int | None,
    input_feature_key: str | None = None,
    use_deprecated_input_fn: bool = True,
    prediction_key: str | None = None,
    checkpoint_path: Any = None,
) -> bytes:
    """Export a model, as `Estimator.export` says."""
    if input_fn is None and not use_deprecated_input_fn:
        raise ValueError("input_fn must be defined.")
    checkpoint_path = checkpoint_path or latest_checkpoint(estimator.model_dir)
    with tf.Graph().as_default() as graph:
        create_global_step(graph)
        examples, features = _inputs(
            estimator, input_fn, default_batch_size, input_feature_key, use_deprecated_input_fn
        )
        if not features and examples is None:
            raise ValueError("Either features or examples must be defined.")
        predictions = estimator._get_predict_ops(features).predictions
        if prediction_key is not None:
            predictions = predictions[prediction_key]
        describe = signature_fn or _signature_function(estimator)
        signature, named = describe(examples, features, predictions)
        keep = None if exports_to_keep is None else gc.largest_export_versions(exports_to_keep)
        return _write(_saver(), checkpoint_path, export_dir, signature, named, keep)


def _saver() -> Any:
    """Return the first saver that the graph lists, or one of all variables."""
    listed = tf.get_collection(tf.GraphKeys.SAVERS)
    if listed:
        return listed[0]
    saver = Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    return saver


def _write(
    saver: Any, checkpoint_path: Any, export_dir: Any, signature: Any, named: Any, keep: Any
) -> bytes:
    with tf.Session("") as session:
        tf.local_variables_initializer()
        tf.tables_initializer()
        saver.restore(session, checkpoint_path)
        bundle = exporter.Exporter(saver)
        bundle.init(
            init_op=tf.group(tf.local_variables_initializer(), tf.tables_initializer()),
            default_graph_signature=signature,
            named_graph_signatures=named,
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
        )
        return bundle.export(export_dir, get_global_step(), session, exports_to_keep=keep)
