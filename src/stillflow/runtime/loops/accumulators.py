"""Sums and rows of the iterations of a loop, written into memory that the loop owns.

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
        step = None if value is None else made.get(value.name)
        if step is None or step.guard or uses[name] != 1 or uses[step.outputs[0]] != 1:
            continue
        function: Any = step.function
        others = (a for a in step.arguments if isinstance(a, Name) and uses[a] == 1 and a != name)
        product = made.get(next(others, ""))
        if "copies" in getattr(function, "keywords", ()) and step.arguments[0] == name:
            step.function = function.func
        elif product and _is_sum(step, name) and _fits(product, name, step, shapes):
            _join(code.parts["body"], name, product, step)
        else:
            continue
        owned.add(name)
    return owned


def _names(step: Step) -> list[str]:
    return [*dict.fromkeys(step.inputs), *(name for name, _ in step.guard or ())]


def _is_sum(step: Step, name: str) -> bool:
    """Return True if a step adds one other value to `name`, in every iteration."""
    if step.function is not torch.add or step.op is None or step.op.type not in SUMS:
        return False
    return len(step.arguments) == 2 and not step.keywords and step.arguments.count(name) == 1


def _fits(product: Step, name: str, add: Step, shapes: Shapes) -> bool:
    """Return True if a product has the shape of the sum, so that nothing is broadcast."""
    if product.function not in _ADDERS or product.guard or len(product.arguments) != 2:
        return False
    mine, others = shapes.get(name), (shapes.get(product.outputs[0]), shapes.get(add.outputs[0]))
    if mine is None or mine[0] is None or None in mine[0] or not mine[1].is_floating:
        return False
    return all(isinstance(a, Name) for a in product.arguments) and others == (mine, mine)


def _join(body: list[Step], name: str, product: Step, add: Step) -> None:
    body.remove(product)
    add.function = _ADDERS[product.function]
    add.arguments, add.inputs = [Name(name), *product.arguments], [name, *product.inputs]
