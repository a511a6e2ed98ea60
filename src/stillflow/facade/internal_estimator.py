"""Internal names of `tensorflow.python.estimator` that have an equivalent of our own."""

from __future__ import annotations

_TF, _OURS = "tensorflow.python.estimator.canned", "stillflow.estimator.canned"
_CLASSIFIERS = f"{_OURS}.classification_heads"
# Modules that define the public heads.
MODULES = {
    "tensorflow.python.estimator.head.base_head": "stillflow.estimator.head.base",
    **{
        f"tensorflow.python.estimator.head.{kind}_head": f"stillflow.estimator.head.{kind}_head"
        for kind in ("binary_class", "multi_class", "multi_label", "multi", "regression")
    },
}

OBJECTS: dict[str, dict[str, str]] = {
    "tensorflow.python.estimator.estimator": {
        "_load_global_step_from_checkpoint_dir": "stillflow.estimator.last_step:steps_made",
        "_verify_model_fn_args": "stillflow.estimator.checks:check_model_fn",
    },
    "tensorflow.python.estimator.model_fn": {
        "*": "stillflow.estimator.spec",
        "_TPUEstimatorSpec": "stillflow.contrib.tpu.estimator_spec:HeadTPUEstimatorSpec",
    },
    "tensorflow.python.estimator.run_config": {
        "TaskType": "stillflow.estimator.cluster_task:TaskType",
    },
    "tensorflow.python.estimator.util": {
        "fn_args": "stillflow.util.function_utils:fn_args",
        "parse_input_fn_result": "stillflow.estimator.input_results:features_and_labels",
        "parse_iterator_result": "stillflow.estimator.input_results:parts_of_element",
        "_DatasetInitializerHook": "stillflow.estimator.input_results:DatasetInitializerHook",
    },
    f"{_TF}.head": {
        "LossSpec": f"{_OURS}.head:LossSpec",
        "_Head": f"{_OURS}.head:Head",
        "_binary_logistic_head_with_sigmoid_cross_entropy_loss": (
            f"{_CLASSIFIERS}:BinaryLogisticHead"
        ),
        "_binary_logistic_or_multi_class_head": f"{_CLASSIFIERS}:classification_head",
        "_multi_class_head_with_softmax_cross_entropy_loss": f"{_CLASSIFIERS}:MultiClassHead",
        "_regression_head": f"{_OURS}.regression_head:RegressionHead",
    },
    f"{_TF}.metric_keys": {"MetricKeys": f"{_OURS}.keys:MetricKeys"},
    f"{_TF}.optimizers": {
        "get_optimizer_instance": f"{_OURS}.optimizers:get_optimizer_instance",
    },
    f"{_TF}.prediction_keys": {"PredictionKeys": f"{_OURS}.keys:PredictionKeys"},
}
