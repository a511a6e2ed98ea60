"""Reductions, cumulative sums, arguments of extremes."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

X = np.array([[[1, -2, 3], [4, 5, -6]], [[-7, 8, 9], [0, 2, 1]]], np.float32)


@program
def reductions_of_floats(tf):
    x = tf.placeholder(tf.float32, [None, 2, 3])
    names = ["reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod",
             "reduce_logsumexp"]
    fetches = {}
    for name in names:
        reduce = getattr(tf, name)
        fetches[name + "/all"] = reduce(x)
        fetches[name + "/axis"] = reduce(x, 1)
        fetches[name + "/axes"] = reduce(x, [0, -1])
        fetches[name + "/keep"] = reduce(x, axis=2, keepdims=True)
    return Run(fetches, {x: X})


@program
def old_arguments_of_reductions(tf):
    x = tf.placeholder(tf.float32, [None, 2, 3])
    fetches = {
        "indices": tf.reduce_sum(x, reduction_indices=[1]),
        "keep_dims": tf.reduce_mean(x, reduction_indices=[0, 1], keep_dims=True),
        "empty": tf.reduce_sum(x, []),
        "named": tf.reduce_max(x, axis=0, name="largest"),
        "tuple": tf.reduce_mean(x, (1, 2)),
    }
    facts = {"axis": raised(tf.reduce_sum, x, 3),
             "both": raised(tf.reduce_sum, x, axis=0, reduction_indices=0)}
    return Run(fetches, {x: X}, facts=facts)


@program
def reductions_of_other_types(tf):
    n = tf.placeholder(tf.int32, [None, 2])
    fetches = {
        "sum": tf.reduce_sum(n, 0),
        "mean": tf.reduce_mean(n),
        "max": tf.reduce_max(n, 1),
        "prod": tf.reduce_prod(n),
        "all": tf.reduce_all(n > 0),
        "any": tf.reduce_any(n > 2, axis=1, keepdims=True),
        "int64": tf.reduce_sum(tf.to_int64(n)),
        "double": tf.reduce_mean(tf.to_double(n), 0),
        "uint8": tf.reduce_max(tf.cast(n, tf.uint8)),
        "complex": tf.reduce_prod(tf.constant([1 + 1j, 2.0])),
        "half": tf.reduce_sum(tf.cast(n, tf.float16)),
        "strings": tf.reduce_join([["a", "b"], ["c", "d"]], 0),
        "count": tf.count_nonzero(n),
        "count_axis": tf.count_nonzero(n, axis=0, keepdims=True, dtype=tf.int32),
        "count_strings": tf.count_nonzero(["", "a"]),
    }
    return Run(fetches, {n: [[1, 2], [3, 0]]})


@program
def reductions_of_empty_tensors(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    names = ["reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod",
             "reduce_logsumexp"]
    fetches = {name: getattr(tf, name)(x, 0) for name in names}
    fetches["all"] = tf.reduce_all(x > 0)
    fetches["any"] = tf.reduce_any(x > 0)
    return Run(fetches, {x: np.zeros([0, 2])})


@program
def norms_and_statistics(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    mean, variance = tf.nn.moments(x, [0])
    fetches = {
        "euclidean": tf.norm(x),
        "rows": tf.norm(x, axis=1),
        "one": tf.norm(x, ord=1, axis=1, keepdims=True),
        "infinity": tf.norm(x, ord=np.inf, axis=0),
        "three": tf.norm(x, ord=3),
        "frobenius": tf.norm(x, ord="fro", axis=[0, 1]),
        "global": tf.global_norm([x, x * 2.0]),
        "moments": [mean, variance],
        "variance": tf.math.reduce_variance(x, 0),
        "std": tf.math.reduce_std(x),
        "l2": tf.nn.l2_loss(x),
        "zero_fraction": tf.nn.zero_fraction(tf.nn.relu(x)),
        "trace": tf.trace(tf.matmul(x, x, transpose_b=True)),
        "confusion": tf.confusion_matrix([0, 1, 2, 1], [0, 2, 2, 1]),
        "weighted": tf.confusion_matrix([0, 1], [1, 1], 3, tf.float32, weights=[0.5, 2.0]),
    }
    return Run(fetches, {x: X[0]})


@program
def arguments_of_extremes(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    fetches = {
        "argmax": tf.argmax(x, 1),
        "axis": tf.argmax(x, axis=0),
        "dimension": tf.argmax(x, dimension=1),
        "default": tf.argmax(x),
        "int32": tf.argmax(x, 1, output_type=tf.int32),
        "argmin": tf.argmin(x, -1),
        "arg_max": tf.arg_max(x, 1),
        "arg_min": tf.arg_min(x, 1),
        "ties": tf.argmax([1, 3, 3, 2]),
        "top": tf.nn.top_k(x, 2),
        "unsorted": tf.nn.top_k(x, k=1, sorted=False).indices,
        "in_top": tf.nn.in_top_k(x, [0, 1], 1),
        "in_top_two": tf.nn.in_top_k(x, tf.constant([1, 1], tf.int64), k=2),
    }
    return [
        Run(fetches, {x: X[0]}),
        Run(facts={"axis": raised(tf.argmax, x, 2), "k": raised(tf.nn.top_k, x, 4)}),
    ]


@program
def cumulative(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    fetches = {
        "sum": tf.cumsum(x),
        "axis": tf.cumsum(x, axis=1),
        "exclusive": tf.cumsum(x, 1, exclusive=True),
        "reverse": tf.cumsum(x, 1, reverse=True),
        "both": tf.cumsum(x, -1, exclusive=True, reverse=True),
        "prod": tf.cumprod(x, 1),
        "prod_exclusive": tf.cumprod(x, 1, exclusive=True, reverse=True),
        "ints": tf.cumsum([1, 2, 3]),
    }
    return Run(fetches, {x: X[1]})


@program
def extremes_of_what_is_no_number(tf):
    """Return a NaN is passed over, but not where it is the only one: nothing is compared then."""
    nan, inf = np.nan, np.inf
    arrays = [
        np.array(nan), np.full([1], nan), np.full([1, 1], nan), np.full([3], nan),
        np.full([3, 1], nan), np.full([1, 3], nan), np.array([[nan, 1, -inf]]),
        np.array([[nan, 1, nan], [nan, -inf, 2]]), np.array([[[nan, 2]], [[3, nan]], [[nan, nan]]]),
        np.array([nan] + [-3.0] * 8 + [nan] + [7.0] * 9),
    ]
    fetches, feeds = {}, {}
    for dtype in (tf.float32, tf.float64, tf.float16):
        for number, array in enumerate(arrays):
            x = tf.placeholder(dtype, array.shape)
            feeds[x] = array.astype(dtype.as_numpy_dtype)
            every = list(range(array.ndim))
            for axes in [[], every, *([axis] for axis in every if array.ndim > 1)]:
                name = f"{dtype.name}_{number}_of_{''.join(map(str, axes))}"
                fetches[name] = [tf.reduce_max(x, axes), tf.reduce_min(x, axes)]
                if len(axes) == 1:
                    fetches[name].extend([tf.argmax(x, axes[0]), tf.argmin(x, axes[0])])
    return Run(fetches, feeds)
