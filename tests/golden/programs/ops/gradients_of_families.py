"""Gradients of every family of ops, with feeds that make them interesting."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

X = np.array([[-2.5, -1.0, -0.3], [0.2, 1.0, 3.5]], np.float32)


def weighted(tf, y):
    """Return a scalar in which every element of y counts differently."""
    weights = tf.reshape(tf.range(1.0, tf.to_float(tf.size(y)) + 1.0), tf.shape(y))
    return tf.reduce_sum(y * weights)


def gradients_by_name(tf, functions, *xs):
    """Name -> gradients of each function with respect to those arguments that have one."""
    result = {}
    for name, function in sorted(functions.items()):
        gradients = tf.gradients(function(*xs), list(xs))
        result[name] = [gradient for gradient in gradients if gradient is not None]
    return result


@program
def unary(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    names = ["abs", "negative", "sign", "square", "exp", "expm1", "sin", "cos", "tan", "atan",
             "sinh", "cosh", "tanh", "asinh", "erf", "erfc", "sigmoid", "identity"]
    return Run(gradients_by_name(tf, {n: getattr(tf, n) for n in names}, x), {x: X})


@program
def unary_on_positive_numbers(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    functions = {n: getattr(tf, n) for n in
                 ["sqrt", "rsqrt", "log", "log1p", "lgamma", "digamma", "reciprocal"]}
    functions["acosh"] = lambda t: tf.acosh(t + 1.0)
    functions["asin"] = lambda t: tf.asin(t / 4.0)
    functions["acos"] = lambda t: tf.acos(t / 4.0)
    functions["atanh"] = lambda t: tf.atanh(t / 4.0)
    functions["log_sigmoid"] = tf.log_sigmoid
    return Run(gradients_by_name(tf, functions, x), {x: np.abs(X) + 0.1})


@program
def second_derivatives(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    functions = {n: getattr(tf, n) for n in
                 ["square", "exp", "sin", "tanh", "sigmoid", "sqrt", "log", "reciprocal", "rsqrt"]}
    functions["softplus"] = tf.nn.softplus
    functions["elu"] = tf.nn.elu
    functions["selu"] = tf.nn.selu
    functions["relu"] = lambda t: tf.square(tf.nn.relu(t))
    return Run({n: tf.gradients(tf.gradients(f(x), x)[0], x)[0]
                for n, f in sorted(functions.items())}, {x: np.abs(X) + 0.1})


@program
def binary_with_broadcasting(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.placeholder(tf.float32, [3])
    names = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "squared_difference",
             "floormod", "floordiv", "div_no_nan", "realdiv", "div"]
    functions = {n: getattr(tf, n) for n in names}
    functions["pow"] = lambda a, b: tf.pow(tf.abs(a), b)
    functions["atan2"] = lambda a, b: tf.atan2(a, a * b)
    functions["xlogy"] = tf.math.xlogy
    functions["xdivy"] = tf.math.xdivy
    functions["constant_power"] = lambda a, b: a ** 3 + 2.0 ** b
    return Run(gradients_by_name(tf, functions, x, y), {x: X, y: [0.5, 1.0, 2.0]})


@program
def broadcasting_between_static_shapes(tf):
    x = tf.constant(X)
    rows, columns = tf.constant([[1.0], [2.0]]), tf.constant([1.0, 2.0, 3.0])
    scalar = tf.constant(2.0)
    y = tf.reduce_sum(x * rows + columns / scalar - tf.square(x - scalar))
    return Run({"gradients": tf.gradients(y, [x, rows, columns, scalar])})


@program
def reductions(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    functions = {}
    for name in ["reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod",
                 "reduce_logsumexp"]:
        reduce = getattr(tf, name)
        functions[name + "_all"] = reduce
        functions[name + "_axis"] = lambda t, f=reduce: weighted(tf, f(t, 1))
        functions[name + "_keep"] = lambda t, f=reduce: weighted(tf, f(t, 0, keepdims=True))
    return Run(gradients_by_name(tf, functions, x), {x: X})


@program
def ties_and_cumulative(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    functions = {
        "max": lambda t: tf.reduce_max(t, 1),
        "min": lambda t: tf.reduce_min(t, [0]),
        "prod_with_zero": lambda t: tf.reduce_prod(t, 1),
        "cumsum": lambda t: weighted(tf, tf.cumsum(t, 1)),
        "cumsum_exclusive": lambda t: weighted(tf, tf.cumsum(t, exclusive=True, reverse=True)),
        "cumprod": lambda t: weighted(tf, tf.cumprod(t + 3.0, 1)),
        "norm": lambda t: tf.norm(t, axis=1),
        "moments": lambda t: tf.nn.moments(t, [0])[1],
        "top_k": lambda t: weighted(tf, tf.nn.top_k(t, 2).values),
    }
    return Run(gradients_by_name(tf, functions, x), {x: [[1.0, 1.0, 0.0], [1.0, 0.5, 1.0]]})


@program
def matrix_products(tf):
    a = tf.placeholder(tf.float32, [None, 3])
    b = tf.placeholder(tf.float32, [3, 4])
    y = {
        "matmul": (tf.matmul(a, b), [a, b]),
        "transpose_a": (tf.matmul(a, a, transpose_a=True), [a]),
        "transpose_b": (tf.matmul(b, a, transpose_a=True, transpose_b=True), [a, b]),
        "tensordot": (tf.tensordot(a, b, [[1], [0]]), [a, b]),
        "einsum": (tf.einsum("ij,jk->ki", a, b), [a, b]),
        "a_is_sparse": (tf.matmul(a, b, a_is_sparse=True), [a, b]),
    }
    fetches = {n: tf.gradients(weighted(tf, t), xs) for n, (t, xs) in sorted(y.items())}
    return Run(fetches, {a: X, b: np.arange(12).reshape(3, 4) / 10.0})


@program
def batch_products(tf):
    x = tf.placeholder(tf.float32, [None, 2, 3])
    w = tf.placeholder(tf.float32, [3, 2])
    y = {
        "batch": (tf.matmul(x, x, transpose_b=True), [x]),
        "adjoint": (tf.matmul(x, x, adjoint_a=True), [x]),
        "broadcast": (tf.matmul(x, w), [x, w]),
        "einsum": (tf.einsum("bij,jk->bik", x, w), [x, w]),
    }
    fetches = {n: tf.gradients(weighted(tf, t), xs) for n, (t, xs) in sorted(y.items())}
    return Run(fetches, {x: np.stack([X, X + 1]), w: [[1, 2], [3, 4], [5, 6]]})


@program
def rearranging(tf):
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    functions = {
        "reshape": lambda t: weighted(tf, tf.reshape(t, [-1, 2])),
        "transpose": lambda t: weighted(tf, tf.transpose(t)),
        "concat": lambda t: weighted(tf, tf.concat([t, t * 2.0], 0)),
        "stack": lambda t: weighted(tf, tf.stack([t, t], 1)),
        "unstack": lambda t: tf.unstack(t, axis=1)[1] * 3.0,
        "split": lambda t: weighted(tf, tf.split(t, [1, 3], 1)[1]),
        "pad": lambda t: weighted(tf, tf.pad(t, [[1, 0], [0, 2]])),
        "mirror_pad": lambda t: weighted(tf, tf.pad(t, [[1, 1], [2, 1]], "REFLECT")),
        "tile": lambda t: weighted(tf, tf.tile(t, [2, 1])),
        "broadcast_to": lambda t: weighted(tf, tf.broadcast_to(t, [3, 2, 4])),
        "reverse": lambda t: weighted(tf, tf.reverse(t, [1])),
        "roll": lambda t: weighted(tf, tf.roll(t, 1, 1)),
        "expand": lambda t: weighted(tf, tf.expand_dims(t, 1)),
        "squeeze": lambda t: weighted(tf, tf.squeeze(tf.expand_dims(t, 1), 1)),
        "where": lambda t: weighted(tf, tf.where(t > 2.0, t, t * 10.0)),
        "where_v2": lambda t: weighted(tf, tf.where_v2(t > 2.0, t, 0.0)),
        "fill": lambda t: tf.fill([3], tf.reduce_sum(t)),
    }
    return Run(gradients_by_name(tf, functions, x), {x: np.arange(8).reshape(2, 4)})


@program
def indexing(tf):
    x = tf.placeholder(tf.float32, [None, 4])
    functions = {
        "row": lambda t: t[0],
        "range": lambda t: weighted(tf, t[:, 1:3]),
        "steps": lambda t: weighted(tf, t[:, ::-2]),
        "newaxis": lambda t: weighted(tf, t[:, tf.newaxis, 2]),
        "slice": lambda t: weighted(tf, tf.slice(t, [0, 1], [-1, 2])),
        "gather": lambda t: weighted(tf, tf.gather(t, [1, 0, 1])),
        "gather_axis": lambda t: weighted(tf, tf.gather(t, [3, 0, 0], axis=1)),
        "gather_nd": lambda t: weighted(tf, tf.gather_nd(t, [[0, 1], [1, 3], [0, 1]])),
        "scatter_nd": lambda t: weighted(tf, tf.scatter_nd([[3], [1]], t, [4, 4])),
        "boolean_mask": lambda t: weighted(tf, tf.boolean_mask(t, t > 2.0)),
        "reverse_sequence": lambda t: weighted(tf, tf.reverse_sequence(t, [2, 3], 1, 0)),
        "partition": lambda t: weighted(tf, tf.dynamic_partition(t, [0, 1], 2)[1]),
        "stitch": lambda t: weighted(tf, tf.dynamic_stitch([[2, 0], [1]], [t, t[:1]])),
        "update": lambda t: weighted(tf, tf.tensor_scatter_nd_update(t, [[0]], t[1:])),
    }
    return Run(gradients_by_name(tf, functions, x), {x: np.arange(8).reshape(2, 4)})


@program
def segments(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    ids = tf.constant([0, 0, 2])
    functions = {
        "sum": lambda t: weighted(tf, tf.segment_sum(t, ids)),
        "mean": lambda t: weighted(tf, tf.segment_mean(t, ids)),
        "max": lambda t: weighted(tf, tf.segment_max(t, ids)),
        "min": lambda t: weighted(tf, tf.segment_min(t, ids)),
        "unsorted_sum": lambda t: weighted(tf, tf.unsorted_segment_sum(t, ids, 3)),
        "unsorted_max": lambda t: tf.unsorted_segment_max(t, ids, 3)[0] * 2.0,
        "unsorted_mean": lambda t: weighted(tf, tf.unsorted_segment_mean(t, ids, 3)),
        "unsorted_prod": lambda t: weighted(tf, tf.unsorted_segment_prod(t, ids, 3)),
        "sparse_sum": lambda t: weighted(tf, tf.sparse_segment_sum(t, [0, 2, 2], ids)),
        "sparse_mean": lambda t: weighted(tf, tf.sparse_segment_mean(t, [0, 2, 2], ids)),
        "sparse_sqrt_n": lambda t: weighted(tf, tf.sparse_segment_sqrt_n(t, [0, 2, 2], ids)),
    }
    return Run(gradients_by_name(tf, functions, x), {x: [[1.0, 5.0], [1.0, 2.0], [3.0, 4.0]]})


@program
def complex_values(tf):
    x = tf.placeholder(tf.float32, [None])
    y = tf.placeholder(tf.float32, [None])
    functions = {
        "real": lambda a, b: tf.real(tf.complex(a, b)),
        "imag": lambda a, b: tf.imag(tf.complex(a, b)),
        "abs": lambda a, b: tf.abs(tf.complex(a, b)),
        "product": lambda a, b: tf.abs(tf.complex(a, b) * tf.complex(b, a)),
        "conj": lambda a, b: tf.real(tf.conj(tf.complex(a, b)) * tf.complex(b, a)),
        "exp": lambda a, b: tf.real(tf.exp(tf.complex(a, b))),
        "angle": lambda a, b: tf.angle(tf.complex(a, b)),
    }
    return Run(gradients_by_name(tf, functions, x, y), {x: [1.0, -2.0], y: [0.5, 3.0]})


@program
def casts_and_types(tf):
    x = tf.placeholder(tf.float32, [3])
    fetches = {
        "double": tf.gradients(tf.square(tf.to_double(x)), x),
        "half": tf.gradients(tf.square(tf.cast(x, tf.float16)), x),
        "clip": tf.gradients(tf.clip_by_value(x, -0.5, 1.0), x),
        "check": tf.gradients(tf.check_numerics(x, "x"), x),
        "identity_n": tf.gradients(tf.identity_n([x, x])[1], x),
        "add_n": tf.gradients(tf.add_n([x, x, tf.square(x)]), x),
        "accumulate_n": tf.gradients(tf.accumulate_n([x, tf.square(x)]), x),
        "tuple": tf.gradients(tf.tuple([x, tf.square(x)])[1], x),
        "default": tf.gradients(tf.square(tf.placeholder_with_default(x, [3])), x),
    }
    return Run(fetches, {x: [-1.0, 0.5, 2.0]})


@program
def newer_diagonals(tf):
    """Use the main diagonal; for others TensorFlow builds gradients of other shapes."""
    raw = tf.raw_ops
    x, square, of_any = (tf.placeholder(tf.float32, s) for s in ([2, 3], [2, 3, 3], None))
    part = raw.MatrixDiagPartV2(input=square, k=0, padding_value=0.0)
    part_of_any = raw.MatrixDiagPartV2(input=of_any, k=[0], padding_value=0.0)
    matrix = raw.MatrixDiagV2(diagonal=x, k=0, num_rows=-1, num_cols=-1, padding_value=0.0)
    replaced = raw.MatrixSetDiagV2(input=square, diagonal=x, k=0)
    fetches = {
        "part": tf.gradients(tf.square(part), square),
        "part of any": tf.gradients(tf.square(part_of_any), of_any),
        "matrix": tf.gradients(tf.square(matrix), x),
        "replaced": tf.gradients(tf.square(replaced), [square, x]),
    }
    values = np.arange(18, dtype=np.float32).reshape(2, 3, 3)
    return Run(fetches, {x: values[:, 0], square: values, of_any: values})
