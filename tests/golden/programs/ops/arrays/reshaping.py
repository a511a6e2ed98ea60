"""Reshaping, joining, splitting, padding and rearranging."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


def numbers(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@program
def reshape_forms(tf):
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    n = tf.shape(x)[0]
    fetches = {
        "flat": tf.reshape(x, [-1]),
        "inferred": tf.reshape(x, [-1, 2, 2], name="named"),
        "dynamic": tf.reshape(x, [n, 2, 2]),
        "stacked": tf.reshape(x, tf.stack([n * 2, 2])),
        "like": tf.reshape(x, tf.shape(x)),
        "scalar": tf.reshape(tf.constant([7]), []),
        "empty": tf.reshape(tf.zeros([0, 3]), [-1, 3]),
        "int64": tf.reshape(x, np.array([2, -1], np.int64)),
    }
    return Run(fetches, {x: numbers(2, 4)})


@program
def reshape_errors(tf):
    x = tf.placeholder(tf.float32)
    bad = tf.reshape(x, [-1, 3])
    two = tf.reshape(x, [-1, -1])
    facts = {
        "static": raised(tf.reshape, tf.zeros([2, 3]), [4, 2]),
        "not_divisible": raised(tf.reshape, tf.zeros([2, 3]), [-1, 4]),
        "float_shape": raised(tf.reshape, tf.zeros([2, 3]), [3.0, 2.0]),
    }

    def use(session):
        return {"sizes": raised(session.run, bad, {x: [1.0, 2.0]}),
                "two_unknown": raised(session.run, two, {x: [1.0, 2.0]})}

    return Run(facts=facts, call=use)


@program
def expand_and_squeeze(tf):
    x = tf.placeholder(tf.float32, [None, 1, 3, 1])
    fetches = {
        "expand_0": tf.expand_dims(x, 0),
        "expand_last": tf.expand_dims(x, -1),
        "expand_dim": tf.expand_dims([1, 2], dim=1),
        "squeeze": tf.squeeze(tf.constant(numbers(1, 2, 1))),
        "squeeze_axis": tf.squeeze(x, axis=[1, 3]),
        "squeeze_dims": tf.squeeze(x, squeeze_dims=[-1]),
        "squeeze_unknown": tf.squeeze(x),
    }
    facts = {"not_one": raised(tf.squeeze, x, [2]), "axis": raised(tf.expand_dims, x, 7)}
    return Run(fetches, {x: numbers(2, 1, 3, 1)}, facts=facts)


@program
def concat_forms(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.constant(numbers(1, 2))
    fetches = {
        "rows": tf.concat([x, y], 0),
        "columns": tf.concat([x, x], axis=1),
        "negative": tf.concat(axis=-1, values=[x, x, x]),
        "single": tf.concat([x], 0),
        "single_tensor": tf.concat(x, 0),
        "strings": tf.concat([["a"], ["b", "c"]], 0),
        "dynamic_axis": tf.concat([x, x], tf.rank(x) - 1),
        "empty": tf.concat([tf.zeros([0, 2]), y], 0),
        "ints": tf.concat([[1, 2], tf.range(2)], 0),
    }
    facts = {
        "shapes": raised(tf.concat, [tf.zeros([2, 3]), tf.zeros([2, 2])], 0),
        "scalars": raised(tf.concat, [1, 2], 0),
        "axis": raised(tf.concat, [y, y], 2),
        "dtypes": raised(tf.concat, [y, tf.constant([[1, 2]])], 0),
    }
    return Run(fetches, {x: numbers(2, 2)}, facts=facts)


@program
def stack_and_unstack(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    a, b, c = tf.unstack(tf.constant(numbers(3, 2)))
    fetches = {
        "stack": tf.stack([a, b, c]),
        "axis": tf.stack([a, b], axis=1),
        "negative": tf.stack([x, x], -1),
        "python": tf.stack([1, 2, 3]),
        "mixed": tf.stack([tf.shape(x)[0], 3]),
        "columns": tf.unstack(x, axis=1),
        "num": tf.unstack(x, num=2),
        "parallel": tf.parallel_stack([[1, 2], [3, 4]]),
    }
    facts = {"unknown": raised(tf.unstack, x), "shapes": raised(tf.stack, [a, x])}
    return Run(fetches, {x: numbers(2, 3)}, facts=facts)


@program
def split_forms(tf):
    x = tf.placeholder(tf.float32, [None, 6])
    fetches = {
        "equal": tf.split(x, 3, 1),
        "keyword": tf.split(value=x, num_or_size_splits=2, axis=-1),
        "sizes": tf.split(x, [1, 2, 3], 1),
        "rest": tf.split(x, [4, -1], 1),
        "dynamic": tf.split(x, tf.constant([2, 4]), 1),
        "rows": tf.split(tf.constant(numbers(4, 1)), 2),
    }
    facts = {"uneven": raised(tf.split, tf.zeros([2, 5]), 2, 1),
             "sum": raised(tf.split, tf.zeros([2, 5]), [2, 2], 1)}
    return Run(fetches, {x: numbers(2, 6)}, facts=facts)


@program
def transpose_forms(tf):
    x = tf.placeholder(tf.float32, [None, 3, 4])
    unknown = tf.placeholder(tf.float32)
    fetches = {
        "reverse": tf.transpose(tf.constant(numbers(2, 3))),
        "perm": tf.transpose(x, [0, 2, 1]),
        "named": tf.transpose(x, perm=[2, 0, 1], name="channels_first"),
        "unknown_rank": tf.transpose(unknown),
        "matrix": tf.matrix_transpose(x),
        "conjugate": tf.transpose(tf.constant([[1 + 2j, 3.0]]), conjugate=True),
        "ints": tf.transpose(tf.constant([[1, 2], [3, 4]], tf.int64)),
        "bools": tf.transpose([[True, False]]),
        "inverse": tf.invert_permutation([2, 0, 1]),
    }
    twice = tf.transpose(x, [0, 0, 1])
    feed = {x: numbers(2, 3, 4), unknown: numbers(1, 2, 3)}
    facts = {"perm": raised(tf.transpose, x, [0, 1])}
    return [Run(fetches, feed, facts=facts), Run({"twice": twice}, feed, fails=True)]


@program
def pad_modes(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    fetches = {
        "constant": tf.pad(x, [[1, 0], [2, 1]]),
        "value": tf.pad(x, [[0, 1], [1, 1]], constant_values=-1),
        "reflect": tf.pad(x, [[1, 1], [2, 2]], "REFLECT"),
        "symmetric": tf.pad(x, [[1, 1], [2, 0]], mode="symmetric"),
        "dynamic": tf.pad(x, [[0, 4 - tf.shape(x)[0]], [0, 0]]),
        "ints": tf.pad([1, 2], [[1, 2]]),
        "nothing": tf.pad(x, [[0, 0], [0, 0]]),
        "spatial": tf.pad(numbers(1, 2, 2, 1), [[0, 0], [1, 1], [1, 1], [0, 0]]),
    }
    facts = {
        "mode": raised(tf.pad, x, [[0, 0], [0, 0]], "WRAP"),
        "rank": raised(tf.pad, tf.zeros([2, 2]), [[1, 1]]),
        "negative": raised(tf.pad, tf.zeros([2]), [[-1, 0]]),
    }
    return Run(fetches, {x: numbers(2, 3)}, facts=facts)


@program
def tile_and_broadcast(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    fetches = {
        "tile": tf.tile(x, [2, 3]),
        "dynamic": tf.tile(x, [1, tf.shape(x)[0]]),
        "none": tf.tile(x, [0, 1]),
        "strings": tf.tile(["a", "b"], [2]),
        "broadcast_to": tf.broadcast_to(x, [3, 2, 2]),
        "dynamic_shape": tf.broadcast_dynamic_shape(tf.shape(x), [2, 1]),
        "scalar": tf.broadcast_to(5, [2, 2]),
        "repeat": tf.repeat([1, 2, 3], 2),
        "repeat_rows": tf.repeat(x, [1, 2], axis=0),
    }
    facts = {
        "static": str(tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3]))),
        "bad": raised(tf.broadcast_to, tf.zeros([2, 3]), [2, 2]),
        "multiples": raised(tf.tile, tf.zeros([2, 3]), [2]),
    }
    return Run(fetches, {x: numbers(2, 2)}, facts=facts)


@program
def reverse_and_roll(tf):
    x = tf.placeholder(tf.float32, [2, None, 2])
    lengths = tf.constant([2, 3])
    fetches = {
        "reverse": tf.reverse(x, [1]),
        "reverse_two": tf.reverse(x, axis=[0, -1]),
        "reverse_v2": tf.reverse_v2([1, 2, 3], [0]),
        "sequence": tf.reverse_sequence(x, lengths, seq_axis=1, batch_axis=0),
        "sequence_dims": tf.reverse_sequence(x, lengths, seq_dim=1, batch_dim=0),
        "roll": tf.roll(x, shift=1, axis=1),
        "roll_two": tf.roll(x, [1, -1], [0, 1]),
    }
    facts = {"axis": raised(tf.reverse, x, [3]), "twice": raised(tf.reverse, x, [1, 1])}
    return Run(fetches, {x: numbers(2, 3, 2)}, facts=facts)


@program
def where_forms(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    positive = x > 2.0
    fetches = {
        "indices": tf.where(positive),
        "select": tf.where(positive, x, -x),
        "rows": tf.where([True, False], x, tf.zeros_like(x)),
        "scalar_condition": tf.where(True, x, x + 1),
        "numbers": tf.where(tf.constant([1.0, 0.0, -2.0])),
        "v2": tf.where_v2(positive, x, 0.0),
        "v2_broadcast": tf.compat.v2.where([[True], [False]], x, [[9.0]]),
        "strings": tf.where([True, False], ["a", "b"], ["c", "d"]),
    }
    facts = {"one": raised(tf.where, positive, x),
             "shapes": raised(tf.where, positive, x, tf.zeros([3, 2, 2]))}
    return Run(fetches, {x: numbers(2, 2)}, facts=facts)


@program
def one_hot_forms(tf):
    labels = tf.placeholder(tf.int32, [None])
    fetches = {
        "default": tf.one_hot(labels, 3),
        "values": tf.one_hot(labels, depth=3, on_value=5.0, off_value=-1.0),
        "axis": tf.one_hot(labels, 4, axis=0),
        "dtype": tf.one_hot([0, -1, 7], 3, dtype=tf.int32),
        "bools": tf.one_hot(labels, 3, on_value=True, off_value=False, dtype=tf.bool),
        "matrix": tf.one_hot([[0, 1], [2, 0]], 3, axis=1),
        "int64": tf.one_hot(tf.constant([1], tf.int64), tf.size(labels)),
        "uint8": tf.one_hot(tf.constant([2, 255], tf.uint8), 3),
    }
    facts = {"mixed": raised(tf.one_hot, labels, 3, on_value=1, off_value=0.0),
             "depth": raised(tf.one_hot, labels, [3])}
    return Run(fetches, {labels: [1, 0, 2]}, facts=facts)


@program
def unique_and_friends(tf):
    x = tf.placeholder(tf.int32, [None])
    y, index = tf.unique(x)
    counted = tf.unique_with_counts(tf.constant(["b", "a", "b"]))
    fetches = {
        "unique": [y, index],
        "int64": tf.unique(x, out_idx=tf.int64),
        "counts": counted,
        "setdiff": tf.setdiff1d([1, 2, 3, 4, 5, 6], [1, 3, 5]),
        "bincount": tf.bincount([1, 1, 3]),
        "weighted": tf.math.bincount([0, 2, 2], weights=[1.0, 0.5, 0.25], minlength=5),
        "histogram": tf.histogram_fixed_width([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], 5),
        "bins": tf.histogram_fixed_width_bins([-1.0, 0.0, 1.5, 2.0], [0.0, 5.0], nbins=5),
    }
    return Run(fetches, {x: [1, 1, 2, 4, 4, 4, 7, 8, 8]})


@program
def masks(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    lengths = tf.constant([1, 3, 2])
    fetches = {
        "sequence": tf.sequence_mask(lengths, 5),
        "longest": tf.sequence_mask(lengths),
        "floats": tf.sequence_mask([[1, 2]], maxlen=3, dtype=tf.float32),
        "boolean": tf.boolean_mask(x, [True, False]),
        "full": tf.boolean_mask(x, x > 1.0),
        "axis": tf.boolean_mask(x, [True, False, True], axis=1),
        "one_dim": tf.boolean_mask(tf.constant([1, 2, 3]), tf.constant([False, True, True])),
    }
    facts = {"scalar": raised(tf.boolean_mask, x, True),
             "shape": raised(tf.boolean_mask, tf.zeros([2, 3]), [True, False, True])}
    return Run(fetches, {x: numbers(2, 3)}, facts=facts)


@program
def space_and_batch(tf):
    x = tf.constant(numbers(1, 4, 4, 2))
    batches = tf.space_to_batch(x, [[0, 0], [0, 0]], 2)
    padded = tf.space_to_batch_nd(x, [2, 3], [[0, 0], [1, 1]])
    fetches = {
        "space_to_batch": batches,
        "batch_to_space": tf.batch_to_space(batches, [[0, 1], [1, 0]], block_size=2),
        "space_to_batch_nd": padded,
        "batch_to_space_nd": tf.batch_to_space_nd(padded, [2, 3], [[0, 0], [1, 1]]),
        "space_to_depth": tf.space_to_depth(x, 2),
        "depth_to_space": tf.depth_to_space(tf.constant(numbers(1, 2, 2, 4)), 2),
        "required": tf.required_space_to_batch_paddings([5, 6], [2, 4]),
    }
    facts = {"block": raised(tf.space_to_depth, x, 3), "depth": raised(tf.depth_to_space, x, 2)}
    return Run(fetches, facts=facts)


@program
def depth_to_space_with_unknown_sizes(tf):
    x = tf.placeholder(tf.float32, [None, None, None, 4])
    y = tf.depth_to_space(x, 2)
    z = tf.space_to_depth(y, 2)
    patches = tf.extract_image_patches(y, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
    same = tf.image.extract_image_patches(y, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
    return Run({"y": y, "z": z, "patches": patches, "same": same}, {x: numbers(1, 2, 2, 4)})


@program
def meshgrid_and_matrices_of_indices(tf):
    xs, ys = tf.meshgrid(tf.range(3), tf.range(2))
    fetches = {
        "xy": [xs, ys],
        "ij": tf.meshgrid([1.0, 2.0], [3.0, 4.0, 5.0], indexing="ij"),
        "three": tf.meshgrid([1, 2], [3], [4, 5]),
        "unravel": tf.unravel_index([4, 5], [2, 3]),
        "sort": tf.sort([3.0, 1.0, 2.0]),
        "sort_down": tf.sort([[3, 1], [2, 5]], axis=0, direction="DESCENDING"),
        "argsort": tf.argsort([3.0, 1.0, 2.0]),
        "searchsorted": tf.searchsorted([1, 3, 5], [0, 3, 4, 9], side="right"),
    }
    return Run(fetches)


@program
def bitcast_and_cast(tf):
    x = tf.constant([1.7, -1.7, 300.2, 0.0])
    fetches = {
        "int32": tf.cast(x, tf.int32),
        "int": tf.to_int32(x),
        "int64": tf.to_int64(x),
        "double": tf.to_double([1, 2]),
        "floats": tf.to_float([1, 2]),
        "bfloat16": tf.cast(tf.to_bfloat16(x), tf.float32),
        "bool": tf.cast(x, tf.bool),
        "half": tf.cast(x, tf.float16),
        "uint8": tf.cast([0.0, 1.5, 254.9], tf.uint8),
        "complex": tf.cast([1, 2], tf.complex64),
        "saturate": tf.saturate_cast(x * 10.0, tf.uint8),
        "bitcast": tf.bitcast(x, tf.int32),
        "bytes": tf.bitcast(tf.constant([1, 256], tf.int32), tf.uint8),
        "from_bool": tf.cast([True, False], tf.float32),
        "same": tf.cast(x, tf.float32),
        "keyword": tf.cast(x=[1, 2], dtype=tf.float64, name="cast"),
    }
    return Run(fetches)


@program
def crops_and_edit_distance(tf):
    hypothesis = tf.SparseTensor([[0, 0, 0], [1, 0, 0]], ["a", "b"], [2, 1, 1])
    truth = tf.SparseTensor([[0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]],
                            ["a", "b", "c", "a"], [2, 2, 2])
    tf.set_random_seed(3)
    fetches = {
        "distance": tf.edit_distance(hypothesis, truth, normalize=True),
        "crop": tf.random_crop(numbers(5, 6, 1), [2, 3, 1], seed=8),
    }
    return Run(fetches, steps=2)


@program
def inputs_of_unknown_rank(tf):
    x = tf.placeholder(tf.float32)
    fetches = {
        "reshape": tf.reshape(x, [-1, 2]),
        "concat": tf.concat([x, x], 0),
        "stack": tf.stack([x, x]),
        "tile": tf.tile(x, [1, 2]),
        "pad": tf.pad(x, [[1, 1], [0, 0]]),
        "transpose": tf.transpose(x, [1, 0]),
        "squeeze": tf.squeeze(x),
        "expand": tf.expand_dims(x, 1),
        "slice": tf.slice(x, [0, 1], [-1, 1]),
        "index": x[0],
        "gather": tf.gather(x, [1, 0]),
        "sum": tf.reduce_sum(x, 1, keepdims=True),
        "reverse": tf.reverse(x, [0]),
        "matmul": tf.matmul(x, tf.ones([2, 3])),
    }
    y = tf.placeholder(tf.float32)
    counted = {"unique": tf.unique(y), "counts": tf.unique_with_counts(y)}
    return [Run(fetches, {x: numbers(2, 2)}), Run(counted, {y: [2.0, 1.0, 2.0]})]


@program
def largest_in_no_order(tf):
    random = np.random.RandomState(3)
    fetches = {}
    for rows, columns in ((3, 9), (2, 40), (2, 333)):
        few, many = random.randint(0, 6, [rows, columns]), random.permutation(columns * rows)
        many = many.reshape(rows, columns)
        broken = np.where(random.rand(rows, columns) < 0.3, np.nan, few)
        for count in (1, 2, 3, 5, 8):
            for name, kind, values in (("few", tf.int32, few), ("many", tf.float32, many),
                                       ("byte", tf.uint8, few), ("half", tf.float16, few),
                                       ("broken", tf.float64, broken)):
                key = f"{name}_{columns}_{count}"
                given = tf.constant(values, kind)
                fetches[key] = tf.nn.top_k(given, count, sorted=False)
                if name == "broken" and count > 1:
                    fetches[key + "_sorted"] = tf.nn.top_k(given, count)
    return Run(fetches)


@program
def reshapes_to_fed_sizes(tf):
    x = tf.placeholder(tf.float32, [None, None])
    size = tf.placeholder(tf.int64, [2])
    rest = tf.slice(tf.shape(x), [1], [-1])
    wanted = tf.concat([tf.slice(tf.cast(size, tf.int32), [0], [1]), rest], 0)
    found = tf.reshape(x, wanted)
    given = np.arange(12, dtype=np.float32).reshape(4, 3)
    fits = Run({"x": found}, {x: given, size: [4, 9]})
    any_rows = Run({"x": found}, {x: given, size: [-1, 9]})
    wrong = Run({"x": found}, {x: given, size: [2, 9]}, fails=True)
    return [fits, any_rows, wrong]


@program
def arrays_of_handles(tf):
    variables = [tf.get_variable(name, initializer=[0.0 + i, 1.0], use_resource=True)
                 for i, name in enumerate("abc")]
    stacked = tf.stack([v.handle for v in variables])
    chosen = {
        "reshaped": tf.reshape(stacked[1:2], []),
        "squeezed": tf.squeeze(stacked[2:], [0]),
        "in a row": tf.reshape(tf.expand_dims(variables[0].handle, 0), []),
        "one of them": tf.unstack(stacked)[2],
    }
    read = {name: tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
            for name, handle in chosen.items()}
    return Run(read, setup=[tf.global_variables_initializer()])
