"""Shared parts of tests of eager execution."""

from __future__ import annotations

import pytest

from stillflow.eager.immediate import ImmediateGraph


@pytest.fixture
def eager():
    """Operations run when they are called, in a context of the test's own."""
    graph = ImmediateGraph()
    with graph.as_default():
        yield graph
