"""`tf.contrib.checkpoint.split_dependency`: tensors of one operation, saved as several objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import no_op
from stillflow.train.saveables import SaveableObject, SaveSpec
from stillflow.train.tracking.base import VARIABLE_VALUE_KEY, Trackable


class _Saveable(SaveableObject):
    """A tensor that a function gives and another one takes."""

    def __init__(self, name: str, part: _Part) -> None:
        spec = SaveSpec(part.save, "", name, dtype=part.dtype, device=part.device)
        super().__init__(part.save, [spec], name)
        self._part = part

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        (tensor,) = restored_tensors
        return self._part.restore(tensor)


class _Shared:
    """State of all parts: the tensors that are saved, and those that were restored."""

    def __init__(self, number: int, fill: Callable[..., Any], consume: Callable[..., Any]) -> None:
        self.number = number
        self.fill = fill
        self.consume = consume
        self.saved: dict[str, Any] = {}
        self.restored: dict[str, Any] = {}


class _Part(Trackable):
    """One of the objects; checkpoints see a variable."""

    def __init__(self, name: str, dtype: Any, device: str, shared: _Shared) -> None:
        self._name = name
        self.dtype = dtype
        self.device = device
        self._shared = shared

    def _unsynchronized(self, what: str) -> AssertionError:
        return AssertionError(
            f"Split dependency {self._name} ({self}) unsynchronized. Split dependencies must be "
            f"{what} together."
        )

    def save(self) -> Tensor:
        """Return the tensor to be saved; the first part that is asked has all of them made."""
        saved = self._shared.saved
        if self._name not in saved:
            if saved:
                raise self._unsynchronized("saved")
            self._shared.fill(saved)
        return saved.pop(self._name)

    def restore(self, tensor: Any) -> Any:
        """Set the restored tensor; the last part uses all of them."""
        restored = self._shared.restored
        if self._name in restored:
            raise self._unsynchronized("restored")
        restored[self._name] = tensor
        if len(restored) < self._shared.number:
            return no_op()
        used = self._shared.consume(restored)
        restored.clear()
        return used

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {VARIABLE_VALUE_KEY: partial(_Saveable, part=self)}


@export("contrib.checkpoint.split_dependency")
def split_dependency(
    component_names: Sequence[str], component_dtypes: Sequence[Any],
    fill_save_buffer_fn: Callable[[dict[str, Any]], Any],
    consume_restore_buffer_fn: Callable[[dict[str, Any]], Any], device: str,
) -> dict[str, Trackable]:  # fmt: skip
    """Objects that are saved and restored together, each a tensor of its own in checkpoints.

    Args:
      component_names: their names.
      component_dtypes: the dtypes of their tensors.
      fill_save_buffer_fn: puts the tensors to be saved into a dict, by these names.
      consume_restore_buffer_fn: takes a dict of those that were saved and gives the operation that
        uses them.
      device: where they are saved and restored.

    Returns:
      {name: object}; what depends on one of them has to depend on all.
    """
    shared = _Shared(len(component_names), fill_save_buffer_fn, consume_restore_buffer_fn)
    return {
        name: _Part(name, dtype, device, shared)
        for name, dtype in zip(component_names, component_dtypes)
    }
