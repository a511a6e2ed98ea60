"""Operations that old graphs have and new ones must not: they import by the graph's version."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.graph import removed_ops

# Op, the types of its inputs, its attributes.
OLD: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "TileGrad": ([tf.float32, tf.int32], {"T": tf.float32}),
    **{f"Batch{inverse}FFT{rank}": ([tf.complex64], {})
       for inverse in ("", "I") for rank in ("", "2D", "3D")},
    "Skipgram": ([], {"filename": b"text", "batch_size": 2}),
    "NegTrain": ([tf.float32, tf.float32, tf.int32, tf.int32, tf.float32],
                 {"vocab_count": [1], "num_negative_samples": 1}),
}  # fmt: skip


def graph_def(name: str, producer: int) -> Any:
    """Return a graph of that version with one op, whose inputs are fed."""
    types, attributes = OLD[name]
    message = tf.GraphDef()
    message.versions.producer = producer
    node = tf.NodeDef(name="old", op=name)
    for place, dtype in enumerate(types):
        given = message.node.add(name=f"in{place}", op="Placeholder")
        if name == "NegTrain" and place < 2:
            given.op = "VariableV2"
            given.attr["shape"].shape.SetInParent()
        given.attr["dtype"].type = dtype.as_datatype_enum
        node.input.append(given.name)
    for key, value in attributes.items():
        if isinstance(value, bytes):
            node.attr[key].s = value
        elif isinstance(value, list):
            node.attr[key].list.i.extend(value)
        elif isinstance(value, int):
            node.attr[key].i = value
        else:
            node.attr[key].type = value.as_datatype_enum
    message.node.append(node)
    return message


@pytest.mark.parametrize("name", OLD)
def test_they_import_up_to_the_version_that_removed_them(name: str) -> None:
    version, explanation = removed_ops.REMOVED[name]
    for producer in (0, version - 1):
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def(name, producer), name="")
            assert graph.get_operation_by_name("old").type == name
    words = (
        f"Op {name} is not available in GraphDef version {version}. It has been removed in version "
        f"{version}. {explanation}."
    )
    with tf.Graph().as_default(), pytest.raises(tf.errors.UnimplementedError) as caught:
        tf.import_graph_def(graph_def(name, version), name="")
    assert caught.value.message == words


def run(name: str, *values: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def(name, 0), name="")
        feeds = {f"in{place}:0": value for place, value in enumerate(values)}
        return session.run("old:0", feeds)


@pytest.mark.parametrize("name, transform", [
    ("BatchFFT", np.fft.fft), ("BatchIFFT2D", np.fft.ifft2), ("BatchFFT3D", np.fft.fftn),
])  # fmt: skip
def test_transforms_are_those_of_today(name: str, transform: Any) -> None:
    x = (np.arange(24) + 1j).reshape(2, 3, 4)
    np.testing.assert_allclose(run(name, x), transform(x), rtol=1e-4, atol=1e-4)


def test_the_gradient_of_tile_adds_the_copies() -> None:
    grad = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_array_equal(run("TileGrad", grad, [2, 3]), [[24], [42]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not what"):
        run("TileGrad", grad, [3, 1])


def test_what_has_no_kernel_says_so() -> None:
    with pytest.raises(tf.errors.UnimplementedError, match="no kernel for op Skipgram"):
        run("Skipgram")
