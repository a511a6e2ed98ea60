"""Products and sums of tensors by Einstein's notation, as matrix products."""

from __future__ import annotations

import re
import string
from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays import shape as shapes
from stillflow.ops.arrays import transpose as transposes
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.linalg.matmul import matmul, trace
from stillflow.ops.math.binary import multiply
from stillflow.ops.math.reductions import reduce_sum


@export("einsum", "linalg.einsum")
@dispatchable
def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """Return the sum of products that an equation like `"bij,bjk->bik"` describes.

    Each letter names an axis; axes that do not occur behind the arrow are summed over. Without an
    arrow, those that occur once stay, in alphabetical order. `...` stands for leading axes.

    Args:
      equation: the letters of every input's axes and of the result's.
      *inputs: tensors of known rank.
      name: of the scope.

    Raises:
      ValueError: if the equation is malformed, does not fit the inputs, or repeats a letter within
        one input.
      TypeError: for other keyword arguments.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"invalid keyword arguments for this function: {', '.join(sorted(kwargs))}")
    with name_scope(name, "einsum", [equation, inputs]):
        tensors = list(inputs)
        terms, output = parse(equation, [x.get_shape() for x in tensors])
        if len(terms) == 1 and "->" not in equation and _is_trace(terms[0]):
            return trace(tensors[0])
        for term in terms:
            if len(set(term)) < len(term):
                raise ValueError(f"Subscript not supported: an axis appears more than once: {term}")
        labels = set("".join(terms) + output)
        if any(sum(a in term for term in terms) > 2 and a not in output for a in labels):
            return _by_broadcasting(equation, tensors)
        return _by_matrix_products(equation, tensors, terms, output)


def _is_trace(term: str) -> bool:
    return (
        len(set(term)) < len(term) and term == term[::-1] and any(term.count(a) == 2 for a in term)
    )


def parse(equation: str, input_shapes: list[TensorShape]) -> tuple[list[str], str]:
    """Return the axis labels of each input and of the result, ellipses spelled out."""
    equation = equation.replace(" ", "")
    parts = re.match("^([a-zA-Z,.]+)(?:(->)([a-zA-Z.]*))?$", equation)
    if parts is None:
        raise ValueError(f"Indices have incorrect format: {equation}")
    terms = parts[1].split(",")
    given, wanted = len(input_shapes), len(terms)
    if given != wanted:
        raise ValueError(f'Got {given} arguments for equation "{equation}", expecting {wanted}')
    ellipsis, has_ellipsis = "", "..." in equation
    if has_ellipsis:
        terms, ellipsis = _spell_out(terms, input_shapes)
    if parts[2] is None:
        every = "".join(terms)
        once = {label for label in every if every.count(label) == 1}
        return terms, ellipsis + "".join(sorted(once.difference(ellipsis)))
    output = parts[3].replace("...", ellipsis)
    if has_ellipsis and "." in output:
        raise ValueError('period "." found outside of ellipsis')
    return terms, output


def _spell_out(terms: list[str], input_shapes: list[TensorShape]) -> tuple[list[str], str]:
    """Replace `...` by unused letters; give the longest replacement, too."""
    unused = "".join(a for a in string.ascii_letters if a not in "".join(terms))
    longest, result = "", []
    for term, shape in zip(terms, input_shapes):
        if "..." in term:
            parts = term.split("...")
            if len(parts) != 2:
                raise ValueError("Unable to resolve ellipsis. Excess number found.")
            if shape.ndims is None:
                raise ValueError("Unable to statically infer ellipsis axes.")
            count = shape.ndims - len("".join(parts))
            if count < 0:
                raise ValueError("Ellipses lengths do not match.")
            if len(unused) < count:
                raise ValueError("Unable to resolve ellipsis, too many distinct labels.")
            letters = unused[-count:] if count > 0 else ""
            term = term.replace("...", letters)
            longest = letters if len(letters) > len(longest) else longest
        result.append(term)
    if any("." in term for term in result):
        raise ValueError('period "." found outside of ellipsis')
    return result, longest


def _by_matrix_products(
    equation: str, tensors: list[Tensor], terms: list[str], output: str
) -> Tensor:
    """Multiplies input after input, summing an axis as soon as no other needs it."""
    result, labels = tensors[0], terms[0]
    for other, term in zip(tensors[1:], terms[1:]):
        summed = (set(labels) & set(term)) - set(output)
        result, labels = _product(result, labels, other, term, summed)
    if set(labels) - set(output):
        result = reduce_sum(result, axis=[i for i, a in enumerate(labels) if a not in output])
        labels = "".join(a for a in labels if a in output)
    if sorted(labels) != sorted(output):
        raise ValueError(f"Invalid equation: {equation}")
    return _transposed(result, [labels.index(a) for a in output])


def _product(
    x: Tensor, x_labels: str, y: Tensor, y_labels: str, summed: set[str]
) -> tuple[Tensor, str]:
    """Return the product of two tensors, summed over some of the axes they share."""
    for i, (tensor, labels) in enumerate(((x, x_labels), (y, y_labels))):
        if len(tensor.get_shape()) != len(labels):
            raise ValueError(
                f"Tensor t{i} of rank {len(tensor.get_shape())} does not match einsum reduction "
                f"of length {len(labels)}"
            )
    kept = (set(x_labels) & set(y_labels)) - summed
    own = [set(labels) - kept - summed for labels in (x_labels, y_labels)]
    # x becomes [kept, own, summed] and y [kept, summed, own]: batches of matrices.
    x_order = sorted(kept) + sorted(own[0]) + sorted(summed)
    y_order = sorted(kept) + sorted(summed) + sorted(own[1])
    x = _transposed(x, [x_labels.find(a) for a in x_order])
    y = _transposed(y, [y_labels.find(a) for a in y_order])
    result_labels = "".join(sorted(kept) + sorted(own[0]) + sorted(own[1]))
    batch = len(kept)
    if not summed:
        for _ in own[1]:
            x = shapes.expand_dims(x, -1)
        for _ in own[0]:
            y = shapes.expand_dims(y, batch)
        return multiply(x, y), result_labels
    x_shape = _sizes(x)
    rows, inner = _total(x_shape[batch : -len(summed)]), _total(x_shape[-len(summed) :])
    x = _reshaped(x, [*x_shape[:batch], rows, inner])
    y_shape = _sizes(y)
    columns = _total(y_shape[batch + len(summed) :])
    y = _reshaped(y, [*y_shape[:batch], inner, columns])
    product = matmul(x, y)
    own_sizes = y_shape[len(y_shape) - len(own[1]) :]
    return _reshaped(product, x_shape[: batch + len(own[0])] + own_sizes), result_labels


def _transposed(x: Tensor, perm: list[int]) -> Tensor:
    return x if perm == list(range(len(perm))) else transposes.transpose(x, perm=perm)


def _reshaped(x: Tensor, new_shape: list[Any]) -> Tensor:
    """`x` in another shape; `x` itself where it is known to have it already."""
    wanted = tuple(-1 if size is None else size for size in new_shape)
    current = x.get_shape().as_list()  # x may be a variable
    if len(wanted) == len(current) and all(
        not isinstance(size, Tensor) and size in (old, -1) for old, size in zip(current, wanted)
    ):
        return x
    return shapes.reshape(x, wanted)


def _sizes(x: Tensor) -> list[Any]:
    """Return the sizes of all axes: numbers, or scalar tensors where they are not known."""
    sizes: list[Any] = x.get_shape().as_list()
    if None in sizes:
        dynamic = shapes.shape(x)
        sizes = [dynamic[i] if size is None else size for i, size in enumerate(sizes)]
    return sizes


def _total(sizes: list[Any]) -> Tensor | int:
    result: Any = 1
    for size in sizes:
        result *= size
    return result


def _by_broadcasting(equation: str, tensors: list[Tensor]) -> Tensor:
    """Return the way for axes shared by more than two inputs: one large product, then the sum."""
    terms, output = parse(equation, [x.get_shape() for x in tensors])
    labels = sorted(set("".join(terms)) - set(output)) + list(output)
    if set(output) - set("".join(terms)):
        raise ValueError(f"Unknown output axes: {set(output) - set(''.join(terms))}")
    position = {a: i for i, a in enumerate(labels)}
    sizes: list[list[int]] = []
    for i, term in enumerate(terms):
        if tensors[i].get_shape().ndims != len(term):
            raise ValueError(
                f"Input {i} with axes {term} has incorrect number of dimensions (expected "
                f"{len(term)}, got {tensors[i].get_shape().ndims})"
            )
        order = sorted(term, key=position.__getitem__)
        if list(term) != order:
            tensors[i] = transposes.transpose(tensors[i], [term.find(a) for a in order])
        given = dict(zip(order, tensors[i].get_shape().as_list()))
        sizes.append([given[a] or -1 if a in given else 1 for a in labels])
    for axis, a in enumerate(labels):
        if len({size[axis] for size in sizes if size[axis] > 1}) > 1:
            raise ValueError(f"Dimension mismatch on axis: {a}")
    result: Any = 1
    for x in [shapes.reshape(x, size) for x, size in zip(tensors, sizes)]:
        result *= x
    return reduce_sum(result, [i for i, a in enumerate(labels) if a not in output])
