"""The image functions of scipy.misc give what they gave."""

from __future__ import annotations

import io

import pytest

np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

from stillflow.facade.revive import scipy_misc as misc  # noqa: E402

RAMP = np.arange(12, dtype=np.float64).reshape(3, 4)
COLOR = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)


def test_values_are_scaled_to_bytes():
    assert misc.bytescale(np.array([0.0, 0.5, 1.0])).tolist() == [0, 128, 255]
    assert misc.bytescale(np.array([5, 5])).tolist() == [0, 0]
    assert misc.bytescale(COLOR) is COLOR
    assert misc.bytescale(np.array([0, 10]), cmin=0, cmax=20, high=200, low=100).tolist() == [
        100,
        150,
    ]
    for wrong in ({"high": 256}, {"low": -1}, {"high": 1, "low": 2}, {"cmin": 3, "cmax": 2}):
        with pytest.raises(ValueError, match="should be"):
            misc.bytescale(RAMP, **wrong)


@pytest.mark.parametrize(
    "size, shape",
    [
        (50, (1, 2)),
        (2.0, (6, 8)),
        ((5, 7), (5, 7)),
        (np.float32(0.5), (1, 2)),
        ([2, 2], (2, 2)),
    ],
)
def test_sizes_are_percent_factor_or_height_and_width(size, shape):
    assert misc.imresize(RAMP, size).shape == shape


def test_resizing_is_that_of_pillow():
    image = (RAMP * 20).astype(np.uint8)
    resized = misc.imresize(image, (6, 8), interp="nearest")
    assert resized.dtype == np.uint8 and resized[::2, ::2].tolist() == image.tolist()
    floats = misc.imresize(RAMP.astype(np.float32), (3, 4), mode="F")
    assert floats.dtype == np.float32 and floats.tolist() == RAMP.tolist()
    assert misc.imresize(COLOR, (4, 6), "bicubic").shape == (4, 6, 3)


def test_colors_are_found_on_any_axis():
    first = np.moveaxis(COLOR, 2, 0)
    assert np.array_equal(misc.fromimage(misc.toimage(first)), COLOR)
    assert misc.toimage(np.zeros((2, 5, 4), np.uint8)).mode == "RGBA"
    for wrong in (np.zeros(3), np.zeros((2, 5, 7)), np.zeros((2, 2), complex)):
        with pytest.raises(ValueError, match=r"suitable array shape|complex"):
            misc.toimage(wrong)


def test_gray_modes():
    assert misc.toimage(RAMP, mode="I").mode == "I"
    bits = misc.fromimage(misc.toimage(RAMP > 5, mode="1"))
    assert bits.tolist() == ((RAMP > 5) * 255).tolist()
    assert misc.toimage(RAMP, mode="P").mode == "P"
    with pytest.raises(ValueError, match="Mode is unknown"):
        misc.toimage(RAMP, mode="RGB")


def test_images_are_written_and_read_back(tmp_path):
    path = str(tmp_path / "image.png")
    misc.imsave(path, COLOR)
    assert np.array_equal(misc.imread(path), COLOR)
    assert misc.imread(path, flatten=True).dtype == np.float32
    assert misc.imread(path, mode="L").shape == (2, 3)
    stream = io.BytesIO()
    misc.imsave(stream, COLOR, "bmp")
    assert np.array_equal(misc.imread(io.BytesIO(stream.getvalue())), COLOR)


def test_palette_images_become_colors(tmp_path):
    path = str(tmp_path / "image.gif")
    image = Image.new("P", (2, 2), 1)
    image.putpalette([0, 0, 0, 250, 120, 10])
    image.save(path)
    assert misc.imread(path).tolist() == [[[250, 120, 10]] * 2] * 2


def test_rotating_and_filtering():
    square = np.arange(16, dtype=np.uint8).reshape(4, 4)
    assert misc.imrotate(square, 90, "nearest").tolist() == np.rot90(square).tolist()
    assert misc.imfilter(square, "blur").shape == (4, 4)
    with pytest.raises(ValueError, match="Unknown filter"):
        misc.imfilter(square, "nothing")


def test_derivatives():
    assert misc.derivative(lambda x: x**3 + x**2, 1.0, dx=1e-6) == pytest.approx(5.0, rel=1e-6)
    second = misc.derivative(np.sin, 0.5, dx=0.01, n=2, order=5)
    assert second == pytest.approx(-np.sin(0.5), rel=1e-5)
    assert misc.central_diff_weights(3) == pytest.approx([-0.5, 0, 0.5])
    with pytest.raises(ValueError, match="must be odd"):
        misc.derivative(np.sin, 0, order=4)
