"""Every test builds into a graph of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import stillflow as tf


@pytest.fixture(autouse=True)
def own_graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph
