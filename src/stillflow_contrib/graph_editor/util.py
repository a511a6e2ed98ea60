"""Operations and tensors by the list, placeholders that stand for tensors, names in scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.constants import placeholder

_PREFIX = "geph"


@export("contrib.graph_editor.util.concatenate_unique")
def concatenate_unique(la: list[Any], lb: Iterable[Any]) -> list[Any]:
    """Add to `la` the missing items of `lb`, and return it."""
    seen = set(la)
    for item in lb:
        if item not in seen:
            la.append(item)
            seen.add(item)
    return la


@export("contrib.graph_editor.util.ListView")
class ListView:
    """A list to look at.

    Raises:
      TypeError: If it is no list.
    """

    def __init__(self, list_: list[Any]) -> None:
        if not isinstance(list_, list):
            raise TypeError(f"Expected a list, got: {type(list_)}.")
        self._list = list_

    def __iter__(self) -> Iterator[Any]:
        return iter(self._list)

    def __len__(self) -> int:
        return len(self._list)

    def __getitem__(self, i: Any) -> Any:
        return self._list[i]

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self._list, *other]


@export("contrib.graph_editor.util.is_iterable")
def is_iterable(obj: Any) -> bool:
    """Return True if `obj` holds several objects; a tensor is one object."""
    if isinstance(obj, Tensor):
        return False
    try:
        iter(obj)
    except Exception:
        return False
    return True


@export("contrib.graph_editor.util.flatten_tree")
def flatten_tree(tree: Any, leaves: list[Any] | None = None) -> list[Any]:
    """Return the leaves of nested dicts and lists, after those in `leaves`."""
    leaves = [] if leaves is None else leaves
    if is_iterable(tree):
        for child in tree.values() if isinstance(tree, dict) else tree:
            flatten_tree(child, leaves)
    else:
        leaves.append(tree)
    return leaves


@export("contrib.graph_editor.util.transform_tree")
def transform_tree(tree: Any, fn: Callable[[Any], Any], iterable_type: Any = tuple) -> Any:
    """Return the same nested structure with `fn` of each leaf.

    Args:
      tree: Dicts, tuples, named tuples, lists; of other iterables becomes an `iterable_type`.
      fn: Of a leaf.
      iterable_type: See there.
    """
    if not is_iterable(tree):
        return fn(tree)
    if isinstance(tree, dict):
        return type(tree)((key, transform_tree(child, fn)) for key, child in tree.items())
    if isinstance(tree, tuple) and hasattr(tree, "_asdict"):
        return type(tree)(*(transform_tree(child, fn) for child in tree))
    kind: Any = type(tree) if isinstance(tree, (tuple, Sequence)) else iterable_type
    return kind(transform_tree(child, fn) for child in tree)


@export("contrib.graph_editor.util.check_graphs")
def check_graphs(*args: Any) -> None:
    """Raise an error for views of several graphs.

    Raises:
      ValueError: If there are some.
    """
    graph = None
    for place, view in enumerate(args):
        if graph is not None and view.graph is not None and view.graph is not graph:
            raise ValueError(f"Argument[{place}]: Wrong graph!")
        graph = graph if graph is not None else view.graph


@export("contrib.graph_editor.util.get_unique_graph")
def get_unique_graph(
    tops: Any, check_types: Any = None, none_if_empty: bool = False
) -> Graph | None:
    """Return the graph that operations or tensors are in.

    Args:
      tops: The operations and tensors, or the graph itself.
      check_types: What they may be, both by default.
      none_if_empty: Whether there may be none.

    Raises:
      TypeError: If one is of another type.
      ValueError: If they are in several graphs, or there are none.
    """
    if isinstance(tops, Graph):
        return tops
    if not is_iterable(tops):
        raise TypeError(f"{type(tops)} is not iterable")
    if check_types is None:
        check_types = (Operation, Tensor)
    types = tuple(check_types) if is_iterable(check_types) else (check_types,)
    graph = None
    for item in tops:
        if not isinstance(item, types):
            names = ", ".join(map(str, types))
            raise TypeError(f"Expected a type in ({names}), got: {type(item)}")
        if graph is not None and item.graph is not graph:
            raise ValueError(f"Operation {item} does not belong to given graph")
        graph = item.graph
    if graph is None and not none_if_empty:
        raise ValueError("Can't find the unique graph of an empty list")
    return graph


def _listed(
    items: Any, kind: type, of_graph: Callable[[Graph], list[Any]], check: bool, allow_graph: bool,
    ignore_others: bool,
) -> list[Any]:  # fmt: skip
    if isinstance(items, Graph):
        if not allow_graph:
            raise TypeError("allow_graph is False: cannot convert a tf.Graph.")
        return of_graph(items)
    found = list(items) if is_iterable(items) else [items]
    if found and check:
        get_unique_graph(found, check_types=None if ignore_others else kind)
    return [item for item in found if isinstance(item, kind)]


@export("contrib.graph_editor.make_list_of_op", "contrib.graph_editor.util.make_list_of_op")
def make_list_of_op(
    ops: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False
) -> list[Operation]:
    """Operations as a list.

    Args:
      ops: Operations, one, or a graph.
      check_graph: Whether all have to be in one graph.
      allow_graph: Whether it may be a graph.
      ignore_ts: True to leave tensors out instead of raising an error.

    Raises:
      TypeError: If it is something else.
      ValueError: If they are in several graphs.
    """
    return _listed(ops, Operation, Graph.get_operations, check_graph, allow_graph, ignore_ts)


@export("contrib.graph_editor.get_tensors", "contrib.graph_editor.util.get_tensors")
def get_tensors(graph: Any) -> list[Tensor]:
    """Return the tensors of a graph.

    Raises:
      TypeError: If it is none.
    """
    if not isinstance(graph, Graph):
        raise TypeError(f"Expected a graph, got: {type(graph)}")
    return [tensor for op in graph.get_operations() for tensor in op.outputs]


@export("contrib.graph_editor.make_list_of_t", "contrib.graph_editor.util.make_list_of_t")
def make_list_of_t(
    ts: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False
) -> list[Tensor]:
    """Tensors as a list; as `make_list_of_op`."""
    return _listed(ts, Tensor, get_tensors, check_graph, allow_graph, ignore_ops)


@export("contrib.graph_editor.get_generating_ops", "contrib.graph_editor.util.get_generating_ops")
def get_generating_ops(ts: Any) -> list[Operation]:
    """Return the operations that give tensors, one each."""
    return [tensor.op for tensor in make_list_of_t(ts, allow_graph=False)]


@export("contrib.graph_editor.get_consuming_ops", "contrib.graph_editor.util.get_consuming_ops")
def get_consuming_ops(ts: Any) -> list[Operation]:
    """Return the operations that take tensors."""
    ops: list[Operation] = []
    for tensor in make_list_of_t(ts, allow_graph=False):
        concatenate_unique(ops, tensor.consumers())
    return ops


@export("contrib.graph_editor.ControlOutputs", "contrib.graph_editor.util.ControlOutputs")
class ControlOutputs:
    """Consumers of a graph's operations by control edges.

    Args:
      graph: The graph.

    Raises:
      TypeError: If it is none.
    """

    def __init__(self, graph: Any) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
        self._graph = graph
        self._version: int | None = None
        self._control_outputs: dict[Operation, list[Operation]] = {}
        self.update()

    def update(self) -> ControlOutputs:
        """Update from the graph, and return this."""
        if self._version != self._graph.version:
            self._control_outputs.clear()
            for op in self._graph.get_operations():
                for control_input in op.control_inputs:
                    concatenate_unique(self._control_outputs.setdefault(control_input, []), [op])
            self._version = self._graph.version
        return self

    def get_all(self) -> dict[Operation, list[Operation]]:
        """Return for each operation with control outputs these operations."""
        return self._control_outputs

    def get(self, op: Operation) -> Sequence[Operation]:
        """Return the operations that wait for one."""
        return self._control_outputs.get(op, ())

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph


@export("contrib.graph_editor.util.scope_finalize")
def scope_finalize(scope: str) -> str:
    """Return a scope with a slash at its end, unless it is empty."""
    return scope if not scope or scope.endswith("/") else scope + "/"


@export("contrib.graph_editor.util.scope_dirname")
def scope_dirname(scope: str) -> str:
    """Return a name up to its last slash."""
    return scope[: scope.rfind("/") + 1]


@export("contrib.graph_editor.util.scope_basename")
def scope_basename(scope: str) -> str:
    """Return a name behind its last slash."""
    return scope[scope.rfind("/") + 1 :]


@export("contrib.graph_editor.placeholder_name", "contrib.graph_editor.util.placeholder_name")
def placeholder_name(t: Any = None, scope: str | None = None, prefix: str = _PREFIX) -> str:
    """Return the name of a placeholder that stands for a tensor.

    Args:
      t: The tensor; None for a name without one.
      scope: The scope of the placeholder; by default that of the tensor.
      prefix: What it begins with.

    Raises:
      TypeError: If `t` is no tensor.
    """
    if scope is not None:
        scope = scope_finalize(scope)
    if t is None:
        return f"{scope or ''}{prefix}"
    if not isinstance(t, Tensor):
        raise TypeError(f"Expected a tf.Tenfor, got: {type(t)}")
    base = scope_basename(t.op.name)
    if not base.startswith(f"{prefix}__"):
        base = f"{prefix}__{base}_{t.value_index}"
    return (scope_dirname(t.op.name) if scope is None else scope) + base


@export(
    "contrib.graph_editor.make_placeholder_from_tensor",
    "contrib.graph_editor.util.make_placeholder_from_tensor",
)
def make_placeholder_from_tensor(
    t: Tensor, scope: str | None = None, prefix: str = _PREFIX
) -> Tensor:
    """Return a placeholder of a tensor's type and shape, in the default graph.

    See `placeholder_name`.
    """
    return placeholder(t.dtype, t.get_shape(), placeholder_name(t, scope, prefix))


@export(
    "contrib.graph_editor.ph",
    "contrib.graph_editor.make_placeholder_from_dtype_and_shape",
    "contrib.graph_editor.util.make_placeholder_from_dtype_and_shape",
)
def make_placeholder_from_dtype_and_shape(
    dtype: Any, shape: Any = None, scope: str | None = None, prefix: str = _PREFIX
) -> Tensor:
    """Return a placeholder of a type and shape, in the default graph; see `placeholder_name`."""
    return placeholder(dtype, shape, placeholder_name(scope=scope, prefix=prefix))


@export("contrib.graph_editor.util.get_predefined_collection_names")
def get_predefined_collection_names() -> list[str]:
    """Return the collections that TensorFlow itself names."""
    return [getattr(GraphKeys, key) for key in dir(GraphKeys) if not key.startswith("__")]


@export("contrib.graph_editor.util.find_corresponding_elem")
def find_corresponding_elem(
    target: Any, dst_graph: Graph, dst_scope: str = "", src_scope: str = ""
) -> Tensor | Operation:
    """Return the tensor or operation of another graph that has the same name there.

    Args:
      target: The tensor or operation here.
      dst_graph: The other graph.
      dst_scope: What is put before the name.
      src_scope: What is taken off it before.

    Raises:
      ValueError: If the name is not in `src_scope`, or of another type.
      KeyError: If there is none.
      TypeError: If `target` is neither.
    """
    name = target.name
    if src_scope:
        src_scope = scope_finalize(src_scope)
        if not name.startswith(src_scope):
            raise ValueError(f"{name} does not start with {src_scope}")
        name = name[len(src_scope) :]
    name = scope_finalize(dst_scope) + name
    if isinstance(target, Tensor):
        return dst_graph.get_tensor_by_name(name)
    if isinstance(target, Operation):
        return dst_graph.get_operation_by_name(name)
    raise TypeError("Expected tf.Tensor or tf.Operation, got: {}", type(target))


@export("contrib.graph_editor.util.find_corresponding")
def find_corresponding(
    targets: Any, dst_graph: Graph, dst_scope: str = "", src_scope: str = ""
) -> Any:
    """Nested tensors and operations of another graph; see `find_corresponding_elem`."""
    return transform_tree(
        targets, lambda target: find_corresponding_elem(target, dst_graph, dst_scope, src_scope)
    )
