"""Constant weights that oneDNN lays out once, and what is added with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.linalg import onednn_products
from stillflow.ops.nn import packed_weights

RNG = np.random.RandomState(0)
IMAGES = RNG.randn(2, 9, 8, 4).astype("f")


def constant(*shape: int) -> Any:
    return tf.constant(RNG.uniform(-1, 1, shape), tf.float32)


def normalized(x: Any, channels: int) -> Any:
    mean, variance = constant(channels), constant(channels) ** 2 + 0.5
    scale, offset = constant(channels), constant(channels)
    return tf.nn.fused_batch_norm(x, scale, offset, mean, variance, is_training=False)[0]


def residual(x: Any) -> Any:
    """Return a block as in ResNet: the image is added to what convolutions give."""
    inner = tf.nn.relu(normalized(tf.nn.conv2d(x, constant(3, 3, 4, 8), 1, "SAME"), 8))
    inner = normalized(tf.nn.conv2d(inner, constant(1, 1, 8, 4), 1, "SAME"), 4)
    return tf.nn.relu(inner + x)


def pointwise_with_stride(x: Any) -> Any:
    wide = tf.nn.conv2d(x, constant(1, 1, 4, 8), 1, "SAME")
    return tf.nn.conv2d(wide, constant(1, 1, 8, 6), 2, "VALID")


NETWORKS = {
    "a bias": lambda x: tf.nn.bias_add(
        tf.nn.conv2d(x, constant(3, 3, 4, 5), 1, "SAME"), constant(5)
    ),
    "unequal padding": lambda x: tf.nn.conv2d(x, constant(3, 3, 4, 5), 2, "SAME"),
    "dilation": lambda x: tf.nn.conv2d(x, constant(3, 3, 4, 5), 1, "SAME", dilations=[1, 2, 2, 1]),
    "depthwise": lambda x: normalized(
        tf.nn.depthwise_conv2d_native(x, constant(3, 3, 4, 2), [1, 2, 2, 1], "SAME"), 8
    ),
    "a residual block": residual,
    "windows of one place": pointwise_with_stride,
}  # fmt: skip


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what was packed."""
    found = []
    for name in ("convolution", "dense"):
        make = getattr(packed_weights, name)

        def counted(*given: Any, name: str = name, make: Any = make) -> Any:
            found.append(name)
            return make(*given)

        monkeypatch.setattr(packed_weights, name, counted)
    return found


@contextmanager
def plain(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as context:
        context.setattr(packed_weights, "is_available", lambda: False)
        context.setattr(onednn_products, "is_faster", lambda: False)
        yield


def run(graph: tf.Graph, fetch: Any, feed: Any) -> Any:
    with tf.Session(graph=graph) as session:
        return session.run(fetch, feed)


@pytest.mark.parametrize("name", NETWORKS)
def test_packed_convolutions_give_what_plain_ones_give(
    name: str, packed: list[str], monkeypatch: pytest.MonkeyPatch, cpu: None
) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, *IMAGES.shape[1:]])
        y = NETWORKS[name](x)
    with plain(monkeypatch):
        expected = run(graph, y, {x: IMAGES})
    found = run(graph, y, {x: IMAGES})
    assert packed.count("convolution") == len(
        [op for op in graph.get_operations() if "onv2" in op.type]
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)  # sums of at most 288 terms


@pytest.mark.parametrize(
    "image, filter, strides, padding",
    [
        ((2, 5, 6, 2), (5, 6, 2, 1), 1, "VALID"),  # an output of one place and channel
        ((1, 2, 1, 3), (1, 1, 3, 5), 3, [[0, 0], [0, 0], [2, 2], [0, 0]]),  # more than it needs
        ((1, 1, 8, 4), (1, 3, 4, 4), 1, "SAME"),
        ((1, 5, 6, 1), (5, 6, 1, 64), 1, "VALID"),
        ((2, 7, 3, 1), (3, 3, 1, 16), 1, "VALID"),  # one channel, and outputs of one column
    ],
)
def test_what_onednn_computes_wrongly_stays_with_pytorch(
    image: Any, filter: Any, strides: int, padding: Any, packed: list[str], cpu: None
) -> None:
    images = RNG.randn(*image).astype("f")
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, image)
        weights = constant(*filter)
        y = tf.nn.conv2d(x, weights, strides, padding)
    found, numbers = run(graph, [y, weights], {x: images})
    pads = padding[1:3] if isinstance(padding, list) else [[0, 0], [0, 0]]
    if padding == "SAME":
        pads = [[0, 0], [1, 1]]
    whole = np.pad(images, [[0, 0], *pads, [0, 0]])
    height, width = filter[:2]
    expected = [
        [
            np.tensordot(whole[:, i : i + height, j : j + width], numbers, 3)
            for j in range(0, whole.shape[2] - width + 1, strides)
        ]
        for i in range(0, whole.shape[1] - height + 1, strides)
    ]
    np.testing.assert_allclose(found, np.transpose(expected, (2, 0, 1, 3)), rtol=1e-5, atol=1e-5)
    assert not packed


def test_not_a_number_stays(packed: list[str], cpu: None) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, IMAGES.shape)
        y = tf.nn.relu6(tf.nn.relu(tf.nn.conv2d(x, constant(3, 3, 4, 5), 1, "SAME")))
    images = IMAGES.copy()
    images[0, 4, 4, 0] = np.nan
    found = run(graph, y, {x: images})
    assert packed and np.isnan(found[0, 3:6, 3:6]).all() and np.isfinite(found[1]).all()


def test_values_that_are_fetched_or_fed_stay(packed: list[str], cpu: None) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, IMAGES.shape)
        inner = tf.nn.conv2d(x, constant(3, 3, 4, 4), 1, "SAME")
        outer = inner + x
    both = run(graph, [inner, outer], {x: IMAGES})
    np.testing.assert_allclose(both[0] + IMAGES, both[1], rtol=1e-6)
    filter = inner.op.inputs[1]
    assert not run(graph, inner, {x: IMAGES, filter: np.zeros((3, 3, 4, 4), "f")}).any()
    assert len(packed) == 1  # a filter that is fed is no constant


@pytest.mark.parametrize(
    "activation", [None, tf.nn.relu, lambda x: x * 0.5 * (1 + tf.erf(x / 2**0.5))]
)
def test_packed_layers_give_what_plain_ones_give(
    activation: Any, packed: list[str], monkeypatch: pytest.MonkeyPatch, cpu: None
) -> None:
    rows = RNG.randn(64, 256).astype("f")
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 256])
        y = tf.nn.bias_add(tf.matmul(x, constant(256, 160)), constant(160))
        y = y if activation is None else activation(y)
    with plain(monkeypatch):
        expected = run(graph, y, {x: rows})
    np.testing.assert_allclose(run(graph, y, {x: rows}), expected, rtol=1e-4, atol=1e-4)
    assert packed == ["dense"]


def test_plans_of_several_batches_share_packed_weights(
    monkeypatch: pytest.MonkeyPatch, cpu: None
) -> None:
    made: list[Any] = []

    class Counted(packed_weights._Packed):
        def __init__(self, kernel: Any, rows: int) -> None:
            super().__init__(kernel, rows)
            made.append(self)

    monkeypatch.setattr(packed_weights, "_Packed", Counted)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 256])
        y = tf.matmul(x, constant(256, 160))
        for rows in (64, 96):
            session.run(y, {x: RNG.randn(rows, 256)})
    assert len(made) == 1


@pytest.mark.parametrize("transposes", [(False, False), (True, False), (False, True), (True, True)])
def test_products_by_onednn_are_pytorchs(
    transposes: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch, cpu: None
) -> None:
    a, b = RNG.randn(192, 192).astype("f"), RNG.randn(192, 192).astype("f")
    with tf.Graph().as_default() as graph:
        x, y = (tf.placeholder(tf.float32, [None, 192]) for _ in range(2))
        z = tf.matmul(x, y, *transposes)
    with plain(monkeypatch):
        expected = run(graph, z, {x: a, y: b})
    monkeypatch.setattr(onednn_products, "is_faster", lambda: True)
    np.testing.assert_allclose(run(graph, z, {x: a, y: b}), expected, rtol=1e-4, atol=1e-4)
