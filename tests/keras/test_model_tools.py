"""Towers on GPUs, drawings of models, data sets of HDF5 files, kernels the other way round."""

import contextlib
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.devices.devices import pretend_gpus

X = np.linspace(-1, 1, 48, dtype="float32").reshape(12, 4)


@contextlib.contextmanager
def with_gpus():
    """Two GPUs that compute on the CPU."""
    with pretend_gpus(2), tf.Session():
        yield


def dense(units=3):
    return tf.keras.Sequential([tf.keras.layers.Dense(units, input_shape=(4,))])


@pytest.mark.parametrize("options", [{}, {"cpu_merge": False}])
def test_towers_give_what_the_model_gives(options):
    with with_gpus():
        model = dense()
        parallel = tf.keras.utils.multi_gpu_model(model, gpus=2, **options)
        assert parallel.weights == model.weights
        np.testing.assert_allclose(parallel.predict(X[:11]), model.predict(X[:11]), rtol=1e-5)


def test_towers_can_have_variables_of_their_own_on_the_cpu():
    with with_gpus():
        model = dense()
        parallel = tf.keras.utils.multi_gpu_model(model, gpus=[1, 0], cpu_relocation=True)
        assert {v.device for v in parallel.weights} == {"/device:CPU:0"}
        assert parallel.predict(X).shape == (12, 3)


@pytest.mark.parametrize(
    "gpus, text", [(1, "with `gpus >= 2`"), ([0], "with `len\\(gpus\\) >= 2`")]
)
def test_one_gpu_is_refused(gpus, text):
    with pytest.raises(ValueError, match=text):
        tf.keras.utils.multi_gpu_model(dense(), gpus)


def test_gpus_that_are_not_there_are_named():
    with pytest.raises(ValueError, match=r"available: \['/cpu:0', '/gpu:0', '/gpu:2'\]"):
        with with_gpus():
            tf.keras.utils.multi_gpu_model(dense(), [0, 2])


def test_drawing_needs_pydot(monkeypatch):
    for name in ("pydot", "pydot_ng", "pydotplus"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="You must install pydot and graphviz"):
        tf.keras.utils.plot_model(dense())


class Graph:
    """Stand-in for a graph of pydot in drawings."""

    def __init__(self, **options):
        self.options, self.nodes, self.edges, self.parts = options, [], [], []
        self.add_node, self.add_subgraph = self.nodes.append, self.parts.append
        self.set = self.options.__setitem__

    def create(self):
        return b""

    def set_node_defaults(self, **options):
        self.options["node"] = options

    def get_nodes(self):
        return self.nodes

    def add_edge(self, edge):
        self.edges.append(edge)

    def get_edge(self, start, end):
        return [edge for edge in self.edges if edge == (start, end)]

    def write(self, path, format):
        with open(path, "w") as file:
            file.write(format)


class Node:
    def __init__(self, name, label):
        self.name, self.label = name, label

    def get_name(self):
        return self.name


@pytest.fixture
def pydot(monkeypatch):
    library = SimpleNamespace(Dot=Graph, Cluster=Graph, Node=Node, Edge=lambda *ends: ends)
    monkeypatch.setitem(sys.modules, "pydot_ng", library)


def labelled(graph):
    """Nodes by label, and edges between labels, of a graph and its parts."""
    nodes = {node.name: node.label for part in (graph, *graph.parts) for node in part.nodes}
    return sorted(nodes.values()), [(nodes[a], nodes[b]) for a, b in graph.edges]


def nested():
    inner = tf.keras.Sequential(
        [tf.keras.layers.Dense(2, name="a", input_shape=(4,)), tf.keras.layers.ReLU(name="b")],
        name="inner",
    )
    x = tf.keras.Input((4,), name="x")
    return tf.keras.Model(x, tf.keras.layers.Dense(1, name="c")(inner(x)))


def test_drawing_of_layers(pydot):
    graph = tf.keras.utils.model_to_dot(nested())
    assert graph.options == {
        "rankdir": "TB", "concentrate": True, "dpi": 96, "node": {"shape": "record"},
    }  # fmt: skip
    labels, edges = labelled(graph)
    assert labels == ["c: Dense", "inner: Sequential", "x: InputLayer"]
    assert edges == [("x: InputLayer", "inner: Sequential"), ("inner: Sequential", "c: Dense")]


def test_drawing_of_a_model_in_a_model(pydot):
    graph = tf.keras.utils.model_to_dot(nested(), expand_nested=True)
    assert [part.options["label"] for part in graph.parts] == ["inner"]
    _, edges = labelled(graph)
    assert ("b: ReLU", "c: Dense") in edges
    assert edges[0][0] == "x: InputLayer"


def test_drawing_of_a_wrapped_model(pydot):
    x = tf.keras.Input((3, 4), name="x")
    inner = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(4,))], name="inner")
    model = tf.keras.Model(x, tf.keras.layers.TimeDistributed(inner, name="t")(x))
    labels, _ = labelled(tf.keras.utils.model_to_dot(model))
    assert labels == ["t(inner): TimeDistributed(Sequential)", "x: InputLayer"]
    graph = tf.keras.utils.model_to_dot(model, expand_nested=True, show_layer_names=False)
    labels, edges = labelled(graph)
    assert "TimeDistributed" in labels and ("InputLayer", "TimeDistributed") in edges


def test_drawing_with_shapes_in_a_file(pydot, tmp_path):
    graph = tf.keras.utils.model_to_dot(dense(), show_shapes=True, show_layer_names=False)
    assert labelled(graph)[0][0] == "Dense\n|{input:|output:}|{{(?, 4)}|{(?, 3)}}"
    tf.keras.utils.plot_model(dense(), str(tmp_path / "model.svg"))
    assert (tmp_path / "model.svg").read_text() == "svg"


def test_rows_of_a_file(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = str(tmp_path / "x.h5")
    with h5py.File(path, "w") as file:
        file["x"] = X
    rows = tf.keras.utils.HDF5Matrix(path, "x", start=2, end=10, normalizer=lambda x: x + 1)
    assert (len(rows), rows.shape, rows.ndim, rows.size) == (8, (8, 4), 2, 32)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows[1:3], X[3:5] + 1)
    np.testing.assert_array_equal(rows[7], X[9] + 1)
    np.testing.assert_array_equal(rows[[0, 5]], X[[2, 7]] + 1)
    np.testing.assert_array_equal(rows[np.array([0, 5])], X[[2, 7]] + 1)
    for outside in (8, slice(0, 9), [0, 8], np.array([8])):
        with pytest.raises(IndexError):
            rows[outside]
    model = dense(4)
    model.compile("sgd", "mse")
    target = tf.keras.utils.HDF5Matrix(path, "x", start=2, end=10)
    model.fit(rows, target, batch_size=4, shuffle="batch", verbose=0)
    assert model.predict(rows, batch_size=3).shape == (8, 4)


def test_kernels_the_other_way_round():
    layers = [tf.keras.layers.Conv2D(2, (2, 3), input_shape=(5, 5, 1)), tf.keras.layers.Dense(2)]
    model = tf.keras.Sequential(layers)
    before, dense_before = layers[0].get_weights()[0], layers[1].get_weights()[0]
    tf.keras.utils.convert_all_kernels_in_model(model)
    np.testing.assert_array_equal(layers[0].get_weights()[0], before[::-1, ::-1])
    np.testing.assert_array_equal(layers[1].get_weights()[0], dense_before)
