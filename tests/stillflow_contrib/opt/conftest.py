import pytest

import stillflow as tf


@pytest.fixture(autouse=True)
def _own_graph():
    """Every test builds in a graph of its own."""
    with tf.Graph().as_default():
        yield
