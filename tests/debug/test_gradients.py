"""tf_debug.GradientsDebugger: gradients found by the tensors they belong to."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.debug import gradients
from stillflow.debug.dump_dir import DebugDumpDir
from stillflow.debug.watching import watch_graph


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph
    gradients.clear_gradient_debuggers()


@pytest.fixture
def product():
    """Return u (a variable), w = 3 u and y = w - 1."""
    u = tf.Variable(2.0, name="u")
    w = tf.multiply(u, 3.0, name="w")
    return u, w, tf.add(w, -1.0, name="y")


def test_a_tensor_passed_on_tells_its_gradient(graph, product):
    u, w, _ = product
    debugger = gradients.GradientsDebugger()
    loss = tf.square(debugger.identify_gradient(w))
    tf.gradients(loss, u)
    with tf.Session() as session:
        session.run(u.initializer)
        assert session.run(debugger.gradient_tensor(w)) == 12
    assert debugger.gradient_tensor("w:0") is debugger.gradient_tensors()["w:0"]
    assert debugger.graph is graph


def test_a_tensor_is_watched_once(product):
    debugger = gradients.GradientsDebugger()
    debugger.identify_gradient(product[1])
    with pytest.raises(ValueError, match="The graph already contains an op named w_0/gradient_d"):
        debugger.identify_gradient(product[1])


def test_what_is_built_already_takes_watched_tensors_through_identities(graph, product, tmp_path):
    u, w, y = product
    debugger = gradients.GradientsDebugger()
    with debugger.watch_gradients_by_tensors(graph, [u, w, y]):
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(y))
    assert y.op.inputs[0].op.type == "DebugGradientIdentity"
    takers = {op.type for op in u.op.outputs[0].consumers()}
    assert takers == {"DebugGradientRefIdentity", "ApplyGradientDescent"}
    options, metadata = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
    watch_graph(options, graph, debug_urls=f"file://{tmp_path}")
    with tf.Session() as session:
        session.run(u.initializer)
        session.run(train, options=options, run_metadata=metadata)
        assert session.run(u) == -1
    dump = DebugDumpDir(str(tmp_path), metadata.partition_graphs)
    dump.set_python_graph(graph)
    values = [gradients.gradient_values_from_dump(debugger, x, dump) for x in (u, "w:0")]
    assert values == [[30], [10]]
    with pytest.raises(LookupError, match="not received any gradient tensor for x-tensor v:0"):
        gradients.gradient_values_from_dump(debugger, "v:0", dump)
    dump.set_python_graph(tf.Graph())
    with pytest.raises(ValueError, match="differs from the graph of the DebugDumpDir object"):
        gradients.gradient_values_from_dump(debugger, u, dump)


def test_of_several_debuggers_that_in_use_is_told(graph, product):
    u, _, y = product
    first, second = gradients.GradientsDebugger(), gradients.GradientsDebugger(y)
    assert second.y_tensor is y and second.graph is graph
    losses = tf.square(first.identify_gradient(y)), tf.sqrt(second.identify_gradient(y))
    tf.gradients(losses[0], u)
    assert not first.gradient_tensors()
    for debugger, loss in zip((first, second), losses):
        with debugger:
            tf.gradients(loss, u)
    with tf.Session() as session:
        session.run(u.initializer)
        assert session.run(first.gradient_tensor(y)) == 10
        assert session.run(second.gradient_tensor(y)) == pytest.approx(0.5 * 5**-0.5)


def test_only_tensors_variables_and_names_have_gradients(product):
    debugger = gradients.GradientsDebugger()
    with pytest.raises(TypeError, match=r"x_tensor must be a str or tf\.Tensor or tf\.Variable"):
        debugger.gradient_tensor(product[0].initializer)


def test_gradients_of_two_graphs_are_too_many(product):
    debugger = gradients.GradientsDebugger(product[2])
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        loss = tf.square(debugger.identify_gradient(x))
        with pytest.raises(ValueError, match="is not the same as the graph"):
            tf.gradients(loss, x)
