"""Errors of ops: for shapes known during graph construction, and at run time."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def shapes_while_building(tf):
    x = tf.placeholder(tf.float32, [6])
    unknown = tf.placeholder(tf.float32)
    return Run(facts={
        "reshape_to_scalar": raised(tf.reshape, x, -1),
        "reshape_unknown_to_scalar": raised(tf.reshape, unknown, -1),
        "scatter_into_scalar": raised(tf.scatter_nd, [[0]], [1.0], 3),
        "sparse_into_scalar": raised(tf.sparse_to_dense, [0], 3, 1.0),
        "tile_by_scalar": raised(tf.tile, unknown, 2),
        "split_too_long": raised(tf.split, x, [7, -1]),
        "ensure_size": raised(tf.ensure_shape, x, [5]),
        "ensure_rank": raised(tf.ensure_shape, x, [5, 1]),
        "determinant": raised(tf.matrix_determinant, tf.zeros([2, 3])),
        "range_without_step": raised(tf.range, 0, 10, 0),
        "unique_matrix": raised(tf.unique, tf.zeros([2, 3])),
        "sparse_product": raised(
            tf.sparse_tensor_dense_matmul, tf.SparseTensor([[0, 0]], [1.0], [2, 3]),
            tf.zeros([2, 2])),
    })


@program
def shapes_while_running(tf):
    x = tf.placeholder(tf.float32, name="x")
    flags = tf.placeholder(tf.bool, name="flags")
    size = tf.placeholder(tf.int32, name="size")
    any_size = tf.placeholder(tf.int64, name="any_size")
    sparse = tf.sparse_placeholder(tf.float32, name="sparse")
    two, three, row = np.zeros([2]), np.zeros([3]), np.zeros([1, 2])
    parts = {
        sparse.indices: np.zeros([2, 2]), sparse.values: np.zeros([2]),
        sparse.dense_shape: [2, 2],
    }  # fmt: skip
    raw, product = tf.raw_ops, tf.raw_ops.SparseTensorDenseMatMul
    runs = {
        "select_other": (tf.where(flags, x, tf.zeros([3])), {flags: [True, True], x: three}),
        "select_branches": (tf.where(flags, x, tf.concat([x, x], 0)),
                            {flags: [True, True], x: two}),
        "select_rows": (tf.where(flags, x, x), {flags: [True] * 3, x: np.zeros([2, 2])}),
        "range_without_step": (tf.range(0, 10, size), {size: 0}),
        "fill_beyond_count": (tf.fill(any_size, 1.0), {any_size: [2 ** 40, 2 ** 40]}),
        "fill_scalar": (tf.fill(size, x), {size: [2 ** 30] * 3, x: 1.0}),
        "unique_matrix": (tf.unique_with_counts(x)[0], {x: row}),
        "split_by_scalar": (raw.SplitV(value=x, size_splits=size, axis=0, num_split=2),
                            {x: three, size: 3}),
        "split_two_unknown": (tf.split(x, size, num=2), {x: three, size: [-1, -1]}),
        "reorder_count": (tf.sparse_reorder(sparse).values,
                          {**parts, sparse.values: np.zeros([3])}),
        "reorder_rank": (raw.SparseReorder(input_indices=any_size, input_values=x,
                                           input_shape=[2, 2])[1],
                         {any_size: np.zeros([1, 2, 2]), x: two}),
        "reshape_rank": (raw.SparseReshape(input_indices=any_size, input_shape=[2, 2],
                                           new_shape=[4, 1])[0],
                         {any_size: np.zeros([1, 2, 2])}),
        "product_rank": (product(a_indices=sparse.indices, a_values=sparse.values,
                                 a_shape=sparse.dense_shape, b=x),
                         {**parts, x: two}),
        "product_count": (product(a_indices=sparse.indices, a_values=sparse.values,
                                  a_shape=sparse.dense_shape, b=x),
                          {**parts, x: row, sparse.values: np.zeros([3])}),
    }
    runs["slice_gradient"] = (
        raw.StridedSliceGrad(shape=[3], begin=size, end=[2], strides=[1], dy=x),
        {size: [[0]], x: two})
    kept = tf.Variable([1.0, 2.0], name="kept")
    runs["assign"] = tf.assign(kept, x), {x: three}
    runs["assign_rank"] = tf.assign(kept, x), {x: row}
    return [Run({name: fetch}, feed, fails=True) for name, (fetch, feed) in runs.items()]


@program
def defaults_and_quotients(tf):
    halves = tf.constant([1 + 2j]) // tf.constant([2.0 + 0j], tf.complex128)
    return Run(facts={
        "default": raised(tf.placeholder_with_default, [1, 2], [3]),
        "default_rank": raised(tf.placeholder_with_default, [1, 2], [2, 1]),
        "complex": [halves.op.type, halves.dtype.name],
    })


@program
def shapes_that_overflow(tf):
    return Run(facts={
        "placeholder": raised(tf.placeholder, tf.float32, [2 ** 31, 2 ** 31, 2 ** 31]),
        "size": raised(tf.placeholder, tf.float32, [2 ** 63]),
        "tile": raised(tf.tile, tf.placeholder(tf.float32, [2 ** 40]), [2 ** 40, 1]),
        "fully_known_sizes_only":
            str(tf.placeholder(tf.float32, [None, 2 ** 40, 2 ** 40]).shape)})


@program
def kinds_of_arguments(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    given = {"string": "x", "list": [2, "a"], "float": 1.5, "negative": [-3], "number": -1,
             "later": [None, -2], "tensor": x}  # fmt: skip
    facts = {
        f"placeholder {name}": raised(tf.placeholder, tf.float32, shape)
        for name, shape in given.items() if name != "tensor"
    }  # fmt: skip
    facts.update({
        f"default {name}": raised(tf.placeholder_with_default, 1.0, shape)
        for name, shape in given.items()
    })  # fmt: skip
    facts.update({
        f"squeeze {axis!r}": raised(tf.keras.backend.squeeze, x, axis)
        for axis in ("a", None, [1], 5)
    })  # fmt: skip
    facts["dtype"] = raised(tf.placeholder, x)
    facts["swish"] = raised(tf.nn.swish, x, name="a")
    facts["swish by name"] = raised(tf.nn.swish, features=x)
    facts["join"] = raised(tf.strings.join, tf.constant(["a", "b"]))
    facts["join nothing"] = raised(tf.strings.join, None)
    facts["add_n"] = raised(tf.add_n, x)
    facts["add_n number"] = raised(tf.add_n, 1.5)
    facts["add_n text"] = raised(tf.add_n, "ab")
    return Run(facts=facts)


@program
def names_that_are_none(tf):
    prepend, strip = tf.contrib.framework.prepend_name_scope, tf.contrib.framework.strip_name_scope
    pairs = ((None, "a"), ("a", None), ("a", ""), (1, "a"), ("^a", "b"), ("loc:@a", "b"),
             ("b/a", "b/"))  # fmt: skip
    return Run(facts={f"{name} {scope}": [repr(prepend(name, scope)), repr(strip(name, scope))]
                      for name, scope in pairs})  # fmt: skip


@program
def inputs_while_building(tf):
    matrices = [tf.placeholder(tf.float32, [2, 2])] * 3
    whole = tf.placeholder(tf.int32, [2, 3])
    facts = {
        f"{count} {equation}": raised(tf.raw_ops.Einsum, inputs=matrices[:count], equation=equation)
        for count, equation in ((3, "ij->ji"), (3, "ij,jk->ik"), (1, "ij,jk->ik"), (2, "ij->ji"))
    }
    columns = tf.constant([[1.0, 2.0]])
    facts["stitch"] = raised(tf.dynamic_stitch, tf.constant([[0], [1]]), columns)
    facts["stitched"] = raised(tf.dynamic_stitch, [[0]], columns)
    facts["reduce_join"] = raised(tf.strings.reduce_join, tf.constant(["a"]), 0, keepdims="x")
    facts["bitcast"] = raised(tf.bitcast, whole, tf.int64)
    return Run(facts=facts)
