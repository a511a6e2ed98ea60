"""TensorRT: an error with its name, when it is requested and not before."""

from __future__ import annotations

import pytest

import stillflow as tf


def test_engines_are_refused() -> None:
    with pytest.raises(tf.errors.UnimplementedError, match="create_inference_graph is not"):
        tf.contrib.tensorrt.create_inference_graph(tf.GraphDef(), ["out"])
