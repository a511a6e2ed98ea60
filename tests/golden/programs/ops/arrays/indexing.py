"""Slices, gathers, scatters and partitions."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.ops.arrays.reshaping import numbers
from tests.golden.registry import Run, program, raised


@program
def python_slicing(tf):
    x = tf.placeholder(tf.float32, [None, 4, 3], name="x")
    i = tf.constant(1)
    fetches = {
        "first": x[0],
        "last": x[-1],
        "range": x[:, 1:3],
        "steps": x[:, ::2],
        "backwards": x[:, ::-1, :],
        "down": x[:, 3:0:-2],
        "element": x[0, 1, 2],
        "ellipsis": x[..., 1],
        "middle": x[0, ..., 1:],
        "newaxis": x[:, tf.newaxis, 0],
        "new_last": x[:, 0, :, None],
        "two_new": x[tf.newaxis, ..., tf.newaxis],
        "tensor_index": x[:, i],
        "tensor_range": x[:, i:i + 2],
        "to_dynamic": x[:tf.shape(x)[0] - 1],
        "empty": x[:, 2:2],
        "beyond": x[:, 2:100],
        "strings": tf.constant(["a", "b", "c"])[1:],
        "numpy_index": x[:, np.int64(2)],
    }
    return Run(fetches, {x: numbers(2, 4, 3)})


@program
def slicing_errors(tf):
    x = tf.constant(numbers(2, 3))
    p = tf.placeholder(tf.float32, [None, 3])
    beyond = p[5]
    facts = {
        "bounds": raised(lambda: x[2]),
        "too_many": raised(lambda: x[0, 0, 0]),
        "float": raised(lambda: x[1.5]),
        "zero_step": raised(lambda: x[::0]),
        "string": raised(lambda: x["a"]),
        "boolean": raised(lambda: x[True, 0, 1, 2]),
    }
    return Run(facts=facts, call=lambda s: {"run": raised(s.run, beyond, {p: numbers(2, 3)})})


@program
def slice_and_strided_slice(tf):
    x = tf.placeholder(tf.float32, [None, 4])
    fetches = {
        "slice": tf.slice(x, [0, 1], [2, 2]),
        "rest": tf.slice(x, [1, 0], [-1, 3]),
        "dynamic": tf.slice(x, [0, 0], tf.stack([tf.shape(x)[0] - 1, 2])),
        "strided": tf.strided_slice(x, [0, 0], [2, 4], [1, 2]),
        "no_strides": tf.strided_slice(x, [0], [1]),
        "begin_mask": tf.strided_slice(x, [1, 1], [2, 3], begin_mask=1),
        "end_mask": tf.strided_slice(x, [0, 1], [1, 1], end_mask=3),
        "shrink": tf.strided_slice(x, [1, 0], [2, 4], [1, 1], shrink_axis_mask=1),
        "new_axis": tf.strided_slice(x, [0, 0], [1, 2], new_axis_mask=1),
        "ellipsis": tf.strided_slice(x, [0, 1], [0, 2], ellipsis_mask=1),
        "var_range": tf.strided_slice([1, 2, 3, 4, 5], [-1], [-4], [-2]),
    }
    beyond = tf.slice(x, [0, 0], [5, 1])
    facts = {"rank": raised(tf.slice, tf.zeros([2, 2]), [0], [1, 1])}
    return [Run(fetches, {x: numbers(3, 4)}, facts=facts),
            Run({"beyond": beyond}, {x: numbers(3, 4)}, fails=True)]


@program
def slicing_variables(tf):
    v = tf.Variable(numbers(3, 3), name="v")
    r = tf.get_variable("r", initializer=tf.constant(numbers(4)), use_resource=True)
    assign = v[0, 1:].assign([10.0, 20.0])
    row = v[2].assign([7.0, 8.0, 9.0])
    resource = r[1:3].assign([-1.0, -2.0])
    return [
        Run({"v": v[1], "r": r[::2]}, setup=[tf.global_variables_initializer()]),
        Run({"v": v, "r": r}, train=[assign]),
        Run({"v": v, "r": r}, train=[row, resource.op]),
    ]


@program
def gather_forms(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    ids = tf.placeholder(tf.int32, [None])
    fetches = {
        "rows": tf.gather(x, ids),
        "matrix_of_ids": tf.gather(x, [[0, 1], [1, 1]]),
        "scalar": tf.gather(x, 1),
        "columns": tf.gather(x, [2, 0], axis=1),
        "last": tf.gather(x, ids, axis=-1),
        "int64": tf.gather(x, tf.constant([1], tf.int64)),
        "batch_dims": tf.gather(x, [[0], [2]], batch_dims=1),
        "batch_gather": tf.batch_gather(x, [[0, 1], [2, 0]]),
        "strings": tf.gather(["a", "b"], ids),
        "variable_like": tf.gather(tf.constant([10, 20, 30]), tf.range(2) + 1),
    }
    return Run(fetches, {x: numbers(2, 3), ids: [1, 0, 1]})


@program
def gather_errors(tf):
    x = tf.placeholder(tf.float32, [None])
    ids = tf.placeholder(tf.int32, [None])
    y = tf.gather(x, ids)
    nd = tf.gather_nd(x, tf.expand_dims(ids, 1))

    def use(session):
        return {"beyond": raised(session.run, y, {x: [1.0, 2.0], ids: [0, 2]}),
                "negative": raised(session.run, y, {x: [1.0], ids: [-1]}),
                "nd": raised(session.run, nd, {x: [1.0], ids: [3]})}

    return Run(facts={"axis": raised(tf.gather, x, ids, axis=2)}, call=use)


@program
def gather_nd_forms(tf):
    x = tf.placeholder(tf.float32, [2, None, 2])
    fetches = {
        "elements": tf.gather_nd(x, [[0, 0, 1], [1, 1, 0]]),
        "rows": tf.gather_nd(x, [[1], [0]]),
        "batched": tf.gather_nd(x, [[[0, 1]], [[1, 0]]]),
        "all": tf.gather_nd(x, tf.zeros([2, 0], tf.int32)),
        "argmax": tf.gather_nd(tf.constant([[1, 2], [4, 3]]), [[0, 1]]),
        "batch_dims": tf.gather_nd(x, [[0], [1]], batch_dims=1),
    }
    return Run(fetches, {x: numbers(2, 2, 2)})


@program
def scatter_nd_forms(tf):
    indices = tf.placeholder(tf.int32, [None, 1])
    fetches = {
        "vector": tf.scatter_nd(indices, [9.0, 10.0, 11.0], [8]),
        "rows": tf.scatter_nd([[0], [2]], numbers(2, 2), [4, 2]),
        "elements": tf.scatter_nd([[0, 1], [1, 0]], [1, 2], [2, 2]),
        "add": tf.tensor_scatter_nd_add(tf.ones([5]), indices, [9.0, 10.0, 11.0]),
        "sub": tf.tensor_scatter_nd_sub(tf.ones([5]), indices, [9.0, 10.0, 11.0]),
        "update": tf.tensor_scatter_nd_update(tf.ones([5]), [[1], [3]], [5.0, 6.0]),
    }
    bad = tf.scatter_nd(indices, [1.0, 2.0, 3.0], [2])
    return [
        Run(fetches, {indices: [[4], [3], [4]]}),
        Run({"bad": bad}, {indices: [[0], [1], [2]]}, fails=True),
    ]


@program
def partition_and_stitch(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    parts = tf.dynamic_partition(x, [0, 1, 0], 2)
    where = tf.dynamic_partition(tf.range(3), [0, 1, 0], 2)
    fetches = {
        "parts": parts,
        "stitched": tf.dynamic_stitch(where, parts),
        "parallel": tf.parallel_stack([tf.constant(1.0), tf.constant(2.0)]),
        "overlap": tf.dynamic_stitch([[0, 1], [1, 2]], [[1, 2], [20, 30]]),
        "empty": tf.dynamic_partition([1.0, 2.0], [1, 1], 3),
    }
    return Run(fetches, {x: numbers(3, 2)})


@program
def segments(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    ids = tf.constant([0, 0, 2])
    fetches = {
        "sum": tf.segment_sum(x, ids),
        "mean": tf.segment_mean(x, ids),
        "prod": tf.segment_prod(x, ids),
        "max": tf.segment_max(x, ids),
        "min": tf.segment_min(x, ids),
        "ints": tf.segment_sum([1, 2, 3], [0, 1, 1]),
    }
    return Run(fetches, {x: numbers(3, 2) + 1})


@program
def unsorted_segments(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    ids = tf.placeholder(tf.int32, [None])
    n = tf.reduce_max(ids) + 1
    fetches = {
        "sum": tf.unsorted_segment_sum(x, ids, 4),
        "dynamic": tf.unsorted_segment_sum(x, ids, n),
        "max": tf.unsorted_segment_max(x, ids, 3),
        "min": tf.unsorted_segment_min(x, ids, 3),
        "prod": tf.unsorted_segment_prod(x, ids, 3),
        "mean": tf.unsorted_segment_mean(x, ids, 3),
        "sqrt_n": tf.unsorted_segment_sqrt_n(x, ids, 3),
        "dropped": tf.unsorted_segment_sum([1, 2, 3], [0, -1, 1], 2),
    }
    return Run(fetches, {x: numbers(3, 2) + 1, ids: [2, 0, 2]})


@program
def sparse_segments(tf):
    x = tf.constant(numbers(4, 2) + 1)
    fetches = {
        "sum": tf.sparse_segment_sum(x, [0, 1, 3], [0, 0, 1]),
        "mean": tf.sparse_segment_mean(x, [0, 1, 3], [0, 0, 2]),
        "sqrt_n": tf.sparse_segment_sqrt_n(x, [0, 1, 3], [0, 0, 1]),
        "filled": tf.sparse_segment_sum(x, [0, 1], [0, 2], num_segments=4),
        "mean_filled": tf.sparse_segment_mean(x, [0, 1], [0, 2], num_segments=4),
    }
    return Run(fetches)


@program
def segment_errors(tf):
    ids = tf.placeholder(tf.int32, [None])
    y = tf.segment_sum([1.0, 2.0], ids)
    z = tf.unsorted_segment_sum([1.0, 2.0], ids, 2)

    def use(session):
        return {"not_sorted": raised(session.run, y, {ids: [1, 0]}),
                "sizes": raised(session.run, y, {ids: [0]}),
                "negative": raised(session.run, y, {ids: [-1, 0]}),
                "beyond": raised(session.run, z, {ids: [0, 2]})}

    return Run(call=use)


@program
def too_far_in_a_branch(tf):
    """Slice too far in a branch that is not taken, from a tensor known to be empty."""
    nothing = tf.reshape(tf.boolean_mask(tf.constant([1, 2]), tf.constant([False, False])), [-1])
    guarded = tf.cond(tf.equal(tf.size(nothing), 0), lambda: tf.constant(7), lambda: nothing[0])
    return Run({"guarded": guarded, "backwards": tf.constant([1, 2, 3])[::-1][0]})


@program
def slices_of_partly_known_vectors_of_numbers(tf):
    """Slice a partly known vector: the known part decides, for any numbers."""
    numbers = tf.placeholder(tf.float32, [None])
    words = tf.placeholder(tf.string, [None])
    with_nan = tf.concat([numbers, tf.fill([2], float("nan"))], 0)
    return Run(
        {
            "joined": tf.concat([[2.7, -3.5], numbers], 0)[:2],
            "stacked": tf.stack([3.5, numbers[0], 1.5])[0:1],
            "nan": tf.is_nan(with_nan[0:3]),
            "words": tf.concat([["a"], words], 0)[:1],
            "truths": tf.concat([[True], numbers > 0.0], 0)[:1],
        },
        {numbers: [1.0, 2.0], words: ["b"]},
    )
