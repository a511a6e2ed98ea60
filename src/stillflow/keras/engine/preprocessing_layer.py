"""Layers that learn from data before training: their statistics are computed outside of graphs."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.data.dataset_v1 import make_one_shot_iterator
from stillflow.data.experimental import INFINITE, cardinality
from stillflow.errors import OutOfRangeError
from stillflow.graph.api import init_scope
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.keras.backend.session import get_session, get_value
from stillflow.keras.engine import datasets, generators
from stillflow.layers.base_layer import Layer


class PreprocessingLayer(Layer):
    """A layer whose state comes from data that it is shown before training."""

    @abc.abstractmethod
    def adapt(self, data: Any, reset_state: bool = True) -> None:
        """Set the state by data.

        Args:
          data: a `tf.data.Dataset` or an array.
          reset_state: True to forget the previous state.
        """


class Combiner:
    """Combiner of a state from batches in any order: methods of accumulators.

    The form of an accumulator is up to the class; the combiner itself has no state.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    @abc.abstractmethod
    def compute(self, batch_values: Any, accumulator: Any = None) -> Any:
        """Return an accumulator of a batch, merged with one that was there before."""

    @abc.abstractmethod
    def merge(self, accumulators: list[Any]) -> Any:
        """Merge several accumulators to one, in any order."""

    @abc.abstractmethod
    def extract(self, accumulator: Any) -> dict[str, Any]:
        """Return the state, a dictionary of arrays."""

    @abc.abstractmethod
    def restore(self, output: dict[str, Any]) -> Any:
        """Return the accumulator that `extract` made a state of."""

    @abc.abstractmethod
    def serialize(self, accumulator: Any) -> bytes:
        """Return an accumulator as bytes."""

    @abc.abstractmethod
    def deserialize(self, encoded_accumulator: bytes) -> Any:
        """Return an accumulator out of bytes."""


class CombinerPreprocessingLayer(PreprocessingLayer):
    """Layer that sets its variables to the result of a `Combiner`.

    Args:
      combiner: computes the state.
      **kwargs: see `Layer`.

    Attributes:
      state_variables: the variables by their names in what the combiner extracts.
    """

    def __init__(self, combiner: Combiner, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._combiner = combiner
        self.state_variables: dict[str, Any] = {}

    def _add_state_variable(
        self, name: str, shape: Any, dtype: Any, initializer: Any = None, **kwargs: Any
    ) -> Any:
        """Add a variable that `adapt` sets, with the arguments of `add_weight`."""
        variable = self.add_weight(
            name=name, shape=shape, dtype=dtype, initializer=initializer, regularizer=None,
            trainable=False, constraint=None, **kwargs,
        )  # fmt: skip
        self.state_variables[name] = variable
        return variable

    def _restore_updates(self) -> dict[str, Any]:
        """Return the state as it was last set."""
        return {name: get_value(variable) for name, variable in self.state_variables.items()}

    def adapt(self, data: Any, reset_state: bool = True) -> None:
        """Set the state by data; make the variables if the layer has none yet.

        Args:
          data: a `tf.data.Dataset` that ends, or an array.
          reset_state: True to forget the previous state.

        Raises:
          ValueError: for other data, or a dataset without an end.
        """
        accumulator = None if reset_state else self._combiner.restore(self._restore_updates())
        next_element = _reader(data)
        try:
            while True:
                element = next_element()
                if not self.built:
                    self.build(getattr(element, "shape", None))
                accumulator = self._combiner.compute(element, accumulator)
        except (StopIteration, OutOfRangeError):
            self._set_state_variables(self._combiner.extract(accumulator))

    def _set_state_variables(self, updates: dict[str, Any]) -> None:
        """Set variables by their names."""
        if not self.built:
            raise RuntimeError("_set_state_variables() must be called after build().")
        with init_scope():
            done = [self.state_variables[name].assign(value) for name, value in updates.items()]
        if not executing_eagerly():
            get_session().run(done)


def _reader(data: Any) -> Callable[[], Any]:
    """Return a function that gives one element after the other: an array's examples at once."""
    if isinstance(data, np.ndarray):
        batches, _ = generators.batches_of(data, batch_size=len(data))
        return lambda: next(batches)
    if not datasets.is_dataset(data):
        raise ValueError(f"adapt() requires a Dataset or a Numpy array as input, got {type(data)}")
    if int(np.asarray(get_value(cardinality(data)))) == INFINITE:
        raise ValueError(
            'The dataset passed to "adapt()" has an infinite number of elements. Please use '
            "dataset.take(...) to make the number of elements finite."
        )
    iterator = make_one_shot_iterator(data)
    if executing_eagerly():
        return lambda: iterator.get_next()
    element = iterator.get_next()
    return lambda: get_session().run(element)
