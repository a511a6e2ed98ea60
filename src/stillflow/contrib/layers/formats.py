"""The order of axes: "NHWC" and its kind."""

from __future__ import annotations

NCHW, NHWC = "NCHW", "NHWC"
NCDHW, NDHWC = "NCDHW", "NDHWC"


def keras_format(data_format: str | None) -> str:
    """Return the data format's name in `tf.layers`."""
    first = data_format is not None and data_format.startswith("NC")
    return "channels_first" if first else "channels_last"


def assert_images(data_format: str) -> None:
    """Raise an error for a data format that is not one of images."""
    if data_format not in (NCHW, NHWC):
        raise ValueError("data_format has to be either NCHW or NHWC.")


def assert_volumes(data_format: str) -> None:
    """Raise an error for a data format that is not one of volumes."""
    if data_format not in (NCDHW, NDHWC):
        raise ValueError("data_format has to be either NCDHW or NDHWC.")
