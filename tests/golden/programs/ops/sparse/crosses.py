"""Crosses of features, sparse tensors kept in maps, strings joined by segment and in runs."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


def words(tf):
    return tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["a", "b", "c"], [2, 2])


def numbers(tf):
    return tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [3, -5, 7], [2, 2])


@program
def hashed_crosses(tf):
    dense = tf.constant([["f", "a longer feature"], ["g", ""]])
    fetches = {
        "words": tf.sparse.cross_hashed([words(tf), words(tf)]),
        "mixed": tf.sparse.cross_hashed([words(tf), dense, numbers(tf)], num_buckets=100),
        "key": tf.sparse.cross_hashed([numbers(tf), dense], hash_key=17, name="keyed"),
        "dense": tf.sparse.cross_hashed([dense, tf.constant([[1], [2]])]),
    }
    return Run(fetches, facts={"list": raised(tf.sparse.cross_hashed, (words(tf),)),
                               "tensors": raised(tf.sparse.cross_hashed, [words(tf), 3])})


@program
def crosses_as_text(tf):
    dense = tf.constant([[1, 20], [-3, 4]], tf.int64)
    empty = tf.SparseTensor([[1, 0]], ["z"], [2, 1])

    def cross(sparse, dense):
        kind = tf.int64 if dense else tf.string
        return tf.raw_ops.SparseCross(
            indices=[sp.indices for sp in sparse], values=[sp.values for sp in sparse],
            shapes=[sp.dense_shape for sp in sparse], dense_inputs=dense, hashed_output=False,
            num_buckets=0, hash_key=0, out_type=tf.string, internal_type=kind)

    return Run({"words": cross([words(tf), words(tf)], []), "mixed": cross([words(tf)], [dense]),
                "missing": cross([words(tf), empty], [])})


@program
def crosses_of_unequal_batches(tf):
    shape = tf.placeholder_with_default(tf.constant([3, 1], tf.int64), None)
    return Run({"y": tf.sparse.cross_hashed([words(tf), tf.SparseTensor([[0, 0]], ["a"], shape)])},
               fails=True)


@program
def sparse_tensors_in_a_map(tf):
    sp = numbers(tf)
    handles = tf.raw_ops.AddManySparseToTensorsMap(
        sparse_indices=sp.indices, sparse_values=sp.values, sparse_shape=sp.dense_shape,
        shared_name="m")
    single = tf.raw_ops.AddSparseToTensorsMap(
        sparse_indices=tf.constant([[1]], tf.int64), sparse_values=[9],
        sparse_shape=tf.constant([4], tf.int64), shared_name="m")
    both = tf.concat([handles, [single]], 0)
    take = tf.raw_ops.TakeManySparseFromTensorsMap
    with tf.control_dependencies([both]):
        unknown = tf.constant([99], tf.int64)
    return [Run({"taken": take(sparse_handles=both, dtype=tf.int32, shared_name="m")}),
            Run({"no": take(sparse_handles=unknown, dtype=tf.int32, shared_name="m", name="no")},
                fails=True)]


@program
def strings_joined_by_segment(tf):
    text = tf.constant([["a", "b"], ["", "d"], ["e", "f"]])
    return Run({
        "rows": tf.strings.unsorted_segment_join(text, [1, 0, 1], 3, separator=":"),
        "elements": tf.strings.unsorted_segment_join(text, [[0, 1], [1, 1], [0, 0]], 2),
    })


@program
def runs_of_strings(tf):
    def grams(**options):
        options = {"separator": "|", "ngram_widths": [2, 3], "left_pad": "<", "right_pad": ">",
                   "pad_width": -1, "preserve_short_sequences": False, **options}
        return tf.raw_ops.StringNGrams(
            data=["a", "b", "c", "d"], data_splits=tf.constant([0, 3, 3, 4], tf.int64), **options)

    return Run({
        "padded": grams(), "plain": grams(pad_width=0), "one": grams(pad_width=1),
        "short": grams(pad_width=0, preserve_short_sequences=True),
        "short_padded": grams(pad_width=1, ngram_widths=[6], preserve_short_sequences=True),
        "wide": grams(ngram_widths=[7], preserve_short_sequences=True),
    }, facts={"keywords": raised(tf.raw_ops.Add, 1.0, y=2.0)})
