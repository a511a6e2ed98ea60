"""`tf.switch_case`: one of several functions, chosen by a number."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from stillflow import nest
from stillflow.graph.api import name_scope
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.func_graph import FuncGraph, trace
from stillflow.graph.functions import define
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.ops.functional.cards import case_op
from stillflow.protos import NameAttrList

Branch = Callable[[], Any]

_numbers = itertools.count()  # two functions of a library never have the same name


@export("switch_case")
def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Branch | None = None,
    name: str = "switch_case",
) -> Any:
    """The result of the function whose number `branch_index` is when the graph runs.

    Each function becomes one of the graph's library, called by a Case operation.

    Args:
      branch_index: a scalar integer tensor.
      branch_fns: functions, or pairs of a number and a function, or a dict of these; the numbers
        are 0, 1, ... without a gap.
      default: called for other numbers; the last function if None.
      name: of the scope.

    Returns:
      What the function gives; all have to give the same structure and types.

    Raises:
      TypeError: if an argument is of another type.
      ValueError: if there are no functions, or gaps in their numbers.
    """
    branches = _ordered(branch_index, branch_fns)
    if default is not None:
        branches.append(default)
    with name_scope(name, "case", [branch_index]):
        if executing_eagerly():
            chosen = int(branch_index)
            return branches[chosen if 0 <= chosen < len(branches) else -1]()
        return _call(branch_index, branches)


def _ordered(branch_index: Any, branch_fns: Any) -> list[Branch]:
    if not isinstance(branch_index, Tensor):
        raise TypeError(f"branch_index must a Tensor, got {type(branch_index)}")
    if not branch_index.dtype.is_integer:
        raise TypeError(f"branch_index must an integer Tensor, got {branch_index.dtype}")
    if not branch_fns:
        raise ValueError("Must provide at least one item in branch_fns")
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise TypeError("branch_fns must be a list, tuple, or dict")
    pairs = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    if all(callable(branch) for branch in pairs):
        return pairs
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in branch_fns must be a 2-tuple")
        key, branch = pair
        if not isinstance(key, int):
            raise TypeError(f"key must be a Python `int`, got {type(key)}")
        if not callable(branch):
            raise TypeError(f"fn for key {key} must be callable.")
    by_key = dict(pairs)
    if sorted(key for key, _ in pairs) != list(range(len(pairs))):
        found = ",".join(str(key) for key, _ in sorted(pairs, key=lambda pair: pair[0]))
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found "
            f"{{{found}}}"
        )
    return [by_key[key] for key in range(len(pairs))]


def _call(branch_index: Tensor, branches: Sequence[Branch]) -> Any:
    graph = get_default_graph()
    scope = graph.get_name_scope().replace("/", "_")
    bodies = [
        trace(branch, [], f"{scope}_branch{i}_{next(_numbers)}")
        for i, branch in enumerate(branches)
    ]
    structure = bodies[0].structured_outputs
    for body in bodies[1:]:
        nest.assert_same_structure(structure, body.structured_outputs, expand_composites=True)
    captured = list(dict.fromkeys(t for body in bodies for t in body.captured_inputs))
    for body in bodies:
        _take_all(body, captured)
    functions = [define(body, graph=graph) for body in bodies]
    made = case_op(
        branch_index,
        captured,
        Tout=[tensor.dtype for tensor in bodies[0].outputs],
        branches=[NameAttrList(name=function.name) for function in functions],
        output_shapes=[_common([body.outputs[i] for body in bodies])
                       for i in range(len(bodies[0].outputs))],
        name="indexed_case",
    )  # fmt: skip
    return nest.pack_sequence_as(structure, list(made), expand_composites=True)


def _take_all(body: FuncGraph, tensors: Sequence[Tensor]) -> None:
    """Makes a body take these tensors, in this order, whether it uses them or not."""
    with body.as_default():
        body.inputs = [body.capture(tensor) for tensor in tensors]


def _common(outputs: Sequence[Tensor]) -> Any:
    """What the static shapes of a result have in common."""
    shape = outputs[0].shape
    for output in outputs[1:]:
        shape = shape.most_specific_compatible_shape(output.shape)
    return shape
