"""Pools and their gradients, for all ways in which a window may fit an image."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.ops.nn.reference import slide
from tests.ops.nn.running import image, with_and_without_loops
from tests.running import run

import stillflow as tf
from stillflow.ops.nn import pool_kernels

pytestmark = pytest.mark.usefixtures("either_way")
WAYS = list(itertools.product([3, 4, 7], [1, 2, 3], [1, 2, 3], ["SAME", "VALID"]))


def maxima(x, window, stride, padding):
    size = (window, 2)
    return slide(x, size, stride, padding, lambda w: w.max((1, 2)), x.shape[-1], fill=-np.inf)


def averages(x, window, stride, padding):
    def mean(part):
        return np.nanmean(part, (1, 2))

    return slide(x, (window, 2), stride, padding, mean, x.shape[-1], fill=np.nan)


@pytest.mark.parametrize("size,window,stride,padding", WAYS)
def test_padding_neither_wins_nor_counts(size, window, stride, padding):
    x = image(2, size, size + 1, 3) - 1  # all negative: padding with zeros would win
    how = ([1, window, 2, 1], [1, stride, stride, 1], padding)
    best, mean = run([tf.nn.max_pool(x, *how), tf.nn.avg_pool(x, *how)])
    np.testing.assert_array_equal(best, maxima(x, window, stride, padding).astype(np.float32))
    np.testing.assert_allclose(mean, averages(x, window, stride, padding), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size,window,stride,padding", WAYS)
def test_gradients_go_where_the_outputs_came_from(size, window, stride, padding):
    x = tf.placeholder(tf.float32, [2, size, size + 1, 3])
    how = ([1, window, 2, 1], [1, stride, stride, 1], padding)
    best, mean = tf.nn.max_pool(x, *how), tf.nn.avg_pool(x, *how)
    dy = tf.placeholder(tf.float32, best.shape)
    grads = [tf.gradients(y, x, dy)[0] for y in (best, mean)]
    values, ways = image(*x.shape.as_list()), image(*best.shape.as_list(), seed=1)
    found = run([best, mean, *grads], {x: values, dy: ways})
    # Pools are linear around values without ties: <dy, y> is <dx, x>.
    for y, grad in zip(found[:2], found[2:], strict=True):
        np.testing.assert_allclose(np.vdot(grad, values), np.vdot(ways, y), rtol=1e-4, atol=1e-5)
    assert set(values[found[2] != 0]) <= set(found[0].ravel())


def test_of_equal_maxima_the_first_takes_the_gradient():
    x = tf.placeholder(tf.float32, [1, 2, 2, 1])
    grad = tf.gradients(tf.nn.max_pool(x, 2, 2, "VALID"), x)[0]
    found = run(grad, {x: np.ones((1, 2, 2, 1))})
    assert found.ravel().tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int16", "int8", "uint16", "float16"])
def test_maxima_of_all_types(dtype):
    values = np.arange(16).reshape(1, 4, 4, 1).astype(dtype)
    y = tf.nn.max_pool(tf.constant(values), 2, 2, "VALID")
    assert y.dtype == dtype
    np.testing.assert_array_equal(run(y).ravel(), [5, 7, 13, 15])


def test_maxima_along_the_channels():
    x = image(2, 2, 3, 6)
    y = run(tf.nn.max_pool(x, [1, 1, 1, 3], [1, 1, 1, 3], "SAME"))
    np.testing.assert_array_equal(y, x.reshape(2, 2, 3, 2, 3).max(-1))
    with pytest.raises(tf.errors.UnimplementedError, match="evenly divide the input depth"):
        run(tf.nn.max_pool(x, [1, 1, 1, 4], [1, 1, 1, 4], "SAME"))


@pytest.mark.parametrize("whole", [False, True])
def test_places_of_maxima_are_counted_in_the_image_or_in_the_batch(whole):
    x = image(2, 4, 4, 3)
    two = [1, 2, 2, 1]
    y, at = run(tf.nn.max_pool_with_argmax(x, two, two, "VALID", include_batch_in_index=whole))
    flat = x.ravel() if whole else None
    for batch in range(2):
        source = flat if whole else x[batch].ravel()
        np.testing.assert_array_equal(source[at[batch]], y[batch])


def test_windows_may_be_fed_at_run_time():
    x = image(1, 6, 6, 1)
    ksize, strides = tf.placeholder(tf.int32, [4]), tf.placeholder(tf.int32, [4])
    y = tf.raw_ops.MaxPoolV2(input=x, ksize=ksize, strides=strides, padding="VALID")
    for window in (2, 3):
        sides = [1, window, window, 1]
        found = run(y, {ksize: sides, strides: sides})
        blocks = x.reshape(1, 6 // window, window, 6 // window, window, 1)
        np.testing.assert_array_equal(found, blocks.max((2, 4)))


def test_a_pool_of_any_dimension_may_be_dilated():
    x = image(1, 6, 6, 1)
    y = run(tf.nn.pool(x, [2, 2], "MAX", "VALID", dilation_rate=[2, 2]))
    expected = slide(x, (2, 2), 1, "VALID", lambda p: p.max((1, 2)), 1, rate=2)
    np.testing.assert_array_equal(y, expected.astype(np.float32))
    line = image(2, 5, 3)
    np.testing.assert_allclose(
        run(tf.nn.pool(line, [2], "AVG", "VALID")), (line[:, 1:] + line[:, :-1]) / 2, rtol=1e-6
    )


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("pool", ["max", "avg"])
def test_fractional_pools_take_the_windows_that_they_report(pool, overlapping):
    x = image(2, 9, 13, 2)
    function = getattr(tf.nn, f"fractional_{pool}_pool")
    how = {"pseudo_random": True, "overlapping": overlapping, "deterministic": True, "seed": 5}
    y, rows, columns = run(function(x, [1.0, 1.5, 1.7, 1.0], **how))
    assert rows[0] == columns[0] == 0 and (rows[-1], columns[-1]) == (9, 13)
    assert set(np.diff(rows)) <= {1, 2} and set(np.diff(columns)) <= {1, 2}
    for i, j in itertools.product(range(len(rows) - 1), range(len(columns) - 1)):
        part = x[:, rows[i] : rows[i + 1] + overlapping, columns[j] : columns[j + 1] + overlapping]
        expected = part.max((1, 2)) if pool == "max" else part.mean((1, 2))
        np.testing.assert_allclose(y[:, i, j], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("overlapping", [False, True])
def test_gradients_of_fractional_pools_go_to_their_windows(kind, overlapping):
    random = np.random.default_rng(1)
    x, grad = random.integers(0, 5, (2, 2, 7, 6, 3)).astype(kind)
    if kind is np.float32:
        x[0, 2, 0], x[1, 3, 3, 1] = np.nan, -np.inf
    rows, columns = np.array([0, 2, 3, 7]), np.array([0, 1, 4, 6])
    grad, both = grad[:, :3, :3], {"overlapping": overlapping}
    largest, average = np.zeros(x.shape, kind), np.zeros(x.shape)
    for i, j, b, c in itertools.product(range(3), range(3), range(2), range(3)):
        box = (b, *(slice(e[n], e[n + 1] + overlapping) for e, n in ((rows, i), (columns, j))), c)
        part = x[box].ravel()
        best = 0
        for place, number in enumerate(part):
            best = place if number > part[best] else best
        largest[box].reshape(x[box].shape)[np.unravel_index(best, x[box].shape)] += grad[b, i, j, c]
        average[box] += grad[b, i, j, c] / part.size
    given = {"row_pooling_sequence": rows, "col_pooling_sequence": columns, **both}
    found = tf.raw_ops.FractionalMaxPoolGrad(
        orig_input=x, orig_output=grad, out_backprop=grad, **given
    )
    np.testing.assert_array_equal(run(found), largest)
    found = tf.raw_ops.FractionalAvgPoolGrad(
        orig_input_tensor_shape=x.shape, out_backprop=grad, **given
    )
    np.testing.assert_allclose(run(found), average, 1e-6, 1e-9 if kind(0.5) else 1)  # or truncated


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_second_gradients_of_volumes_are_those_at_the_first_maxima(padding):
    x, grad = np.random.default_rng(2).integers(0, 4, (2, 2, 4, 5, 5, 3)).astype(np.float32)
    how = {"ksize": [1, 2, 3, 2, 1], "strides": [1, 1, 2, 2, 1], "padding": padding}
    pooled = run(tf.nn.max_pool3d(x, **how))
    found = run(tf.raw_ops.MaxPool3DGradGrad(orig_input=x, orig_output=pooled, grad=grad, **how))
    before = [0, 1, 0] if padding == "SAME" else [0, 0, 0]
    for place in np.ndindex(*pooled.shape[1:4]):
        starts = [n * s - b for n, s, b in zip(place, (1, 2, 2), before)]
        box = tuple(slice(max(0, start), start + size) for start, size in zip(starts, (2, 3, 2)))
        part = x[:, box[0], box[1], box[2]].reshape(2, -1, 3)
        expected = np.take_along_axis(
            grad[:, box[0], box[1], box[2]].reshape(2, -1, 3), part.argmax(1)[:, None], 1
        )
        np.testing.assert_array_equal(found[(slice(None), *place)], expected[:, 0])


def test_a_dilation_adds_its_filter_before_it_takes_the_maximum():
    x, filter = image(1, 5, 6, 2), image(2, 3, 2, seed=1)
    y = run(tf.nn.dilation2d(x, filter, [1, 2, 1, 1], [1, 1, 1, 1], "VALID"))
    for i, j in itertools.product(range(2), range(4)):
        part = x[0, 2 * i : 2 * i + 2, j : j + 3] + filter
        np.testing.assert_allclose(y[0, i, j], part.max((0, 1)), rtol=1e-6)
    eroded = run(tf.nn.erosion2d(x, filter, [1, 1, 1, 1], [1, 1, 1, 1], "VALID"))
    part = x[0, :2, :3] - filter[::-1, ::-1]
    np.testing.assert_allclose(eroded[0, 0, 0], part.min((0, 1)), rtol=1e-6)


def test_equal_maxima_of_volumes_all_get_the_gradient():
    # Numbers of TensorFlow 1.15.5; over images only the first maximum gets it.
    x = np.float32([1, 1, 2, 2, 0, 3, 3, 3])
    grads = np.arange(1, 9, dtype=np.float32)
    volume = tf.constant(x.reshape(1, 2, 2, 2, 1))
    pooled = tf.nn.max_pool3d(volume, [1, 2, 2, 2, 1], [1] * 5, "SAME")
    (grad,) = tf.gradients(pooled, volume, grads.reshape(1, 2, 2, 2, 1))
    assert run(grad).ravel().tolist() == [0, 0, 0, 0, 0, 14, 16, 36]
    plane = tf.constant(x.reshape(1, 2, 4, 1))
    pooled = tf.nn.max_pool(plane, [1, 2, 2, 1], [1] * 4, "SAME")
    (grad,) = tf.gradients(pooled, plane, grads.reshape(1, 2, 4, 1))
    assert run(grad).ravel().tolist() == [0, 0, 0, 0, 0, 14, 10, 12]


SPECIAL = [-1.0, -0.0, 0.0, 1.0, np.nan, -np.inf, np.inf]
SIDES = st.tuples(*[st.integers(1, 9)] * 2)


@given(
    shape=st.tuples(st.integers(1, 3), SIDES, st.sampled_from([1, 3, 31, 32, 33, 70])),
    window=SIDES,
    strides=SIDES,
    padding=st.sampled_from([b"SAME", b"VALID"]),
    special=st.integers(0, len(SPECIAL)),
    seed=st.integers(0, 9),
)
def test_torch_and_the_loops_agree_on_all_windows(shape, window, strides, padding, special, seed):
    batch, sizes, channels = shape
    random = np.random.RandomState(seed)

    def values(*shape):  # with many ties
        some = random.choice(SPECIAL[:special], shape) if special else random.randint(0, 3, shape)
        return torch.from_numpy(some.astype("f"))

    x = values(batch, *sizes, channels)
    geometry = pool_kernels.pool_geometry(
        tuple(x.shape), (1, *window, 1), (1, *strides, 1), padding, b"NHWC"
    )
    dy = values(*pool_kernels.max_pool(x, geometry).shape)

    def pool():
        y, places = pool_kernels.max_pool_with_places(x, geometry)
        grad = pool_kernels.max_pool_grad_at(x, dy, places, geometry)
        alone = pool_kernels.max_pool(x, geometry), pool_kernels.max_pool_grad(x, dy, geometry)
        return [y, grad, *alone]

    for loop, plain in zip(*with_and_without_loops(pool), strict=True):
        np.testing.assert_array_equal(loop, plain)
        np.testing.assert_array_equal(*[t.signbit() & ~t.isnan() for t in (loop, plain)])


@pytest.mark.parametrize("strides", [1, 2, 3])
def test_large_images_are_pooled_in_parts(strides):
    x = torch.from_numpy(image(3, 40, 50, 40))
    window, steps = (1, 2, 2, 1), (1, strides, strides, 1)
    geometry = pool_kernels.pool_geometry(tuple(x.shape), window, steps, b"SAME", b"NHWC")

    def pool():
        y = pool_kernels.max_pool(x, geometry)
        return [y, pool_kernels.max_pool_grad(x, y, geometry)]

    for loop, plain in zip(*with_and_without_loops(pool), strict=True):
        np.testing.assert_array_equal(loop, plain)


def test_windows_of_more_places_than_a_byte_counts_are_pooled_too():
    x = image(1, 17, 18, 2)
    y = tf.placeholder(tf.float32, [1, 17, 18, 2])
    best = tf.nn.max_pool(y, 17, 17, "VALID")
    found, grad = run([best, tf.gradients(best, y)[0]], {y: x})
    np.testing.assert_array_equal(found, x[:, :, :17].max((1, 2), keepdims=True))
    np.testing.assert_array_equal(grad[:, :, :17], x[:, :, :17] == found)


@pytest.mark.parametrize("shape", [(1, 2, 3, 1), (2, 2, 2, 1), (1, 2, 2, 3), (1, 8, 8, 1), (1,)])
def test_a_gradient_of_another_shape_is_refused(shape):
    x, dy = np.ones((1, 4, 4, 1), "f"), tf.placeholder(tf.float32)
    how = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    given = tf.placeholder(tf.float32)
    grad = tf.raw_ops.MaxPoolGrad(orig_input=given, orig_output=x[:, ::2, ::2], grad=dy, **how)
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(grad, {given: x, dy: np.ones(shape, "f")})
