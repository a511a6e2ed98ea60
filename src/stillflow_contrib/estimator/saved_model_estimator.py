"""Estimators whose model a SavedModel holds, in as many modes as were exported."""

from __future__ import annotations

import os
from typing import Any

import stillflow as tf
from stillflow.estimator.estimator import Estimator
from stillflow.estimator.exporting import EXPORT_TAGS
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.receivers import named_tensors
from stillflow.estimator.spec import EstimatorSpec
from stillflow.estimator.warm_start import WarmStartSettings
from stillflow.graph.api import get_collection, get_collection_ref
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.platform import tf_logging as logging
from stillflow.saved_model import names
from stillflow.saved_model.reading import SavedModelLoader, get_init_op
from stillflow.train.checkpoint_utils import list_variables
from stillflow.train.global_step import assert_global_step, get_global_step
from stillflow.train.scaffold import Scaffold

_MODES = (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT)
_METHODS = {
    ModeKeys.TRAIN: names.SUPERVISED_TRAIN_METHOD_NAME,
    ModeKeys.EVAL: names.SUPERVISED_EVAL_METHOD_NAME,
}


@export("contrib.estimator.SavedModelEstimator")
class SavedModelEstimator(Estimator):
    """Estimator with the graphs of a SavedModel, which starts from its variables.

    Args:
      saved_model_dir: the result of `experimental_export_all_saved_models`.
      model_dir: of checkpoints and events.

    Raises:
      NotImplementedError: if the configuration of the environment distributes training.
      RuntimeError: when it is asked for a mode that was not exported.
    """

    def __init__(self, saved_model_dir: Any, model_dir: str | None = None) -> None:
        checkpoint = os.path.join(
            os.fsdecode(saved_model_dir), names.VARIABLES_DIRECTORY, names.VARIABLES_FILENAME
        )
        variables = [name for name, _ in list_variables(checkpoint)]
        settings = WarmStartSettings(
            ckpt_to_initialize_from=checkpoint, vars_to_warm_start=variables
        )
        super().__init__(
            model_fn=self._model_fn_from_saved_model, model_dir=model_dir, warm_start_from=settings
        )
        if self._config.train_distribute or self._config.eval_distribute:
            raise NotImplementedError(
                "SavedModelEstimator currently does not support DistributionStrategy."
            )
        self.saved_model_dir = saved_model_dir
        self.saved_model_loader = SavedModelLoader(saved_model_dir)
        self._available_modes = self._extract_available_modes()

    def _extract_available_modes(self) -> list[str]:
        logging.info("Checking available modes for SavedModelEstimator.")
        available = [mode for mode in _MODES if self._has_mode(mode)]
        logging.info(f"Available modes for Estimator: {available}")
        return available

    def _has_mode(self, mode: str) -> bool:
        try:
            self._get_meta_graph_def_for_mode(mode)
        except RuntimeError:
            logging.warning(f"{mode} mode not found in SavedModel.")
            return False
        return self._get_signature_def_for_mode(mode) is not None

    def _get_meta_graph_def_for_mode(self, mode: str) -> Any:
        return self.saved_model_loader.get_meta_graph_def_from_tags([EXPORT_TAGS[mode]])

    def _get_signature_def_for_mode(self, mode: str) -> Any:
        signatures = self._get_meta_graph_def_for_mode(mode).signature_def
        key = names.DEFAULT_SERVING_SIGNATURE_DEF_KEY if mode == ModeKeys.PREDICT else mode
        if key not in signatures:
            logging.warning(
                f"Metagraph for mode {mode} was found, but SignatureDef with key "
                f'"{key}" is missing.'
            )
            return None
        return signatures[key]

    def _create_and_assert_global_step(self, graph: Any) -> None:
        """Do nothing: the loaded graph has it."""

    def _model_fn_from_saved_model(self, features: Any, labels: Any, mode: str) -> EstimatorSpec:
        if mode not in self._available_modes:
            raise RuntimeError(
                f"{mode} mode is not available in the SavedModel. Use saved_model_cli to check "
                "that the Metagraph for this mode has been exported."
            )
        graph = get_default_graph()
        if get_global_step(graph) is not None:
            raise RuntimeError(
                "Graph must not contain a global step tensor before the SavedModel is loaded. "
                "Please make sure that the input function does not create a global step."
            )
        signature = self._get_signature_def_for_mode(mode)
        wanted = [info.name for info in signature.outputs.values()]
        _, tensors = self.saved_model_loader.load_graph(
            graph, [EXPORT_TAGS[mode]], input_map=_input_map(signature, features, labels),
            return_elements=wanted,
        )  # fmt: skip
        init_op = get_init_op(self._get_meta_graph_def_for_mode(mode))
        scaffold = Scaffold(local_init_op=init_op)
        assert_global_step(get_global_step(graph))
        found = dict(zip(wanted, tensors, strict=True))
        outputs = {key: found[info.name] for key, info in signature.outputs.items()}
        loss, predictions, metrics = _parts(mode, outputs, signature.method_name)
        train_ops = get_collection(names.TRAIN_OP_KEY)
        if len(train_ops) > 1:
            raise RuntimeError("Multiple ops found in the train_op collection.")
        for key in (
            names.ASSETS_KEY, names.LEGACY_INIT_OP_KEY, names.MAIN_OP_KEY, names.TRAIN_OP_KEY,
        ):  # fmt: skip
            del get_collection_ref(key)[:]
        return EstimatorSpec(
            scaffold=scaffold, mode=mode, loss=loss,
            train_op=train_ops[0] if train_ops else None, predictions=predictions,
            eval_metric_ops=metrics,
        )  # fmt: skip


def _input_map(signature: Any, features: Any, labels: Any) -> dict[str, Any]:
    """Return the inputs of a graph, by the names of its placeholders.

    Raises:
      ValueError: if one is missing, or of another type or shape.
    """
    given = dict(named_tensors(features, "feature"))
    for key, tensor in (named_tensors(labels, "label") if labels is not None else {}).items():
        given.setdefault(key, tensor)
    found = {}
    for key, info in signature.inputs.items():
        if key not in given:
            raise ValueError(
                f'Key "{key}" not found in features or labels passed in to the model function. '
                f"All required keys: {signature.inputs.keys()}"
            )
        _check_like(given[key], info, key)
        name = info.name.partition(":")[0]
        found[name] = found[f"^{name}"] = given[key]
    return found


def _check_like(tensor: Any, info: Any, name: str) -> None:
    dtype, shape = tf.as_dtype(info.dtype), tf.TensorShape(info.tensor_shape)
    wrong = ""
    if tensor.dtype != dtype:
        wrong += f"\n\tExpected dtype: {dtype}, Got: {tensor.dtype}"
    if not tensor.shape.is_compatible_with(shape):
        wrong += f"\n\tExpected shape: {shape}, Got: {tensor.shape}"
    if wrong:
        raise ValueError(f"Tensor shape and/or dtype validation failed for input {name}:{wrong}")


def _parts(mode: str, outputs: dict[str, Any], method: str) -> tuple[Any, Any, Any]:
    """Return the loss, predictions and metrics out of a signature's outputs."""
    if mode == ModeKeys.PREDICT:
        return None, outputs, None
    if method != _METHODS[mode]:
        raise RuntimeError(
            f"Invalid SignatureDef method name for mode {mode}.\n\tExpected: {_METHODS[mode]}\n\t"
            f"Got: {method}\nPlease ensure that the SavedModel was exported with "
            "`tf.estimator.experimental_export_all_saved_models()`."
        )
    predictions = {
        key: value for key, value in outputs.items() if key.split("/")[0] == "predictions"
    }
    metrics = {}
    for key, value in outputs.items():
        name, _, part = key.rpartition("/")
        if key.split("/")[0] == "metrics" and part == "value" and f"{name}/update_op" in outputs:
            metrics[name] = (value, outputs[f"{name}/update_op"])
    return outputs["loss"], predictions, metrics
