"""Pure regions in ONNX Runtime and OpenVINO: rules on their cards' samples, sizes, errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from tests.ops.sampling import arrays_of, build
from tests.ops.test_samples import ALL, good

import stillflow as tf
from stillflow import errors
from stillflow.runtime.engines import assign, trial, use

pytest.importorskip("onnx")

from stillflow.export.onnx_models.regions.builder import RULES

pytestmark = pytest.mark.filterwarnings("ignore")


# Operations that OpenVINO has for larger shapes than their samples only.
NOT_OPENVINO = {"LRN"}


@pytest.fixture(params=["onnxruntime", "openvino"])
def engine(request: pytest.FixtureRequest) -> str:
    """Return the name of an engine that is installed."""
    pytest.importorskip(request.param)
    return str(request.param)


@pytest.fixture
def notices(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is said about engines."""
    found: list[str] = []
    trial.notice.cache_clear()
    monkeypatch.setattr(trial.logging, "warning", found.append)
    return found


def chosen(session: Any) -> list[str]:
    """Return the engines that a session's runs have kept."""
    caches = session._plans._caches.values()
    plans = [plan for cache in caches for plan in cache._plans.values()]
    return [getattr(plan, "chosen", "plan") for plan in plans]


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_rule_gives_the_values_of_the_plan(
    name: str, engine: str, monkeypatch: pytest.MonkeyPatch, notices: list[str]
) -> None:
    monkeypatch.setattr(assign, "_AT_LEAST", 1)
    card, taken = ALL[name], 0
    for sample, known, keeps in itertools.product(good(card), ("sizes", "ranks"), (False, True)):
        arrays = arrays_of(card, sample)
        fixed = tuple(range(1, len(arrays))) if keeps else sample.fixed
        built = build(card, arrays, sample.attrs, known, fixed)
        with tf.Session(graph=built.graph, config=use(engine)) as session:
            session.run(built.outputs[0], built.feeds)
            taken += chosen(session) == [engine]
        if engine != "openvino" or name not in NOT_OPENVINO:
            assert not notices, sample
    assert taken or name in NOT_OPENVINO


@pytest.fixture
def network() -> Any:
    """Yield a frozen convolutional network, whose batch is open."""
    with tf.Graph().as_default() as graph:
        rng = np.random.default_rng(3)
        x = tf.placeholder(tf.float32, [None, 12, 12, 3], "x")
        filters = rng.normal(size=(3, 3, 3, 4)).astype("f")
        y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, filters, 2, "SAME"), np.ones(4, "f")))
        y = tf.nn.max_pool(y, 3, 2, "SAME")
        y = tf.reshape(y, [tf.shape(y)[0], 3 * 3 * 4])
        tf.nn.softmax(tf.matmul(y, rng.normal(size=(36, 5)).astype("f")), name="answer")
    return graph


def batch(count: int) -> np.ndarray:
    return np.random.default_rng(count).normal(size=(count, 12, 12, 3)).astype(np.float32)


def test_one_model_serves_all_sizes_of_a_batch(
    engine: str, network: Any, notices: list[str]
) -> None:
    with (
        tf.Session(graph=network) as plain,
        tf.Session(graph=network, config=use(engine)) as session,
    ):
        for count in (1, 3, 7, 2, 1, 3):
            feeds = {"x:0": batch(count)}
            np.testing.assert_allclose(
                session.run("answer:0", feeds), plain.run("answer:0", feeds), rtol=1e-4, atol=1e-6
            )
        assert set(chosen(session)) == {engine}
        assert len(session._get_resources().engines._shared) == 1
    assert not notices


def test_an_empty_batch_has_an_empty_answer(engine: str, network: Any) -> None:
    with tf.Session(graph=network, config=use(engine)) as session:
        assert session.run("answer:0", {"x:0": batch(0)}).shape == (0, 5)
        assert session.run("answer:0", {"x:0": batch(2)}).shape == (2, 5)


def test_an_index_out_of_range_has_the_error_of_the_plan(engine: str, notices: list[str]) -> None:
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.int32, [None], "rows")
        y = tf.nn.relu(tf.gather(np.arange(12, dtype="f").reshape(4, 3), rows) - 1.0)
    with tf.Session(graph=graph, config=use(engine)) as session:
        assert session.run(y, {rows: [3]}).tolist() == [[8, 9, 10]]
        for wrong in (4, -1):
            with pytest.raises(errors.InvalidArgumentError, match=r"is not in \[0, 4\)"):
                session.run(y, {rows: [wrong]})
        assert session.run(y, {rows: [1]}).tolist() == [[2, 3, 4]]
        assert chosen(session) == [engine]
    assert not notices


def test_shapes_that_do_not_fit_have_the_error_of_the_plan(engine: str, notices: list[str]) -> None:
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, [None, None], "a")
        b = tf.placeholder(tf.float32, [None, None], "b")
        y = tf.nn.relu(tf.matmul(a, b) * 2.0)
    with tf.Session(graph=graph, config=use(engine)) as session:
        assert session.run(y, {a: [[1.0]], b: [[2.0]]}).tolist() == [[4]]
        for _ in range(2):
            with pytest.raises(errors.InvalidArgumentError, match="Matrix size-incompatible"):
                session.run(y, {a: [[1.0, 2.0]], b: [[2.0]]})
    assert not notices


def test_steps_that_the_engine_does_not_take_stay_with_the_plan(engine: str) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 2], "x")
        inverse = tf.linalg.inv(tf.nn.relu(x) * 2.0 + 1.0)
        y = tf.exp(inverse) - 1.0
    feeds = {x: [[1.0, 2.0], [3.0, 5.0]]}
    with (
        tf.Session(graph=graph) as plain,
        tf.Session(graph=graph, config=use(engine)) as session,
    ):
        np.testing.assert_allclose(session.run(y, feeds), plain.run(y, feeds), rtol=1e-5)
        assert chosen(session) == [engine]
        text = session.explain(y, feeds)
    assert f"{engine} runs 5 of 6 steps; the plan keeps the others: MatrixInverse" in text
    assert f"{engine}: Relu + Mul + Add" in text


def test_feeds_are_not_changed_and_results_are_the_callers_own(engine: str, network: Any) -> None:
    with tf.Session(graph=network, config=use(engine)) as session:
        fed = batch(3)
        first = session.run("answer:0", {"x:0": fed})
        kept = first.copy()
        session.run("answer:0", {"x:0": batch(4)[:3]})
        assert np.array_equal(fed, batch(3))
        assert np.array_equal(first, kept)
        first[:] = 0  # it can be written


def test_large_results_are_written_into_memory_of_torch(engine: str) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [512, 512], "x")
        y = [tf.nn.relu(x) * 2.0, tf.nn.relu(x) > 0.0]
    feeds = {x: np.random.default_rng(0).normal(size=(512, 512))}
    with (
        tf.Session(graph=graph) as plain,
        tf.Session(graph=graph, config=use(engine)) as session,
    ):
        for _ in range(3):
            for found, wanted in zip(session.run(y, feeds), plain.run(y, feeds), strict=True):
                np.testing.assert_array_equal(found, wanted)
        assert chosen(session) == [engine]


def test_a_model_that_the_runtime_rejects_stays_with_the_plan() -> None:
    engine = "onnxruntime"
    pytest.importorskip(engine)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float64, [1, 4, 4, 2], "x")
        y = tf.nn.relu(tf.nn.conv2d(x, np.ones((2, 2, 2, 3)), 1, "VALID"))
    with tf.Session(graph=graph, config=use(engine)) as session:
        assert np.array_equal(session.run(y, {x: np.ones((1, 4, 4, 2))}), np.full((1, 3, 3, 3), 8))
        assert chosen(session) == ["plan"]
        assert "onnxruntime: [ONNXRuntimeError]" in session.explain(y, {x: np.ones((1, 4, 4, 2))})


def test_feeds_may_have_any_layout_in_memory(engine: str, notices: list[str]) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], "x")
        y = tf.nn.relu(x * 2.0 + np.arange(4, dtype="f"))
    base = np.arange(48, dtype="f").reshape(4, 12) - 20
    with (
        tf.Session(graph=graph) as plain,
        tf.Session(graph=graph, config=use(engine)) as session,
    ):
        for fed in (base.T, base[:, ::3], base[::-1, 2:6], np.asfortranarray(base[:, :4])):
            assert np.array_equal(session.run(y, {x: fed}), plain.run(y, {x: fed}))
        assert set(chosen(session)) == {engine}
    assert not notices


def agrees(engine: str, graph: Any, fetches: Any, *several: Any, whole: bool = True) -> None:
    """Assert that an engine takes a graph, and gives what the plan gives for each of the feeds."""
    with (
        tf.Session(graph=graph) as plain,
        tf.Session(graph=graph, config=use(engine)) as session,
    ):
        for feeds in several:
            wanted, found = plain.run(fetches, feeds), session.run(fetches, feeds)
            for one, other in zip(wanted, found, strict=True):
                np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)
        assert set(chosen(session)) == {engine}
        if whole:
            assert "; the plan keeps" not in session.explain(fetches, several[0])


@pytest.mark.parametrize(("size", "stride", "padding"), [
    (9, 2, "SAME"), (8, 2, "SAME"), (8, 3, "VALID"), (9, 1, "SAME"), (7, 2, "VALID"),
])  # fmt: skip
def test_convolutions_run_backwards(
    engine: str, size: int, stride: int, padding: str, notices: list[str]
) -> None:
    rng = np.random.default_rng(0)
    steps = -(-size // stride) if padding == "SAME" else (size - 3) // stride + 1
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, steps, steps, 4], "x")
        filters = rng.normal(size=(3, 3, 5, 4)).astype("f")
        shape = tf.stack([tf.shape(x)[0], size, size, 5])
        y = tf.nn.conv2d_transpose(tf.nn.relu(x), filters, shape, stride, padding)
        y = tf.nn.relu(tf.nn.bias_add(y, np.ones(5, "f")))
    shapes = [(count, steps, steps, 4) for count in (2, 1, 3)]
    agrees(engine, graph, [y], *[{"x:0": rng.normal(size=shape)} for shape in shapes])
    assert not notices


def test_a_wrong_batch_of_a_convolution_backwards_has_the_error_of_the_plan(
    engine: str, notices: list[str]
) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4, 4, 2], "x")
        count = tf.placeholder(tf.int32, [], "count")
        y = tf.nn.conv2d_transpose(
            tf.nn.relu(x), np.ones((3, 3, 1, 2), "f"), tf.stack([count, 8, 8, 1]), 2
        )
    texts = []
    for name in ("plan", engine):
        with tf.Session(graph=graph, config=use(name)) as session:
            session.run(y, {x: np.ones((2, 4, 4, 2)), count: 2})
            with pytest.raises(errors.InvalidArgumentError) as error:
                session.run(y, {x: np.ones((2, 4, 4, 2)), count: 3})
            texts.append(error.value.message.splitlines()[0])
    assert texts[0] == texts[1]
    assert not notices


@pytest.mark.parametrize("options", [{}, {"align_corners": True}, {"half_pixel_centers": True}])
@pytest.mark.parametrize("size", [(9, 4), (3, 11), (1, 1)])
def test_images_are_resized(
    engine: str, options: dict[str, bool], size: tuple[int, int], notices: list[str]
) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 6, 5, 3], "x")
        y = tf.raw_ops.ResizeBilinear(images=tf.nn.relu(x), size=size, **options) * 2.0
    rng = np.random.default_rng(1)
    agrees(engine, graph, [y], *[{"x:0": rng.normal(size=(n, 6, 5, 3))} for n in (2, 1)])
    assert not notices


def test_the_largest_come_in_order_and_equal_ones_by_place(engine: str, notices: list[str]) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 6], "x")
        values, places = tf.nn.top_k(x * 2.0, 3)
    feeds = {"x:0": [[1, 5, 5, 2, 5, 0], [3, 3, 3, 3, 3, 3]]}
    agrees(engine, graph, [values, places], feeds)
    assert not notices


def test_images_may_have_their_channels_second(engine: str, notices: list[str]) -> None:
    rng = np.random.default_rng(2)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3, 9, 8], "x")
        filters = rng.normal(size=(3, 3, 3, 4)).astype("f")
        y = tf.nn.conv2d(x, filters, 2, "SAME", data_format="NCHW")
        y = tf.nn.relu(tf.nn.bias_add(y, np.ones(4, "f"), data_format="NCHW"))
        y = tf.nn.fused_batch_norm(
            y, np.ones(4, "f"), np.ones(4, "f"), np.ones(4, "f"), np.ones(4, "f"),
            is_training=False, data_format="NCHW",
        )[0]  # fmt: skip
        y = [tf.nn.max_pool(y, 3, 2, "SAME", data_format="NCHW"),
             tf.nn.avg_pool(y, 2, 1, "VALID", data_format="NCHW")]  # fmt: skip
    agrees(engine, graph, y, *[{"x:0": rng.normal(size=(n, 3, 9, 8))} for n in (2, 1)])
    assert not notices
