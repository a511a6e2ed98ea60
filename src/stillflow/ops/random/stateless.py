"""Stateless draws: equal seeds give equal numbers at every execution."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import Card, op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.math.binary import add_op
from stillflow.ops.random.arguments import (
    check_range,
    read_sizes,
    seed_argument,
    set_static_shape,
    shape_argument,
    shape_sizes,
    shape_tensor,
)
from stillflow.ops.random.basic import uniform_bounds
from stillflow.ops.random.distributions import (
    NORMAL,
    TRUNCATED_NORMAL,
    UNIFORM,
    Distribution,
    drawn,
    int_range,
    uniform_ints,
)
from stillflow.ops.random.streams import stateless_stream
from stillflow.ops.samples import Bad, Sample, Samples


def _stateless_shape(node: Node) -> Any:
    seed_argument(node, 1)
    return shape_argument(node)


def _stateless_op(name: str, what: Distribution) -> Card:
    card = op(
        f"""
        {name}(shape: T, seed: Tseed) -> output: dtype
        dtype: {{half, bfloat16, float, double}} = float
        T: {{int32, int64}} = int32
        Tseed: {{int32, int64}} = int64
        """,
        differentiable=False,
        numbers=("shape", "seed"),
    )
    card.shape(_stateless_shape)

    @card.kernel
    def kernel(node: Node) -> Kernel:
        known, device = shape_sizes(node), node.device
        dtype = node.op.attrs["dtype"].torch_name

        def run(shape: Any, seed: Any) -> torch.Tensor:
            sizes = known if known is not None else read_sizes(shape)
            return drawn(what, stateless_stream(seed), sizes, dtype, device)

        return run

    @card.samples
    def samples() -> Samples:
        yield Sample([2, 3], [5, 6], fixed=(0,), grad=False)
        yield Bad([2, 3], [5], match="Dimension must be 2 but is 1")
        yield Bad([2, 3], 5, match="Shape must be rank 1 but is rank 0")

    return card


stateless_random_uniform_op = _stateless_op("StatelessRandomUniform", UNIFORM)
stateless_random_normal_op = _stateless_op("StatelessRandomNormal", NORMAL)
stateless_truncated_normal_op = _stateless_op("StatelessTruncatedNormal", TRUNCATED_NORMAL)

stateless_random_uniform_int_op = op(
    """
    StatelessRandomUniformInt(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> output: dtype
    dtype: {int32, int64}
    T: {int32, int64}
    Tseed: {int32, int64} = int64
    """,
    differentiable=False,
    numbers=("shape", "seed", "minval", "maxval"),
)


@stateless_random_uniform_int_op.shape
def stateless_random_uniform_int_shape(node: Node) -> OutputDims:
    check_range(node, 2)
    return _stateless_shape(node)


@stateless_random_uniform_int_op.kernel
def stateless_random_uniform_int_kernel(node: Node) -> Kernel:
    known, device = shape_sizes(node), node.device
    dtype = node.op.attrs["dtype"].torch_name

    def run(shape: Any, seed: Any, minval: Any, maxval: Any) -> torch.Tensor:
        sizes = known if known is not None else read_sizes(shape)
        if 0 in sizes:
            return torch.empty(sizes, dtype=getattr(torch, dtype), device=device)
        low, high = int_range(minval, maxval)
        return uniform_ints(stateless_stream(seed), sizes, low, high, dtype, device)

    return run


@stateless_random_uniform_int_op.samples
def stateless_random_uniform_int_samples() -> Samples:
    yield Sample([2, 3], [5, 6], 0, 7, fixed=(0,))
    yield Bad([2, 3], [5, 6], 0, [7], match="Shape must be rank 0 but is rank 1")


def _located(
    card: Card, shape: Any, seed: Any, mean: Any, stddev: Any, dtype: Any, scope: str
) -> Tensor:
    """Draws of `card`, times `stddev`, plus `mean`."""
    sizes = shape_tensor(shape)
    mean = convert_to_tensor(mean, dtype=dtype, name="mean")
    stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
    drawn = card(sizes, seed, dtype=dtype)
    result: Tensor = add_op(drawn * stddev, mean, name=scope)
    set_static_shape(result, shape)
    return result


@export("random.stateless_normal", "contrib.stateless.stateless_random_normal")
def stateless_random_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Draws from a normal distribution, the same at every execution.

    Args:
      shape: integer vector, the shape of the result.
      seed: two integers, which may be tensors.
      mean: scalar of type `dtype`.
      stddev: scalar of type `dtype`, the standard deviation.
      dtype: half, bfloat16, float32 or float64.
      name: of the operation.
    """
    with name_scope(name, "stateless_random_normal", [shape, seed, mean, stddev]) as scope:
        return _located(stateless_random_normal_op, shape, seed, mean, stddev, dtype, scope)


@export("random.stateless_truncated_normal", "contrib.stateless.stateless_truncated_normal")
def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Draw like `stateless_normal`, again where beyond two standard deviations."""
    with name_scope(name, "stateless_truncated_normal", [shape, seed, mean, stddev]) as scope:
        return _located(stateless_truncated_normal_op, shape, seed, mean, stddev, dtype, scope)


@export("random.stateless_uniform", "contrib.stateless.stateless_random_uniform")
def stateless_random_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Draws from [minval, maxval), the same at every execution.

    Args:
      shape: integer vector, the shape of the result.
      seed: two integers, which may be tensors.
      minval: scalar of type `dtype`.
      maxval: scalar of type `dtype`; 1 by default, required for integers.
      dtype: half, bfloat16, float32, float64, int32 or int64.
      name: of the operation.

    Raises:
      ValueError: for another dtype, or integers without `maxval`.
    """
    dtype, maxval = uniform_bounds(dtype, maxval)
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        sizes = shape_tensor(shape)
        minval = convert_to_tensor(minval, dtype=dtype, name="min")
        maxval = convert_to_tensor(maxval, dtype=dtype, name="max")
        if dtype.is_integer:
            result: Tensor = stateless_random_uniform_int_op(
                sizes, seed, minval, maxval, name=scope
            )
        else:
            drawn = stateless_random_uniform_op(sizes, seed, dtype=dtype)
            result = add_op(drawn * (maxval - minval), minval, name=scope)
        set_static_shape(result, shape)
        return result
