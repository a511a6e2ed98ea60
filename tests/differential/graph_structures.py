"""Pieces of random programs that nest: control flow in control flow, functions, ragged and sparse.

They are of the same form as those in `graph_operations.py`.
"""

from __future__ import annotations

from typing import Any


def _while(p: Any, x: Any, count: int, step: Any, **options: Any) -> Any:
    return p.tf.while_loop(
        lambda i, a: i < count, lambda i, a: (i + 1, step(i, a)), [0, x], **options
    )[1]


def _number(p: Any, i: Any) -> Any:
    return p.tf.cast(i, p.tf.float32)


def _branch(p: Any, x: Any, yes: Any, no: Any) -> Any:
    return p.tf.cond(p.tf.reduce_sum(x) > 0.333, yes, no)


def _collected(p: Any, x: Any) -> Any:
    """Return a tensor array that a loop fills, from an index on in which it is read."""
    array = p.tf.TensorArray(p.tf.float32, 3, clear_after_read=False)

    def body(i: Any, array: Any, a: Any) -> Any:
        return i + 1, array.write(i, a * _number(p, i + 1)), a * 0.5

    array = p.tf.while_loop(lambda i, *rest: i < 3, body, [0, array, x])[1]
    return array.read(2) + array.stack()[0]


def _grown(p: Any, x: Any) -> Any:
    """Return a loop whose tensor grows, by an invariant that says so."""
    shapes = [p.tf.TensorShape([]), p.tf.TensorShape([None, *x.shape.as_list()[1:]])]
    return p.tf.while_loop(
        lambda i, a: i < 2,
        lambda i, a: (i + 1, p.tf.concat([a, x * 0.5], 0)),
        [0, x],
        shape_invariants=shapes,
    )[1]


def _updated(p: Any, x: Any) -> Any:
    """Return a branch that writes a variable, read behind it."""
    counter = p.tf.Variable(1.5, name="counter", trainable=False, use_resource=p.maybe(0.5))
    written = _branch(
        p, x, lambda: p.tf.assign_add(counter, 1.0), lambda: p.tf.assign_sub(counter, 0.5)
    )
    with p.tf.control_dependencies([written]):
        return x * counter.read_value()


def _halves(p: Any, x: Any) -> Any:
    """Two results of a branch, in a structure."""
    found = _branch(
        p, x, lambda: {"a": x * 2.0, "b": (x, x - 1.0)}, lambda: {"a": x, "b": (x * 0.5, x)}
    )
    return found["a"] + found["b"][0] * found["b"][1]


NESTED = {
    "assign in cond": _updated,
    "branches of structures": _halves,
    "case in while": lambda p, x: _while(
        p, x, 3,
        lambda i, a: p.tf.case(
            [(p.tf.equal(i, 0), lambda: a * 0.5), (p.tf.equal(i, 1), lambda: p.tf.tanh(a))],
            default=lambda: a + 1.0,
        ),
    ),
    "cond in map": lambda p, x: p.tf.map_fn(
        lambda a: _branch(p, a, lambda: a * 2.0, lambda: p.tf.square(a)),
        p.tf.stack([x, -x]),
    ),
    "cond in while": lambda p, x: _while(
        p, x, 3, lambda i, a: p.tf.cond(i < 1, lambda: a * 0.7, lambda: p.tf.sin(a))
    ),
    "gradient in while": lambda p, x: _while(
        p, x, 2, lambda i, a: a - 0.1 * p.tf.gradients(p.tf.square(a) * 0.5, a)[0]
    ),
    "map in while": lambda p, x: _while(
        p, p.tf.stack([x, x * 0.5]), 2,
        lambda i, a: p.tf.map_fn(lambda b: p.tf.tanh(b) + _number(p, i), a),
    ),
    "one at a time": lambda p, x: _while(
        p, x, 3, lambda i, a: a * 0.5 + x, parallel_iterations=1, back_prop=p.maybe(0.8)
    ),
    "scan in cond": lambda p, x: _branch(
        p, x,
        lambda: p.tf.scan(lambda a, b: a * 0.5 + b, p.tf.stack([x, -x])),
        lambda: p.tf.stack([x, x]),
    ),
    "swapped": lambda p, x: _while(
        p, x, 3, lambda i, a: p.tf.tanh(a) * x, swap_memory=True, maximum_iterations=2
    ),
    "switch_case": lambda p, x: p.tf.switch_case(
        p.tf.cast(p.tf.reduce_sum(x) > 0.444, p.tf.int32), [lambda: x * 3.0, lambda: x - 2.0]
    ),
    "tensor array in while": _collected,
    "while in cond in while": lambda p, x: _while(
        p, x, 2,
        lambda i, a: p.tf.cond(
            i > 0, lambda: _while(p, a, 2, lambda j, b: b * 0.5 + 0.1), lambda: a
        ),
    ),
    "while in while": lambda p, x: _while(
        p, x, 2, lambda i, a: _while(p, a, 2, lambda j, b: p.tf.tanh(b) + _number(p, i + j))
    ),
}  # fmt: skip


def _called(p: Any, x: Any, body: Any, **options: Any) -> Any:
    return p.tf.function(body, autograph=False, **options)(x)


def _twice(p: Any, x: Any) -> Any:
    """Return a function that is called for two shapes."""
    function = p.tf.function(lambda a: p.tf.tanh(a) * 0.5, autograph=False)
    return function(x) + p.tf.reduce_sum(function(p.tf.stack([x, x])))


def _with_gradient(p: Any, x: Any) -> Any:
    def forward(a: Any) -> Any:
        return p.tf.square(a), lambda grad: grad * p.tf.tanh(a) * 0.5

    return p.tf.custom_gradient(forward)(x)


def _defined(p: Any, x: Any, body: Any) -> Any:
    defun = p.tf.contrib.eager.defun if p.maybe(0.5) else p.tf.compat.v1.wrap_function
    if defun is p.tf.contrib.eager.defun:
        return defun(body)(x)
    return defun(body, [p.tf.TensorSpec(x.shape, x.dtype)])(x)


def _old(p: Any, x: Any) -> Any:
    function_module = _function_module(p.tf)

    @function_module.Defun(p.tf.float32, func_name=f"Old{len(p.tensors)}")
    def doubled(a: Any) -> Any:
        return a * 2.0 + 1.0

    result = doubled(x)
    result.set_shape(x.shape)
    return result


def _function_module(tf: Any) -> Any:
    from importlib import import_module

    if tf.__name__ == "stillflow":
        tf.install(revive=False)
    return import_module("tensorflow.python.framework.function")


def _captured(p: Any, x: Any) -> Any:
    weights = p.variable(p.values([]), "captured")
    return _called(p, x, lambda a: a * weights + p.tf.reduce_sum(x))


FUNCTIONS = {
    "captured": _captured,
    "cond in function": lambda p, x: _called(
        p, x, lambda a: _branch(p, a, lambda: a * 2.0, lambda: p.tf.sin(a))
    ),
    "custom gradient": _with_gradient,
    "defun": lambda p, x: _defined(p, x, lambda a: p.tf.tanh(a) - 0.5),
    "function": lambda p, x: _called(p, x, lambda a: p.tf.exp(-p.tf.square(a)) + a),
    "function in cond": lambda p, x: _branch(
        p, x, lambda: _called(p, x, lambda a: a * 3.0), lambda: x - 0.5
    ),
    "function in function": lambda p, x: _called(
        p, x, lambda a: _called(p, a * 0.5, lambda b: p.tf.tanh(b)) + a
    ),
    "function in while": lambda p, x: _while(
        p, x, 2, lambda i, a: _called(p, a, lambda b: b * 0.5 + 0.25)
    ),
    "old defun": _old,
    "py_func": lambda p, x: p.tf.py_func(lambda a: a * a, [x], p.tf.float32),
    "recompute": lambda p, x: p.tf.recompute_grad(lambda a: p.tf.tanh(a) * 0.5)(x),
    "template": lambda p, x: p.tf.make_template("made", lambda a: a * 0.5 + 1.0)(x),
    "two calls": _twice,
    "while in function": lambda p, x: _called(
        p, x, lambda a: _while(p, a, 2, lambda i, b: b * 0.5 + 1.0)
    ),
}


def _sparse(p: Any, x: Any) -> Any:
    """Return a sparse tensor of the elements of a matrix that are far from zero."""
    tf = p.tf
    places = tf.where(tf.abs(tf.stop_gradient(x)) > 0.357)
    return tf.SparseTensor(places, tf.gather_nd(x, places), tf.shape(x, out_type=tf.int64))


def _ids(p: Any, x: Any) -> Any:
    tf = p.tf
    rows = tf.constant([[0, 0], [0, 1], [1, 0]], tf.int64)
    return tf.SparseTensor(rows, tf.constant(p.choose([[0, 0, 0], [0, 0, 0]]), tf.int64), [2, 2])


SPARSE = {
    "concat": lambda p, x: p.tf.sparse.to_dense(
        p.tf.sparse.concat(p.choose([0, 1]), [_sparse(p, x), _sparse(p, x)])
    ),
    "dense": lambda p, x: p.tf.sparse.to_dense(_sparse(p, x)),
    "embedding": lambda p, x: p.tf.nn.embedding_lookup_sparse(
        x, _ids(p, x), None, combiner=p.choose(["sum", "mean", "sqrtn"])
    ),
    "matmul": lambda p, x: p.tf.sparse.sparse_dense_matmul(
        _sparse(p, x), p.tf.transpose(x), adjoint_b=False
    ),
    "reduce": lambda p, x: p.tf.sparse.reduce_sum(_sparse(p, x), p.choose([0, 1])),
    "reorder": lambda p, x: p.tf.sparse.to_dense(p.tf.sparse.reorder(_sparse(p, x))),
    "reshape": lambda p, x: p.tf.sparse.to_dense(p.tf.sparse.reshape(_sparse(p, x), [-1, 1])),
    "slice": lambda p, x: p.tf.sparse.to_dense(p.tf.sparse.slice(_sparse(p, x), [0, 0], [1, 2])),
    "softmax": lambda p, x: p.tf.sparse.to_dense(p.tf.sparse.softmax(_sparse(p, x))),
    "sum": lambda p, x: p.tf.sparse.to_dense(p.tf.sparse.add(_sparse(p, x), _sparse(p, x))),
    "times dense": lambda p, x: p.tf.sparse.to_dense(_sparse(p, x) * x),
    "transpose": lambda p, x: p.tf.sparse.to_dense(p.tf.sparse.transpose(_sparse(p, x))),
}


def _ragged(p: Any, x: Any) -> Any:
    """Rows of the elements of a tensor, of two lengths."""
    flat = p.tf.reshape(x, [-1])
    size = p.tf.size(flat, out_type=p.tf.int64)
    return p.tf.RaggedTensor.from_row_splits(flat, p.tf.stack([0, size // 2, size]))


RAGGED = {
    "add": lambda p, x: (_ragged(p, x) + _ragged(p, x) * 0.5).to_tensor(),
    "concat": lambda p, x: p.tf.concat(
        [_ragged(p, x), _ragged(p, x)], axis=p.choose([0, 1])
    ).to_tensor(0.5),
    "flat": lambda p, x: p.tf.ragged.map_flat_values(p.tf.tanh, _ragged(p, x)).values,
    "from tensor": lambda p, x: (
        p.tf.RaggedTensor.from_tensor(p.tf.reshape(x, [1, -1]), padding=0.0).values
    ),
    "gather": lambda p, x: p.tf.gather(_ragged(p, x), [1, 0, 1]).to_tensor(),
    "map": lambda p, x: p.tf.map_fn(
        lambda row: p.tf.reduce_sum(row), _ragged(p, x), dtype=p.tf.float32
    ),
    "mean": lambda p, x: p.tf.reduce_mean(_ragged(p, x), axis=0),
    "row lengths": lambda p, x: p.tf.cast(_ragged(p, x).row_lengths(), p.tf.float32),
    "slice": lambda p, x: _ragged(p, x)[:, :2].to_tensor(),
    "stack": lambda p, x: p.tf.stack([_ragged(p, x), _ragged(p, x)]).to_tensor(),
    "sum": lambda p, x: p.tf.reduce_sum(_ragged(p, x), axis=1),
    "to sparse": lambda p, x: p.tf.sparse.to_dense(_ragged(p, x).to_sparse()),
    "where": lambda p, x: p.tf.ragged.boolean_mask(_ragged(p, x), _ragged(p, x) > 0.3).values,
}

#: As in `graph_operations.py`.
GROUPS = [
    (2, lambda x: x.shape.ndims is not None, NESTED),
    (2, lambda x: x.shape.ndims is not None, FUNCTIONS),
    (1, lambda x: x.shape.ndims == 2, SPARSE),
    (1, lambda x: x.shape.ndims is not None, RAGGED),
    (1, lambda x: bool(x.shape.ndims) and x.shape.as_list()[0], {"grown": _grown}),
]
