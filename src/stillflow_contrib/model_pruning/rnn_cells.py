"""LSTM cells whose weights have masks."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.nn.rnn_cell.lstm import BasicLSTMCell, LSTMCell
from stillflow_contrib.model_pruning.core_layers import add_masked_kernel


@export("contrib.model_pruning.MaskedBasicLSTMCell")
class MaskedBasicLSTMCell(BasicLSTMCell):
    """A `BasicLSTMCell` whose kernel has a mask.

    Args:
      num_units: the size of the memory.
      forget_bias: added to the biases of the forget gate.
      state_is_tuple: whether the state is an `LSTMStateTuple`, else `[c, h]` in one tensor.
      activation: a function or its name; tanh by default.
      reuse: whether the variables exist already.
      name: of the variable scope.
    """

    def __init__(
        self, num_units: Any, forget_bias: float = 1.0, state_is_tuple: bool = True,
        activation: Any = None, reuse: Any = None, name: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, forget_bias, state_is_tuple, activation, reuse, name)

    def build(self, inputs_shape: Any) -> None:
        super().build(inputs_shape)
        self._masked_kernel = add_masked_kernel(self, inputs_shape)

    @property
    def _used_kernel(self) -> Tensor:
        return self._masked_kernel


@export("contrib.model_pruning.MaskedLSTMCell")
class MaskedLSTMCell(LSTMCell):
    """An `LSTMCell` whose kernel has a mask.

    Args:
      num_units: the size of the memory.
      use_peepholes: whether the gates see the memory.
      cell_clip: a limit for the memory.
      initializer: of kernels and peepholes.
      num_proj: the size of the projected output; the mask fits `num_units` only.
      proj_clip: a limit for it.
      num_unit_shards, num_proj_shards: how many parts a kernel is split into.
      forget_bias: added to the biases of the forget gate.
      state_is_tuple: whether the state is an `LSTMStateTuple`, else `[c, h]` in one tensor.
      activation: a function or its name; tanh by default.
      reuse: whether the variables exist already.
    """

    def __init__(
        self, num_units: Any, use_peepholes: bool = False, cell_clip: float | None = None,
        initializer: Any = None, num_proj: int | None = None, proj_clip: float | None = None,
        num_unit_shards: int | None = None, num_proj_shards: int | None = None,
        forget_bias: float = 1.0, state_is_tuple: bool = True, activation: Any = None,
        reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, use_peepholes, cell_clip, initializer, num_proj, proj_clip,
            num_unit_shards, num_proj_shards, forget_bias, state_is_tuple, activation, reuse,
        )  # fmt: skip

    def build(self, inputs_shape: Any) -> None:
        super().build(inputs_shape)
        self._masked_kernel = add_masked_kernel(self, inputs_shape)

    @property
    def _used_kernel(self) -> Tensor:
        return self._masked_kernel
