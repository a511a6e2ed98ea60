"""Stereograms of random dots."""

from __future__ import annotations

import numpy as np

import stillflow as tf
from stillflow_contrib.ops.image.stereograms import CRandom

SMALL = {"output_image_shape": [120, 80, 1], "output_data_window": [110, 70], "dots_per_inch": 20}


def stereogram(depths: np.ndarray, **options: object) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.contrib.image.single_image_random_dot_stereograms(depths, **SMALL, **options)
        result: np.ndarray = session.run(image)
    return result


def test_random_numbers_are_those_of_the_c_library() -> None:
    generator = CRandom()
    assert generator.draw(3).tolist() == [1804289383, 846930886, 1681692777]
    assert generator.draw(1).tolist() == [1714636915]


def test_a_plane_repeats_itself() -> None:
    image = stereogram(np.zeros([3, 3], np.float32), normalize=False, convergence_dots_size=0)
    period = 25  # half of the distance between the eyes, 2.5 inches of 20 dots
    np.testing.assert_array_equal(image[:, :-period], image[:, period:])


def test_two_colours_are_black_and_white() -> None:
    assert set(np.unique(stereogram(np.eye(4, dtype=np.float32), number_colors=2))) == {0, 255}


def test_many_colours_make_three_channels() -> None:
    assert stereogram(np.eye(4, dtype=np.float32), number_colors=1000).shape == (80, 120, 3)


def test_every_session_draws_the_same_dots() -> None:
    depths = np.eye(4, dtype=np.float32)
    np.testing.assert_array_equal(stereogram(depths), stereogram(depths))
