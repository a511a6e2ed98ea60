"""`tf.compat.v2.keras.layers.BatchNormalization`."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import init_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.layers import batch_normalization
from stillflow.layers.learning_phase import learning_phase
from stillflow.layers.symbolic_graph import in_symbolic_graph
from stillflow.ops.math.comparison import logical_and
from stillflow.variables.resource_variable import ResourceVariable


@export("compat.v2.keras.layers.BatchNormalization")
class BatchNormalization(batch_normalization.BatchNormalization):
    """Batch normalization that uses moving averages where it is not trainable."""

    _in_version_2 = True
    _trainable_variable: Any = None

    @property
    def trainable(self) -> bool:
        """True if the layer's variables are trained, and its averages change."""
        return bool(self._trainable)

    @trainable.setter
    def trainable(self, value: bool) -> None:
        batch_normalization.BatchNormalization.trainable.fset(self, value)  # type: ignore[attr-defined]
        if self._trainable_variable is not None:
            with init_scope():
                self._trainable_variable.assign(value)

    def _trainable_when_it_runs(self) -> Any:
        """Return True if it is trainable.

        In Keras' own graph, which outlasts a change, a variable.
        """
        if not in_symbolic_graph():
            return self.trainable
        if self._trainable_variable is None:
            with init_scope():
                name = f"{self.name}_trainable"
                variable = ResourceVariable(self.trainable, trainable=False, name=name)
            object.__setattr__(self, "_trainable_variable", variable)
        return self._trainable_variable.read_value()

    def call(self, inputs: Any, training: Any = None) -> Tensor:
        """Normalize; in training, add the updates of the moving averages as well."""
        if training is None:
            training = learning_phase()
        if isinstance(training, int):
            training = bool(training)
        return super().call(inputs, training=logical_and(training, self._trainable_when_it_runs()))
