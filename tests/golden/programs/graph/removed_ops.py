"""Operations that graphs of today must not have: what is said of them, and old graphs that do."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, eagerly, program, raised

MATRIX = np.float32([[2, 1], [1, 3]])
PICTURE = np.zeros([1, 2, 2, 1], np.float32)
VOLUME = np.zeros([1, 2, 2, 2, 1], np.float32)
NORMALIZED = {"t": PICTURE, "m": [0.0], "v": [1.0], "gamma": [1.0]}
HOW = {"variance_epsilon": 0.5, "scale_after_normalization": True}
CONVOLVED = {"input": VOLUME, "filter": VOLUME, "out_backprop": VOLUME,
             "strides": [1] * 5, "padding": "SAME"}  # fmt: skip
CALLS = {
    "AdjustContrast": {"images": PICTURE, "contrast_factor": 1.0,
                       "min_value": 0.0, "max_value": 1.0},
    "AudioSummary": {"tag": "a", "tensor": MATRIX, "sample_rate": 8.0},
    "TileGrad": {"input": [1.0, 2.0], "multiples": [2]},
    "TopK": {"input": [1.0, 2.0], "k": 1},
    "RandomCrop": {"image": PICTURE[0], "size": [1, 1]},
    "BatchNormWithGlobalNormalization": dict(NORMALIZED, beta=[0.0], **HOW),
    "BatchNormWithGlobalNormalizationGrad": dict(NORMALIZED, backprop=PICTURE, **HOW),
    "Conv3DBackpropFilter": CONVOLVED,
    "Conv3DBackpropInput": CONVOLVED,
    "BatchMatrixSolve": {"matrix": MATRIX, "rhs": MATRIX},
    "BatchMatrixBandPart": {"input": MATRIX, "num_lower": 0, "num_upper": 0},
    "QuantizeAndDequantize": {"input": [1.0]},
    "PlaceholderV2": {"dtype": "float32", "shape": [1]},
    "RandomPoisson": {"shape": [1], "rate": 1.0},
    "IdentityReader": {},
    "TensorArrayV2": {"size": 1, "dtype": "float32"},
    **{name: {"input": MATRIX} for name in (
        "BatchCholesky", "BatchMatrixDeterminant", "BatchMatrixDiagPart", "BatchMatrixInverse",
        "BatchSelfAdjointEig", "BatchSelfAdjointEigV2", "BatchSvd", "MatrixExponential",
        "SelfAdjointEig")},
    **{name: {"input": MATRIX.astype(np.complex64)} for name in (
        "BatchFFT", "BatchFFT2D", "BatchFFT3D", "BatchIFFT", "BatchIFFT2D", "BatchIFFT3D")},
}  # fmt: skip


@program
def refused_in_graphs(tf):
    def body():
        return tf.raw_ops.TopK(input=[1.0, 2.0], k=1)

    told = {name: raised(getattr(tf.raw_ops, name), **given) for name, given in CALLS.items()}
    told["in a function"] = raised(tf.function(body, autograph=False))
    graph = tf.get_default_graph()
    k = tf.AttrValue(i=1)
    told["create_op"] = raised(
        graph.create_op, "TopK", [tf.constant([1.0])], [tf.float32, tf.int32], attrs={"k": k}
    )
    return Run(facts=told)


@program
def refused_at_once(tf):
    others = ("IdentityReader", "TileGrad", "TensorArrayV2", "BatchFFT", "BatchFFT2D",
              "BatchFFT3D", "BatchIFFT", "BatchIFFT2D", "BatchIFFT3D")  # fmt: skip

    def compute(tf):
        return {
            name: raised(getattr(tf.raw_ops, name), **given)
            for name, given in CALLS.items() if name not in others
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def graphs_with_something_old(tf):
    old = tf.GraphDef()
    old.versions.producer = 6
    node = old.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    (x,) = tf.import_graph_def(old, return_elements=["x:0"], name="old")
    best = tf.raw_ops.TopK(input=x, k=2)
    told = {
        "older": raised(tf.raw_ops.TileGrad, input=x, multiples=[1]),
        "version": tf.get_default_graph().graph_def_versions.producer,
    }
    fetches = {"values": best.values, "indices": best.indices}
    return Run(fetches, {x: [3.0, 1.0, 4.0]}, facts=told)
