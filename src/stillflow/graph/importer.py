"""`tf.import_graph_def`: the nodes of a GraphDef added to the default graph."""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from stillflow.graph import attr_kinds, removed_ops, trust
from stillflow.graph import attrs as attr_values
from stillflow.graph.api import name_scope
from stillflow.graph.build import complete_attrs, input_types, output_types
from stillflow.graph.card import Card, find, unregistered
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.default_attrs import add_default_attrs
from stillflow.graph.dims import merge
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.export import export
from stillflow.graph.function_order import check_order
from stillflow.graph.graph import PRODUCER, Graph, get_default_graph
from stillflow.graph.infer import infer_shapes
from stillflow.graph.malformed import check_form, missing_attrs, unknown_attr, wrong_count
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.rewiring import replace_input
from stillflow.graph.tensor_shape import TensorShape

if TYPE_CHECKING:
    from stillflow.graph.functions import LibraryFunction


_BACK_EDGES = ("NextIteration", "RefNextIteration")
_MERGES = ("Merge", "RefMerge")


@export("graph_util.import_graph_def", "import_graph_def")
def import_graph_def(
    graph_def: Any,
    input_map: dict[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Add the nodes of `graph_def` to the default graph.

    Args:
      graph_def: a `GraphDef`.
      input_map: tensors to use instead of the named ones in `graph_def`.
      return_elements: names of operations and tensors in `graph_def` to give back.
      name: prefix of all names, "import" by default.
      op_dict: ignored.
      producer_op_list: an `OpList`; attributes unknown here that have its defaults are dropped.

    Returns:
      The operations and tensors named by `return_elements`, or None.

    Raises:
      TypeError: if an argument is of the wrong kind.
      ValueError: if the GraphDef is not well formed or names something that does not exist.

    Example:
      >>> with tf.Graph().as_default() as other: y = tf.constant([1, 2], name="y")
      >>> tf.import_graph_def(other.as_graph_def(), name="model", return_elements=["y:0"])
      [<tf.Tensor 'model/y:0' shape=(2,) dtype=int32>]
    """
    del op_dict
    graph_def = _as_graph_def(graph_def)
    names = _check_return_elements(return_elements)
    if input_map is None:
        input_map = {}
    elif not (isinstance(input_map, dict) and all(isinstance(k, (str, bytes)) for k in input_map)):
        raise TypeError("input_map must be a dictionary mapping strings to Tensor objects.")
    graph = get_default_graph()
    with name_scope(name, "import", list(input_map.values())) as scope:
        if not all(isinstance(value, Tensor) for value in input_map.values()):
            if name == "":
                raise ValueError(
                    "tf.import_graph_def() requires a non-empty `name` if `input_map` contains "
                    "non-Tensor values. Try calling tf.convert_to_tensor() on `input_map` values "
                    "before calling tf.import_graph_def()."
                )
            with name_scope("_inputs"):
                input_map = {key: convert_to_tensor(v) for key, v in input_map.items()}
    _check_graph(graph, input_map)
    if graph._trust is None and trust.current() is not None:
        trust.limit(graph, trust.current())
    importer = Importer(graph, graph_def, scope.rstrip("/"), input_map, producer_op_list)
    found = importer.run(names or ())
    return None if names is None else found


def _as_graph_def(graph_def: Any) -> Any:
    from stillflow.protos import GraphDef

    if type(graph_def).__name__ != "GraphDef":
        try:
            copy = GraphDef()
            copy.CopyFrom(graph_def)
        except TypeError:
            raise TypeError("graph_def must be a GraphDef proto.") from None
        return copy
    add_default_attrs(graph_def)  # in the caller's message, where programs find them
    return graph_def


def _check_graph(graph: Graph, input_map: dict[Any, Any]) -> None:
    for key, value in input_map.items():
        if value.graph is not graph:
            source = value.op.name if isinstance(value, Tensor) else value.name
            entry = f"{_join(_parse(key if isinstance(key, str) else key.decode()))}->{value.name}"
            raise ValueError(
                f"node '{source}' in input_map does not exist in graph (input_map entry: {entry})"
            )


def _check_return_elements(return_elements: Any) -> list[str] | None:
    if return_elements is None:
        return None
    if not all(isinstance(item, (str, bytes)) for item in return_elements):
        raise TypeError("return_elements must be a list of strings.")
    return [item.decode() if isinstance(item, bytes) else item for item in return_elements]


class Importer:
    """Import of one GraphDef into a graph."""

    def __init__(
        self,
        graph: Graph,
        graph_def: Any,
        prefix: str,
        input_map: dict[Any, Any],
        producer_op_list: Any = None,
    ) -> None:
        self.graph, self.graph_def, self.prefix = graph, graph_def, prefix
        self.input_map = {
            _parse(key.decode() if isinstance(key, bytes) else key): value
            for key, value in input_map.items()
        }
        self.used: set[tuple[str, int]] = set()
        self.nodes = {node.name: node for node in graph_def.node}
        self.made: dict[str, Operation] = {}
        self.producer_ops = {op.name: op for op in getattr(producer_op_list, "op", ())}
        self.late: list[tuple[Operation, int, str]] = []
        self.names = _Names(graph, prefix, self.nodes)
        self.functions: dict[str, Any] = {}  # of the GraphDef's library
        self.colocated: dict[str, Operation] = {}  # besides those of the GraphDef

    def run(self, wanted: Sequence[str]) -> list[Any]:
        """Check everything, then add node after node, all of them or none; return `wanted`."""
        self._check_versions()
        self._read_functions()
        self._check_nodes()
        order = self._order()
        self._add_functions()
        names = dict(self.graph._names_in_use)
        try:
            self._add_all(order)
            found = [self.element(item) for item in wanted]
        except Exception:
            self.graph._remove(list(self.made.values()))
            self.graph._names_in_use = names
            raise
        unused = [
            _join(key) for key in self.input_map if key not in self.used and not self._is_there(key)
        ]
        if unused:
            raise ValueError(
                f"Attempted to map inputs that were not found in graph_def: [{', '.join(unused)}]"
            )
        return found

    def _is_there(self, key: tuple[str, int]) -> bool:
        return key[0] in self.made and key[1] < len(self.made[key[0]]._outputs)

    def _add_all(self, order: list[Any]) -> None:
        for node in order:
            self._add(node)
        for op, index, text in self.late:
            replace_input(op, index, self._tensor(op.name, text))
        self._place([self.made[node.name] for node in order])

    def element(self, name: str) -> Tensor | Operation:
        """Return the imported element for a name of the GraphDef."""
        if ":" not in name:
            if name not in self.made:
                raise ValueError(f"Requested return node '{name}' not found in graph def")
            return self.made[name]
        op_name, index = _parse(name)
        mapped = self.input_map.get((op_name, index))
        if mapped is not None:
            self.used.add((op_name, index))
            return mapped
        op = self.made.get(op_name)
        if op is None:
            raise ValueError(f"Requested return tensor '{name}' not found in graph def")
        if index >= len(op._outputs):
            raise ValueError(
                f"Invalid return output {index} of node '{op_name}', which has "
                f"{len(op._outputs)} output(s)"
            )
        return op._outputs[index]

    def _check_versions(self) -> None:
        versions = self.graph_def.versions
        if versions.producer < 0:
            raise ValueError(
                f"GraphDef producer version {versions.producer} below min producer 0 supported by "
                "TensorFlow 1.15.5.  Please regenerate your graph."
            )
        if versions.min_consumer > PRODUCER:
            raise ValueError(
                f"GraphDef min consumer version {versions.min_consumer} above current version "
                f"{PRODUCER} for TensorFlow 1.15.5.  Please upgrade TensorFlow."
            )
        if PRODUCER in versions.bad_consumers:
            raise ValueError(
                f"GraphDef disallows consumer version {PRODUCER}.  Please upgrade TensorFlow: "
                "this version is likely buggy."
            )
        graph = self.graph
        graph._min_consumer = max(graph._min_consumer, versions.min_consumer)
        graph._producer = min(graph._producer, versions.producer)

    def _check_nodes(self) -> None:
        if len(self.nodes) != len(self.graph_def.node):
            seen: set[str] = set()
            for node in self.graph_def.node:
                if node.name in seen:
                    raise ValueError(f"Node '{node.name}' is not unique")
                seen.add(node.name)
        for node in self.graph_def.node:
            check_form(node)
            if node.op in self.functions:
                self._check_not_an_op(node.op)
            elif find(node.op) is None and self._function(node.op) is None:
                raise unregistered(node.op)
            for text in node.input:
                if not self._is_known(text):
                    raise ValueError(f"Node '{node.name}': Unknown input node '{text}'")

    def _is_known(self, text: str) -> bool:
        """Return True if an input's text names a node of the GraphDef, or a mapped input."""
        try:
            return _split(text.lstrip("^"))[0] in self.nodes or _split(text) in self.input_map
        except ValueError:
            return False

    def _function(self, name: str) -> LibraryFunction | None:
        """Return the function of that name, of this graph or of the GraphDef; None if missing."""
        found = self.graph._get_function(name)
        return self.functions.get(name) if found is None else found

    def _read_functions(self) -> None:
        library = self.graph_def.library
        if library.function or library.gradient:
            from stillflow.graph.functions import from_library

            self.functions = {function.name: function for function in from_library(library)}

    def _check_not_an_op(self, name: str) -> None:
        from stillflow.graph.functions import check_not_an_op

        check_not_an_op(name)

    def _add_functions(self) -> None:
        for name, function in self.functions.items():
            known = self.graph._functions.get(name)
            if known is None:
                self.graph._add_function(function)
            else:
                from stillflow.graph.functions import check_same

                check_same(getattr(known, "library_function", known), function)

    def _sources(self, node: Any) -> list[str]:
        """Return the nodes to import first: not those that close a loop that is entered."""
        found, closing, entered = [], [], False
        for text in node.input:
            is_data = not text.startswith("^")
            if _split(text) in self.input_map:
                entered |= is_data
                continue
            source = _split(text.lstrip("^"))[0]
            if node.op in _MERGES and self.nodes[source].op in _BACK_EDGES:
                closing.append(source)
            else:
                entered |= is_data
                found.append(source)
        return found if entered else found + closing

    def _order(self) -> list[Any]:
        """Topological, nodes that are ready in the GraphDef's order."""
        position = {node.name: i for i, node in enumerate(self.graph_def.node)}
        waiting = {name: set(self._sources(node)) for name, node in self.nodes.items()}
        users: dict[str, list[str]] = {name: [] for name in self.nodes}
        for name, sources in waiting.items():
            for source in sources:
                users[source].append(name)
        ready = [position[name] for name, sources in waiting.items() if not sources]
        heapq.heapify(ready)
        order = []
        while ready:
            node = self.graph_def.node[heapq.heappop(ready)]
            order.append(node)
            for user in users[node.name]:
                waiting[user].discard(node.name)
                if not waiting[user]:
                    heapq.heappush(ready, position[user])
        if len(order) != len(self.nodes):
            raise ValueError(f"{len(self.nodes) - len(order)} nodes in a cycle")
        return order

    def _add(self, node: Any) -> None:
        card = find(node.op)
        if card is None:
            from stillflow.graph.functions import card_for

            if node.op in self.functions:
                check_order(self.functions[node.op].definition)
            card = card_for(self.graph, node.op)
        try:
            op = self._make(card, node)
        except (TypeError, KeyError) as error:
            raise ValueError(f"Node '{node.name}' (op: '{node.op}'): {error}") from None
        self.made[node.name] = op

    def _make(self, card: Card, node: Any) -> Operation:
        graph = self.graph
        inputs, controls = self._inputs(card, node)
        attrs = self._attrs(card, node)
        removed_ops.check(card.name, self.graph_def.versions.producer)
        self._check_types(card, node, inputs, attrs)
        shapes = attrs.pop("_output_shapes", None)
        complete_attrs(card, attrs, inputs)
        types = output_types(card, attrs)
        name = self.names.take(self._full(node))
        op = Operation._of_card(card, graph, name, inputs, attrs, types, controls)
        try:
            infer_shapes(op)
            _take_shapes(op, shapes)
        except ValueError:
            graph._forget(op)
            raise
        graph._register(op)
        for index, text in enumerate(node.input):
            source = self.nodes.get(_split(text)[0])
            if card.name in _MERGES and source is not None and source.op in _BACK_EDGES:
                self.late.append((op, index, text))
        context = graph._control_flow_context
        if context is not None:
            op._control_flow_context = context
        if graph._loop_check is not None:
            graph._loop_check(op)
        if context is not None:
            context.AddOp(op)
        return op

    def _full(self, node: Any) -> str:
        return f"{self.prefix}/{node.name}" if self.prefix else node.name

    def _check_types(
        self, card: Card, node: Any, inputs: list[Tensor], attrs: dict[str, Any]
    ) -> None:
        """Raise an error if the types of inputs differ from those in the node's attributes."""
        try:
            expected = input_types(card, attrs)
        except KeyError:
            return  # attributes are missing; those that follow from the inputs are checked later
        if len(inputs) != len(expected):
            types = [cpp_name(dtype) for dtype in expected]
            raise wrong_count(card.signature, self._full(node), types, len(inputs))
        for index, (tensor, dtype) in enumerate(zip(inputs, expected, strict=True)):
            same = tensor.dtype.base_dtype == dtype.base_dtype
            if not same or (dtype._is_ref_dtype and not tensor.dtype._is_ref_dtype):
                raise ValueError(
                    f"Input {index} of node {self._full(node)} was passed "
                    f"{cpp_name(tensor.dtype)} from {tensor.name} incompatible with expected "
                    f"{cpp_name(dtype)}."
                )

    def _inputs(self, card: Card, node: Any) -> tuple[list[Tensor], list[Operation]]:
        inputs: list[Tensor | None] = []
        controls: list[Operation] = []
        for text in node.input:
            if text.startswith("^"):
                mapped = self.input_map.get(_split(text))
                if mapped is not None:
                    self.used.add(_split(text))
                    controls.append(getattr(mapped, "op", mapped))
                else:
                    controls.append(self.made[text[1:]])
                continue
            source = self.nodes.get(_split(text)[0])
            late = card.name in _MERGES and source is not None and source.op in _BACK_EDGES
            inputs.append(None if late else self._tensor(node.name, text))
        first = next((tensor for tensor in inputs if tensor is not None), None)
        given: list[Any] = [first if tensor is None else tensor for tensor in inputs]
        outer = self.graph._control_dependencies_for(given)
        return given, controls + [op for op in outer if op not in controls]

    def _tensor(self, user: str, text: str) -> Tensor:
        key = _split(text)
        mapped = self.input_map.get(key)
        if mapped is not None:
            self.used.add(key)
            return mapped
        op = self.made[key[0]]
        if key[1] >= len(op._outputs):
            raise ValueError(
                f"Node '{user}': Connecting to invalid output {key[1]} of source node {key[0]} "
                f"which has {len(op._outputs)} outputs."
            )
        return op._outputs[key[1]]

    def _attrs(self, card: Card, node: Any) -> dict[str, Any]:
        declared = card.signature.attrs
        attrs = {}
        for key in sorted(node.attr):
            attr = declared.get(key)
            if attr is None and not key.startswith("_"):
                if self._is_default_of_producer(node, key):
                    continue
                raise unknown_attr(card.signature, self._full(node), key)
            if attr is not None:
                attr_kinds.check(node.attr[key], attr.kind, key, node, attr.minimum)
                attr_kinds.check_allowed(node.attr[key], attr)
            attrs[key] = attr_values.from_proto(node.attr[key], None if attr is None else attr.kind)
        missing = [k for k, attr in declared.items() if k not in attrs and not attr.has_default]
        if missing:
            raise missing_attrs(card.signature, self._full(node), missing)
        return attrs

    def _is_default_of_producer(self, node: Any, key: str) -> bool:
        producer = self.producer_ops.get(node.op)
        for attr in getattr(producer, "attr", ()):
            if attr.name == key and attr.HasField("default_value"):
                return bool(attr.default_value == node.attr[key])
        return False

    def _place(self, ops: list[Operation]) -> None:
        """Set the devices of operations: their own, the scopes', or those of their colocation."""
        colocated: list[tuple[Operation, list[str]]] = []
        for op in ops:
            node = self._node_of(op)
            groups = self._colocations(op)
            if groups:
                colocated.append((op, groups))
                continue
            own = self.graph.device(node.device) if node.device else contextlib.nullcontext()
            with own:
                self.graph._apply_devices(op)
        for op, groups in colocated:
            for group in groups:
                if group not in self.graph._by_name:
                    raise ValueError(
                        "Specified colocation to an op that does not exist during import: "
                        f"{group} in {op.name}"
                    )
                device = self.graph._by_name[group].device
                if device:
                    op._set_device(device)
                    break

    def _node_of(self, op: Operation) -> Any:
        name = op.name[len(self.prefix) + 1 :] if self.prefix else op.name
        node = self.nodes.get(name)
        if node is None:  # the name was taken and got a number
            node = next(n for n, made in self.made.items() if made is op)
            return self.nodes[node]
        return node

    def _colocations(self, op: Operation) -> list[str]:
        """Return the operations `op` is placed with; their names get the prefix."""
        groups = op.attrs.get("_class")
        if not groups:
            return []
        node = self._node_of(op)
        attr_kinds.check(node.attr["_class"], "list(string)", "_class", node)
        renamed, others = [], []
        for group in groups:
            if group.startswith(b"loc:@"):
                source = group[5:].decode()
                found = self.made.get(source) or self.colocated.get(source)
                if found is None:
                    raise ValueError(
                        f"Node '{self._node_of(op).name}' expects to be colocated with unknown "
                        f"node '{source}'"
                    )
                target = found.name
                renamed.append(f"loc:@{target}".encode())
                if target != op.name:
                    others.append(target)
            else:
                renamed.append(group)
        op.attrs["_class"] = renamed
        return others


class _Names:
    """Names for imported nodes: their own, with a number where the graph has such a node or scope.

    Imported nodes use up names of nodes alone. A scope of the same name can still be opened, and
    the names in it get numbers one by one.
    """

    def __init__(self, graph: Graph, prefix: str, own: Iterable[str]) -> None:
        begin = f"{prefix}/" if prefix else ""
        self._graph = graph
        self._there = _with_scopes(name for name in graph._by_name if name.startswith(begin))
        self._own = own
        self._own_and_scopes: set[str] | None = None

    def take(self, name: str) -> str:
        """Return the name that a node gets; it is in use from now on."""
        found, number = name, 0
        while found in self._there or (number and found in self._imported()):
            number += 1
            found = f"{name}_{number}"
        if number:  # names in a scope of its own are looked for without the scope
            self._there.add(found)
        self._graph._names_in_use.setdefault(found.lower(), 1)
        return found

    def _imported(self) -> set[str]:
        """Names and scopes of the GraphDef, which no number may lead to."""
        if self._own_and_scopes is None:
            self._own_and_scopes = _with_scopes(self._own)
        return self._own_and_scopes


def _with_scopes(names: Iterable[str]) -> set[str]:
    """Names, and all that stands before a slash in them."""
    found: set[str] = set()
    for name in names:
        while name not in found:
            found.add(name)
            if "/" not in name:
                break
            name = name.rpartition("/")[0]
    return found


# Ops whose shapes were stated wrongly by older versions: their own rule is right.
_STATED_WRONGLY = frozenset({
    "RandomShuffleQueue", "PaddingFIFOQueue", "FIFOQueue", "PriorityQueue", "QueueSize", "Stack",
    "Barrier", "BarrierReadySize", "BarrierIncompleteSize", "HashTable", "MutableHashTable",
    "MutableHashTableOfTensors", "Mutex", "CuckooTable", "IndexTable", "WholeFileReader",
    "TextLineReader", "FixedLengthRecordReader", "TFRecordReader", "IdentityReader", "LMDBReader",
    "RefSwitch", "RefEnter", "RefNextIteration", "RefMerge", "RefIdentity",
    "ConditionalAccumulator", "SparseConditionalAccumulator", "Table",
})  # fmt: skip


def _take_shapes(op: Operation, shapes: Any) -> None:
    """Check the shapes that a GraphDef states against the op's shape rule."""
    if shapes is None:
        return
    if len(shapes) < len(op._outputs):
        raise ValueError(
            f"Node '{op.name}' has {len(op._outputs)} outputs but the _output_shapes attribute "
            f"specifies shapes for {len(shapes)} outputs"
        )
    for index, (tensor, shape) in enumerate(zip(op._outputs, shapes, strict=False)):
        try:
            tensor._dims = merge(tensor._dims, TensorShape(shape)._dims)
        except ValueError as error:
            if op.type not in _STATED_WRONGLY:
                raise ValueError(
                    f"Node '{op.name}' has an _output_shapes attribute inconsistent with the "
                    f"GraphDef for output #{index}: {error}"
                ) from None


def _split(text: str) -> tuple[str, int]:
    """Return an input `name:1` as ("name", 1), `^name` as ("name", -1)."""
    if text.startswith("^"):
        return text[1:], -1
    name, colon, number = text.rpartition(":")
    return (name, int(number)) if colon and number.isdecimal() else (text, 0)


def _parse(text: str) -> tuple[str, int]:
    """Return a name that a program gives, as `_split` does; ValueError if it is no name."""
    if text.startswith("^"):
        return text[1:], -1
    name, colon, number = text.partition(":")
    try:
        index = int(number) if colon else 0
    except ValueError:
        index = -1
    if index < 0:
        raise ValueError(f"Cannot convert {text!r} to a tensor name.")
    return name, index


def _join(key: tuple[str, int]) -> str:
    return f"^{key[0]}" if key[1] < 0 else f"{key[0]}:{key[1]}"
