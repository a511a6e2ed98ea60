"""SparseTensor: feeding, fetching and the ops on it."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


def example(tf):
    return tf.SparseTensor(indices=[[0, 1], [1, 0], [1, 2]], values=[1.0, 2.0, 3.0],
                           dense_shape=[2, 3])


@program
def making_and_converting(tf):
    sp = example(tf)
    fetches = {
        "sparse": sp,
        "dense": tf.sparse_tensor_to_dense(sp),
        "default": tf.sparse.to_dense(sp, default_value=-1.0),
        "by_hand": tf.sparse_to_dense([[0, 1], [1, 0]], [2, 3], [5, 6], default_value=0),
        "scalar_value": tf.sparse_to_dense([1, 3], [5], 7.0),
        "from_dense": tf.sparse.from_dense([[0, 1], [2, 0]]),
        "indicator": tf.sparse_to_indicator(
            tf.SparseTensor([[0, 0], [1, 1]], tf.constant([2, 0], tf.int64), [2, 2]), 4),
        "eye": tf.sparse.eye(2, 3),
        "parts": [sp.indices, sp.values, sp.dense_shape],
    }
    facts = {"shape": str(sp.shape), "dtype": str(sp.dtype), "get_shape": str(sp.get_shape()),
             "repr": str(sp), "rank": raised(tf.SparseTensor, [[0]], [1.0, 2.0], [3])}
    return Run(fetches, facts=facts)


@program
def feeding_and_fetching(tf):
    x = tf.sparse_placeholder(tf.float32, name="sp")
    known = tf.sparse_placeholder(tf.int64, [2, 3])
    partial = tf.sparse_placeholder(tf.int64, [None, 3])
    y = tf.sparse_reduce_sum(x, 1)
    value = tf.SparseTensorValue([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])
    ints = (np.array([[1, 1]]), np.array([5]), np.array([2, 3]))
    fetches = {"y": y, "x": x, "partial": tf.sparse_tensor_to_dense(partial)}
    facts = {"names": [x.indices.name, x.values.name, x.dense_shape.name],
             "shapes": [str(x.shape), str(known.shape), str(partial.shape)]}
    return [Run(fetches, {x: value, partial: ints}, facts=facts),
            Run({"known": known}, {known: ints}, fails=True)]


@program
def arithmetic(tf):
    sp = example(tf)
    dense = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    fetches = {
        "add": tf.sparse_add(sp, sp),
        "add_dense": tf.sparse_add(sp, dense),
        "threshold": tf.sparse_add(sp, sp * -1.0, thresh=0.5),
        "times_dense": sp * dense,
        "divided": sp / dense,
        "scalar": sp * 2.0,
        "maximum": tf.sparse_maximum(sp, sp),
        "minimum": tf.sparse_minimum(sp, sp),
        "softmax": tf.sparse_softmax(sp),
        "square": tf.SparseTensor(sp.indices, tf.square(sp.values), sp.dense_shape),
    }
    return Run(fetches)


@program
def reductions(tf):
    sp = example(tf)
    fetches = {
        "sum": tf.sparse_reduce_sum(sp),
        "axis": tf.sparse_reduce_sum(sp, axis=0),
        "keep": tf.sparse_reduce_sum(sp, 1, keepdims=True),
        "max": tf.sparse_reduce_max(sp, 1),
        "sum_sparse": tf.sparse_reduce_sum_sparse(sp, 0),
        "max_sparse": tf.sparse.reduce_max_sparse(sp, 1),
    }
    return Run(fetches)


@program
def sparse_reductions_to_a_scalar(tf):
    sp = example(tf)
    return Run({
        "sum": tf.sparse_reduce_sum_sparse(sp),
        "sum_of_axes": tf.sparse_reduce_sum_sparse(sp, [0, -1]),
        "max": tf.sparse_reduce_max_sparse(sp),
        "reshaped": tf.sparse_reshape(tf.SparseTensor([[0, 0]], [1.5], [1, 1]), []),
    })


@program
def products(tf):
    sp = example(tf)
    b = tf.placeholder(tf.float32, [3, 2])
    y = tf.sparse_tensor_dense_matmul(sp, b)
    fetches = {
        "y": y,
        "adjoint_a": tf.sparse_tensor_dense_matmul(sp, [[1.0], [2.0]], adjoint_a=True),
        "adjoint_b": tf.sparse.matmul(sp, tf.transpose(b), adjoint_b=True),
        "gradients": tf.gradients(y * y, [sp.values, b]),
        "dense_gradient": tf.gradients(tf.sparse_tensor_to_dense(sp) ** 2, sp.values),
        "sum_gradient": tf.gradients(tf.sparse_reduce_sum(sp, 0) ** 2, sp.values),
    }
    return Run(fetches, {b: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]})


@program
def rearranging(tf):
    sp = example(tf)
    unordered = tf.SparseTensor([[1, 0], [0, 1]], ["b", "a"], [2, 3])
    first, second = tf.sparse_split(sp_input=sp, num_split=2, axis=1)
    fetches = {
        "reorder": tf.sparse_reorder(unordered),
        "reshape": tf.sparse_reshape(sp, [3, -1]),
        "transpose": tf.sparse_transpose(sp),
        "concat": tf.sparse_concat(0, [sp, sp]),
        "concat_wide": tf.sparse.concat(1, [sp, sp]),
        "expand": tf.sparse_concat(0, [sp, tf.SparseTensor([[0, 3]], [9.0], [1, 4])],
                                   expand_nonconcat_dim=True),
        "split": [first, second],
        "slice": tf.sparse_slice(sp, [0, 1], [2, 2]),
        "retain": tf.sparse_retain(sp, [True, False, True]),
        "fill": tf.sparse_fill_empty_rows(tf.SparseTensor([[0, 1]], [1.0], [3, 2]), 7.0),
        "reset_shape": tf.sparse_reset_shape(sp),
        "larger": tf.sparse_reset_shape(sp, [4, 4]),
        "merge": tf.sparse_merge(
            tf.SparseTensor([[0, 0], [1, 0]], tf.constant([1, 2], tf.int64), [2, 1]),
            tf.SparseTensor([[0, 0], [1, 0]], [5.0, 6.0], [2, 1]), 4),
        "mask": tf.sparse_mask(tf.IndexedSlices(tf.ones([2, 2]), tf.constant([1, 3])), [3]),
        "expand_dims": tf.sparse.expand_dims(sp, 0),
    }
    return Run(fetches)


@program
def errors(tf):
    bad = tf.sparse_tensor_to_dense(tf.SparseTensor([[1], [0]], [1.0, 2.0], [3]))
    beyond = tf.sparse_tensor_to_dense(tf.SparseTensor([[5]], [1.0], [3]))
    repeated = tf.sparse_to_dense([1, 1], [3], [1.0, 2.0])
    unchecked = tf.sparse_to_dense([2, 1], [3], [1.0, 2.0], validate_indices=False)

    def use(session):
        return {"order": raised(session.run, bad), "beyond": raised(session.run, beyond),
                "repeated": raised(session.run, repeated)}

    return [Run(call=use), Run({"unchecked": unchecked})]


@program
def gradients_of_products_with_dense_tensors(tf):
    values = tf.constant([1.0, -2.0, 4.0])
    sparse = tf.SparseTensor([[0, 1], [1, 0], [1, 2]], values, [2, 3])
    row, whole = tf.constant([[2.0, 4.0, 8.0]]), tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    found = {}
    for name, result, dense in (("times", sparse * whole, whole), ("over", sparse / whole, whole)):
        found[name] = tf.gradients(tf.reduce_sum(result.values * values), [values, dense])
    found["row"] = tf.gradients(tf.reduce_sum((sparse * row).values), [values, row])
    return Run(found)
