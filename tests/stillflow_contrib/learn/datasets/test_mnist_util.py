"""Pictures in the form that classifiers take."""

from __future__ import annotations

from stillflow_contrib.learn.datasets import mnist_util


def test_made_up_pictures_are_normalized_and_labelled() -> None:
    for (pictures, labels), count in zip(
        mnist_util.load_reshaped_data(fake_tiny_data=True), (16, 128), strict=True
    ):
        assert pictures.shape == (count, *mnist_util.INPUT_SHAPE)
        assert pictures.dtype == "float32"
        assert 0 <= pictures.min() <= pictures.max() <= 1
        assert labels.shape == (count, mnist_util.NUM_CLASSES)
        assert (labels.sum(1) == 1).all()
