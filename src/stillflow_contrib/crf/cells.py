"""The recursions of conditional random fields, as cells of recurrent networks."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.nn.rnn_cell.base import RNNCell


class _TagCell(RNNCell):
    """A cell whose state is a score for each tag."""

    def __init__(self, transition_params: Any) -> None:
        self._transition_params = tf.expand_dims(transition_params, 0)
        self._num_tags = dimension_value(transition_params.shape[0])

    @property
    def state_size(self) -> int:
        return self._num_tags

    @property
    def output_size(self) -> int:
        return self._num_tags

    def _transition_scores(self, state: Any) -> Tensor:
        """[batch, tag before, tag]."""
        return tf.expand_dims(state, 2) + self._transition_params


@export("contrib.crf.CrfForwardRnnCell")
class CrfForwardRnnCell(_TagCell):
    """Sums over all tags before.

    Args:
      transition_params: [tags, tags].
    """

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        alphas = inputs + tf.reduce_logsumexp(self._transition_scores(state), [1])
        return alphas, alphas


@export("contrib.crf.CrfDecodeForwardRnnCell")
class CrfDecodeForwardRnnCell(_TagCell):
    """Cell that returns the best previous tag.

    Args:
      transition_params: [tags, tags].
    """

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        scores = self._transition_scores(state)
        new_state = inputs + tf.reduce_max(scores, [1])
        return tf.cast(tf.argmax(scores, 1), dtype=tf.int32), new_state


@export("contrib.crf.CrfDecodeBackwardRnnCell")
class CrfDecodeBackwardRnnCell(RNNCell):
    """Follows the best tags backwards.

    Args:
      num_tags: how many there are.
    """

    def __init__(self, num_tags: Any) -> None:
        self._num_tags = num_tags

    @property
    def state_size(self) -> int:
        return 1

    @property
    def output_size(self) -> int:
        return 1

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        state = tf.squeeze(state, axis=[1])
        rows = tf.range(tf.shape(inputs)[0])
        tags = tf.gather_nd(inputs, tf.stack([rows, state], axis=1))
        tags = tf.expand_dims(tags, axis=-1)
        return tags, tags
