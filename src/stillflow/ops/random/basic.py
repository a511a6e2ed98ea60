"""Uniform, normal and truncated normal draws, and uniform integers."""

from __future__ import annotations

from math import prod
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
from stillflow.graph.random_seed import get_seed
from stillflow.ops.math.binary import add_op
from stillflow.ops.random.arguments import (
    check_range,
    read_sizes,
    set_static_shape,
    shape_argument,
    shape_sizes,
    shape_tensor,
)
from stillflow.ops.random.device_draws import SeededDraw, UnseededDraw
from stillflow.ops.random.distributions import (
    NORMAL,
    TRUNCATED_NORMAL,
    UNIFORM,
    Distribution,
    drawn,
    int_range,
    is_accelerator,
    uniform_ints,
)
from stillflow.ops.random.streams import is_free, op_stream
from stillflow.ops.samples import Bad, Sample, Samples


def _drawing_op(name: str, what: Distribution) -> Card:
    """Return the card of an op that fills a shape with draws of one distribution."""
    card = op(
        f"""
        {name}(shape: T) -> output: dtype
        seed: int = 0
        seed2: int = 0
        dtype: {{half, bfloat16, float, double}}
        T: {{int32, int64}}
        flags: stateful
        """,
        differentiable=False,
        numbers=("shape",),
    )
    card.shape(shape_argument)

    @card.kernel
    def kernel(node: Node) -> Kernel:
        known, device = shape_sizes(node), node.device
        if is_free(node):
            return UnseededDraw(known, what, node.op.attrs["dtype"].torch_name, device)
        stream, dtype = op_stream(node), node.op.attrs["dtype"].torch_name
        if known is not None and is_accelerator(device):
            return node.call(SeededDraw(stream, what, known, dtype, device))

        def run(shape: Any) -> torch.Tensor:
            sizes = known if known is not None else read_sizes(shape)
            return drawn(what, stream.reserve_for(prod(sizes)), sizes, dtype, device)

        return run

    @card.samples
    def samples() -> Samples:
        yield Sample([2, 3], dtype="float32", seed=1, seed2=2, fixed=(0,), grad=False)
        yield Sample([0, 3], dtype="float32", seed=1, seed2=2, fixed=(0,), grad=False)
        yield Bad([[2, 3]], dtype="float32", match="Shape must be rank 1 but is rank 2")
        yield Bad([-2], dtype="float32", match="Invalid value in tensor used for shape: -2")

    return card


random_uniform_op = _drawing_op("RandomUniform", UNIFORM)
random_standard_normal_op = _drawing_op("RandomStandardNormal", NORMAL)
truncated_normal_op = _drawing_op("TruncatedNormal", TRUNCATED_NORMAL)

random_uniform_int_op = op(
    """
    RandomUniformInt(shape: T, minval: Tout, maxval: Tout) -> output: Tout
    seed: int = 0
    seed2: int = 0
    Tout: {int32, int64}
    T: {int32, int64}
    flags: stateful
""",
    numbers=("shape", "minval", "maxval"),
)


@random_uniform_int_op.shape
def random_uniform_int_shape(node: Node) -> OutputDims:
    check_range(node, 1)
    return shape_argument(node)


@random_uniform_int_op.kernel
def random_uniform_int_kernel(node: Node) -> Kernel:
    stream, known, device = op_stream(node), shape_sizes(node), node.device
    dtype = node.Tout.torch_name

    unseeded = is_free(node)

    def run(shape: Any, minval: Any, maxval: Any) -> torch.Tensor:
        sizes = known if known is not None else read_sizes(shape)
        if 0 in sizes:
            return torch.empty(sizes, dtype=getattr(torch, dtype), device=device)
        low, high = int_range(minval, maxval)
        if unseeded:
            return torch.randint(low, high, sizes, dtype=getattr(torch, dtype), device=device)
        return uniform_ints(stream.reserve_for(prod(sizes)), sizes, low, high, dtype, device)

    return run


@random_uniform_int_op.samples
def random_uniform_int_samples() -> Samples:
    yield Sample([2, 3], 0, 7, seed=1, seed2=2, fixed=(0,))
    yield Sample([2, 0], 7, 7, seed=1, seed2=2, fixed=(0,))
    yield Bad([2, 3], [0], 7, match="Shape must be rank 0 but is rank 1")


def _located(
    card: Card, shape: Any, mean: Any, stddev: Any, dtype: Any, seed: int | None, scope: str
) -> Tensor:
    """Draws of `card`, times `stddev`, plus `mean`."""
    sizes = shape_tensor(shape)
    mean = convert_to_tensor(mean, dtype=dtype, name="mean")
    stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
    seed1, seed2 = get_seed(seed)
    drawn = card(sizes, dtype=dtype, seed=seed1, seed2=seed2)
    value: Tensor = add_op(drawn * stddev, mean, name=scope)
    set_static_shape(value, shape)
    return value


@export("random.normal", "random_normal")
def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws from a normal distribution.

    Args:
      shape: integer vector, the shape of the result.
      mean: scalar of type `dtype`.
      stddev: scalar of type `dtype`, the standard deviation.
      dtype: half, bfloat16, float32 or float64.
      seed: the operation's seed; see `tf.set_random_seed`.
      name: of the operation.

    Example:
      >>> x = tf.Session().run(tf.random_normal([10000], mean=5.0, stddev=2.0, seed=1))
      >>> bool(abs(x.mean() - 5.0) < 0.1), bool(abs(x.std() - 2.0) < 0.1)
      (True, True)
    """
    with name_scope(name, "random_normal", [shape, mean, stddev]) as scope:
        return _located(random_standard_normal_op, shape, mean, stddev, dtype, seed, scope)


@export("random.truncated_normal", "truncated_normal")
def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw from a normal distribution, again where beyond two standard deviations.

    Args:
      shape: integer vector, the shape of the result.
      mean: scalar of type `dtype`.
      stddev: scalar of type `dtype`, the standard deviation before values are cut off.
      dtype: half, bfloat16, float32 or float64.
      seed: the operation's seed; see `tf.set_random_seed`.
      name: of the operation.

    Example:
      >>> x = tf.Session().run(tf.truncated_normal([10000], stddev=0.1, seed=1))
      >>> bool(abs(x).max() <= 0.2)
      True
    """
    with name_scope(name, "truncated_normal", [shape, mean, stddev]) as scope:
        return _located(truncated_normal_op, shape, mean, stddev, dtype, seed, scope)


_UNIFORM_TYPES = (
    dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64,
)  # fmt: skip


def uniform_bounds(dtype: Any, maxval: Any) -> tuple[dtypes.DType, Any]:
    """Return the dtype and upper bound of uniform draws, 1 by default for floating-point types."""
    dtype = dtypes.as_dtype(dtype)
    if dtype not in _UNIFORM_TYPES:
        raise ValueError(f"Invalid dtype {dtype!r}")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    return dtype, maxval


@export("random.uniform", "random_uniform")
def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws from [minval, maxval), every value equally likely.

    Integers are slightly biased towards small ones unless `maxval - minval` is a power of two.

    Args:
      shape: integer vector, the shape of the result.
      minval: scalar of type `dtype`.
      maxval: scalar of type `dtype`; 1 by default, required for integers.
      dtype: half, bfloat16, float32, float64, int32 or int64.
      seed: the operation's seed; see `tf.set_random_seed`.
      name: of the operation.

    Raises:
      ValueError: for another dtype, or integers without `maxval`.

    Example:
      >>> print(tf.Session().run(tf.random_uniform([5], maxval=10, dtype=tf.int32, seed=1)))
      [7 9 3 2 7]
    """
    dtype, maxval = uniform_bounds(dtype, maxval)
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        sizes = shape_tensor(shape)
        minval = convert_to_tensor(minval, dtype=dtype, name="min")
        maxval = convert_to_tensor(maxval, dtype=dtype, name="max")
        seed1, seed2 = get_seed(seed)
        if dtype.is_integer:
            result: Tensor = random_uniform_int_op(
                sizes, minval, maxval, seed=seed1, seed2=seed2, name=scope
            )
        else:
            drawn = random_uniform_op(sizes, dtype=dtype, seed=seed1, seed2=seed2)
            result = add_op(drawn * (maxval - minval), minval, name=scope)
        set_static_shape(result, shape)
        return result
