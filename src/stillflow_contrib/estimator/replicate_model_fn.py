"""Model functions whose model is built once for each device, over parts of a batch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.spec import EstimatorSpec
from stillflow.graph.api import get_collection
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.losses.reduction import Reduction
from stillflow.platform import tf_logging
from stillflow.platform.config import list_local_devices
from stillflow.saved_model.export_outputs import (
    ClassificationOutput,
    PredictOutput,
    RegressionOutput,
)
from stillflow.util.function_utils import fn_args
from stillflow_contrib.estimator.tower_optimizer import (
    TowerOptimizer,
    scaled_loss,
    sum_on_device,
    towers_moved,
)

if TYPE_CHECKING:
    from stillflow.saved_model.export_outputs import ExportOutput


_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")


@export("contrib.estimator.replicate_model_fn")
@towers_moved
def replicate_model_fn(
    model_fn: Callable[..., Any],
    loss_reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    devices: Sequence[str] | None = None,
) -> Callable[..., Any]:
    """Return a model function with a tower on each device, for a part of the batch.

    Args:
      model_fn: the other; its optimizers are `TowerOptimizer`s.
      loss_reduction: how it makes one loss of a batch: sums are added, means averaged.
      devices: names; all GPUs by default, or the CPU where there are none.

    Returns:
      a function (features, labels, mode, params, config) -> EstimatorSpec.

    Raises:
      ValueError: if losses are not reduced; when it is called, if a batch is not divisible, or
        towers do not call the same optimizers.
    """
    if loss_reduction == Reduction.NONE:
        raise ValueError(
            "Tower losses need to be reduced in some way, yet "
            f"{loss_reduction} reduction is specified."
        )
    names = list(devices or _local_devices("GPU") or _local_devices("CPU"))
    single_gpu = len(names) == 1 and "GPU" in names[0].upper()
    together = names[0] if single_gpu else "/CPU:0"
    tf_logging.info(
        f"Replicating the `model_fn` across {names}.  Variables are going to be placed on "
        f"{[together]}.  Consolidation device is going to be {together}."
    )

    def one_tower(
        features: Any, labels: Any, mode: Any, params: Any = None, config: Any = None
    ) -> EstimatorSpec:
        given = ([features], [labels], mode, params, config)
        return _towers(model_fn, loss_reduction, names, together, *given)[0]

    def towers(
        features: Any, labels: Any, mode: Any, params: Any = None, config: Any = None
    ) -> Any:
        parts = _split_batch(features, labels, len(names), together)
        specs = _towers(model_fn, loss_reduction, names, together, *parts, mode, params, config)
        if mode == ModeKeys.TRAIN:
            return _trained(specs, together)
        if mode == ModeKeys.EVAL:
            return _evaluated(specs, together)
        return _predicted(specs, together) if mode == ModeKeys.PREDICT else None

    return one_tower if len(names) == 1 else towers


def _local_devices(kind: str) -> list[str]:
    return [device.name for device in list_local_devices() if device.device_type == kind]


def _split_batch(features: Any, labels: Any, count: int, device: str) -> tuple[Any, Any]:
    """Features and labels of each tower."""

    def split(tensor: Any) -> list[Tensor | SparseTensor]:
        if isinstance(tensor, tf.SparseTensor):
            return tf.sparse_split(sp_input=tensor, num_split=count, axis=0)
        size = tf.convert_to_tensor(tensor).get_shape()[0]
        if size % count != 0:
            raise ValueError(
                f"Batch size {size} needs to be divisible by the number of GPUs, which is {count}."
            )
        return tf.split(tensor, count)

    def parts(given: Any) -> Any:
        if not isinstance(given, dict):
            return split(given)
        found: list[dict[str, Any]] = [{} for _ in range(count)]
        for name, tensor in given.items():
            for each, part in zip(found, split(tensor), strict=True):
                each[name] = part
        return found

    with tf.name_scope("split_inputs"), tf.device(device):
        return parts(features), None if labels is None else parts(labels)


def _places(worker: str, variables: str) -> Callable[[Any], str]:
    """Return the device function: variables to one device, all others to the tower's."""

    def choose(op: Any) -> str:
        default = variables if op.type in _VARIABLES else worker
        spec = tf.DeviceSpec.from_string(default or "")
        spec.merge_from(tf.DeviceSpec.from_string(op.device or ""))
        return str(spec.to_string())

    return choose


def _towers(
    model_fn: Callable[..., Any], loss_reduction: str, devices: list[str], variables: str,
    features: Any, labels: Any, mode: Any, params: Any, config: Any,
) -> list[Any]:  # fmt: skip
    """Return the model function's results in each tower, with its share of the loss."""
    known = fn_args(model_fn)
    optional = {
        name: copy.deepcopy(value)
        for name, value in (("params", params), ("config", config))
        if name in known
    }
    state = TowerOptimizer._graph_state()
    state.loss_reduction, state.count = loss_reduction, len(devices)
    specs = []
    for i, device in enumerate(devices):
        with (
            tf.variable_scope("", reuse=i > 0) as var_scope,
            tf.name_scope(f"tower_{i}" if i else "") as name_scope,
            TowerOptimizer._graph_state().tower(i, var_scope, name_scope),
            tf.device(_places(device, variables)),
        ):
            own = labels[i] if labels else None
            spec = model_fn(mode=mode, features=features[i], labels=own, **optional)
            if spec.train_op is not None and len(devices) > 1 and not state.optimizer_used:
                raise ValueError(
                    "Please wrap optimizers with TowerOptimizer in order to use "
                    "replicate_model_fn with multiple `devices`."
                )
            if spec.loss is not None:
                loss = scaled_loss(spec.loss, loss_reduction, len(devices))
                spec = _changed(spec, loss=loss)
            specs.append(spec)
    if not state.have_same_calls:
        raise ValueError(
            "Each invocation of model_fn was supposed to make the same optimizer calls."
        )
    TowerOptimizer._clear_graph_state()
    return specs


def _changed(spec: Any, **changes: Any) -> EstimatorSpec:
    kept = {name: getattr(spec, name) for name in spec._fields}
    return EstimatorSpec(**{**kept, **changes})


def _trained(specs: list[Any], device: str) -> EstimatorSpec:
    loss = sum_on_device([spec.loss for spec in specs], device, "loss")
    return _changed(specs[-1], mode=ModeKeys.TRAIN, loss=loss)


def _evaluated(specs: list[Any], device: str) -> EstimatorSpec:
    loss = sum_on_device([spec.loss for spec in specs], device, "loss")
    updates = [update for spec in specs for _, update in spec.eval_metric_ops.values()]
    with tf.control_dependencies(updates):
        update = _reduced_metrics(len(specs))
    metrics = {name: (value, update) for name, (value, _) in specs[0].eval_metric_ops.items()}
    return _changed(specs[0], mode=ModeKeys.EVAL, loss=loss, eval_metric_ops=metrics)


def _reduced_metrics(towers: int) -> Operation:
    """Add the other towers' measurements to the first one, and set theirs to zero."""
    variables = get_collection(GraphKeys.METRIC_VARIABLES)
    count = len(variables) // towers
    if len(variables) % towers != 0:
        raise ValueError(
            "Different `EstimatorSpec.eval_metric_ops` across `model_fn()` calls. Expected "
            f"{count * towers} local variables, but got {len(variables)} instead."
        )
    resets = []
    for i in range(count):
        others = variables[i + count :: count]
        added = tf.assign_add(variables[i], tf.add_n(others))
        with tf.control_dependencies([added]):
            for other in others:
                zeros = tf.zeros(tf.shape(other), dtype=other.dtype)
                resets.append(tf.assign(other, zeros))
    return tf.group(*resets)


def _predicted(specs: list[Any], device: str) -> EstimatorSpec:
    with tf.device(device):
        predictions = _joined([spec.predictions for spec in specs])
        outputs = {
            name: _joined_outputs(towers)
            for name, towers in _by_name([spec.export_outputs for spec in specs]).items()
        }
    return _changed(
        specs[0], mode=ModeKeys.PREDICT, predictions=predictions, export_outputs=outputs
    )


def _joined_outputs(towers: list[Any]) -> ExportOutput:
    """Return the exported outputs of all towers."""
    first = towers[0]
    if isinstance(first, PredictOutput):
        return PredictOutput(_joined([each.outputs for each in towers]))
    if isinstance(first, RegressionOutput):
        return RegressionOutput(tf.concat([each.value for each in towers], axis=0))
    assert isinstance(first, ClassificationOutput)
    scores = classes = None
    if first.scores is not None:
        scores = tf.concat([each.scores for each in towers], axis=0)
    if first.classes is not None:
        # One above the other, not one after the other: as TensorFlow has it.
        classes = tf.stack([each.classes for each in towers], axis=0)
    return ClassificationOutput(scores=scores, classes=classes)


def _by_name(dicts: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for each in dicts:
        for name, value in (each or {}).items():
            found.setdefault(name, []).append(value)
    return found


def _joined(dicts: list[Any]) -> dict[str, Any]:
    return {
        name: tf.concat(tensors, axis=0, name=name) for name, tensors in _by_name(dicts).items()
    }
