"""The number by which TensorFlow 1.15 tells graphs of datasets apart.

Names of nodes and functions do not count, their computations do. As in TensorFlow, a node of a
function counts as one of the same name in a function that was processed before.

TensorFlow's optimizer processes functions first. Of its changes there, identities are removed and
the operands of commutative operations are put in the order of their names; where it does more, the
hash differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stillflow.graph.card import find
from stillflow.util.string_hashes import murmur64, murmur64s

_SEED = 0xDECAFCAFFE
_MASK = (1 << 64) - 1
_LONG = 1 << 12  # bytes from which a loop in C is worth its preparation


def _hash(data: bytes | str, seed: int = _SEED) -> int:
    content = data.encode() if isinstance(data, str) else data
    if len(content) < _LONG:
        return murmur64(content, seed)
    return int(murmur64s([content], seed)[0])


def _combined(first: int, second: int) -> int:
    shifted = (first << 10) + (first >> 4)
    return first ^ ((second + 0x9E3779B97F4A7800 + shifted) & _MASK)


def _sum(numbers: Iterable[int], start: int = 0) -> int:
    """Return a number for which the order does not count."""
    return (start + sum(numbers)) & _MASK


def graph_hash(graph_def: Any) -> str:
    """Return the hash of the inputs of a `GraphDef`'s `_Retval`, 16 hexadecimal digits."""
    end = next(node for node in graph_def.node if node.op == "_Retval")
    nodes = {node.name: node for node in graph_def.node}
    return f"{_Hasher(graph_def.library).node(nodes, end):016x}"


class _Hasher:
    """Hashes of nodes and functions, each computed once; nodes name functions of `library`."""

    def __init__(self, library: Any) -> None:
        self._functions = {
            function.signature.name: _optimized(function) for function in library.function
        }
        self._found: dict[str, int] = {}
        self._open: set[str] = set()  # consumers of the present node

    def node(self, nodes: dict[str, Any], node: Any) -> int:
        """Return the hash of a node and of all that it depends on."""
        key, kind = f"node-{node.name}", _hash(node.op)
        if key not in self._found:
            if key in self._open:
                self._found[key] = _combined(_hash("DependencyLoopNode"), kind)
                return self._found[key]
            self._open.add(key)
            self._found[key] = self._node(nodes, node, kind)
            self._open.discard(key)
        return self._found[key]

    def _node(self, nodes: dict[str, Any], node: Any, kind: int) -> int:
        inputs, controls = 0, 0
        for name in node.input:
            if name.startswith("^"):
                controls = _sum([self.node(nodes, nodes[name[1:]])], controls)
            else:
                inputs = _combined(inputs, self._output(nodes, name))
        attrs = _sum(self._attr(name, value) for name, value in sorted(node.attr.items()))
        rest = _combined(_hash(node.device), _combined(inputs, controls))
        return _combined(_combined(attrs, kind), rest)

    def _output(self, nodes: dict[str, Any], name: str) -> int:
        """Return the hash of an output by its name, `node`, `node:1` or `node:output:0`."""
        node, _, port = name.partition(":")
        return _combined(self.node(nodes, nodes[node]), _hash(port))

    def _attr(self, name: str, value: Any) -> int:
        if not value.HasField("func"):
            found = _hash(value.SerializeToString(deterministic=True))
        elif value.func.name in self._functions:
            found = self._function(self._functions[value.func.name])
        else:
            return 0
        return _hash(f"{name}={found}")

    def _function(self, function: Any) -> int:
        key, signature = f"function-{function.signature.name}", _signature(function.signature)
        if key not in self._found:
            if key in self._open:
                self._found[key] = _combined(_hash("DependencyLoopFn"), signature)
                return self._found[key]
            self._open.add(key)
            self._found[key] = self._body(function, signature)
            self._open.discard(key)
        return self._found[key]

    def _body(self, function: Any, signature: int) -> int:
        from stillflow.protos import NodeDef

        attrs = _sum(self._attr(name, value) for name, value in sorted(function.attr.items()))
        nodes = {node.name: node for node in function.node_def}
        for argument in function.signature.input_arg:
            nodes[argument.name] = NodeDef(name=argument.name, op="_Retval")
        results, controls = (
            _sum(
                (
                    _combined(_hash(name), self._output(nodes, where))
                    for name, where in sorted(found.items())
                ),
                len(found),
            )
            for found in (function.ret, function.control_ret)
        )
        first = _combined(_combined(signature, attrs), 0)  # its arguments have no attributes left
        return _combined(first, _combined(results, controls))


def _optimized(function: Any) -> Any:
    """Return a function as TensorFlow's optimizer leaves it, as far as that is done here."""
    made = type(function)()
    made.CopyFrom(function)
    passed = {node.name: node.input[0] for node in made.node_def if node.op == "Identity"}

    def source(name: str) -> str:
        while ":" in name and name.partition(":")[0] in passed:
            name = passed[name.partition(":")[0]]
        return name

    for node in made.node_def:
        names = [source(name) for name in node.input]
        card = find(node.op)
        if card is not None and "commutative" in card.signature.flags and len(names) == 2:
            names.sort()
        node.input[:] = names
    for result, name in list(made.ret.items()):
        made.ret[result] = source(name)
    return made


def _signature(op_def: Any) -> int:
    """Return the hash of a function's signature without its names."""
    found = type(op_def)()
    found.CopyFrom(op_def)
    for field in ("name", "description", "summary", "attr", "control_output"):
        found.ClearField(field)
    for argument in (*found.input_arg, *found.output_arg):
        argument.ClearField("name")
        argument.ClearField("description")
    seed = _SEED
    for name in sorted(set(op_def.control_output)):
        seed = _combined(seed, _hash(name))
    return _hash(found.SerializeToString(deterministic=True), seed)
