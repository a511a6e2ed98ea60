"""Initial centers, with the loop in C and without."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.random.philox import Philox
from stillflow.ops.random.range_samplers import Words
from stillflow_contrib.ops.clustering import kmc2_chain_initialization


@pytest.mark.usefixtures("graph", "either_way")
@pytest.mark.parametrize("count", [1, 2, 5, 256, 257, 258, 3000])
def test_a_chain_goes_on_to_points_that_are_far(count):
    distances = np.random.RandomState(count).rand(count).astype(np.float32) ** 8
    with tf.Session() as session:
        given = tf.placeholder(tf.float32, [None])
        found = session.run(kmc2_chain_initialization(given, 77), {given: distances})
    words, at = Words(Philox(77, 0, 0)), 0
    for place in range(1, count):
        if distances[place] > words.unit() * distances[at]:
            at = place
    assert found == at
