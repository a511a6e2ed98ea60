"""Context of the current layer's call, for the layers and functions that it calls."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from stillflow.ops.functional import intermediates


class CallContext(threading.local):
    """The innermost call of a layer in this thread.

    Attributes:
      layer: the layer, None outside all calls.
      inputs: what it was called on.
      frozen: whether it or a layer around it is not trainable.
      in_call: whether a layer is being called.
      training: the argument `training` of the call.
    """

    def __init__(self) -> None:
        self.layer: Any = None
        self.inputs: Any = None
        self.frozen = False
        self.in_call = False
        self.training: Any = None

    @contextlib.contextmanager
    def enter(self, layer: Any, inputs: Any, training: Any) -> Iterator[None]:
        """Return the context of a call of `layer`."""
        outer = dict(self.__dict__)
        self.layer, self.inputs, self.training = layer, inputs, training
        self.frozen = self.frozen or not layer.trainable
        self.in_call = True
        try:
            yield
        finally:
            self.__dict__.update(outer)


call_context = CallContext()
intermediates.builds_layer = lambda: call_context.layer is not None
