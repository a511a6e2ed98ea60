"""`tf.compat.v2.keras.layers.BatchNormalization`."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.layers.keras_style import batch_normalization
from stillflow.layers.learning_phase import learning_phase
from stillflow.ops.math.comparison import logical_and


@export("compat.v2.keras.layers.BatchNormalization")
class BatchNormalization(batch_normalization.BatchNormalization):
    """As `tf.keras.layers.BatchNormalization`; one that is not trainable uses moving averages."""

    _in_version_2 = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        """Normalizes; in training it adds the updates of the moving averages as well."""
        if training is None:
            training = learning_phase()
        if isinstance(training, int):
            training = bool(training)
        return super().call(inputs, training=logical_and(training, self.trainable))
