"""tf.keras.applications: the networks that TensorFlow 1.15.5 builds."""

from __future__ import annotations

import hashlib
import sys

import numpy as np
import pytest

import stillflow as tf

pytest.importorskip("keras_applications", reason="asks for h5py: no wheels for Python 3.15")

applications = tf.keras.applications


def fingerprint(texts):
    return hashlib.md5("|".join(texts).encode()).hexdigest()


# Parameters, layers, nodes of the graph; layers with their shapes, and variables.
NETWORKS = {
    "VGG16": (14714688, 19, 292,
              "2574df83cd0aefd8c769e7e99f327ae8", "741ce66bc6e9b01fdbf34eac622e030a"),
    "MobileNet": (3228864, 87, 2237,
                  "2fc5200dab4b2a535b5ca952b813b370", "7291589dafbedc518a83ecf7bcf06b53"),
    "ResNet50V2": (23564800, 190, 4325,
                   "ff8ba928073dbe1a37cfcd916c6879b5", "5c68322cbc4450a4a2679e4205ea3ffb"),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_those_of_tensorflow(name):
    with tf.Graph().as_default() as graph:
        model = getattr(applications, name)(
            weights=None, input_shape=(64, 64, 3), include_top=False
        )
        layers = fingerprint(layer.name + str(layer.output_shape) for layer in model.layers)
        variables = fingerprint(variable.name for variable in model.weights)
        nodes = len(graph.as_graph_def().node)
    counts = (model.count_params(), len(model.layers), nodes)
    assert (*counts, layers, variables) == NETWORKS[name]


def test_a_network_answers():
    rng = np.random.RandomState(0)
    with tf.Graph().as_default(), tf.Session():
        model = applications.MobileNet(weights=None, input_shape=(64, 64, 3), include_top=False)
        shapes = [weights.shape for weights in model.get_weights()]
        model.set_weights([np.abs(rng.randn(*shape)).astype("f") * 0.02 for shape in shapes])
        answer = model.predict(rng.rand(1, 64, 64, 3))
    np.testing.assert_allclose(np.abs(answer).sum(), 205.2, rtol=1e-3)


@pytest.mark.parametrize(
    "module, expected",
    [
        ("vgg16", [96.061, 83.221, 76.32]),
        ("resnet50", [96.061, 83.221, 76.32]),
        ("mobilenet", [0.5686274509803921] * 3),
        ("densenet", [1.3070468362017296, 1.4656862745098038, 1.6813943355119823]),
    ],
)
def test_pictures_are_prepared_as_each_network_wants_them(module, expected):
    prepared = getattr(applications, module).preprocess_input(np.full([1, 1, 1, 3], 200.0))
    np.testing.assert_allclose(prepared.ravel(), expected)


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras_applications.vgg16", None)
    with pytest.raises(ImportError, match=r"VGG16 needs keras-applications: pip install"):
        applications.VGG16(weights=None)
