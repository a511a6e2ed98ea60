"""Messages of exported models against those of the protobuf library: the same bytes and values."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest
import torch
from google.protobuf.message import DecodeError

import stillflow as tf
from stillflow.export.body import Names
from stillflow.export.functions import FunctionWriter
from stillflow.export.torch_export import to_torch
from stillflow.graph import dtypes
from stillflow.ops.io import variants
from stillflow.protos import AttrValue, Example, GraphDef, TensorProto, file
from stillflow_contrib.torch_sources import plain_messages
from stillflow_contrib.torch_sources.messages import Field, Message

TREES = file("tensorflow/core/kernels/boosted_trees/boosted_trees.proto")


def plain(kind: Any) -> Any:
    """Return the class that an exported module has for a class of messages."""
    writer = FunctionWriter(Names())
    name = writer.expression(kind)
    text = "\n".join(
        [*writer.imports, "from typing import NamedTuple", *writer.definitions.values()]
    )
    module = types.ModuleType("written")
    exec(compile(text, "written", "exec"), module.__dict__)
    return getattr(module, name)


def example() -> Any:
    made = Example()
    feature = made.features.feature
    feature["b"].int64_list.value.extend([1, -2, 1 << 62])
    feature["a"].float_list.value.extend([0.1, -3.0])
    feature["c"].bytes_list.value.append(b"\xff\0")
    feature["empty"].SetInParent()
    return made


def tree() -> Any:
    made = TREES["TreeEnsemble"](tree_weights=[0.25, 1.0])
    node = made.trees.add().nodes.add()
    node.bucketized_split.threshold = -7
    node.bucketized_split.left_id = 1
    node.metadata.original_leaf.SetInParent()
    node.metadata.gain = 0.1
    made.trees[0].nodes.add().leaf.scalar = 0
    made.growing_metadata.last_layer_node_end = 3
    return made


def graph() -> Any:
    with tf.Graph().as_default() as made:
        tf.add(tf.placeholder(tf.float32, [None, 2], "x"), 0.5, name="y")
    return made.as_graph_def()


@pytest.mark.parametrize("made", [example, tree, graph], ids=lambda make: make.__name__)
def test_bytes_of_the_library_come_back(made: Any) -> None:
    message = made()
    data = message.SerializeToString(deterministic=True)
    kind = plain(type(message))
    assert kind.FromString(data).SerializeToString() == data
    assert kind.FromString(data + b"\xf8\x7f\x05").SerializeToString() == data + b"\xf8\x7f\x05"


def test_what_is_set_is_what_the_library_sets() -> None:
    for kind in (TREES["Node"], plain(TREES["Node"])):
        node = kind()
        assert node.WhichOneof("node") is None
        assert node.leaf.scalar == 0 and not node.HasField("leaf")
        node.leaf.scalar = 0.1
        assert node.leaf.scalar == np.float32(0.1) and node.WhichOneof("node") == "leaf"
        node.categorical_split.SetInParent()
        assert node.WhichOneof("node") == "categorical_split" and not node.HasField("leaf")
        copy = kind()
        copy.CopyFrom(node)
        assert copy.WhichOneof("node") == "categorical_split"
        node.Clear()
        assert node.SerializeToString() == b""


@pytest.mark.parametrize("kind", [TensorProto, Example, AttrValue, GraphDef])
def test_bytes_that_are_no_message_are_refused(kind: Any) -> None:
    for data in (b"\xff", b"\x0a\x05a", b"\x00", b"\x0f"):
        with pytest.raises(DecodeError):
            kind.FromString(data)
        with pytest.raises(ValueError, match="Error parsing message"):
            plain(kind).FromString(data)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("sint64", -5), ("uint32", 7), ("float", 0.1), ("string", "ä"), ("bool", True)],
)
def test_fields_have_the_types_of_their_kinds(kind: str, value: Any) -> None:
    class Numbers(Message):
        by_name: Any = {
            "one": Field(1, "one", kind, False, False, False, "", None, ""),
            "many": Field(2, "many", kind, True, kind not in ("string",), False, "", None, ""),
        }  # fmt: skip

    made = Numbers(one=value, many=[value, value])
    back = Numbers.FromString(made.SerializeToString())
    assert back.one == made.one == pytest.approx(value)
    assert back.many == [pytest.approx(value)] * 2


@pytest.mark.parametrize("packed", [False, True])
def test_tensors_are_the_messages_that_sessions_write(packed: bool) -> None:
    values = {"string": np.array([[b"a", b"bcd"]], object), "int32": torch.arange(3)[:, None].int()}
    for name, value in values.items():
        dtype = dtypes.as_dtype(name)
        ours = plain_messages.to_message(value, dtype, packed)
        assert ours == variants.to_message(value, dtype, packed)
        back = variants.from_message(ours)
        assert back.shape == value.shape and (back == value).all()


def test_a_forest_is_part_of_a_model(tmp_path: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        handle = tf.raw_ops.BoostedTreesEnsembleResourceHandleOp(shared_name="t", container="")
        x = tf.placeholder(tf.int32, [None], "x")
        create = tf.raw_ops.BoostedTreesCreateEnsemble(
            tree_ensemble_handle=handle, stamp_token=np.int64(0),
            tree_ensemble_serialized=stump(),
        )  # fmt: skip
        y = tf.raw_ops.BoostedTreesPredict(
            tree_ensemble_handle=handle, bucketized_features=[x], logits_dimension=1
        )
        session.run(create)
        model = to_torch(session, [x], [y], str(tmp_path / "model"))
    assert model(torch.tensor([0, 1, 2], dtype=torch.int32)).tolist() == [[0.5], [0.5], [-0.25]]
    text = (tmp_path / "model" / "model.py").read_text()
    assert not any(f"import {name}" in text for name in ("google", "stillflow"))


def stump() -> bytes:
    made = TREES["TreeEnsemble"](tree_weights=[0.5])
    split = made.trees.add().nodes.add().bucketized_split
    split.threshold, split.left_id, split.right_id = 1, 1, 2
    for value in (1.0, -0.5):
        made.trees[0].nodes.add().leaf.scalar = value
    made.tree_metadata.add()
    data: bytes = made.SerializeToString()
    return data
