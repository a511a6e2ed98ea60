"""Sums over the iterations of a loop, accumulated in memory that the loop owns.

The gradient of a weight that a loop uses is a sum of matrix products, one for each iteration.
Product and addition become one call that writes into the sum, instead of two new matrices per
iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from stillflow.ops.linalg import matmul
from stillflow.runtime.ir.steps import Name, Step

if TYPE_CHECKING:
    from stillflow.runtime.loops.code import LoopCode, Shapes

# Products by the functions that compute them, as functions of (sum, a, b).
_ADDERS: dict[Any, Callable[..., Any]] = {
    torch.mm: torch.Tensor.addmm_,
    matmul.mm_ta: lambda total, a, b: total.addmm_(a.t(), b),
    matmul.mm_tb: lambda total, a, b: total.addmm_(a, b.t()),
    matmul.mm_ta_tb: lambda total, a, b: total.addmm_(a.t(), b.t()),
    torch.bmm: torch.Tensor.baddbmm_,
    matmul.bmm_ta: lambda total, a, b: total.baddbmm_(a.mT, b),
    matmul.bmm_tb: lambda total, a, b: total.baddbmm_(a, b.mT),
    matmul.bmm_ta_tb: lambda total, a, b: total.baddbmm_(a.mT, b.mT),
}
SUMS = frozenset({"Add", "AddV2", "AddN"})


def add_in_place(code: LoopCode, shapes: Shapes) -> set[str]:
    """Join products of the body with the sums they go into; change the steps of `code`.

    `shapes` are (dims, dtype) of values by name. Returns the variables that are written into: they
    must start as copies.
    """
    names = code.tracer.current
    made = {name: step for step in code.parts["body"] for name in step.outputs}
    uses = Counter(name for part in code.parts.values() for step in part for name in _names(step))
    uses.update(value.name for value in code.next.values() if value is not None)
    owned = set()
    for variable, value in code.next.items():
        name = names[variable]
        add = None if value is None else made.get(value.name)
        if add is None or not _is_sum(add, name) or uses[name] != 1 or uses[add.outputs[0]] != 1:
            continue
        (other,) = (argument for argument in add.arguments if argument != name)
        product = made.get(other)
        if product is None or uses[other] != 1 or not _fits(product, name, add, shapes):
            continue
        _join(code.parts["body"], name, product, add)
        owned.add(name)
    return owned


def _names(step: Step) -> list[str]:
    return [*dict.fromkeys(step.inputs), *(name for name, _ in step.guard or ())]


def _is_sum(step: Step, name: str) -> bool:
    """Return True if a step adds one other value to `name`, in every iteration."""
    if step.function is not torch.add or step.op is None or step.op.type not in SUMS:
        return False
    two = len(step.arguments) == 2 and not step.keywords and not step.guard
    return two and step.arguments.count(name) == 1


def _fits(product: Step, name: str, add: Step, shapes: Shapes) -> bool:
    """Return True if a product has the shape of the sum, so that nothing is broadcast."""
    if product.function not in _ADDERS or product.guard or len(product.arguments) != 2:
        return False
    if not all(isinstance(argument, Name) for argument in product.arguments):
        return False
    mine, others = shapes.get(name), (shapes.get(product.outputs[0]), shapes.get(add.outputs[0]))
    if mine is None or mine[0] is None or None in mine[0] or not mine[1].is_floating:
        return False
    return all(other == mine for other in others)


def _join(body: list[Step], name: str, product: Step, add: Step) -> None:
    body.remove(product)
    add.function = _ADDERS[product.function]
    add.arguments = [Name(name), *product.arguments]
    add.inputs = [name, *product.inputs]
