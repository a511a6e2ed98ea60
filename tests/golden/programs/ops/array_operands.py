"""Odd operands of arrays, strings and sparse tensors: results and errors."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.ops.operands_refused import refusals, zeros
from tests.golden.registry import Run, program, raised

NAN, INF = np.nan, np.inf
WORDS = np.array([b"hello", "w\u00f6rld".encode()], object)


@program
def searches_among_odd_numbers(tf):
    table = np.float32([[1, NAN, 3, INF], [4, 2, 8, 1], [-INF, 0, 0, NAN]])
    values = np.float32([[NAN, 3, 0], [2, 5, NAN], [0, INF, -1]])
    buckets = tf.raw_ops.BoostedTreesBucketize(
        float_values=[np.float32([0.5, 3, 7, NAN])], bucket_boundaries=[np.float32([1, 100, 5])]
    )
    return Run({
        "lower": tf.raw_ops.LowerBound(sorted_inputs=table, values=values),
        "upper": tf.raw_ops.UpperBound(sorted_inputs=table, values=values),
        "buckets": buckets,
    })


@program
def parts_of_strings(tf):
    part = tf.strings.substr
    one = np.int32([1])
    grid = np.array([[b"abc", b"def"], [b"ghi", b""]], object)
    runs = [Run({
        "characters": part(WORDS, 1, -1, unit="UTF8_CHAR"), "bytes": part(WORDS, 1, -1),
        "column": part(WORDS[:, None], one, one), "row": part(grid[:1], [0, 1], [2, 1]),
        "grid": part(grid, [[0], [0]], [[1], [2]]), "flat": part(grid, [[0]], one[None]),
    })]
    given = {"input": WORDS, "pos": one[:1].repeat(2), "len": one.repeat(2)}
    wrong = {"pos": one.repeat(3), "len": one.repeat(3)}
    back = {"pos": np.int32(-1), "len": np.int32(-2)}
    return [*runs, *refusals(tf, "Substr", given, wrong),
            *refusals(tf, "Substr", given, back, unit="UTF8_CHAR")]


@program
def strings_in_rows(tf):
    raw = tf.raw_ops
    grams = raw.StringNGrams(
        data=WORDS, data_splits=np.int64([]), separator="|", ngram_widths=[1, 2], left_pad="<",
        right_pad=">", pad_width=-1, preserve_short_sequences=True,
    )
    gaps = np.array([b"", b"a", b"", b"b"], object)
    runs = [Run({
        "no_rows": grams.ngrams, "no_splits": grams.ngrams_splits,
        "script": tf.strings.unicode_script(65),
        "joined": tf.strings.unsorted_segment_join(gaps, [0, 0, 0, 0], 1, ":"),
    })]
    first, second = tf.placeholder(tf.string), tf.placeholder(tf.string)
    joined = tf.strings.join([first, second])
    return [*runs, Run({"joined": joined}, {first: WORDS, second: gaps}, fails=True)]


@program
def sparse_indices_outside(tf):
    raw = tf.raw_ops
    indices = np.int64([[1, 0], [0, 5], [-1, 3]])
    ordered = raw.SparseReorder(
        input_indices=indices, input_values=np.float32([2, 1, 3]), input_shape=np.int64([2, 2]))
    moved = raw.SparseReshape(
        input_indices=np.int64([[1, 1], [-1, -7]]), input_shape=np.int64([2, 3]),
        new_shape=np.int64([3, -1]))
    given = {"input_indices": np.int64([[0, 1]]), "input_shape": np.int64([2, 3]),
             "new_shape": np.int64([4, -1])}
    return [Run({"ordered": ordered.output_indices, "values": ordered.output_values,
                 "moved": moved.output_indices}),
            *refusals(tf, "SparseReshape", given, {}, {"new_shape": np.int64([5])})]


@program
def shapes_known_wrongly(tf):
    x, images = tf.placeholder(tf.float32, [3, 2]), tf.placeholder(tf.float32, [1, None, 4, 2, 2])
    patches = tf.extract_volume_patches(images, [1, 1, 2, 2, 1], [1, 1, 1, 1, 1], "SAME")
    rows = tf.raw_ops.UniqueWithCountsV2(x=x, axis=np.int64([0]))
    return Run(
        {"y": rows.y, "idx": rows.idx, "count": rows.count, "patches": patches},
        {x: [[1, 2], [3, 4], [1, 2]], images: np.arange(48.0).reshape(1, 3, 4, 2, 2)},
    )


@program
def rows_put_in_place(tf):
    given = {"x": zeros(3, 2), "i": np.int32([0, 2]), "v": zeros(2, 2)}
    wrong = ({"i": np.int32(0)}, {"v": zeros(2)}, {"v": zeros(2, 1)}, {"i": np.int32([1])})
    runs = [run for name in ("InplaceUpdate", "InplaceAdd", "InplaceSub")
            for run in refusals(tf, name, given, *wrong)]
    flags = {"x": np.array([True]), "i": np.int32([0]), "v": np.array([True])}
    return [*runs, *refusals(tf, "InplaceAdd", given, flags)]


@program
def stitches(tf):
    indices, data = tf.placeholder(tf.int32), tf.placeholder(tf.float32)
    more, others = tf.placeholder(tf.int32), tf.placeholder(tf.float32)
    merged = tf.dynamic_stitch([indices, more], [data, others])
    ids = np.int32([-1, -2])
    return [
        Run({"merged": merged}, {indices: ids, data: zeros(2, 3), more: ids, others: zeros(2, 3)}),
        Run({"merged": merged}, {indices: ids, data: zeros(1, 3), more: [0], others: zeros(1, 3)},
            fails=True),
        Run({"merged": merged}, {indices: [0], data: zeros(1, 3), more: [1], others: zeros(1, 2)},
            fails=True),
    ]


@program
def scalars_and_vectors(tf):
    perm = {"x": zeros(2, 3), "perm": np.int32([1, 0])}
    marks = {"indices": np.int64([0, 1]), "depth": np.int32(2), "on_value": np.float32(1),
             "off_value": np.float32(0)}
    lengths = {"input": zeros(2, 3), "seq_lengths": np.int64([1, 2])}
    pads = {"input": zeros(2), "paddings": np.int32([[1, 1]]), "constant_values": np.float32(0)}
    return [
        *refusals(tf, "Transpose", perm, {"perm": np.int32([-1, 0])}, {"perm": np.int32(1)}),
        *refusals(tf, "OneHot", marks, {"on_value": zeros(1)}, {"off_value": zeros(1)}),
        *refusals(tf, "Where", {"condition": np.array(True)}, {}),
        *refusals(tf, "ReverseSequence", lengths, {"seq_lengths": np.int64(1)}, seq_dim=1),
        *refusals(tf, "ReverseSequence", lengths, {}, seq_dim=2),
        *refusals(tf, "PadV2", pads, {"constant_values": zeros(1)}),
        *refusals(tf, "MirrorPad", {"input": zeros(2), "paddings": np.int32([[1, 1]])},
                  {"input": zeros(2, 2)}, mode="REFLECT"),
        *refusals(tf, "InvertPermutation", {"x": np.int32([0])}, {"x": np.int32(0)}),
        *refusals(tf, "DiagPart", {"input": zeros(2, 3)}, {}),
        *refusals(tf, "GatherNd", {"params": zeros(), "indices": np.int32([0])}, {}),
        *refusals(tf, "BroadcastGradientArgs", {"s0": np.int32(1), "s1": np.int32([1])}, {}),
    ]


@program
def distances(tf):
    parts = {
        "hypothesis_indices": np.int64([[0, 0]]), "hypothesis_values": np.int64([1]),
        "hypothesis_shape": np.int64([2, 2]), "truth_indices": np.int64([[0, 0]]),
        "truth_values": np.int64([1]), "truth_shape": np.int64([2, 2]),
    }
    wrong = ({"truth_values": np.int64([[1]])}, {"hypothesis_shape": np.int64([2])},
             {"truth_values": np.int64([1, 2])}, {"truth_shape": np.int64([2, -2])})
    return refusals(tf, "EditDistance", parts, *wrong)


@program
def diagonals(tf):
    part, make, put = (getattr(tf.raw_ops, f"Matrix{name}V2") for name in ("DiagPart", "Diag",
                                                                           "SetDiag"))
    x, unknown = zeros(2, 3), tf.placeholder(tf.float32, [None, None])
    facts = {
        "padding": raised(part, input=x, k=0, padding_value=zeros(1)),
        "three": raised(part, input=x, k=[0, 1, 2], padding_value=0.0),
        "outside": raised(part, input=x, k=3, padding_value=0.0),
        "too_many": raised(make, diagonal=x, k=[0, 2], num_rows=-1, num_cols=-1,
                           padding_value=0.0),
        "unknown": raised(put, input=unknown, diagonal=unknown, k=[0, 1]),
    }
    made = make(diagonal=x, k=[-1, 0], num_rows=-1, num_cols=-1, padding_value=9.0)
    return Run({"made": made}, facts=facts)


@program
def stacks_taken_from_twice(tf):
    handle = tf.raw_ops.StackV2(max_size=-1, elem_type=tf.float32)
    pushed = tf.raw_ops.StackPushV2(handle=handle, elem=[1.0, 2.0])
    with tf.control_dependencies([pushed]):
        first = tf.raw_ops.StackPopV2(handle=handle, elem_type=tf.float32)
    with tf.control_dependencies([first]):
        second = tf.raw_ops.StackPopV2(handle=handle, elem_type=tf.float32)
    return [Run({"first": first}), Run({"second": second}, fails=True)]


@program
def dimensions_that_lack(tf):
    raw = tf.raw_ops
    pieces = [tf.placeholder(tf.float32) for _ in range(2)]
    packed = raw.Pack(values=pieces, axis=3)
    one = {pieces[0]: zeros(), pieces[1]: zeros()}
    lengths = {"input": zeros(3, 2), "seq_lengths": np.int64([1, 5, -1])}
    parts = {"input": zeros(3, 3), "diagonal": zeros(1, 3), "k": np.int32([0, 1])}
    unknown = tf.placeholder(tf.float32)
    facts = {"sizes": raised(raw.NonDeterministicInts, shape=tf.constant([2.0]))}
    merged = raw.MergeSummary(inputs=[np.array(b" 2", object)])
    return [
        Run({"diagonal": raw.DiagPart(input=unknown)}, {unknown: zeros()}, facts=facts),
        Run({"merged": merged}),
        Run({"packed": packed}, one, fails=True),
        *refusals(tf, "Diag", {"diagonal": zeros()}, {}),
        *refusals(tf, "DiagPart", {"input": zeros(1, 1, 1)}, {}),
        *refusals(tf, "Reverse", {"tensor": zeros(2, 2), "dims": np.array([True])}, {}),
        *refusals(tf, "ReverseSequence", lengths, {}, seq_dim=1),
        *refusals(tf, "MatrixSetDiagV2", parts, {}),
        *refusals(tf, "AudioSummaryV2", {"tag": np.array(b"a", object), "tensor": zeros(1, 4),
                                         "sample_rate": np.float32(np.inf)}, {}),
    ]
