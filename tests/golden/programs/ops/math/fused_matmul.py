"""Matrix products with what follows them in one operation, as optimized graphs have them."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

RANDOM = np.random.RandomState(7)
A = RANDOM.randn(3, 4).astype(np.float32)
B = RANDOM.randn(4, 5).astype(np.float32)
BIAS = np.array([0.5, -1.0, 4.0, 0.0, -0.25], np.float32)
RELU = [b"BiasAdd", b"Relu"]


def _fused(tf, fused, *given, **attrs):
    """Return the result of the operation, imported as nothing builds it by name."""
    graph = tf.compat.v1.GraphDef()
    graph.versions.producer = 134
    node = graph.node.add(name="product", op="_FusedMatMul")
    node.input.extend("given_%d" % number for number in range(len(given)))
    node.attr["T"].type = tf.float32.as_datatype_enum
    node.attr["num_args"].i = len(given) - 2
    node.attr["fused_ops"].list.s.extend(fused)
    for name, value in attrs.items():
        node.attr[name].b = value
    tensors = {
        "given_%d:0" % number: tf.convert_to_tensor(value) for number, value in enumerate(given)
    }
    return tf.import_graph_def(graph, tensors, ["product:0"], name="")[0]


@program
def patterns(tf):
    return Run(
        {
            "_".join(name.decode() for name in fused): _fused(tf, fused, A, B, BIAS)
            for fused in ([b"BiasAdd"], RELU, [b"BiasAdd", b"Relu6"], [b"BiasAdd", b"Elu"])
        }
    )


@program
def transposed(tf):
    return Run(
        {
            "a": _fused(tf, RELU, A.T.copy(), B, BIAS, transpose_a=True),
            "b": _fused(tf, RELU, A, B.T.copy(), BIAS, transpose_b=True),
            "both": _fused(
                tf, RELU, A.T.copy(), B.T.copy(), BIAS, transpose_a=True, transpose_b=True
            ),
        }
    )


@program
def of_any_size(tf):
    a = tf.compat.v1.placeholder(tf.float32, [None, 4])
    fused = _fused(tf, RELU, a, B, BIAS)
    return Run({"fused": fused, "more": fused + 1.0}, {a: A[:2]})


@program
def of_nothing(tf):
    return Run(
        {
            "no_rows": _fused(tf, RELU, A[:0], B, BIAS),
            "no_sums": _fused(tf, RELU, A[:, :0], B[:0], BIAS),
        }
    )


def _refused(tf, *given, **attrs):
    fused = attrs.pop("fused", RELU)
    return Run({"result": _fused(tf, fused, *given, **attrs)}, fails=True)


@program
def no_pattern(tf):
    return _refused(tf, A, B, BIAS, fused=[])


@program
def unknown_pattern(tf):
    return _refused(tf, A, B, BIAS, fused=[b"Relu", b"BiasAdd"])


@program
def two_biases(tf):
    return _refused(tf, A, B, BIAS, BIAS)


@program
def biases_of_two_dimensions(tf):
    return _refused(tf, A, B, BIAS[None])


@program
def sizes_that_differ(tf):
    found = raised(_fused, tf, RELU, A, A, BIAS)
    a = tf.compat.v1.placeholder(tf.float32)
    return Run(
        {"result": _fused(tf, RELU, a, B, BIAS)}, {a: A[:, :2]}, facts={"built": found}, fails=True
    )


@program
def no_gradient(tf):
    a = tf.constant(A)
    return Run({}, facts={"gradient": raised(tf.gradients, _fused(tf, RELU, a, B, BIAS), a)})
