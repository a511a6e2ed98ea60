"""Results of kernels for non-finite numbers."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

NAN, INF = float("nan"), float("inf")


def results(tf, op, *given, **attrs):
    """One run for each set of operands, of which every output is fetched."""
    runs = []
    for operands in given:
        made = getattr(tf.raw_ops, op)(**{k: tf.constant(v) for k, v in operands.items()}, **attrs)
        outputs = made if isinstance(made, (tuple, list)) else [made]
        runs.append(Run({f"output_{i}": output for i, output in enumerate(outputs)}))
    return runs


MATRICES = np.float64([
    [[2, 1], [1, 3]], [[NAN, 1], [2, 3]], [[2, 1], [1, NAN]], [[INF, 1], [1, 3]],
])  # fmt: skip


@program
def determinants(tf):
    return [*results(tf, "MatrixDeterminant", {"input": MATRICES}),
            *results(tf, "LogMatrixDeterminant", {"input": MATRICES})]


@program
def factors(tf):
    return results(tf, "Cholesky", {"input": MATRICES})


@program
def singular_values(tf):
    return [Run({"s": tf.raw_ops.Svd(input=MATRICES, compute_uv=False)[0]})]


@program
def what_is_not_computed(tf):
    made = tf.raw_ops.Svd(input=MATRICES[:1], compute_uv=False)
    values = tf.raw_ops.SelfAdjointEigV2(input=MATRICES[:1], compute_v=False)
    return Run({"u": tf.shape(made.u), "v": tf.shape(made.v), "vectors": tf.shape(values.v),
                "s": made.s, "e": values.e})


@program
def least_squares(tf):
    given = {"matrix": MATRICES, "rhs": np.ones([4, 2, 1])}
    return results(tf, "MatrixSolveLs", {**given, "l2_regularizer": np.float64(0.5)}, fast=True)


@program
def matrices_without_inverse(tf):
    """Invert matrices: a first pivot of NaN raises an error; others do not."""
    return [Run({"inverse": tf.matrix_inverse(tf.constant(MATRICES[1]))}, fails=True),
            Run({"inverse": tf.matrix_inverse(tf.constant(MATRICES[2]))}),
            Run({"solved": tf.matrix_solve(tf.constant(MATRICES[1]), np.eye(2))}, fails=True),
            Run({"solved": tf.matrix_solve(tf.constant(MATRICES[2]), np.eye(2))}),
            Run({"values": tf.self_adjoint_eigvals(tf.constant(MATRICES[2]))}, fails=True),
            Run({"values": tf.self_adjoint_eigvals(tf.constant(MATRICES[3]))})]


@program
def bounds_that_are_no_numbers(tf):
    t = np.float32([-3, 0.5, 2, 9, NAN])
    return results(
        tf, "ClipByValue",
        *[{"t": t, "clip_value_min": np.float32(low), "clip_value_max": np.float32(high)}
          for low, high in ((-1, NAN), (NAN, 3), (NAN, NAN))])


@program
def differences_as_large_as_the_tolerance(tf):
    given = {"x": np.float32([1, 2, INF, NAN]), "y": np.float32([1.5, 2.6, INF, NAN])}
    return results(tf, "ApproximateEqual", given, tolerance=0.5)


@program
def slopes_of_other_shapes(tf):
    """Use as many elements of dy, in their order, as y has."""
    y, dy = np.float32([[0.25, 0.5], [0.75, 1]]), np.float32([[1, 2, 3], [4, 5, 6]])
    names = ("TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "InvGrad", "ReciprocalGrad")
    shaped = [{"y": y, "dy": dy}, {"y": y[0], "dy": dy[:, :1, None]}]
    return [run for name in names for run in results(tf, name, *shaped)]


@program
def weights_without_numbers(tf):
    given = {"arr": np.int32([]), "size": np.int32(3), "weights": np.float32([1, 2])}
    more = {"arr": np.int32([1, 1]), "size": np.int32(3), "weights": np.float32([1, 2, 4])}
    return results(tf, "Bincount", given, more)


@program
def sounds_of_many_channels(tf):
    """Windows go on from one channel into the next."""
    sound = np.sin(np.arange(60, dtype=np.float32)).reshape(30, 2)
    return [run for size, stride in ((6, 4), (8, 30), (10, 10))
            for run in results(tf, "AudioSpectrogram", {"input": sound}, window_size=size,
                               stride=stride)]


@program
def ranges_of_one_element(tf):
    values = np.linspace(-2, 2, 6, dtype=np.float32)
    given = {"inputs": tf.constant(values), "min": tf.placeholder(tf.float32),
             "max": tf.placeholder(tf.float32)}
    made = tf.raw_ops.FakeQuantWithMinMaxVars(**given)
    return Run({"out": made}, {given["min"]: [-1.0], given["max"]: [[1.5]]})


@program
def sums_of_infinite_complex_numbers(tf):
    x = np.complex128([1.5, complex(-np.inf, 0), complex(0, np.inf), complex(np.nan, 1)])
    given = ({"x": x, "y": x[::-1].copy()}, {"x": x[None], "y": x[:, None]})
    return [run for name in ("AddV2", "Sub") for run in results(tf, name, *given)]


@program
def extremes_of_segments(tf):
    """Segments that are sorted pass over NaN, others keep what follows the last one."""
    runs = []
    columns = ([NAN, 3, -1], [3, NAN, -1], [3, -1, NAN], [NAN, NAN, NAN], [INF, NAN, 2],
               [-INF, NAN, NAN], [NAN, INF, INF], [1, 2, 3])  # fmt: skip
    data = np.concatenate([np.float32(columns).T, np.float32([[NAN] * 4 + [INF] * 4])])
    for kind in (np.float32, np.float64, np.float16):
        given = {"data": data.astype(kind), "segment_ids": np.int32([0, 0, 0, 1])}
        for name in ("SegmentMin", "SegmentMax"):
            runs += results(tf, name, given)
            runs += results(tf, "Unsorted" + name, {**given, "num_segments": np.int32(3)})
    return runs


@program
def glimpses(tf):
    image = np.arange(1, 33, dtype=np.float32).reshape(2, 4, 4, 1)
    runs = []
    for offsets in ([[0, NAN], [-1, -1]], [[INF, 0], [0, 0]], [[0, -INF], [NAN, 0]]):
        given = {"input": image, "size": np.int32([2, 3]), "offsets": np.float32(offsets)}
        for centered in (True, False):
            how = {"centered": centered, "normalized": centered, "noise": "zero"}
            runs += results(tf, "ExtractGlimpse", given, uniform_noise=False, **how)
    return runs


@program
def bands_without_bins(tf):
    spectrogram = np.full([1, 2, 65], 2, np.float32)
    how = {"upper_frequency_limit": 7000.0, "filterbank_channel_count": 10}
    rates = [{"spectrogram": spectrogram, "sample_rate": np.int32(r)} for r in (1, 1000, 16000)]
    return results(tf, "Mfcc", *rates, dct_coefficient_count=3, **how)
