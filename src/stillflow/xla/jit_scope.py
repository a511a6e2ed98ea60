"""tf.xla.experimental.jit_scope: a wish that operations be compiled, written on them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from stillflow.graph.api import add_to_collection, get_collection
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.protos import AttrValue

_COLLECTION = ("__xla_scope",)


@dataclass
class _Scopes:
    """Number of a graph's scopes, and the depth of the present one."""

    count: int = 0
    depth: int = 0


@export("xla.experimental.jit_scope", "contrib.compiler.jit.experimental_jit_scope")
@contextlib.contextmanager
def jit_scope(
    compile_ops: bool | Callable[[Any], bool] = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """Mark the operations made inside; values do not depend on it.

    Args:
      compile_ops: whether to compile, or a function of the `NodeDef` that says so.
      separate_compiled_gradients: whether gradients are compiled on their own.

    Raises:
      RuntimeError: where operations would run eagerly.
    """
    if executing_eagerly():
        raise RuntimeError(
            "xla.experimental.jit_scope is not supported when eager execution is enabled. Try use "
            "it inside tf.function."
        )
    wish: Any
    if callable(compile_ops):
        wish = lambda node_def: AttrValue(b=compile_ops(node_def))  # noqa: E731
    else:
        wish = AttrValue(b=compile_ops)
    attributes = {
        "_XlaCompile": wish,
        "_XlaSeparateCompiledGradients": AttrValue(b=bool(separate_compiled_gradients)),
    }
    if not get_collection(_COLLECTION):
        add_to_collection(_COLLECTION, _Scopes())
    (scopes,) = get_collection(_COLLECTION)
    if scopes.depth == 0:
        attributes["_XlaScope"] = AttrValue(s=f"jit_scope_{scopes.count}".encode())
        scopes.count += 1
    scopes.depth += 1
    try:
        with get_default_graph()._attr_scope(attributes):
            yield
    finally:
        scopes.depth -= 1
