"""Watches, the dumps that runs write, and their readers."""

from __future__ import annotations

import os

import numpy as np
import pytest

import stillflow as tf
from stillflow.debug.dump_dir import DebugDumpDir, WatchKeyDoesNotExistInDebugDumpDirError
from stillflow.debug.dumped_graph import reconstruct_non_debug_graph_def
from stillflow.debug.tensor_dump import DebugTensorDatum, has_inf_or_nan
from stillflow.debug.watching import add_debug_tensor_watch, watch_graph
from stillflow.debug.watching import watch_graph_with_blacklists as watch_others
from stillflow.protos import GraphDef

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


@pytest.fixture
def loss():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        with tf.variable_scope("net"):
            w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
            y = tf.matmul(x, w, name="y")
        yield tf.reduce_sum(tf.log(y), name="loss")


def dumped(loss, folder, **watch):
    options = tf.RunOptions()
    watch_graph(options, loss.graph, debug_urls=f"file://{folder}", **watch)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(loss, {"x:0": [[1, 2, 3], [0, 0, 0]]}, options=options)
    return DebugDumpDir(str(folder))


# ---- watches


def watched(options):
    return [(w.node_name, w.output_slot) for w in options.debug_options.debug_tensor_watch_opts]


def test_all_tensors_are_watched_if_no_pattern_is_given(loss) -> None:
    options = tf.RunOptions()
    watch_graph(options, loss.graph, debug_urls=["file:///tmp/q"])
    every = [(t.op.name, t.value_index) for op in loss.graph.get_operations() for t in op.outputs]
    assert watched(options) == [*every, ("*", -1)]


def test_patterns_must_all_match(loss) -> None:
    options = tf.RunOptions()
    watch_graph(
        options, loss.graph, ["DebugIdentity", "DebugNanCount"], "file:///tmp/q",
        node_name_regex_whitelist="net.*", op_type_regex_whitelist="Variable|MatMul",
        tensor_dtype_regex_whitelist="float32$",
    )  # fmt: skip
    (watch,) = options.debug_options.debug_tensor_watch_opts
    assert (watch.node_name, list(watch.debug_ops)) == ("net/y", ["DebugIdentity", "DebugNanCount"])


def test_blacklists_leave_out_what_matches_any(loss) -> None:
    options = tf.RunOptions()
    watch_others(
        options, loss.graph, debug_urls="file:///q", node_name_regex_blacklist="net.*",
        op_type_regex_blacklist="Const|Log",
    )  # fmt: skip
    assert watched(options) == [("x", 0), ("loss", 0)]


def test_watches_need_a_place(loss) -> None:
    with pytest.raises(ValueError, match="debug_urls must not be empty or None"):
        watch_graph(tf.RunOptions(), loss.graph)


# ---- dumps


def test_a_run_writes_every_tensor(loss, tmp_path) -> None:
    dump = dumped(loss, tmp_path)
    names = [datum.tensor_name for datum in dump.dumped_tensor_data]
    assert set(names) == {"x:0", "net/w:0", "net/w/read:0", "net/y:0", "Const:0", "Log:0", "loss:0"}
    assert names.index("net/y:0") < names.index("Log:0") < names.index("loss:0")
    assert dump.size == len(names)
    np.testing.assert_array_equal(
        dump.get_tensors("net/y", 0, "DebugIdentity")[0], [[6, 6], [0, 0]]
    )
    assert dump.get_tensors("loss", 0, "DebugIdentity")[0] == -np.inf


def test_files_are_laid_out_as_the_debugger_expects(loss, tmp_path, cpu) -> None:
    dump = dumped(loss, tmp_path, node_name_regex_whitelist="net/y")
    (datum,) = dump.dumped_tensor_data
    device = "_tfdbg_device_,job_localhost,replica_0,task_0,device_CPU_0"
    (path,) = dump.get_tensor_file_paths("net/y", 0, "DebugIdentity")
    assert os.path.relpath(path, tmp_path) == os.path.join(
        device, "net", f"y_0_DebugIdentity_{datum.timestamp}"
    )
    assert datum.device_name == CPU
    assert datum.watch_key == "net/y:0:DebugIdentity"
    assert datum.dump_size_bytes == os.path.getsize(path)


def test_the_run_is_described(loss, tmp_path) -> None:
    core = dumped(loss, tmp_path).core_metadata
    assert core.input_names == ["x:0"]
    assert core.output_names == ["loss:0"]
    assert core.target_nodes == []


def test_the_graph_can_be_asked(loss, tmp_path, cpu) -> None:
    dump = dumped(loss, tmp_path)
    assert dump.devices() == [CPU]
    assert dump.node_inputs("net/y") == ["x", "net/w/read"]
    assert dump.node_recipients("net/y") == ["Log"]
    assert dump.node_op_type("Log") == "Log"
    assert set(dump.transitive_inputs("loss")) == {"Log", "net/y", "x", "net/w/read", "net/w",
                                                  "Const"}  # fmt: skip
    assert dump.find_some_path("x", "loss") == ["x", "net/y", "Log", "loss"]
    assert dump.find_some_path("loss", "x") is None
    assert dump.debug_watch_keys("Log") == ["Log:0:DebugIdentity"]
    with pytest.raises(LookupError, match="Python graph is not available"):
        dump.node_traceback("Log")
    dump.set_python_graph(loss.graph)
    assert any(frame[0] == __file__ for frame in dump.node_traceback("Log"))
    with pytest.raises(ValueError, match="has a node named 'nope'"):
        dump.node_inputs("nope")
    with pytest.raises(WatchKeyDoesNotExistInDebugDumpDirError):
        dump.get_tensors("nope", 0, "DebugIdentity")


def test_filters_find_tensors(loss, tmp_path) -> None:
    dump = dumped(loss, tmp_path)
    assert [str(d).split()[0] for d in dump.find(has_inf_or_nan)] == ["Log:0", "loss:0"]
    assert len(dump.find(has_inf_or_nan, first_n=1)) == 1
    assert len(dump.find(has_inf_or_nan, exclude_node_names="L.*")) == 1


def test_loops_are_dumped_in_every_iteration(tmp_path) -> None:
    with tf.Graph().as_default() as graph:
        last = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
        options = tf.RunOptions()
        watch_graph(options, graph, debug_urls=f"file://{tmp_path}")
        with tf.Session() as sess:
            assert sess.run(last, options=options) == 3
    found = DebugDumpDir(str(tmp_path)).get_tensors("while/add", 0, "DebugIdentity")
    assert [int(value) for value in found] == [1, 2, 3]


def test_a_run_that_fails_leaves_what_came_before(tmp_path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        product = tf.matmul(tf.identity(x, name="same"), x)
        options = tf.RunOptions()
        watch_graph(options, graph, debug_urls=f"file://{tmp_path}")
        with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(product, {x: [[1, 2]]}, options=options)
    assert DebugDumpDir(str(tmp_path)).debug_watch_keys("same") == ["same:0:DebugIdentity"]


def test_the_random_state_goes_on_as_in_other_runs(tmp_path) -> None:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        value = tf.random_normal([2], seed=3)
        options = tf.RunOptions()
        watch_graph(options, graph, debug_urls=f"file://{tmp_path}")
        with tf.Session() as sess:
            plain = [sess.run(value), sess.run(value)]
        with tf.Session() as sess:
            mixed = [sess.run(value, options=options), sess.run(value)]
    np.testing.assert_array_equal(plain, mixed)


@pytest.mark.parametrize(
    ("debug_op", "url", "error"),
    [("Foo", "file:///tmp/q", tf.errors.FailedPreconditionError),
     ("DebugIdentity", "grpc://localhost:6000", tf.errors.UnimplementedError)],
)  # fmt: skip
def test_what_cannot_be_recorded_is_refused(loss, debug_op, url, error) -> None:
    options = tf.RunOptions()
    add_debug_tensor_watch(options, "Const", 0, debug_op, url)
    with tf.Session() as sess, pytest.raises(error):
        sess.run("Const:0", options=options)


def test_unknown_debug_ops_can_be_tolerated(loss, tmp_path) -> None:
    options = tf.RunOptions()
    add_debug_tensor_watch(options, "Const", 0, ["Foo", "DebugIdentity"], f"file://{tmp_path}",
                           tolerate_debug_op_creation_failures=True)  # fmt: skip
    with tf.Session() as sess:
        sess.run("Const:0", options=options)
    assert DebugDumpDir(str(tmp_path)).debug_watch_keys("Const") == ["Const:0:DebugIdentity"]


# ---- folders that are not as they should be


def test_a_folder_must_be_there(tmp_path) -> None:
    with pytest.raises(OSError, match="does not exist"):
        DebugDumpDir(str(tmp_path / "none"))
    assert DebugDumpDir(str(tmp_path)).size == 0


def test_names_of_files_are_checked() -> None:
    with pytest.raises(ValueError, match="naming"):
        DebugTensorDatum("/tmp", "_tfdbg_device_,job_localhost/file.txt")


def test_an_input_dumped_after_its_recipient_is_refused(loss, tmp_path) -> None:
    (path,) = dumped(loss, tmp_path).get_tensor_file_paths("Log", 0, "DebugIdentity")
    os.rename(path, path[: path.rindex("_")] + "_9999999999999999")
    with pytest.raises(ValueError, match="Causality violated"):
        DebugDumpDir(str(tmp_path))
    assert DebugDumpDir(str(tmp_path), validate=False).size == 7


def test_a_dump_of_no_node_is_refused(loss, tmp_path) -> None:
    (path,) = dumped(loss, tmp_path).get_tensor_file_paths("Log", 0, "DebugIdentity")
    os.rename(path, path.replace("Log_", "Exp_"))
    with pytest.raises(ValueError, match="Node name 'Exp' is not found"):
        DebugDumpDir(str(tmp_path))


def test_the_debuggers_own_nodes_are_taken_out_of_graphs() -> None:
    graph = GraphDef()
    graph.node.add(name="a", op="Const")
    graph.node.add(name="__copy_a_0", op="Copy", input=["a"])
    graph.node.add(name="__dbg_a:0_0_DebugIdentity", op="DebugIdentity", input=["__copy_a_0"])
    graph.node.add(name="b", op="Neg", input=["__copy_a_0", "^__dbg_a:0_0_DebugIdentity"])
    plain = reconstruct_non_debug_graph_def(graph)
    assert [(node.name, list(node.input)) for node in plain.node] == [("a", []), ("b", ["a"])]


@pytest.mark.parametrize(
    ("value", "bad"),
    [(np.array([1.0, np.inf]), True), (np.array(np.nan), True), (np.array([1.0]), False),
     (np.array([1]), False), (np.array([b"nan"], object), False), (np.array([1j * np.nan]), True),
     (None, False)],
)  # fmt: skip
def test_infinite_and_undefined_numbers_are_told(value, bad) -> None:
    assert has_inf_or_nan(None, value) is bad
