"""Draws of classes from rows of unnormalised log-probabilities: Multinomial and its kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.random_seed import get_seed
from stillflow.graph.traits import Cost
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.random import draws
from stillflow.ops.random.arguments import seed_argument
from stillflow.ops.random.philox import Philox
from stillflow.ops.random.sharding import host_threads, shards
from stillflow.ops.random.streams import op_stream, stateless_stream
from stillflow.ops.samples import Bad, Sample, Samples


def categorical_draws(stream: Philox, logits: Any, samples: int, threads: int) -> torch.Tensor:
    """Draw `samples` classes from each row of `logits`, int64 [rows, samples].

    Logits [rows, classes] are of any real type; those not finite never occur. `stream` is not
    moved; `threads` is the number whose division of rows is followed.
    """
    rows, classes = logits.shape
    cost = int(50 * (samples * np.log(classes) / np.log(2) + classes))
    units = np.empty((rows, samples))
    for start, stop in shards(rows, cost, threads):
        part = stream.copy()
        part.skip(start * (samples + 3) // 4)
        count = (stop - start) * samples
        units[start:stop] = draws.uniform_double(part, count).reshape(-1, samples)
    weights = logits.double()
    finite = weights.isfinite()
    lowest = _lowest(logits.dtype)
    largest = torch.where(finite, weights, lowest).amax(1, keepdim=True)
    weights = torch.where(finite, torch.exp(weights - largest), 0.0)
    cumulated = weights.cumsum(1)
    wanted = torch.from_numpy(units).to(logits.device) * cumulated[:, -1:]
    return torch.searchsorted(cumulated, wanted, right=True)


def _lowest(dtype: Any) -> float:
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    return float(limits.min)


def _categorical_shape(node: Node) -> tuple[int | None, ...]:
    logits = checked_rank(node, 0, 2, "logits should be a matrix, got shape ")
    checked_rank(node, 1, 0, "num_samples should be a scalar, got shape ")
    samples = node.value(1)
    return (logits[0], None if samples is None else dims.make_dim(int(samples), 1))


def _run(stream_for: Any, logits: Any, num_samples: Any, dtype: Any) -> torch.Tensor:
    """Check the arguments, then draw from the stream that `stream_for(blocks)` gives."""
    samples = int(num_samples)
    if samples < 0:
        raise ValueError(f"num_samples should be nonnegative, got {samples}")
    rows, classes = logits.shape
    if classes == 0:
        raise ValueError("num_classes should be positive, got 0")
    if rows == 0 or samples == 0:
        return torch.empty((rows, samples), dtype=dtype, device=logits.device)
    # A draw takes two words, so blocks are reserved for twice as many, in fours.
    reserved = rows * ((samples + 3) // 4 * 4) * 2 * draws.RESERVED_BLOCKS
    drawn = categorical_draws(stream_for(reserved), logits, samples, host_threads())
    return drawn.to(dtype)


multinomial_op = op(
    """
    Multinomial(logits: T, num_samples: int32) -> output: output_dtype
    seed: int = 0
    seed2: int = 0
    T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}
    output_dtype: {int32, int64} = int64
    flags: stateful
    """,
    differentiable=False,
    numbers=("num_samples",),
    cost=Cost(soon=True, counts="first input"),
)
multinomial_op.shape(_categorical_shape)


@multinomial_op.kernel
def multinomial_kernel(node: Node) -> Kernel:
    stream = op_stream(node)
    dtype = getattr(torch, node.output_dtype.torch_name)
    return lambda logits, num_samples: _run(stream.reserve, logits, num_samples, dtype)


@multinomial_op.samples
def multinomial_samples() -> Samples:
    logits = np.array([[0.0, 1.0, -np.inf], [3.0, 2.0, 1.0]], np.float32)
    yield Sample(logits, 4, seed=3, seed2=4, fixed=(1,), grad=False)
    yield Sample(logits, 0, seed=3, seed2=4, fixed=(1,), grad=False)
    yield Bad(logits[0], 4, match="Shape must be rank 2 but is rank 1")
    yield Bad(logits, [4], match="Shape must be rank 0 but is rank 1")
    yield Bad(logits, -1, match="must be non-negative but is -1")


stateless_multinomial_op = op(
    """
    StatelessMultinomial(logits: T, num_samples: int32, seed: Tseed) -> output: output_dtype
    T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}
    Tseed: {int32, int64} = int64
    output_dtype: {int32, int64} = int64
    """,
    differentiable=False,
    numbers=("num_samples", "seed"),
)


@stateless_multinomial_op.shape
def stateless_multinomial_shape(node: Node) -> OutputDims:
    seed_argument(node, 2)
    return _categorical_shape(node)


@stateless_multinomial_op.kernel
def stateless_multinomial_kernel(node: Node) -> Kernel:
    dtype = getattr(torch, node.output_dtype.torch_name)

    def run(logits: Any, num_samples: Any, seed: Any) -> torch.Tensor:
        return _run(lambda _: stateless_stream(seed), logits, num_samples, dtype)

    return run


@stateless_multinomial_op.samples
def stateless_multinomial_samples() -> Samples:
    logits = np.array([[0.0, 1.0, -np.inf], [3.0, 2.0, 1.0]], np.float32)
    yield Sample(logits, 4, [3, 4], fixed=(1,), grad=False)
    yield Bad(logits, 4, [3], match="Dimension must be 2 but is 1")


def _multinomial(logits: Any, num_samples: Any, dtype: Any, seed: int | None) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    seed1, seed2 = get_seed(seed)
    drawn: Tensor = multinomial_op(logits, num_samples, seed=seed1, seed2=seed2, output_dtype=dtype)
    return drawn


@export("random.categorical")
def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws classes.

    Args:
      logits: [batch, classes], unnormalised log-probabilities.
      num_samples: how many classes to draw for each row.
      dtype: int32 or int64, the latter by default.
      seed: the operation's seed; see `tf.set_random_seed`.
      name: of the operation.

    Returns:
      [batch, num_samples].
    """
    with name_scope(name, "categorical", [logits]):
        return _multinomial(logits, num_samples, dtype, seed)


@export("random.multinomial", "multinomial")
def multinomial(
    logits: Any,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = None,
) -> Tensor:
    """`categorical` by its old name.

    Args:
      logits: [batch, classes] of unnormalized logarithms of probabilities, a real type.
      num_samples: the number of draws for each row.
      seed: an integer.
      name: of the operation.
      output_dtype: int32 or int64, the default.

    Returns:
      [batch, num_samples] of classes.

    Example:
      >>> draws = tf.multinomial([[0.0, -50.0], [-50.0, 0.0]], num_samples=3)
      >>> print(tf.Session().run(draws))
      [[0 0 0]
       [1 1 1]]
    """
    with name_scope(name, "multinomial", [logits]):
        return _multinomial(logits, num_samples, output_dtype, seed)


def _stateless_multinomial(logits: Any, num_samples: Any, dtype: Any, seed: Any) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    drawn: Tensor = stateless_multinomial_op(logits, num_samples, seed, output_dtype=dtype)
    return drawn


@export("random.stateless_categorical")
def stateless_categorical(
    logits: Any,
    num_samples: Any,
    seed: Any,
    dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Draws classes, the same at every execution.

    Args:
      logits: [batch, classes], unnormalised log-probabilities.
      num_samples: how many classes to draw for each row.
      seed: two integers, which may be tensors.
      dtype: int32 or int64.
      name: of the operation.

    Returns:
      [batch, num_samples].
    """
    with name_scope(name, "stateless_categorical", [logits, seed]):
        return _stateless_multinomial(logits, num_samples, dtype, seed)


@export("random.stateless_multinomial", "contrib.stateless.stateless_multinomial")
def stateless_multinomial(
    logits: Any,
    num_samples: Any,
    seed: Any,
    output_dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """`stateless_categorical` by its old name."""
    with name_scope(name, "stateless_multinomial", [logits, seed]):
        return _stateless_multinomial(logits, num_samples, output_dtype, seed)
