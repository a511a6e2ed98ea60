"""Messages and enums answer as those of TensorFlow 1.15 do."""

from __future__ import annotations

import copy
import json
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from google.protobuf import descriptor_pool, text_format
from tests.protos import record

import stillflow.protos as protos
from stillflow.protos.other_files import distributed_file, serving_file

with open(record.RECORDED) as recorded:
    RECORDED = json.load(recorded)


def sample(name):
    path, message, text = record.CASES[name]
    return text_format.Parse(text, protos.file(path)[message]())


@pytest.mark.parametrize("name", record.CASES)
def test_bytes_and_text_mean_what_was_recorded(name):
    message, golden = sample(name), RECORDED["cases"][name]
    assert message.SerializeToString(deterministic=True).hex() == golden["bytes"]
    assert type(message).FromString(bytes.fromhex(golden["bytes"])) == message
    assert text_format.Parse(golden["text"], type(message)()) == message


def test_text_shows_map_entries_in_the_order_of_their_keys():
    keys = re.findall(r'key: "(.*)"', str(sample("map and oneof").node[0]))
    assert keys == ["_class", "dtype", "none", "ok", "value"]


@pytest.mark.parametrize("path", RECORDED["files"])
def test_file_declares_what_it_did(path):
    assert record.digest(protos.file(path)["DESCRIPTOR"]) == RECORDED["files"][path]


def test_no_file_is_left_out():
    # TensorFlow's C++ code has the last ones, its Python has no module of them.
    others = {
        "stillflow/cluster.proto",
        "tensorflow/contrib/boosted_trees/proto/quantiles.proto",
        "tensorflow/contrib/decision_trees/proto/generic_tree_model_extensions.proto",
    }
    assert set(protos.paths()) == {*RECORDED["files"], *others}


_SERVING = """
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from stillflow import protos
path = "tensorflow_serving/config/log_collector_config.proto"
logging = FileDescriptorProto(name="logging_config.proto", dependency=[path])
assert not protos.imported_by(logging) and path not in protos.paths()
"""


def test_files_of_tensorflow_serving_are_none_of_tensorflow():
    # In a process of its own: a server in this one would have added them.
    subprocess.run([sys.executable, "-c", _SERVING], check=True)


def test_names_are_found_without_their_file():
    from stillflow.protos import DT_FLOAT, AttrValue, DataType, GraphDef

    assert (DT_FLOAT, DataType.Name(DT_FLOAT)) == (1, "DT_FLOAT")
    assert protos.file("tensorflow/core/framework/graph.proto")["GraphDef"] is GraphDef
    assert AttrValue.ListValue(i=[1]).i == [1]
    assert "ConfigProto" in dir(protos)


def test_main_package_wins_where_a_short_name_is_declared_twice():
    assert protos.Event.DESCRIPTOR.full_name == "tensorflow.Event"
    assert protos.Code.DESCRIPTOR.full_name == "tensorflow.error.Code"


def test_descriptors_have_the_names_that_protoc_gave_them():
    names = protos.file("tensorflow/core/framework/attr_value.proto")
    assert names["_ATTRVALUE"] is protos.AttrValue.DESCRIPTOR
    assert names["_ATTRVALUE_LISTVALUE"] is protos.AttrValue.ListValue.DESCRIPTOR
    assert names["_NAMEATTRLIST_ATTRENTRY"].full_name == "tensorflow.NameAttrList.AttrEntry"
    assert protos.file("tensorflow/core/framework/types.proto")["_DATATYPE"].name == "DataType"


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="NoSuchMessage"):
        _ = protos.NoSuchMessage
    with pytest.raises(KeyError):
        protos.file("tensorflow/core/framework/nothing.proto")


def test_messages_compare_by_value_and_copy():
    first, second = sample("map and oneof"), sample("map and oneof")
    assert first == second
    second.node[0].attr["ok"].b = True
    assert first != second
    assert copy.deepcopy(first) == first
    first.CopyFrom(second)
    assert first == second
    assert first.node[0].attr["ok"].WhichOneof("value") == "b"


@pytest.mark.parametrize("name", record.CASES)
def test_messages_can_be_pickled(name):
    message = sample(name)
    again = pickle.loads(pickle.dumps(message))
    assert again == message and type(again) is type(message)


@pytest.mark.parametrize(
    "file, path, name",
    [
        (distributed_file, "tensorflow/core/protobuf/worker.proto", "RecvTensorRequest"),
        (serving_file, "tensorflow_serving/apis/predict.proto", "PredictRequest"),
    ],
)
def test_messages_of_servers_can_be_pickled(file, path, name):
    message = file(path)[name]()
    again = pickle.loads(pickle.dumps(message))
    assert type(again) is type(message) and again == message


def test_nested_messages_can_be_pickled():
    part = protos.AttrValue.ListValue(i=[3])
    assert pickle.loads(pickle.dumps(part)) == part


def test_default_pool_and_symbols_stay_untouched():
    protos.GraphDef()
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("tensorflow.GraphDef")


def test_any_holds_our_messages():
    meta = protos.MetaGraphDef()
    meta.meta_info_def.any_info.Pack(protos.SaverDef(max_to_keep=3))
    unpacked = protos.SaverDef()
    assert meta.meta_info_def.any_info.Unpack(unpacked)
    assert unpacked.max_to_keep == 3


@pytest.mark.parametrize(
    "value", [[True, False], (True, 0), [np.bool_(True), np.int64(0)], np.array([True, False])]
)
def test_truth_values_are_numbers_to_messages(value):
    assert list(protos.Int64List(value=value).value) == [1, 0]
    config = protos.ConfigProto(intra_op_parallelism_threads=value[0])
    assert config.intra_op_parallelism_threads == 1


def test_other_types_are_refused_where_numbers_belong():
    with pytest.raises(TypeError, match="float"):
        protos.Int64List(value=[True, 1.5])
    with pytest.raises(TypeError, match="str"):
        protos.Int64List(value=["1"])


def test_first_message_is_there_in_a_blink():
    code = """
import time, google.protobuf.text_format, google.protobuf.descriptor_pb2, google.protobuf.reflection
start = time.process_time()
from stillflow.protos import ConfigProto, GraphDef, MetaGraphDef
print(time.process_time() - start)
"""
    took = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3))
    assert took < 0.1
