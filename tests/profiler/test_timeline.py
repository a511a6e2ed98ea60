"""Traces for the viewer of Chrome, and the devices of this process."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.first_device import cpu_alone

import stillflow as tf
from stillflow.platform.config import list_devices, list_local_devices
from stillflow.profiler.timeline import Timeline
from stillflow.protos import StepStats


@pytest.fixture(scope="module")
def stats():
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    config = tf.ConfigProto(device_count={"CPU": 2})
    with cpu_alone(), tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        product = tf.matmul(x, tf.ones([4, 2]), name="product")
        with tf.device("/cpu:1"):
            tf.nn.relu(product, name="out")
        session.run("out:0", {"x:0": np.ones([3, 4])}, options, metadata)
    return metadata.step_stats


def events(text):
    return json.loads(text)["traceEvents"]


def test_operations_are_regions_of_their_device(stats):
    found = events(Timeline(stats).generate_chrome_trace_format(show_dataflow=False))
    names = {event["pid"]: event["args"]["name"] for event in found if event["ph"] == "M"}
    regions = {event["args"]["name"]: event for event in found if event["ph"] == "X"}
    assert names[regions["product"]["pid"]].endswith("device:CPU:0 Compute")
    assert names[regions["out"]["pid"]].endswith("device:CPU:1 Compute")
    assert regions["out"]["args"] == {"name": "out", "op": "Relu", "input0": "product"}
    assert regions["out"]["ts"] >= regions["product"]["ts"] and regions["out"]["dur"] >= 1
    assert {event["ph"] for event in found} == {"M", "X"}


def test_arrows_lead_from_device_to_device(stats):
    found = events(Timeline(stats).generate_chrome_trace_format())
    start, end = (e for e in found if e["ph"] in "st" and e["name"] == "product")
    assert start["id"] == end["id"] and start["pid"] != end["pid"]


def test_memory_is_counted(stats):
    analysis = Timeline(stats).analyze_step_stats()
    found = events(analysis.chrome_trace.format_to_string())
    assert {"N", "O", "D", "C"} <= {event["ph"] for event in found}
    maximum = analysis.allocator_maximums["cpu"]
    assert maximum.num_bytes >= 3 * 2 * 4 and maximum.timestamp > 0 and maximum.tensors
    totals = [e["args"]["cpu"] for e in found if e["ph"] == "C"]
    assert max(totals) == maximum.num_bytes and totals[-1] == 0


def test_what_runs_at_once_has_rows_of_its_own():
    stats = StepStats()
    device = stats.dev_stats.add(device="/cpu:0")
    for name, start, length in (("a", 10, 5), ("b", 12, 5), ("c", 16, 1), ("RecvTensor", 30, 1)):
        label = "no label" if name == "RecvTensor" else f"{name} = Op()"
        device.node_stats.add(
            node_name=name, all_start_micros=start, all_end_rel_micros=length, timeline_label=label
        )
    stats.dev_stats.add(device="/gpu:0/stream:all").node_stats.add(node_name="k:Mul")
    found = events(Timeline(stats).generate_chrome_trace_format())
    rows = {event["args"]["name"]: event["tid"] for event in found if event["ph"] == "X"}
    assert (rows["a"], rows["b"], rows["c"]) == (0, 1, 0)
    ops = {event["args"]["name"]: event["name"] for event in found if event["ph"] == "X"}
    assert (ops["RecvTensor"], ops["k"]) == ("RecvTensor", "Mul")


def test_devices_are_listed():
    first = list_local_devices(tf.ConfigProto(device_count={"CPU": 2}))[:2]
    assert [device.name for device in first] == ["/device:CPU:0", "/device:CPU:1"]
    assert first[0].device_type == "CPU" and first[0].memory_limit > 0
    assert list_devices()[0] == "/job:localhost/replica:0/task:0/device:CPU:0"
