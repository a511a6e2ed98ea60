"""Resources of boosted trees, and kernels' access to their arguments."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from stillflow import errors
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.graph.node import Handle, Node
from stillflow.ops.io.stored import to_stored

State = TypeVar("State")


class Slot(Generic[State]):
    """Place behind a handle; an operation of its own makes the content.

    Args:
      name: its name in errors.
      lock: is held while an operation works on it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = threading.RLock()
        self._state: State | None = None

    @property
    def is_filled(self) -> bool:
        return self._state is not None

    def fill(self, make: Callable[[], State]) -> None:
        """Put something there, unless there is something already."""
        with self.lock:
            if self._state is None:
                self._state = make()

    def destroy(self) -> None:
        """Delete the state."""
        with self.lock:
            self._state = None

    @property
    def state(self) -> State:
        """The current state.

        Raises:
          NotFoundError: if there is nothing.
        """
        if self._state is None:
            container = self.name.partition("/")[0]
            raise errors.not_found(
                f"Container {container} does not exist. (Could not find resource: {self.name})"
            )
        return self._state


def handle_kernel(kind: str) -> Callable[[Node], Any]:
    """Return the kernel of an operation that gives a handle.

    `kind` tells those of one name apart.
    """

    def kernel(node: Node) -> Handle:
        attrs = node.op.attrs
        container = attrs["container"].decode() or "localhost"
        name = f"{container}/{attrs['shared_name'].decode() or node.name}"
        return node.handle(node.resource(lambda: Slot(name), kind=kind))

    return kernel


def scalar_shape(node: Node) -> Any:
    return ()


def is_filled_kernel(node: Node) -> Callable[..., Any]:
    return lambda slot: torch.tensor(slot.is_filled)


# ---- arguments


def array(value: Any, name: str, rank: int, described: str | None = None) -> Any:
    """Return an argument as an array of this rank; `described` begins the error otherwise.

    It is an InvalidArgumentError.
    """
    result = to_stored(value)
    if result.ndim != rank:
        kind = ("scalar", "vector", "matrix")[rank] if rank < 3 else f"tensor of rank {rank}"
        message = described or f"{name} must be a {kind}, got a tensor of shape "
        raise refused(f"{message}{shape_text(result.shape)}")
    return result


def number(value: Any, name: str) -> Any:
    """Return a scalar argument, as NumPy has it; a tensor of one element is one, too."""
    found = to_stored(value)
    return found.reshape(())[()] if found.size == 1 else array(value, name, 0)[()]


def string(value: Any, name: str) -> bytes:
    """Return a scalar argument that is a string."""
    return array(value, name, 0)[()]


def tensor(values: Any, dtype: Any) -> Any:
    """Return a result: a torch tensor that owns its memory."""
    return torch.from_numpy(np.array(values, dtype, order="C"))


def tensors(values: Sequence[Any], dtype: Any) -> Any:
    """Return the results of an operation whose only output is a list; a single one as it is."""
    found = [tensor(each, dtype) for each in values]
    return found[0] if len(found) == 1 else found


refused = errors.invalid_argument


internal = errors.internal
