"""`tf.layers.experimental`: layers that name and keep variables as Keras does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from stillflow.graph.export import export

_keras_style = False


@export("layers.experimental.keras_style_scope")
@contextlib.contextmanager
def keras_style_scope() -> Iterator[None]:
    """Return a context in which layers of `tf.layers` and RNN cells keep their own variables.

    Layers made inside share no variables by variable scopes; `scope` and `reuse` raise an error.
    """
    global _keras_style
    before = _keras_style
    _keras_style = True
    try:
        yield
    finally:
        _keras_style = before


@export("layers.experimental.set_keras_style")
def set_keras_style() -> None:
    """Make all layers created from now on behave as in `keras_style_scope`."""
    global _keras_style
    _keras_style = True


def in_keras_style() -> bool:
    """Return True if layers made now behave as in `keras_style_scope`."""
    return _keras_style
