"""Serving function of a model: from its inputs to its outputs by name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from stillflow import nest
from stillflow.functional.polymorphic import Function
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.layers.attributes import all_layers


def check_inputs(model: Any) -> None:
    """Raise ValueError for a model that was not called yet, and does not know its inputs."""
    if not model.inputs:
        raise ValueError(
            f"Model {model} cannot be saved because the input shapes have not been set. Usually, "
            "input shapes are automatically determined from calling .fit() or .predict(). To "
            "manually set the shapes, call model._set_inputs(inputs)."
        )


def input_signature(model: Any) -> list[Any]:
    """Return the `TensorSpec`s of a model's inputs, for any batch size; ValueError if unknown."""
    declared = getattr(model.call, "input_signature", None)
    if declared is not None:
        return list(declared)
    check_inputs(model)
    specs = [
        TensorSpec([None, *tensor.shape.as_list()[1:]], tensor.dtype, name)
        for tensor, name in zip(nest.flatten(model.inputs), model.input_names, strict=True)
    ]
    packed = nest.pack_sequence_as(model.inputs, specs)
    single = isinstance(packed, Sequence) and len(packed) == 1
    return packed if single else [packed]


_signature = input_signature  # where an argument has its name


def serving_function(model: Any, input_signature: Any = None) -> Function:
    """Return a function to outputs by name that calls a model outside of training.

    `input_signature` has `TensorSpec`s, or structures of such, one per argument; by default what
    the model was built for, with any number of examples. ValueError if the model does not know its
    inputs.
    """
    signature = _signature(model) if input_signature is None else list(input_signature)

    def _wrapped_model(*args: Any) -> dict[str, Any]:
        inputs = args[0] if len(signature) == 1 else list(args)
        with contributions_apart(model):
            outputs = nest.flatten(model(inputs, training=False))
        return dict(zip(model.output_names, outputs, strict=True))

    return Function(_wrapped_model, input_signature=signature)


@contextlib.contextmanager
def contributions_apart(layer: Any) -> Iterator[None]:
    """Let a layer and those inside it have only the losses and updates of calls inside.

    Their graph is that of a function; the earlier ones are restored afterwards.
    """
    layers = all_layers(layer)
    names = ("_losses", "_updates", "_eager_losses")
    kept = [(x, {name: getattr(x, name) for name in names}, dict(x._tracked)) for x in layers]
    for x in layers:
        x.__dict__.update((name, []) for name in names)
    try:
        yield
    finally:
        for x, attributes, tracked in kept:
            x.__dict__.update(attributes, _tracked=tracked)


def compiled_metrics(model: Any) -> dict[str, Any] | None:
    """Return the metrics that a model was compiled with, by name; None if there are none."""
    if not getattr(model, "_compile_metrics", None):
        return None
    return {metric.name: metric for metric in model._compile_metric_functions}
