"""What tests of several folders start from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import stillflow as tf


@pytest.fixture
def graph() -> Iterator[tf.Graph]:
    """A graph, which is the default one."""
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session() -> Iterator[tf.Session]:
    """A session on a graph of its own, which is the default one."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session
