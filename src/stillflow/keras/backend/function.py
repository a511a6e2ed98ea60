"""`tf.keras.backend.function`: a part of the graph as a Python function."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow import nest
from stillflow.graph.api import control_dependencies
from stillflow.graph.export import export
from stillflow.graph.graph import initial_graph
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.session import get_session
from stillflow.runtime.session.feeds import AnyShape
from stillflow.runtime.session.fetches import EmptyIfDead
from stillflow.variables.base import VariableV2

_OPTIONS = ("feed_dict", "fetches", "options", "run_metadata")


class GraphExecutionFunction:
    """Function of given inputs: runs outputs and updates in Keras' session.

    Args:
      inputs: a structure of placeholders.
      outputs: a structure of tensors and variables.
      updates: operations, or pairs (variable, new value), that run as well.
      feed_dict, fetches, options, run_metadata: further arguments of `Session.run`.

    Raises:
      TypeError: if the updates are no list.
      ValueError: for another argument.
    """

    def __init__(
        self, inputs: Any, outputs: Any, updates: Any = None, name: Any = None, **kwargs: Any
    ) -> None:
        updates = updates or []
        if not isinstance(updates, (list, tuple)):
            raise TypeError("`updates` in a Keras backend function should be a list or tuple.")
        self.inputs = nest.flatten(inputs, expand_composites=True)
        self._outputs_structure = outputs
        self.outputs = [
            tf.identity(x) if isinstance(x, VariableV2) else x
            for x in nest.flatten(outputs, expand_composites=True)
        ]
        with control_dependencies([self.outputs[0]]):
            self.updates_op = tf.group(
                *(tf.assign(*one) if isinstance(one, tuple) else one for one in updates)
            )
        self.name = name
        self.feed_dict = kwargs.pop("feed_dict", None)
        fetches = kwargs.pop("fetches", [])
        fetches = fetches if isinstance(fetches, list) else [fetches]
        self.run_options = kwargs.pop("options", None)
        self.run_metadata = kwargs.pop("run_metadata", None)
        self.fetches = [tf.identity(x) for x in fetches]
        self.fetch_callbacks: dict[Any, Any] = {}
        if kwargs:
            raise ValueError(
                f"Some keys in session_kwargs are not supported at this time: {kwargs.keys()}"
            )

    def __call__(self, inputs: Any) -> Any:
        """Return the outputs' values; None leaves out an input, and a tensor is evaluated first."""
        inputs = nest.flatten(inputs, expand_composites=True)
        session = get_session([x for x in inputs if tf.is_tensor(x)])
        feeds = dict(self.feed_dict or {})
        tensors = {}
        for x, value in zip(self.inputs, inputs, strict=False):
            if tf.is_tensor(value):
                tensors[x] = value
            elif value is not None:
                array = np.asarray(value, dtype=tf.as_dtype(x.dtype).as_numpy_dtype)
                feeds[x] = array.view(AnyShape)
        held = session.run(list(tensors.values()))
        feeds.update((x, np.asarray(v).view(AnyShape)) for x, v in zip(tensors, held, strict=True))
        fetched = session.run(
            EmptyIfDead([*self.outputs, *self.fetches, self.updates_op]), feed_dict=feeds,
            options=self.run_options, run_metadata=self.run_metadata,
        )  # fmt: skip
        count = len(self.outputs)
        for fetch, value in zip(self.fetches, fetched[count:], strict=False):
            if fetch in self.fetch_callbacks:
                self.fetch_callbacks[fetch](value)
        return nest.pack_sequence_as(
            self._outputs_structure, list(fetched[:count]), expand_composites=True
        )


@export("keras.backend.function")
def function(
    inputs: Any, outputs: Any, updates: Any = None, name: Any = None, **kwargs: Any
) -> Any:
    """Return a function of `inputs` that returns the values of `outputs` and runs `updates`.

    Raises:
      ValueError: for an argument that `Session.run` does not take.
    """
    for key in kwargs:
        if key not in _OPTIONS:
            raise ValueError(
                f'Invalid argument "{key}" passed to K.function with TensorFlow backend'
            )
    if initial_graph().runs_at_once:
        if kwargs:
            raise ValueError(
                "Session keyword arguments are not support during eager execution. You passed: "
                f"{kwargs}"
            )
        from stillflow.keras.backend.immediate_function import ImmediateFunction

        with tf.init_scope():
            return ImmediateFunction(inputs, outputs, updates=updates, name=name)
    return GraphExecutionFunction(inputs, outputs, updates=updates, name=name, **kwargs)


@export("keras.backend.gradients")
def gradients(loss: Any, variables: Any) -> list[Tensor | None]:
    """Return the gradients of a loss with respect to variables."""
    return tf.gradients(loss, variables, colocate_gradients_with_ops=True)


@export("keras.backend.stop_gradient")
def stop_gradient(variables: Any) -> Any:
    """Constants as far as gradients are concerned; a list gives an iterator."""
    if isinstance(variables, (list, tuple)):
        return map(tf.stop_gradient, variables)
    return tf.stop_gradient(variables)
