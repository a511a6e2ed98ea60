"""Conversion of a program's data to feeds of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow import nest
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.graph.type_spec import type_spec_from_value
from stillflow.keras.backend.config import floatx
from stillflow.keras.engine import composites, datasets
from stillflow.keras.engine.endpoints import TrainingEndpoint, set_sample_weight_modes
from stillflow.keras.engine.generators import is_generator
from stillflow.keras.engine.network import static_batch_size
from stillflow.keras.engine.standardize import (
    by_output,
    check_lengths,
    check_targets,
    example_weights,
    is_composite,
    standardize,
)
from stillflow.layers.symbolic_graph import is_symbolic
from stillflow.platform import tf_logging as logging

Data = tuple[list[Any], list[Any], Any]  # inputs, targets, weights of examples


class Feeding:
    """Mixin: converts a program's data to lists of feeds."""

    inputs: Any
    outputs: Any
    layers: Any
    optimizer: Any
    stateful: Any
    sample_weight_mode: Any
    _is_compiled: bool
    _is_graph_network: bool
    _feed_input_names: list[str]
    _feed_input_shapes: list[Any]
    _training_endpoints: list[TrainingEndpoint]
    _set_inputs: Any
    _layers: Any
    loss: Any
    loss_weights: Any
    _compile_metrics: Any
    input_names: list[str]
    run_eagerly: bool
    _experimental_run_tf_function: bool
    _compile_weighted_metrics: Any
    compile: Any

    def _standardize_user_data(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        batch_size: int | None = None,
        extract_tensors_from_dataset: bool = False,
    ) -> Data:
        """Return data as lists of arrays and tensors; a dataset stays one, or is taken apart."""
        is_dataset = datasets.is_dataset(x)
        if is_dataset:
            datasets.refuse_other_data(x, y, sample_weight)
            if extract_tensors_from_dataset:
                x, y, sample_weight = datasets.next_tensors(datasets.iterator_of(x))
        elif datasets.is_iterator(x):
            datasets.refuse_other_data(x, y, sample_weight)
            is_dataset = True
            x, y, sample_weight = datasets.next_tensors(x)
        given: list[Any] = []
        given_y = y
        if not self.inputs:
            given, given_y = self._build_with(x, y)
        if not self._is_compiled and self.optimizer:
            self._compile_with(given, given_y, is_dataset)
            symbolic = not is_dataset and not self.run_eagerly
            if given and symbolic and any(is_symbolic(value) for value in given):
                return [], [], None  # the tensors themselves are inputs and targets now
        if datasets.is_dataset(x):
            return x, [], None
        names, shapes = self._feed_input_names, None
        if self.run_eagerly:  # without placeholders nothing is fed
            names = self.input_names
        elif self._is_graph_network:
            shapes = self._feed_input_shapes
        x = standardize(x, names, shapes, "input")
        fed = [_as_expected(a, b) for a, b in zip(x, composites.flatten(self.inputs), strict=False)]
        targets: list[Any] = []
        weights = None
        if y is not None:
            targets, weights = self._standardize_targets(fed, y, sample_weight, class_weight)
        if self.stateful and batch_size and not is_dataset and fed[0].shape[0] % batch_size != 0:
            raise ValueError(
                "In a stateful network, you should only pass inputs with a number of samples that "
                f"can be divided by the batch size. Found: {fed[0].shape[0]} samples"
            )
        return fed, targets, weights

    def _standardize_targets(
        self, x: list[Any], y: Any, sample_weight: Any, class_weight: Any
    ) -> tuple[list[Any], Any]:
        set_sample_weight_modes(self._training_endpoints, self.sample_weight_mode)
        fed = [e for e in self._training_endpoints if e.feeds_target]
        names = [endpoint.output_name for endpoint in fed]
        modes = [endpoint.sample_weight_mode for endpoint in self._training_endpoints]
        targets = standardize(y, names, None, "target")
        targets = [y.toarray() if hasattr(y, "tocoo") else y for y in targets]
        of_examples = by_output(sample_weight, names, "sample_weight")
        of_classes = by_output(class_weight, names, "class_weight")
        weights = [
            example_weights(*parts)
            for parts in zip(targets, of_examples, of_classes, modes, strict=False)
        ]
        check_lengths(x, targets, weights)
        if self._is_graph_network and not self.run_eagerly:
            losses = [endpoint.loss_fn for endpoint in fed]
            check_targets(targets, losses, [endpoint.feed_shape for endpoint in fed])
        if all(mode is None for mode in modes) and all(weight is None for weight in weights):
            return targets, None
        return targets, weights

    def _build_with(self, inputs: Any, targets: Any) -> tuple[list[Any], Any]:
        """Call the model on placeholders for its first data."""
        original = inputs
        from_dataset = datasets.is_dataset(inputs)
        if from_dataset:
            inputs, targets, _ = datasets.next_tensors(datasets.iterator_of(inputs))
        _check_types(inputs, original, "inputs")
        inputs, targets = held_values((inputs, targets))
        flat = [inputs[key] for key in sorted(inputs)] if isinstance(inputs, dict) else (
            list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        )  # fmt: skip
        for x in flat:
            if is_composite(x):
                raise ValueError(
                    "All SparseTensor and RaggedTensor inputs must be explicitly declared using a "
                    "keras.Input() with sparse=True or ragged=True. We found an undeclared input "
                    f"{x}. For Sequential models, please add a keras.Input() as your first Layer. "
                    "For subclassed models, please call self._set_inputs() on your input set, "
                    "which you can create using keras.Input() for each input to your model."
                )
        if from_dataset:
            inputs = nest.map_structure(lambda x: TensorSpec(x.shape, x.dtype), inputs)
        elif any(tf.is_tensor(x) for x in flat):
            inputs = nest.map_structure(_as_default_float, inputs)
        self._set_inputs(inputs)
        return flat, targets

    def _compile_with(self, inputs: list[Any], target: Any, is_dataset: bool) -> None:
        """Compiles the model again, now that its outputs are known."""
        if target is not None:
            if not isinstance(target, (list, tuple)):
                _check_types(target, target, "target")
            inputs += list(target) if isinstance(target, (list, tuple)) else [target]
        kinds = {bool(tf.is_tensor(x)) for x in inputs}
        if len(kinds) > 1:
            raise ValueError(
                "Do not pass inputs that mix Numpy arrays and TensorFlow tensors. You passed: "
                f"x and y={inputs}"
            )
        targets = None
        if not is_dataset and not tf.executing_eagerly() and target is not None:
            flat = target if isinstance(target, (list, tuple)) else [target]
            targets = [x for x in flat if tf.is_tensor(x)]
        self.compile(
            optimizer=self.optimizer, loss=self.loss, metrics=self._compile_metrics,
            weighted_metrics=self._compile_weighted_metrics, loss_weights=self.loss_weights,
            target_tensors=targets, sample_weight_mode=self.sample_weight_mode,
            run_eagerly=self.run_eagerly,
            experimental_run_tf_function=self._experimental_run_tf_function,
        )  # fmt: skip

    def _set_weight_modes(self, sample_weights: Any) -> None:
        """Expect weights of examples if there are some, else none."""
        if not self._is_compiled:
            return
        given = any(weight is not None for weight in sample_weights or ())
        for endpoint in self._training_endpoints:
            mode = endpoint.sample_weight_mode
            endpoint.sample_weight_mode = (mode or "samplewise") if given else None

    def _infer_batch_size(self, batch_size: int | None, steps: int | None, x: Any) -> int | None:
        """Return the size of batches; 32 by default, None where there are steps instead."""
        if datasets.is_dataset(x) or is_generator(x):
            if batch_size is not None:
                raise ValueError(
                    "The `batch_size` argument must not be specified for the given input type. "
                    f"Received input: {x}, batch_size: {batch_size}"
                )
            return None
        fixed = static_batch_size(self._layers[0]) if len(self._layers) else None
        if fixed is not None:
            if batch_size not in (None, fixed):
                raise ValueError(
                    f"The `batch_size` argument value {batch_size} is incompatible with the "
                    f"specified batch size of your Input Layer: {fixed}"
                )
            if steps is None:
                batch_size = fixed
        return 32 if batch_size is None and steps is None else batch_size


_ARRAYS_IN_STEPS = (
    "When passing input data as arrays, do not specify `steps_per_epoch`/`steps` argument. Please "
    "use `batch_size` instead."
)


def check_steps(x: Any, steps: int | None, name: str, runs_eagerly: bool = False) -> bool:
    """Return True if there are steps rather than batches of examples.

    ValueError without `steps` for tensors, or with some for arrays that are run eagerly.
    """
    flat = x if isinstance(x, (list, tuple)) else [x]
    iterates = datasets.is_iterator(x)
    has_tensors = any(
        tf.is_tensor(item) and not (composites.is_composite(item) and tf.executing_eagerly())
        for item in nest.flatten(flat)
    )
    if x is None or iterates or has_tensors or (isinstance(x, list) and not x):
        if steps is None:
            kind = "a Dataset iterator" if iterates else "data tensors"
            raise ValueError(
                f"When using {kind} as input to a model, you should specify the `{name}` argument."
            )
        return True
    if datasets.is_dataset(x):
        return True
    given = x.values() if isinstance(x, dict) else [x]
    if steps is not None and any(isinstance(each, (np.ndarray, list, tuple)) for each in given):
        logging.warning(_ARRAYS_IN_STEPS)
        if runs_eagerly:
            raise ValueError(_ARRAYS_IN_STEPS)
    return False


def held_values(data: Any) -> tuple[Any, ...]:
    """Return data with arrays instead of tensors that hold values."""

    def value(x: Any) -> Any:
        return x.numpy() if isinstance(x, tf.Tensor) and x.holds_value else x

    return nest.map_structure(value, data) if tf.executing_eagerly() else data


def _check_types(data: Any, original: Any, what: str) -> None:
    if isinstance(data, dict):
        if what != "inputs":
            raise ValueError(f"You cannot pass a dictionary as model {what}.")
        return
    flat = data if isinstance(data, (list, tuple)) else [data]
    if not all(isinstance(x, np.ndarray) or tf.is_tensor(x) for x in flat):
        raise ValueError(
            "Please provide as model inputs either a single array or a list of arrays. You passed: "
            f"{what}={original}"
        )


def _as_default_float(x: Any) -> Any:
    x = tf.convert_to_tensor(x) if isinstance(x, np.ndarray) else x
    return tf.cast(x, dtype=floatx()) if x.dtype.is_floating else x


def _as_expected(value: Any, expected: Any) -> Any:
    """Return SciPy's sparse matrix as the input is; ValueError if one alone is sparse or ragged."""
    if hasattr(value, "tocoo"):
        if not isinstance(expected, tf.SparseTensor):
            return value.toarray()
        coo = value.tocoo()
        indices = np.stack([coo.row, coo.col], axis=1)
        data = coo.data.astype(expected.dtype.as_numpy_dtype)
        value = tf.SparseTensorValue(indices, data, coo.shape)
    if composites.is_composite(value) or composites.is_composite(expected):
        value = composites.as_tensor(value)
        nest.assert_same_structure(type_spec_from_value(value), expected, expand_composites=True)
    return value
