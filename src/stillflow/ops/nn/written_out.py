"""GELUs and layer normalizations that programs write out, with their gradients, as patterns.

A training step looks at parts of the forward computation again for the gradient. So a pattern is
that of both, and each of the two becomes one call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from stillflow.graph.lazy import torch
from stillflow.ops.patterns import Term, added, multiplied, term

SUM = "AddN"  # of gradients


class Part(NamedTuple):
    """A call that replaces one of the two.

    Attributes:
      kernel: takes the values of `inputs`, and the numbers of `numbers`.
      inputs, outputs: keys of the pattern.
    """

    kernel: Callable[..., Any]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    numbers: tuple[str, ...] = ()


class WrittenOut(NamedTuple):
    """A function with its gradient.

    Attributes:
      root: the term with which the search begins.
      others: more terms, each with the key of a value that it takes.
      forward, backward: the calls; the gradient of the result is "dy".
      summands: of the backward call's first output; more may be added to them by the same AddN.
      width: whether the names "last", "others", "column", "whole", "width" and "width too" are to
        be those of a reduction along the last axis of "x"; "scale", "offset" vectors of its size.
    """

    root: Term
    others: tuple[tuple[Term, Any], ...]
    forward: Part
    backward: Part
    summands: tuple[Term, ...] = ()
    width: bool = False


def _gelu(x: Any) -> Any:
    return torch.nn.functional.gelu(x, approximate="tanh")


def _gelu_gradient(dy: Any, x: Any) -> Any:
    return torch.ops.aten.gelu_backward(dy, x, approximate="tanh")


def _layer_norm(x: Any, scale: Any, offset: Any, epsilon: float) -> Any:
    return torch.native_layer_norm(x, scale.shape, scale, offset, epsilon)


def _layer_norm_gradient(dy: Any, x: Any, mean: Any, inverse: Any, scale: Any) -> Any:
    """Return the gradients of x, scale and offset."""
    backward = torch.ops.aten.native_layer_norm_backward
    return backward(dy, x, scale.shape, mean, inverse, scale, scale, [True, True, True])


def _gelus() -> tuple[WrittenOut, WrittenOut]:
    """Return 0.5 * x * (1 + tanh(...)) and x * (0.5 * (1 + tanh(...)))."""
    factor, small, x, dy = math.sqrt(2 / math.pi), 0.044715, "x", "dy"
    cube = multiplied(small, term("Pow", x, 3.0))
    tanh = term("Tanh", multiplied(factor, added(x, cube)))
    one = added(1.0, tanh)

    def gelu(y: Term, of_factor: Term, of_tanh: Term) -> WrittenOut:
        inside = multiplied(factor, term("TanhGrad", of_tanh, tanh))
        of_cube = multiplied(multiplied(small, inside), 3.0)
        root = added(of_factor, inside, multiplied(of_cube, term("Pow", x, 2.0)))
        backward = Part(_gelu_gradient, (dy, x), (root,))
        return WrittenOut(root, ((y, next(iter(y.arguments))),), Part(_gelu, (x,), (y,)), backward)

    half, distribution = multiplied(0.5, x), multiplied(0.5, one)
    return (
        gelu(multiplied(half, one), multiplied(0.5, multiplied(dy, one)), multiplied(half, dy)),
        gelu(
            multiplied(distribution, x), multiplied(dy, distribution),
            multiplied(0.5, multiplied(x, dy)),
        ),
    )  # fmt: skip


def _norm() -> WrittenOut:
    """Return what tf.nn.moments and tf.nn.batch_normalization make along the last axis."""
    x, dy, scale, offset = "x", "dy", "scale", "offset"

    def column(value: Any) -> Term:
        return term("Reshape", term("Sum", value, "last", False), "column")

    mean = term("Mean", x, "last", True)
    variance = term("Mean", term("SquaredDifference", x, mean), "last", True)
    inverse = term("Rsqrt", added(variance, "epsilon"))
    scaled = multiplied(inverse, scale)
    product, shift = multiplied(x, scaled), term("Sub", offset, multiplied(mean, scaled))
    y = added(product, shift)
    negative = term("Neg", dy)
    of_scaled = added(multiplied(x, dy), multiplied(mean, negative))
    of_inverse = term("RsqrtGrad", inverse, column(multiplied(of_scaled, scale)))
    of_variance = (column(of_inverse), of_inverse)  # the sum is for shapes known at run time only
    spread = term("RealDiv", term("Tile", of_variance, "whole"), "width")
    by_variance = multiplied(multiplied(2.0, spread), term("Sub", x, mean))
    each = multiplied(inverse, of_scaled)
    of_scale, of_offset = term("Sum", each, "others", False), term("Sum", dy, "others", False)
    chain = [negative, multiplied(negative, scaled)]
    chain.append(term("Sum", chain[-1], "last", False))
    chain.append(term("Reshape", chain[-1], "column"))
    chain.append(term("Tile", chain[-1], "whole"))
    by_mean, of_x = term("RealDiv", chain[-1], "width too"), multiplied(dy, scaled)
    others = (
        (scaled, inverse), (product, scaled), (y, product), (each, of_scaled), (of_scale, each),
        (of_offset, dy), (of_x, dy), *zip([*chain[1:], by_mean], chain, strict=True),
    )  # fmt: skip
    forward = Part(_layer_norm, (x, scale, offset), (y, mean, inverse), ("epsilon",))
    gradients = (by_variance, of_scale, of_offset)
    backward = Part(_layer_norm_gradient, (dy, x, mean, inverse, scale), gradients)
    return WrittenOut(
        by_variance, others, forward, backward, (by_variance, of_x, by_mean), width=True
    )


WRITTEN_OUT: tuple[WrittenOut, ...] = (*_gelus(), _norm())
