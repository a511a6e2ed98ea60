"""Ragged tensors: how they are made, indexed, combined, reduced and converted."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import InternalNames, Run, program, raised


def parts(**tensors):
    """Return the tensors that ragged ones are made of, by name; dense ones as they are."""
    found = {}
    for name, tensor in tensors.items():
        if not hasattr(tensor, "nested_row_splits"):
            found[name] = tensor
            continue
        found[name + "/values"] = tensor.flat_values
        for level, splits in enumerate(tensor.nested_row_splits):
            found[f"{name}/splits{level}"] = splits
    return found


def rows(tf):
    return tf.ragged.constant([[3.0, 1.0, 4.0], [], [1.0, 5.0, 9.0, 2.0], [6.0]])


def deep(tf):
    return tf.ragged.constant([[[1, 2], [3]], [], [[4], [], [5, 6, 7]]])


@program
def constants(tf):
    return Run(parts(
        rows=rows(tf), deep=deep(tf), inner=tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]],
                                                               ragged_rank=1),
        words=tf.ragged.constant([["a", "bc"], ["d"]], row_splits_dtype=tf.int32, name="words"),
        dense=tf.ragged.constant([1, 2]), empty=tf.ragged.constant([], ragged_rank=2),
    ), facts={
        "shape": str(deep(tf).shape), "repr": repr(rows(tf)),
        "depth": raised(tf.ragged.constant, [1, [2]]),
        "rank": raised(tf.ragged.constant, [[1]], ragged_rank=2),
        "value": tf.ragged.constant_value([[1, 2], [3]]).to_list(),
        "list": raised(rows(tf).to_list),
    })


@program
def factories(tf):
    make = tf.RaggedTensor
    values = tf.placeholder(tf.float32, [None])
    return Run(parts(
        splits=make.from_row_splits([1, 2, 3, 4], [0, 1, 1, 4]),
        lengths=make.from_row_lengths(values, [3, 0, 2]),
        starts=make.from_row_starts(values, [0, 3, 3], name="starts"),
        limits=make.from_row_limits(values, [3, 3, 5]),
        rowids=make.from_value_rowids(values, [0, 0, 0, 2, 2], nrows=4),
        counted=make.from_value_rowids([5, 6], [0, 1]),
        nested=make.from_nested_row_splits([1, 2, 3], [[0, 2], [0, 1, 3]]),
        nested_ids=make.from_nested_value_rowids([1, 2, 3], [[0, 0], [0, 1, 1]], [2, 2]),
        nested_lengths=make.from_nested_row_lengths([1, 2, 3], [[2], [1, 2]]),
        unchecked=make.from_row_splits(values, [0, 5], validate=False),
    ), {values: np.arange(5, dtype=np.float32)}, facts={
        "private": raised(make, values, tf.constant([0])),
        "rowids": raised(make.from_value_rowids, [1], [3], nrows=2),
        "bool": raised(make.from_row_splits, [1], [0, 1], validate=1),
        "types": raised(make.from_row_splits, deep(tf), tf.constant([0, 3], tf.int32)),
    })


@program
def rows_that_do_not_fit(tf):
    splits = tf.placeholder(tf.int64, [None])
    made = tf.RaggedTensor.from_row_splits([1, 2, 3], splits)
    return Run(parts(made=made), {splits: [0, 2]}, fails=True)


@program
def what_they_are_made_of(tf):
    x = deep(tf)
    made = tf.RaggedTensor.from_value_rowids(tf.range(4), [0, 0, 2, 2], nrows=3)
    return Run(parts(
        starts=x.row_starts(), limits=x.row_limits(), lengths=x.row_lengths(),
        inner_lengths=x.row_lengths(axis=2), ids=x.value_rowids(), count=x.nrows(),
        count_int32=x.nrows(tf.int32, name="rows"), box=x.bounding_shape(),
        width=x.bounding_shape(axis=1), some=x.bounding_shape(axis=[2, 0]),
        rows=made.nrows(), made_lengths=made.row_lengths(), made_ids=made.value_rowids(),
        narrow=made.with_row_splits_dtype(tf.int32), other=made.with_values(tf.range(4) * 10),
        flat=x.with_flat_values(x.flat_values + 1), all_ids=tf.concat(x.nested_value_rowids(), 0),
        segment_ids=tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5]),
        row_splits=tf.ragged.segment_ids_to_row_splits([0, 0, 2], num_segments=4),
    ))


@program
def indexed(tf):
    x, number = deep(tf), tf.placeholder(tf.int64, [])
    flat = rows(tf)
    return Run(parts(
        first=x[0], last=x[-1], fed=x[number], inner=x[2][1:], element=x[0][0][1], some=x[1:],
        to=flat[:2], step=flat[::2], back=flat[::-1], columns=flat[:, :2], off=flat[:, 1:],
        ends=flat[:, -2:], fed_columns=flat[:, number:], inner_columns=x[:, :, 1:],
        strided=flat[:, ::2], new=flat[tf.newaxis], new_column=flat[:, tf.newaxis],
        ellipsis=x[..., :1], none=flat[4:],
    ), {number: 2}, facts={
        "ragged": raised(flat.__getitem__, (slice(None), 0)),
        "many": raised(flat.__getitem__, (Ellipsis, 0, 0, 0)),
    })


@program
def operators(tf):
    x, y = rows(tf), tf.ragged.constant([[1], [], [2], [3]])
    is_large = x > 2.0
    return Run(parts(
        sum=x + 1.0, reflected=10.0 - x, product=x * x, columns=x * [[1.0], [2.0], [3.0], [4.0]],
        column=x / tf.constant([[2.0]]), whole=y // 2, rest=y % 2, power=2 ** y, negative=-x,
        size=abs(-x),
        large=is_large, both=is_large & (x < 6.0), either=is_large | True, no=~is_large,
        unlike=is_large ^ (x >= 4.0), most=x <= 4.0,
    ), facts={"bool": raised(bool, x)})


@program
def elementwise_functions(tf):
    x, words = rows(tf), tf.ragged.constant([["Ab", "c d"], [], ["12"]])
    mapped = tf.ragged.map_flat_values(tf.add, x, 10.0)
    return Run(parts(
        log=tf.log(x), clipped=tf.clip_by_value(x, 2.0, 5.0), cast=tf.cast(x, tf.int32),
        zeros=tf.zeros_like(x), ones=tf.ones_like(x), identity=tf.identity(x),
        maximum=tf.maximum(x, 3.0), equal=tf.equal(x, tf.round(x)), add_n=tf.add_n([x, x, x]),
        angle=tf.atan2(x, 1.0), pairs=tf.complex(x, x), mapped=mapped,
        lengths=tf.strings.length(words), joined=tf.strings.join([words, words], "-"),
        buckets=tf.strings.to_hash_bucket_fast(words, 10), parts=tf.strings.substr(words, 0, 1),
        replaced=tf.strings.regex_replace(words, "[a-z]", "x"),
    ))


@program
def reductions(tf):
    x, flags = deep(tf), tf.ragged.constant([[True, False], [], [True]])
    fetches = parts(all=tf.reduce_all(flags, axis=1), any=tf.reduce_any(flags, axis=1))
    for name in ("sum", "prod", "min", "max", "mean"):
        function = getattr(tf, "reduce_" + name)
        fetches.update(parts(**{
            name + "0": function(x, axis=0), name + "1": function(x, axis=1),
            name + "2": function(x, axis=2), name + "_two": function(x, axis=[1, 2]),
        }))
    return Run(fetches, facts={"keep": raised(tf.reduce_sum, x, axis=0, keepdims=True)})


@program
def reduced_to_scalars(tf):
    x = rows(tf)
    return Run({"sum": tf.reduce_sum(x), "mean": tf.reduce_mean(x), "max": tf.reduce_max(x)})


@program
def segments(tf):
    x, ids = rows(tf), tf.constant([1, 0, 1, 0])
    functions = ("sum", "prod", "min", "max", "mean", "sqrt_n")
    return Run(parts(**{
        name: getattr(tf.math, "unsorted_segment_" + name)(x, ids, 3) for name in functions
    }))


@program
def gathered(tf):
    x, picked = deep(tf), tf.ragged.constant([[2, 0], [1]])
    grid = tf.constant([[1, 0], [2, 2]])
    return Run(parts(
        rows=tf.gather(x, [2, 0, 0]), one=tf.gather(x, 2), grid=tf.gather(x, grid),
        ragged=tf.gather(x, picked), dense=tf.gather(tf.constant([7, 8, 9]), picked),
        tuples=tf.gather_nd(x, [[0, 1], [2, 0]]), elements=tf.gather_nd(x, [[0, 1, 0], [2, 2, 1]]),
        single=tf.gather_nd(x, [[2], [1]]), nested=tf.gather_nd(x, [[[0, 0]], [[2, 2]]]),
        batch=tf.batch_gather(rows(tf), tf.ragged.constant([[1], [], [3, 0], [0]])),
        batch_dense=tf.batch_gather(rows(tf)[2:], [[0], [0]]),
    ), facts={"axis": raised(tf.gather, x, [0], axis=1)})


@program
def joined(tf):
    x, y = rows(tf), tf.ragged.constant([[1.0], [2.0, 3.0], [], [4.0]])
    return Run(parts(
        rows=tf.concat([x, y], 0), columns=tf.concat([x, y], axis=1),
        dense=tf.concat([x, [[7.0]]], 0), deep=tf.concat([deep(tf), deep(tf)], 2),
        stacked=tf.stack([x, y]), stacked1=tf.ragged.stack([x, y], axis=1),
        stacked2=tf.ragged.stack([x, x], axis=2), one=tf.ragged.stack([x]),
        of_dense=tf.ragged.stack([[1, 2], [3, 4]]),
    ), facts={"types": raised(tf.concat, [x, y.with_row_splits_dtype(tf.int32)], 0)})


@program
def shapes(tf):
    x, y = deep(tf), tf.ragged.constant([[[1], [2]], [[3]]])
    return Run(parts(
        size=tf.size(x), size64=tf.size(x, out_type=tf.int64), rank=tf.rank(x),
        expanded0=tf.expand_dims(x, 0), expanded1=tf.expand_dims(x, 1),
        expanded=tf.expand_dims(x, -1), squeezed=tf.squeeze(y, [2]),
        tiled=tf.tile(x, [1, 2, 1]), tiled_all=tf.tile(rows(tf), [2, 3]),
        hot=tf.one_hot(tf.ragged.constant([[0, 2], [1]]), 3),
    ), facts={"axis": raised(tf.squeeze, y)})


@program
def selected(tf):
    x, y, ids = rows(tf), -rows(tf), tf.placeholder(tf.int64, [4])
    mask = tf.ragged.constant([[True, False, True], [], [False] * 3 + [True], [True]])
    return Run(parts(
        elements=tf.where(mask, x, y), rows=tf.where([True, False, False, True], x, y),
        places=tf.where(mask), masked=tf.ragged.boolean_mask(x, mask),
        whole_rows=tf.ragged.boolean_mask(x, [True, False, True, False]),
        of_dense=tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]]),
        partitions=tf.ragged.stack_dynamic_partitions(["a", "b", "c"], [2, 0, 2], 4),
        rows_by_number=tf.ragged.stack_dynamic_partitions(x, ids, 2),
        parted=tf.dynamic_partition(x, ids, 2)[1],
    ), {ids: [1, 0, 1, 0]})


@program
def to_and_from_dense(tf):
    make, dense = tf.RaggedTensor, tf.constant([[5, 7, 0], [0, 3, 0], [6, 0, 0]])
    x = deep(tf)
    return Run(parts(
        whole=make.from_tensor(dense), cut=make.from_tensor(dense, lengths=[1, 0, 3]),
        unpadded=make.from_tensor(dense, padding=0),
        cube=make.from_tensor(tf.zeros([2, 3, 1]), ragged_rank=2),
        nested=make.from_tensor([[[1, 0], [2, 3]], [[4, 5], [0, 0]]], lengths=[[2, 1], [1, 2, 2]]),
        padded=x.to_tensor(), padded_with=x.to_tensor(-1), rows=rows(tf).to_tensor(name="dense"),
        inner=tf.ragged.constant([[[1, 2]], []], ragged_rank=1, inner_shape=(2,)).to_tensor([8, 9]),
    ), facts={"both": raised(make.from_tensor, dense, lengths=[1], padding=0)})


@program
def to_and_from_sparse(tf):
    make = tf.RaggedTensor
    sparse = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "b", "c"], [4, 3])
    back = deep(tf).to_sparse()
    return Run(dict(parts(made=make.from_sparse(sparse)), back=back, rows=rows(tf).to_sparse()))


@program
def sparse_with_gaps(tf):
    sparse = tf.SparseTensor([[0, 1]], [1], [1, 2])
    return Run(parts(made=tf.RaggedTensor.from_sparse(sparse)), fails=True)


@program
def gradients(tf):
    values = tf.placeholder(tf.float32, [5])
    splits = tf.placeholder(tf.int64, [4])
    x = tf.RaggedTensor.from_row_splits(values, splits)
    losses = {
        "sum": tf.reduce_sum(tf.reduce_sum(x * x, axis=1)),
        "gather": tf.reduce_sum(tf.gather(x, [2, 2, 0]).flat_values ** 2),
        "dense": tf.reduce_sum(x.to_tensor() ** 3), "sparse": tf.reduce_sum(x.to_sparse().values),
        "max": tf.reduce_sum(tf.reduce_max(x, axis=0)),
    }
    return Run({name: tf.convert_to_tensor(tf.gradients(loss, values)[0])
                for name, loss in losses.items()},
               {values: [1.0, 2.0, 3.0, 4.0, 5.0], splits: [0, 2, 2, 5]})


@program
def fed_and_fetched(tf):
    fed = tf.ragged.placeholder(tf.float32, 2, value_shape=[2], name="fed")
    doubled = fed * 2.0
    value = tf.ragged.constant_value([[[[1, 2]], []], [[[3, 4], [5, 6]]]], dtype=np.float32,
                                     ragged_rank=2)

    def call(session):
        found = session.run(doubled, {fed: value})
        return {"type": type(found).__name__, "list": str(found.to_list()), "text": str(found)}

    return Run(parts(doubled=doubled), {fed: value}, call=call, facts={"shape": str(fed.shape)})


@program
def ranges(tf):
    limits = tf.placeholder(tf.int32, [None])
    return Run(parts(
        from_zero=tf.ragged.range([3, 0, 2]), between=tf.ragged.range([1, 5], [4, 4]),
        steps=tf.ragged.range([0, 9], [8, 0], [3, -4]), fed=tf.ragged.range(limits),
        floats=tf.ragged.range(0.0, [1.0, 0.35], 0.1), wide=tf.ragged.range([2], dtype=tf.int64),
        narrow=tf.ragged.range([2, 1], row_splits_dtype=tf.int32),
    ), {limits: [2, 3]})


@program
def specs(tf):
    spec = tf.RaggedTensorSpec([None, None], tf.int32)
    same = tf.RaggedTensorSpec([3, None], tf.int32, ragged_rank=1)
    return Run({}, facts={
        "repr": repr(spec), "fits": spec.is_compatible_with(tf.ragged.constant([[1], []])),
        "of_value": repr(tf.RaggedTensorSpec.from_value(deep(tf))),
        "general": repr(same.most_specific_compatible_type(spec)),
        "rank": raised(tf.RaggedTensorSpec), "large": raised(tf.RaggedTensorSpec, [2], tf.int32, 1),
    })


@program
def branches_and_loops(tf):
    x, flag = rows(tf), tf.placeholder(tf.bool, [])
    chosen = tf.cond(flag, lambda: x, lambda: x[:2])
    _, looped = tf.while_loop(
        lambda i, _: i < 3, lambda i, r: (i + 1, tf.concat([r, r], axis=1)), [0, x])
    return Run(parts(chosen=chosen, looped=looped), {flag: False})


@program
def gathered_with_a_default(tf):
    path = "python.ops.ragged.ragged_batch_gather_with_default_op"
    gather = InternalNames(tf, path).batch_gather_with_default
    ragged = tf.ragged.constant([["a", "b"], [], ["c"]])
    dense = tf.constant([["a", "b"], ["c", "d"]])
    nested = tf.ragged.constant([[[1, 2], [3]], [[4]]])
    return Run(parts(
        ragged=gather(ragged, [[1, 0, -1], [0, -1, 0], [0, 0, -1]], "?"),
        rows=gather(ragged, tf.ragged.constant([[1], [0, -1], [0]]), "none"),
        dense=gather(dense, [[-1, 1], [0, -1]], "?"),
        vector=gather(tf.constant([3.0, 4.0]), [1, -1], 0.5),
        nested=gather(nested, tf.ragged.constant([[1, -1], [0, 0]], dtype=tf.int32), 9)))


@program
def conversions_of_either_kind(tf):
    path = "python.ops.ragged.ragged_conversion_ops"
    ops, ragged = InternalNames(tf, path), rows(tf)
    dense = tf.constant([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    sparse = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1.0, 2.0, 3.0], [3, 2])
    found = parts(ragged=ops.from_tensor(ragged), made=ops.from_tensor(dense, padding=0.0),
                  sparse=ops.from_sparse(sparse), lengths=ops.from_tensor(dense, lengths=[2, 1]))
    found.update(same=ops.to_tensor(dense), filled=ops.to_tensor(ragged, -1.0),
                 indices=ops.to_sparse(ragged).indices)
    return Run(found, facts={"same": ops.from_tensor(ragged) is ragged,
                             "dense": ops.to_tensor(dense) is dense})
