"""Polynomials given by their coefficients."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.nest import flatten
from stillflow.ops.arrays import fill as fills
from stillflow.ops.dispatch import dispatchable


@export("math.polyval")
@dispatchable
def polyval(coeffs: Any, x: Any, name: str | None = None) -> Tensor:
    """Return the value at `x` of the polynomial with the given coefficients, by Horner's rule.

    Args:
      coeffs: a list of tensors, that of the highest power first.
      x: where to evaluate.
      name: of the scope.
    """
    with name_scope(name, "polyval", [*flatten(coeffs), x]) as scope:
        x = convert_to_tensor(x, name="x")
        if len(coeffs) < 1:
            return fills.zeros_like(x, name=scope)
        terms = [convert_to_tensor(c, name=f"coeff_{i}") for i, c in enumerate(coeffs)]
        result = terms[0]
        for term in terms[1:]:
            result = term + result * x
        return result
