"""Graphs as ONNX models: branches, loops, arrays of tensors, tables, texts, quantization."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow import errors
from stillflow.export import ExportError, onnx_export, to_onnx, to_torch
from stillflow.ops.recurrent.cudnn_layout import Layout

onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.filterwarnings("ignore")

Feeds = dict[str, Any]


def exported(
    build: Callable[[], Any], path: Path, *feeds: Feeds, outputs: Any = None, **options: Any
) -> Any:
    """Export what `build` makes; compare it on each of the feeds; return the model."""
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        made = build()
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            outputs = made if isinstance(made, list) else [made]
            to_onnx(session, None, outputs, str(path / "model.onnx"), samples=feeds[0], **options)
            runtime = onnxruntime.InferenceSession(
                str(path / "model.onnx"), providers=["CPUExecutionProvider"]
            )
            for each in feeds:
                wanted = session.run(outputs, each)
                found = runtime.run(None, {name: np.asarray(v) for name, v in each.items()})
                for one, other in zip(found, wanted, strict=True):
                    if other.dtype == object:
                        assert one.astype("S").tolist() == other.astype("S").tolist()
                    else:
                        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    return onnx.load(str(path / "model.onnx"))


def kinds(graph: Any) -> set[str]:
    """Return the operators of a graph and of those inside it."""
    found = {node.op_type for node in graph.node}
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                found |= kinds(attribute.g)
    return found


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


# ---- branches and loops


def branches() -> Any:
    x = tf.placeholder(tf.float32, [None], "x")
    return tf.cond(
        tf.reduce_sum(x) > 0, lambda: x * 2, lambda: tf.cond(x[0] > -2, lambda: -x, lambda: x - 1)
    )


def test_branches_are_nodes(tmp_path: Path) -> None:
    feeds = [{"x:0": np.float32(each)} for each in ([1, 2], [-1, -2], [-3, 1, 0])]
    assert "If" in kinds(exported(branches, tmp_path, *feeds).graph)


def test_a_value_of_one_branch_may_be_used_in_another_place(tmp_path: Path) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [None], "x")
        switch = tf.placeholder(tf.bool, [], "switch")
        no, yes = tf.raw_ops.Switch(data=x, pred=switch)
        doubled = yes * 2
        apart = tf.identity(x) + 1
        merged, which = tf.raw_ops.Merge(inputs=[doubled, no - 1])
        return [merged + apart, which]

    feeds = [{"x:0": np.float32([1, 2]), "switch:0": truth} for truth in (True, False)]
    exported(build, tmp_path, *feeds)


def counting() -> Any:
    x, limit = tf.placeholder(tf.float32, [3], "x"), tf.placeholder(tf.int32, [], "limit")
    weight = tf.get_variable("weight", [3, 3])
    return tf.while_loop(
        lambda i, y: i < limit,
        lambda i, y: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: tf.tanh(y @ weight), lambda: y)),
        [tf.constant(0), x[tf.newaxis]],
    )[1]


@pytest.mark.parametrize("lowered", [False, True], ids=["frames", "functions"])
def test_loops_are_nodes(lowered: bool, tmp_path: Path) -> None:
    def build() -> Any:
        if lowered:
            tf.enable_control_flow_v2()
        try:
            return counting()
        finally:
            tf.disable_control_flow_v2()

    feeds = [{"x:0": floats(3), "limit:0": np.int32(count)} for count in (3, 0, 1, 6)]
    assert {"Loop", "If"} <= kinds(exported(build, tmp_path, *feeds).graph)


@pytest.mark.parametrize(
    "cell", [tf.nn.rnn_cell.LSTMCell, tf.nn.rnn_cell.GRUCell, tf.nn.rnn_cell.BasicRNNCell]
)
def test_recurrent_networks_take_series_of_any_length(cell: Any, tmp_path: Path) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [None, None, 3], "x")
        lengths = tf.placeholder(tf.int32, [None], "lengths")
        outputs, state = tf.nn.dynamic_rnn(cell(4), x, lengths, dtype=tf.float32)
        return [outputs, tf.nest.flatten(state)[0]]

    feeds = [
        {"x:0": floats(2, 5, 3), "lengths:0": np.int32([5, 3])},
        {"x:0": floats(4, 9, 3), "lengths:0": np.int32([2, 9, 0, 4])},
    ]
    assert {"LSTM", "GRU", "RNN"} & kinds(exported(build, tmp_path, *feeds).graph)


def test_attention_decoders_go_out(tmp_path: Path) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.int32, [None, None], "x")
        table = tf.get_variable("table", [9, 4])
        outputs, state = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.GRUCell(4), tf.nn.embedding_lookup(table, x), dtype=tf.float32
        )
        attention = tf.contrib.seq2seq.LuongAttention(4, outputs)
        cell = tf.contrib.seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), attention)
        batch = tf.shape(x)[0]
        start = cell.zero_state(batch, tf.float32).clone(cell_state=state)
        helper = tf.contrib.seq2seq.GreedyEmbeddingHelper(table, tf.fill([batch], 1), 0)
        decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, start, tf.layers.Dense(9))
        decoded, *_ = tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=6)
        return [decoded.rnn_output, decoded.sample_id]

    feeds = [{"x:0": np.int32([[1, 2, 3], [4, 5, 6]])}, {"x:0": np.int32([[7, 8, 1, 3, 5]])}]
    exported(build, tmp_path, *feeds)


def test_arrays_and_lists_in_parts(tmp_path: Path) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [3, 2], "x")
        array = tf.TensorArray(tf.float32, 2, clear_after_read=False, infer_shape=False).split(
            x, [1, 2]
        )
        items = tf.raw_ops.EmptyTensorList(
            element_shape=[2], max_num_elements=-1, element_dtype=tf.float32
        )
        for row in (x[0], x[2]):
            items = tf.raw_ops.TensorListPushBack(input_handle=items, tensor=row)
        items, last = tf.raw_ops.TensorListPopBack(
            input_handle=items, element_shape=[2], element_dtype=tf.float32
        )
        table = tf.contrib.lookup.index_table_from_tensor(["a", "b"])
        length = tf.raw_ops.TensorListLength(input_handle=items)
        parts = [tf.reshape(array.concat(), [3, 2]), tf.reshape(array.read(1), [2, 2])]
        return [*parts, tf.reshape(last, [2]), length, tf.cast(table.size(), tf.float32) * x]

    exported(build, tmp_path, {"x:0": floats(3, 2)})


def test_a_switch_for_training_is_off(tmp_path: Path) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [None, 4, 4, 2], "x")
        training = tf.placeholder(tf.bool, [], "is_training")
        normal = tf.layers.batch_normalization(x, training=training)
        return tf.layers.dropout(normal, 0.5, training=training)

    with tf.Graph().as_default(), tf.Session() as session:
        made = build()
        session.run(tf.global_variables_initializer())
        to_onnx(session, None, [made], str(tmp_path / "model.onnx"))
    model = onnx.load(str(tmp_path / "model.onnx"))
    assert [each.name for each in model.graph.input] == ["x:0"]
    assert "If" not in kinds(model.graph)


# ---- sizes


def test_images_of_any_size(tmp_path: Path) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [None, None, None, 3], "x")
        y = tf.layers.conv2d(x, 4, 3, 2, "same", activation=tf.nn.relu)
        y = tf.layers.max_pooling2d(y, 2, 2, "same")
        y = tf.image.resize_nearest_neighbor(y, tf.shape(x)[1:3])
        return [y, tf.image.resize_bilinear(y, tf.shape(x)[1:3] * 2, align_corners=True)]

    exported(build, tmp_path, {"x:0": floats(1, 9, 12, 3)}, {"x:0": floats(2, 16, 7, 3)})


def test_a_size_that_the_graph_fixes_may_be_named(tmp_path: Path) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [1, 6], "x")
        return tf.reshape(tf.layers.dense(x, 4), [-1, 2])

    model = exported(build, tmp_path, {"x:0": floats(1, 6)}, dynamic={"x:0": {0: "batch"}})
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    runtime = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    assert runtime.run(None, {"x:0": floats(3, 6)})[0].shape == (6, 2)


def test_rows_of_resource_variables(tmp_path: Path) -> None:
    def build() -> Any:
        ids = tf.placeholder(tf.int32, [None, 2], "ids")
        table = tf.get_variable("table", [5, 3], use_resource=True)
        return [tf.nn.embedding_lookup(table, ids), tf.gather_nd(table, ids), tf.shape(table)]

    exported(build, tmp_path, {"ids:0": np.int32([[1, 2], [4, 0]])}, {"ids:0": np.int32([[3, 1]])})


def test_numbers_of_any_rank(tmp_path: Path) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, name="x")
        weight = tf.get_variable("weight", initializer=2.0, validate_shape=False)
        return tf.nn.relu(x * weight + 1.0)

    exported(build, tmp_path, {"x:0": np.float32(3)})
    with tf.Graph().as_default(), tf.Session() as session:
        made = build()
        session.run(tf.global_variables_initializer())
        with pytest.raises(ExportError, match="the rank of x:0 is unknown: give a sample"):
            to_onnx(session, None, [made], str(tmp_path / "other.onnx"))


def test_boxes_and_best_values(tmp_path: Path) -> None:
    def build() -> Any:
        boxes = tf.placeholder(tf.float32, [None, 4], "boxes")
        scores = tf.placeholder(tf.float32, [None], "scores")
        kept = tf.image.non_max_suppression(boxes, scores, 3, 0.4, 0.1)
        best = tf.nn.top_k(tf.gather(scores, kept), tf.minimum(2, tf.size(kept)))
        return [kept, best.values, tf.boolean_mask(scores, scores > 0.3)]

    rng = np.random.default_rng(3)
    feeds = []
    for count in (6, 11):
        corners = rng.uniform(size=(count, 2, 2))
        corners.sort(1)
        feeds.append({
            "boxes:0": corners.reshape(-1, 4).astype(np.float32),
            "scores:0": rng.uniform(size=count).astype(np.float32),
        })  # fmt: skip
    exported(build, tmp_path, *feeds)


@pytest.mark.parametrize("has_objects", [True, False])
def test_boxes_at_random_cover_an_object_within_the_limits(
    has_objects: bool, tmp_path: Path
) -> None:
    box = np.array([0.25, 0.25, 0.5, 0.5], np.float32)
    feeds = {
        "size:0": np.array([60, 80, 3], np.int32),
        "boxes:0": np.tile(box, (1, int(has_objects), 1)),
    }
    with tf.Graph().as_default(), tf.Session() as session:
        size = tf.placeholder(tf.int32, [3], "size")
        boxes = tf.placeholder(tf.float32, [1, None, 4], "boxes")
        drawn = tf.image.sample_distorted_bounding_box(
            size, boxes, seed=1, min_object_covered=0.5, aspect_ratio_range=(0.5, 2.0),
            area_range=(0.2, 0.6), max_attempts=20, use_image_if_no_bounding_boxes=True,
        )  # fmt: skip
        path = str(tmp_path / "m.onnx")
        to_onnx(session, [size, boxes], list(drawn), path, samples=feeds, verify=False)
    model = onnxruntime.InferenceSession(path)
    found = [model.run(None, feeds) for _ in range(50)]
    for (top, left, channel), (rows, columns, channels), ends in found:
        assert (channel, channels) == (0, -1) and min(top, left) >= 0
        np.testing.assert_allclose(
            ends[0, 0], [top / 60, left / 80, (top + rows) / 60, (left + columns) / 80], rtol=1e-6
        )
        if (rows, columns) == (60, 80):  # no attempt was good
            continue
        assert top + rows <= 60 and left + columns <= 80
        assert 0.2 * 4800 <= rows * columns <= 0.6 * 4800
        assert 0.45 <= columns / rows <= 2.1
        shared = (min(top + rows, 30) - max(top, 15)) * (min(left + columns, 40) - max(left, 20))
        assert not has_objects or shared >= 0.5 * 300
    assert len({tuple(ends.ravel()) for _, _, ends in found}) > 40


# ---- tables, texts, quantization


def test_tables_are_label_encoders(tmp_path: Path) -> None:
    def build() -> Any:
        words = tf.placeholder(tf.string, [None, None], "words")
        ids = tf.contrib.lookup.index_table_from_tensor(["a", "b", "c"], default_value=-1)
        names = tf.contrib.lookup.index_to_string_table_from_tensor(["x", "y", "z"], "none")
        found = ids.lookup(words)
        vectors = tf.get_variable("vectors", [4, 2])
        return [found, names.lookup(found), tf.nn.embedding_lookup(vectors, found + 1)]

    words = np.array([["a", "c"], ["what", "b"]], object)
    model = exported(build, tmp_path, {"words:0": words}, {"words:0": words[:, :1]})
    assert "LabelEncoder" in kinds(model.graph)


def elements(batches: np.ndarray) -> Any:
    dataset = tf.data.Dataset.from_tensor_slices(batches)
    return tf.data.make_one_shot_iterator(dataset).get_next(), []


def dequeued(batches: np.ndarray) -> Any:
    queue = tf.FIFOQueue(9, [tf.float32], [batches.shape[1:]])
    return queue.dequeue(), [queue.enqueue_many([batches])]


@pytest.mark.parametrize("source", [elements, dequeued])
def test_what_iterators_and_queues_give_are_inputs(source: Any, tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, before = source(floats(3, 2, 4))
        y = tf.tanh(x) * 2.0
        session.run(before)
        onnx_export.to_onnx(session, None, [y], str(tmp_path / "model.onnx"))
        model = to_torch(session, None, [y])
        given = floats(2, 4)
        np.testing.assert_allclose(model(torch.from_numpy(given)), np.tanh(given) * 2, rtol=1e-5)
    taken = onnx.load(str(tmp_path / "model.onnx")).graph.input
    assert [each.name for each in taken] == [x.name]


def test_texts(tmp_path: Path) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.string, [None], "x")
        joined = tf.strings.join([x, tf.strings.lower(x)], "-")
        return [joined, tf.equal(x, "Ab"), tf.strings.regex_full_match(x, "[A-Z].*")]

    exported(build, tmp_path, {"x:0": np.array(["Ab", "cD", ""], object)})


def test_quantized_layers_compute_with_integers(tmp_path: Path) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [None, 4], "x")
        weights = tf.constant(floats(4, 3))
        left = tf.quantization.quantize(
            x, tf.reduce_min(x), tf.reduce_max(x), tf.quint8, "MIN_FIRST"
        )
        right = tf.quantization.quantize(weights, -3.0, 3.0, tf.quint8, "MIN_FIRST")
        made = tf.raw_ops.QuantizedMatMul(
            a=left[0], b=right[0], min_a=left[1], max_a=left[2], min_b=right[1], max_b=right[2]
        )
        ends = tf.raw_ops.RequantizationRange(
            input=made.out, input_min=made.min_out, input_max=made.max_out
        )
        made = tf.raw_ops.Requantize(
            input=made.out, input_min=made.min_out, input_max=made.max_out,
            requested_output_min=ends[0], requested_output_max=ends[1], out_type=tf.quint8,
        )  # fmt: skip
        made = tf.raw_ops.QuantizedRelu(
            features=made[0], min_features=made[1], max_features=made[2]
        )
        return tf.quantization.dequantize(*made, "MIN_FIRST")

    exported(build, tmp_path, {"x:0": floats(5, 4)}, {"x:0": floats(2, 4)})


def test_bfloat16_is_computed_in_single_precision_and_rounded(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4], "x")
        weights = tf.constant(floats(4, 3))
        short = tf.cast(x, tf.bfloat16) @ tf.cast(weights, tf.bfloat16)
        short = tf.nn.relu(short + tf.constant([0.5, 1.0, 2.0], tf.bfloat16)) / 3
        y = tf.cast(tf.reduce_sum(short * short, 1), tf.float32)
        comparison = to_onnx(session, [x], [y], str(tmp_path / "model.onnx"))
    assert comparison.largest < 2.0**-7
    assert kinds(onnx.load(str(tmp_path / "model.onnx")).graph) >= {"Cast", "MatMul"}


def test_lists_are_resized(tmp_path: Path) -> None:
    def build() -> Any:
        rows = tf.placeholder(tf.float32, [None, 2], "x")
        size = tf.placeholder(tf.int32, [], "size")
        made = tf.raw_ops.TensorListFromTensor(tensor=rows, element_shape=[2])
        made = tf.raw_ops.TensorListResize(input_handle=made, size=size)
        return tf.raw_ops.TensorListStack(
            input_handle=made, element_shape=[2], element_dtype=tf.float32
        )

    feeds = [{"x:0": floats(3, 2), "size:0": np.int32(size)} for size in (5, 2)]
    exported(build, tmp_path, *feeds)


def test_fake_quantization_is_quantization_and_back(tmp_path: Path) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [None, 6], "x")
        y = tf.fake_quant_with_min_max_args(x, -1, 2.5)
        low, high = (
            tf.get_variable(name, initializer=[at - 1.0, at - 2.0, at - 3.0])
            for name, at in (("low", 0), ("high", 4))
        )
        y = tf.layers.dense(y, 3)
        y = tf.fake_quant_with_min_max_vars_per_channel(y, low, high, narrow_range=True)
        return tf.fake_quant_with_min_max_vars(y, -2.0, 3.0, num_bits=4)

    model = exported(build, tmp_path, {"x:0": floats(7, 6)})
    assert {"QuantizeLinear", "DequantizeLinear"} <= kinds(model.graph)


# ---- files


def test_large_models_keep_their_weights_in_a_file_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build() -> Any:
        return tf.layers.dense(tf.placeholder(tf.float32, [None, 300], "x"), 200)

    monkeypatch.setattr(onnx_export, "_LARGE", 1 << 10)
    exported(build, tmp_path, {"x:0": floats(2, 300)})
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    with pytest.raises(errors.AlreadyExistsError):
        exported(build, tmp_path, {"x:0": floats(2, 300)})
    monkeypatch.setattr(onnx_export, "compare", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        exported(build, tmp_path, {"x:0": floats(2, 300)}, force=True)
    onnx.checker.check_model(str(tmp_path / "model.onnx"), full_check=True)  # as before


def test_nothing_is_left_where_a_path_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    with pytest.raises(errors.OpError):
        exported(branches, tmp_path / "plain", {"x:0": np.float32([1, 2])})
    assert [each.name for each in tmp_path.iterdir()] == ["plain"]


def test_other_versions_of_the_operators(tmp_path: Path) -> None:
    model = exported(branches, tmp_path, {"x:0": np.float32([1, 2])}, opset=18)
    assert model.opset_import[0].version == 18


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "int64"])
def test_types_and_extreme_values(dtype: str, tmp_path: Path) -> None:
    kind = tf.as_dtype(dtype)

    def build() -> Any:
        x = tf.placeholder(kind, [3], "x")
        odd = tf.constant([kind.min, kind.max, 0], kind)
        found = [tf.stack([x, odd]), tf.maximum(x, odd), tf.equal(x, odd)]
        if kind.is_floating:
            nothing = tf.constant(np.array([np.nan, np.inf, -np.inf]), kind)
            found += [x + nothing, tf.where(tf.is_nan(nothing), x, nothing)]
        return found

    exported(build, tmp_path, {"x:0": np.array([kind.min, 1, 0], dtype)})


def test_what_has_no_form_is_named_with_a_cut(tmp_path: Path) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [3], "x")
        return tf.cast(tf.fft(tf.cast(x, tf.complex64), name="odd"), tf.float32) + 1

    with pytest.raises(ExportError, match=r"\(Cast\) has no form in ONNX: of complex numbers"):
        exported(build, tmp_path, {"x:0": floats(3)})


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_relu", "rnn_tanh"])
@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
def test_networks_of_cudnn_are_nodes_of_their_layers(
    mode: str, direction: str, tmp_path: Path
) -> None:
    parts = 4 if direction == "bidirectional" else 2
    layout = Layout(mode, 2, 3, 4, parts // 2)

    def build() -> list[Any]:
        x, lengths = (
            tf.placeholder(tf.float32, [None, 5, 4], "x"),
            tf.placeholder(tf.int32, [None], "n"),
        )
        state = tf.zeros([tf.shape(x)[0], parts, 3]) + 0.5
        state.set_shape([None, parts, 3])
        params = tf.get_variable("params", initializer=floats(layout.size))
        given = {"params": params, "rnn_mode": mode, "direction": direction, "is_training": False}
        made = tf.raw_ops.CudnnRNNV3(
            input=x,
            input_h=state,
            input_c=state,
            sequence_lengths=lengths,
            time_major=False,
            **given,
        )
        turned = [tf.transpose(each, [1, 0, 2]) for each in (x, state)]
        turned[1].set_shape([parts, None, 3])
        old = tf.raw_ops.CudnnRNN(input=turned[0], input_h=turned[1], input_c=turned[1], **given)
        return [*made[:3], *old[:3]]

    feeds = {"x:0": floats(2, 5, 4), "n:0": np.int32([5, 3])}
    model = exported(build, tmp_path, feeds, dynamic={"x:0": {0: "batch"}, "n:0": {0: "batch"}})
    assert kinds(model.graph) & {"LSTM", "GRU", "RNN"}
