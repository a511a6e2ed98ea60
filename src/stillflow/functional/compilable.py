"""Functions that ask to be compiled by XLA: operations that it does not compile are an error."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from stillflow import errors
from stillflow.graph.dtypes import string
from stillflow.graph.functions import find_function
from stillflow.graph.trust import functions_in


@functools.cache
def _compiled_ops() -> frozenset[str]:
    """Return the operations that TensorFlow's XLA compiles for processors."""
    from importlib.resources import files

    return frozenset(files(__package__).joinpath("compiled_ops.txt").read_text().split())


def check_compilable(function: Any) -> None:
    """Raise InvalidArgumentError for a function with operations that XLA does not compile."""
    name, body = function.name.decode(), function.graph
    found = "".join(_uncompilable(body, name, f"\t\tNode: {name}, function: \n", set()))
    if found:
        text = (
            f'Function invoked by the following node is not compilable: name: "{name}" op: '
            f'"{name}" input: "dummy_input" attr {{ key: "_XlaCompile" value {{ b: true }} }}.\n'
            f"Uncompilable nodes:\n{found.rstrip()}\n [Op:{name}]"
        )
        raise errors.InvalidArgumentError(None, None, text)


def _uncompilable(body: Any, name: str, stack: str, seen: set[Any]) -> Iterator[str]:
    """Yield the description of each such operation of a body, and of those that it calls."""
    seen.add(body)
    for op in body._operations:
        node = f"{stack}\t\tNode: {op.name}, function: {name}\n"
        called = functions_in(op.node_def)
        for each in called:
            function = find_function(body, each.name)
            inner = function and function.instantiate(body, each.attr)
            if inner is not None and inner not in seen:
                caller = op.name if op.type.endswith("PartitionedCall") else each.name
                yield from _uncompilable(inner, caller, node, seen)
        texts = any(tensor.dtype.base_dtype == string for tensor in (*op._inputs, *op._outputs))
        if texts or not (called or op.type == "Placeholder" or op.type in _compiled_ops()):
            yield f"\t{op.name}: unsupported op\n\tStacktrace:\n{node}"
