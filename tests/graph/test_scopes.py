"""Scopes: what threads share, nesting, attributes."""

from __future__ import annotations

import contextlib
import threading

import pytest

import stillflow as tf


def in_threads(count, work):
    """Run `work(index, meet)` in threads; all pass `meet()` before any goes on."""
    barrier = threading.Barrier(count)
    found = [None] * count

    def run(index):
        found[index] = work(index, lambda: barrier.wait(timeout=10))

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_name_scopes_belong_to_threads():
    graph = tf.Graph()

    def work(index, meet):
        with graph.name_scope(f"scope{index}"):
            meet()
            return graph.unique_name("a")

    assert in_threads(3, work) == ["scope0/a", "scope1/a", "scope2/a"]
    assert graph.get_name_scope() == ""


def test_other_scopes_belong_to_threads_after_a_switch():
    graph = tf.Graph()
    with graph.as_default():
        sources = [tf.constant(i, name=f"source{i}") for i in range(3)]
    with graph.device("/job:worker"):
        graph.switch_to_thread_local()

        def work(index, meet):
            source = sources[index]
            with graph.device(f"/task:{index}"), graph.control_dependencies([source]):
                meet()
                op = graph.create_op("NoOp", [], [], name=f"made{index}")
            with graph.colocate_with(source):
                meet()
                near = graph.create_op("NoOp", [], [], name=f"near{index}")
            return op.device, op.control_inputs, near.colocation_groups()

        for index, found in enumerate(in_threads(3, work)):
            groups = [f"loc:@source{index}".encode()]
            assert found == (f"/job:worker/task:{index}", [sources[index].op], groups)


def test_device_scopes_are_left_in_order():
    graph = tf.Graph()
    outer = graph.device("/cpu:0")
    outer.__enter__()
    with graph.device("/cpu:1"), pytest.raises(RuntimeError, match="proper scope nesting"):
        outer.__exit__(None, None, None)


def test_init_scope_keeps_the_devices():
    graph = tf.Graph()
    with graph.as_default(), tf.device("/cpu:0"):
        function = tf.Graph()
        function._building_function = True
        with function.as_default():
            with tf.device("/cpu:1"), tf.init_scope():
                inner = tf.constant(1)
            with tf.init_scope():
                outer = tf.constant(1)
    assert (inner.device, outer.device) == ("/device:CPU:1", "/device:CPU:0")
    assert inner.graph is outer.graph is graph


def test_attribute_scopes_take_messages_and_nest():
    from stillflow.protos import AttrValue

    graph = tf.Graph()
    with graph.as_default(), graph._attr_scope({"_a": AttrValue(s=b"x")}):
        with graph._attr_scope({"_a": None, "_b": AttrValue(i=3)}):
            inner = tf.no_op()
        outer = tf.no_op()
    assert inner.get_attr("_b") == 3 and outer.get_attr("_a") == b"x"
    with pytest.raises(ValueError, match="has no attr named '_a'"):
        inner.get_attr("_a")


def test_every_thread_has_a_default_graph_of_its_own():
    mine = tf.get_default_graph()

    def work(index, meet):
        before = tf.get_default_graph()
        tf.constant(index, name="there")
        meet()
        names = [op.name for op in tf.get_default_graph().get_operations()]
        with mine.as_default():
            inside = tf.get_default_graph()
        tf.reset_default_graph()
        return before, names, inside, tf.get_default_graph()

    found = in_threads(2, work)
    assert [names for _, names, _, _ in found] == [["there"]] * 2
    assert all(inside is mine for _, _, inside, _ in found)
    graphs = {graph for before, _, _, after in found for graph in (before, after)}
    assert len(graphs | {mine}) == 5
    assert tf.get_default_graph() is mine


def test_device_functions_apply_to_what_stands_in_for_an_operation():
    class Probe:
        device = None

        def _set_device_from_string(self, device):
            self.device = device

    def found(*scopes):
        probe, graph = Probe(), tf.Graph()
        with contextlib.ExitStack() as stack:
            for scope in scopes:
                stack.enter_context(graph.device(scope))
            graph._apply_device_functions(probe)
        return probe.device

    assert found() is None
    assert found(None) is None
    assert found("/job:b/task:1", "/gpu:0") == "/job:b/task:1/device:GPU:0"
    assert found("/job:b/task:1", lambda op: "/cpu:0") == "/job:b/task:1/device:CPU:0"
    assert found("/job:b", lambda op: tf.DeviceSpec(task=2)) == "/job:b/task:2"
