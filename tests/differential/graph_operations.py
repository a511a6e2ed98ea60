"""Pieces of random programs: groups of small parts of graphs, by name.

Each piece is a function of the program `p` and one of its tensors, `x`; what it gives joins the
program's tensors. Constants in conditions and comparisons are ones that no sum of the values in
use comes near: a branch must not hang on the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

UNARY = {
    "abs": lambda p, x: p.tf.abs(x),
    "cast": lambda p, x: p.tf.cast(p.tf.cast(x, p.tf.float64) * 2, p.tf.float32),
    "check": lambda p, x: p.tf.check_numerics(
        p.tf.where(p.tf.is_finite(x), x, p.tf.zeros_like(x)), "bad"
    ),
    "clip by norm": lambda p, x: p.tf.clip_by_norm(x, 1.5),
    "elu": lambda p, x: p.tf.nn.elu(x),
    "erf": lambda p, x: p.tf.erf(x),
    "exp": lambda p, x: p.tf.exp(p.tf.clip_by_value(x, -3.0, 2.0)),
    "floor": lambda p, x: p.tf.floor(x),
    "identity": lambda p, x: p.tf.identity(x),
    "l2 loss": lambda p, x: p.tf.nn.l2_loss(x),
    "leaky relu": lambda p, x: p.tf.nn.leaky_relu(x),
    "log": lambda p, x: p.tf.log(p.tf.abs(x) + 0.5),
    "negative": lambda p, x: -x,
    "norm": lambda p, x: p.tf.norm(x),
    "reciprocal": lambda p, x: p.tf.reciprocal(p.tf.square(x) + 0.5),
    "relu": lambda p, x: p.tf.nn.relu(x),
    "relu6": lambda p, x: p.tf.nn.relu6(x),
    "round": lambda p, x: p.tf.round(x),
    "rsqrt": lambda p, x: p.tf.rsqrt(p.tf.square(x) + 0.3),
    "selu": lambda p, x: p.tf.nn.selu(x),
    "sigmoid": lambda p, x: p.tf.sigmoid(x),
    "sign": lambda p, x: p.tf.sign(x),
    "sin": lambda p, x: p.tf.sin(x),
    "softplus": lambda p, x: p.tf.nn.softplus(x),
    "softsign": lambda p, x: p.tf.nn.softsign(x),
    "sqrt": lambda p, x: p.tf.sqrt(p.tf.abs(x) + 0.1),
    "square": lambda p, x: p.tf.square(x),
    "stop gradient": lambda p, x: p.tf.stop_gradient(x),
    "tanh": lambda p, x: p.tf.tanh(x),
}

BINARY = {
    "add": lambda p, x: x + p.pick(),
    "add_n": lambda p, x: p.tf.add_n([x, x * 2.0, x]),
    "divide": lambda p, x: x / (p.tf.abs(p.pick()) + 1.0),
    "greater": lambda p, x: p.tf.cast(p.tf.greater(x + 0.0, 0.111), p.tf.float32) + p.pick() * 0.1,
    "maximum": lambda p, x: p.tf.maximum(x, p.pick()),
    "minimum": lambda p, x: p.tf.minimum(x, p.pick()),
    "mod": lambda p, x: p.tf.mod(x, 1.5),
    "multiply": lambda p, x: x * p.pick(),
    "pow": lambda p, x: p.tf.pow(p.tf.abs(x) + 0.5, 1.5),
    "squared difference": lambda p, x: p.tf.squared_difference(x, p.pick()),
    "subtract": lambda p, x: (x - p.pick()) - x * 0.5,
    "where": lambda p, x: p.tf.where(x > 0.125, x, x * -0.5),
}

MATRICES = {
    "dense": lambda p, x: p.tf.matmul(x, _weights(p, x)) if _rank(x) == 2 else _contracted(p, x),
    "tensordot": lambda p, x: _contracted(p, x),
    "transposed": lambda p, x: p.tf.matmul(_weights(p, x), x, transpose_a=True, transpose_b=True),
    "with bias": lambda p, x: p.tf.nn.bias_add(_contracted(p, x, 2), p.constant([2])),
}

REDUCTIONS = {
    name: lambda p, x, name=name: getattr(p.tf, name)(
        x, axis=p.choose([None, p.axis(x), -1, [0]]), keepdims=p.maybe(0.4)
    )
    for name in (
        "reduce_sum",
        "reduce_mean",
        "reduce_max",
        "reduce_min",
        "reduce_prod",
        "reduce_logsumexp",
    )
}

SHAPES = {
    "another axis": lambda p, x: p.tf.reshape(x, p.tf.concat([p.tf.shape(x), [1]], 0)),
    "broadcast": lambda p, x: x + p.tf.zeros(p.tf.concat([[2], p.tf.shape(x)], 0)),
    "expand": lambda p, x: p.tf.expand_dims(x, p.random.randrange(_rank(x) + 1)),
    "flatten": lambda p, x: p.tf.reshape(x, [-1]),
}

AXES = {
    "concat": lambda p, x: p.tf.concat([x, x * 0.5, x][: p.choose([1, 2, 3])], p.axis(x)),
    "cumsum": lambda p, x: p.tf.cumsum(x, p.axis(x), exclusive=p.maybe(0.3), reverse=p.maybe(0.3)),
    "gather": lambda p, x: p.tf.gather(x, p.tf.constant([0, 0]), axis=p.axis(x)),
    "log softmax": lambda p, x: p.tf.nn.log_softmax(x),
    "pad": lambda p, x: p.tf.pad(
        x,
        [[p.choose([0, 1]), p.choose([0, 1])] for _ in range(_rank(x))],
        constant_values=p.choose([0, 1.5]),
    ),
    "repeat": lambda p, x: p.tf.reshape(
        p.tf.tile(p.tf.expand_dims(x, -1), [1] * _rank(x) + [2]),
        p.tf.shape(x) * p.tf.constant([1] * (_rank(x) - 1) + [2]),
    ),
    "reverse": lambda p, x: p.tf.reverse(x, [p.axis(x)]),
    "roll": lambda p, x: p.tf.roll(x, 1, p.axis(x)),
    "slice": lambda p, x: x[tuple(p.choose(_slices(p)) for _ in range(p.axis(x) + 1))],
    "softmax": lambda p, x: p.tf.nn.softmax(x, axis=-1),
    "squeeze": lambda p, x: p.tf.squeeze(p.tf.expand_dims(x, 0), [0]),
    "stack": lambda p, x: p.tf.stack([x, -x], p.axis(x)),
    "tile": lambda p, x: p.tf.tile(x, [p.choose([1, 2]) for _ in range(_rank(x))]),
    "transpose": lambda p, x: p.tf.transpose(x, p.shuffled(range(_rank(x)))),
}

IMAGES = {
    "average pool": lambda p, x: p.tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    "batch norm": lambda p, x: p.tf.nn.fused_batch_norm(
        x, p.tf.ones([_last(x)]) * 1.5, p.constant([_last(x)]), is_training=True
    )[0],
    "convolution": lambda p, x: p.tf.nn.conv2d(
        x,
        p.constant([p.choose([1, 2]), p.choose([1, 2]), _last(x), 2]),
        [1] + [p.choose([1, 2])] * 2 + [1],
        p.choose(["SAME", "VALID"]),
    ),
    "depthwise": lambda p, x: p.tf.nn.depthwise_conv2d(
        x, p.constant([1, 1, _last(x), 2]), [1, 1, 1, 1], "SAME"
    ),
    "local response": lambda p, x: p.tf.nn.lrn(x, depth_radius=1, bias=1.0, alpha=0.5, beta=0.5),
    "max pool": lambda p, x: p.tf.nn.max_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], "SAME"),
    "moments": lambda p, x: p.tf.nn.batch_normalization(
        x, *p.tf.nn.moments(x, [0, 1, 2]), p.constant([_last(x)]), None, 0.1
    ),
    "resize": lambda p, x: p.tf.image.resize_nearest_neighbor(x, [3, 3]),
}

CONTROL = {
    "case": lambda p, x: p.tf.case(
        [
            (p.tf.reduce_sum(x) > 0.4, lambda: x + 1.0),
            (p.tf.reduce_sum(p.pick()) > 0.2, lambda: x * 3.0),
        ],
        default=lambda: -x,
    ),
    "cond": lambda p, x: p.tf.cond(
        p.tf.reduce_sum(p.pick()) > 0.333, lambda: x * 2.0, lambda: x - 1.0
    ),
    "cond in cond": lambda p, x: p.tf.cond(
        p.tf.reduce_sum(x) > 0.333,
        lambda: p.tf.cond(p.tf.reduce_mean(x) > 0.177, lambda: x + 0.5, lambda: p.tf.tanh(x)),
        lambda: x * 0.25,
    ),
    "control input": lambda p, x: _after(p, p.pick(), x),
    "tensor array": lambda p, x: _array_of(p, x).stack(),
    "tensor array's element": lambda p, x: _array_of(p, x).read(1),
    "while": lambda p, x: _loop(p, x, 3, lambda a: a * 0.5 + p.tf.tanh(a)),
    "while in cond": lambda p, x: p.tf.cond(
        p.tf.reduce_max(p.pick()) > 0.5, lambda: _loop(p, x, 2, lambda a: a + 1.0), lambda: x
    ),
}

LOOPS = {
    "foldl": lambda p, x: p.tf.foldl(lambda a, b: a + p.tf.square(b), x),
    "map_fn": lambda p, x: p.tf.map_fn(lambda a: a * 2.0 + 1.0, x),
    "scan": lambda p, x: p.tf.scan(lambda a, b: a * 0.5 + b, x),
}

ROWS = {  # of a first axis whose size is known
    "argmax": lambda p, x: p.tf.cast(p.tf.argmax(x, 0), p.tf.float32),
    "boolean mask": lambda p, x: p.tf.boolean_mask(x, p.per_row(x, [True, True, False])),
    "dynamic partition": lambda p, x: p.tf.dynamic_partition(x, p.per_row(x, [0, 1]), 2),
    "embedding": lambda p, x: p.tf.nn.embedding_lookup(x, [p.rows(x)]),
    "gather_nd": lambda p, x: p.tf.gather_nd(x, [[row] for row in p.rows(x)]),
    "gather rows": lambda p, x: p.tf.gather(x, p.tf.constant(p.rows(x))),
    "one hot": lambda p, x: p.tf.one_hot(p.tf.constant(p.rows(x)), 4),
    "scatter": lambda p, x: p.tf.scatter_nd(
        [[row] for row in range(_first(x))],
        x,
        p.tf.concat([[_first(x) + 1], p.tf.shape(x)[1:]], 0),
    ),
    "segment sum": lambda p, x: p.tf.segment_sum(x, sorted(p.per_row(x, [0, 1]))),
    "split": lambda p, x: p.tf.split(x, _first(x), 0),
    "top k": lambda p, x: p.tf.nn.top_k(x, k=1)[0],
    "unsorted segment sum": lambda p, x: p.tf.unsorted_segment_sum(x, p.per_row(x, [0, 1, 2]), 3),
    "unstack": lambda p, x: p.tf.unstack(x, axis=0),
}

RECURRENT = {
    name: lambda p, x, name=name: p.tf.nn.dynamic_rnn(
        getattr(p.tf.nn.rnn_cell, name)(2, name=f"cell{len(p.tensors)}"),
        x,
        dtype=p.tf.float32,
    )[0]
    for name in ("BasicRNNCell", "GRUCell", "LSTMCell")
}

#: How often a group is chosen, which tensors it takes, and its pieces.
GROUPS = [
    (5, lambda x: True, UNARY),
    (5, lambda x: True, BINARY),
    (2, lambda x: (_rank(x) or 0) >= 2 and _last(x), MATRICES),
    (2, lambda x: _rank(x), REDUCTIONS),
    (1, lambda x: _rank(x) is not None, SHAPES),
    (4, lambda x: _rank(x), AXES),
    (2, lambda x: _rank(x) == 4 and None not in x.shape.as_list()[1:], IMAGES),
    (2, lambda x: _rank(x) is not None, CONTROL),
    (1, lambda x: _rank(x), LOOPS),
    (2, lambda x: _rank(x) and _first(x), ROWS),
    (1, lambda x: _rank(x) == 3 and _last(x), RECURRENT),
]


def _slices(p: Any) -> list[Any]:
    whole, backwards = slice(None), slice(None, None, -1)
    return [whole, slice(0, 1), backwards, 0, p.tf.newaxis, slice(1, None)]


def _rank(tensor: Any) -> int | None:
    return tensor.shape.ndims


def _first(tensor: Any) -> int | None:
    return tensor.shape.as_list()[0]


def _last(tensor: Any) -> int | None:
    return tensor.shape.as_list()[-1]


def _weights(p: Any, x: Any, width: int | None = None) -> Any:
    """Return a matrix to multiply with: a constant, or a variable that is then trained."""
    values = p.values([_last(x), width or p.choose([1, 2, 3])])
    return p.variable(values, "W") if p.maybe(0.4) else p.tf.constant(values)


def _contracted(p: Any, x: Any, width: int | None = None) -> Any:
    return p.tf.tensordot(x, _weights(p, x, width), 1)


def _after(p: Any, first: Any, then: Any) -> Any:
    with p.tf.control_dependencies([first]):
        return p.tf.identity(then)


def _array_of(p: Any, x: Any) -> Any:
    array = p.tf.TensorArray(p.tf.float32, 3)
    for index in range(3):
        array = array.write(index, x * float(index))
    return array


def _loop(p: Any, x: Any, count: int, step: Any) -> Any:
    return p.tf.while_loop(lambda i, a: i < count, lambda i, a: (i + 1, step(a)), [0, x])[1]


def first_values(shape: list[int], numbers: np.random.RandomState) -> np.ndarray:
    """Numbers with two places, which either side reads alike."""
    return np.round(numbers.uniform(-2, 2, shape), 2).astype(np.float32)
