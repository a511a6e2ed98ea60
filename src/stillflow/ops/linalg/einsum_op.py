"""The op Einsum; `tf.einsum` builds matrix products instead (see `einsum.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.dims import Dims
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Bad, Sample, Samples

einsum_op = op("""
    Einsum(inputs: N*T) -> output: T
    equation: string
    N: int >= 1
    T: type
""", view=True)  # fmt: skip


def parse(equation: str, count: int) -> tuple[list[str], str]:
    """Return the subscripts of the inputs and of the output."""
    sides = equation.replace(" ", "").split("->")
    if len(sides) != 2:
        raise ValueError(f"Expecting exactly one '->' in einsum equation: {equation}")
    terms, output = sides[0].split(","), sides[1]
    if len(terms) not in (1, 2):
        raise ValueError(
            f"Expecting 1 or 2 input subscripts in equation '{equation}' but got: {len(terms)}"
        )
    if count > 2:
        raise ValueError(f"Expected either 1 or 2 inputs but got: {count}")
    if len(terms) != count:
        raise ValueError(f"Expected {len(terms)} inputs for equation {equation} but got: {count}")
    for term in (*terms, output):
        if not term.replace("...", "", 1).isalpha() and term not in ("", "..."):
            raise ValueError(f"Invalid subscripts '{term}' in equation {equation}")
    return terms, output


def einsum_dims(equation: str, shapes: list[Dims]) -> Dims:
    """Return the shape of the output, as far as the inputs' shapes tell."""
    terms, output = parse(equation, len(shapes))
    sizes: dict[str, int | None] = {}
    broadcast: Dims = ()
    for term, shape in zip(terms, shapes):
        before, has_rest, after = term.partition("...")
        if shape is None:
            sizes.update({a: sizes.get(a) for a in before + after})
            broadcast = None if has_rest else broadcast
            continue
        named = len(before + after)
        if has_rest:
            dims.with_rank_at_least(shape, named)
        else:
            dims.with_rank(shape, named)
        end = len(shape) - len(after)
        for label, size in zip(before + after, shape[: len(before)] + shape[end:]):
            sizes[label] = dims.merge_dim(sizes.get(label), size)
        broadcast = dims.broadcast(broadcast, shape[len(before) : end])
    before, has_rest, after = output.partition("...")
    if not has_rest and broadcast:
        raise ValueError(
            "Output subscripts must have ellipsis when broadcasting shape is non-empty: "
            f"{dims.to_string(broadcast)}"
        )
    for label in before + after:
        if label not in sizes:
            raise ValueError(f"Einsum output subscripts {output} have an unknown label: {label}")
    if has_rest and broadcast is None:
        return None
    middle = broadcast if has_rest and broadcast else ()
    return (*[sizes[a] for a in before], *middle, *[sizes[a] for a in after])


@einsum_op.shape
def einsum_shape(node: Node) -> OutputDims:
    return einsum_dims(node.equation.decode(), [node.dims(i) for i in range(node.N)])


@einsum_op.kernel
def einsum_kernel(node: Node) -> Kernel:
    equation = node.equation.decode().replace(" ", "")
    known = all(dims.is_known(node.dims(i)) for i in range(node.N))
    terms, output = equation.split("->")
    letters = output.replace("...", "")
    unique = "".join(dict.fromkeys(letters))
    if known and unique == letters:
        return node.call(torch.einsum, equation, *node.inputs)

    def compute(*inputs: Any) -> torch.Tensor:
        shape = einsum_dims(equation, [tuple(x.shape) for x in inputs])
        if unique == letters:
            return torch.einsum(equation, *inputs)
        # A label that occurs twice in the output: its axes' diagonal is filled, the rest is 0.
        rest = "..." if "..." in output else ""
        result = torch.zeros(shape, dtype=inputs[0].dtype, device=inputs[0].device)
        diagonal = torch.einsum(f"{output}->{rest}{unique}", result)
        diagonal.copy_(torch.einsum(f"{terms}->{rest}{unique}", *inputs))
        return result

    return compute


@einsum_op.samples
def einsum_samples() -> Samples:
    a = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]], np.float32)
    yield Sample([a, a], equation=b"ij,kj->ik")
    yield Sample([np.stack([a, a]), a], equation=b"...ij,kj->...ki")
    yield Sample([a[:, :2]], equation=b"aa->a")
    yield Sample([a[0]], equation=b"a->aa")
    yield Bad([a, a], equation=b"ij,jk->ik", match="must be equal")
    yield Bad([a], equation=b"ijk->i", match="rank 3")
