"""Operands that kernels refuse, in words of their own: their shapes are not known before."""

from __future__ import annotations

import numpy as np

from ..registry import Run, program


def refusals(tf, op, given, *changes, **attrs):
    """One node and run for each set of operands that `op` refuses, with the others as given."""
    runs = []
    for changed in changes:
        values = {**given, **changed}
        fed = {name: tf.placeholder(np.asarray(value).dtype) for name, value in values.items()}
        made = getattr(tf.raw_ops, op)(**fed, **attrs)
        first = made[0] if isinstance(made, (tuple, list)) else made
        feeds = {fed[name]: value for name, value in values.items()}
        runs.append(Run({"out": first}, feeds, fails=True))
    return runs


def zeros(*sizes):
    return np.zeros(sizes, np.float32)


SQUARE = np.float32([[2, 1], [1, 3]])
COLUMN = np.float32([[1], [2]])


@program
def square_matrices(tf):
    names = ("Lu", "MatrixDeterminant")  # what goes on after a refusal reads no other memory
    return [run for name in names
            for run in refusals(tf, name, {"input": SQUARE}, {"input": zeros(2, 3)})]


@program
def least_squares(tf):
    given = {"matrix": SQUARE, "rhs": COLUMN, "l2_regularizer": np.float64(0)}
    wrong = ({"l2_regularizer": np.float64([0])},
             {"l2_regularizer": np.float64(-1)}, {"matrix": zeros(2, 2)},
             {"matrix": zeros(2, 3)})
    return [*refusals(tf, "MatrixSolveLs", given, *wrong, fast=True),
            *refusals(tf, "MatrixSolveLs", given, wrong[1], fast=False)]


@program
def bands(tf):
    given = {"input": SQUARE, "num_lower": np.int64(1), "num_upper": np.int64(1)}
    wrong = ({"input": zeros(2)}, {"num_lower": np.int64([1])}, {"num_upper": np.int64([1])},
             {"num_lower": np.int64(5)})
    return refusals(tf, "MatrixBandPart", given, *wrong)


@program
def lengths_of_transforms(tf):
    real, spectrum = np.ones([2, 4], np.float32), np.ones([2, 4], np.complex64)
    wrong = ({"fft_length": np.int32([-1])}, {"fft_length": np.int32([8])})
    return [*refusals(tf, "RFFT", {"input": real, "fft_length": np.int32([4])}, *wrong),
            *refusals(tf, "IRFFT", {"input": spectrum, "fft_length": np.int32([4])}, *wrong),
            *refusals(tf, "FFT2D", {"input": spectrum}, {"input": spectrum[0]})]


@program
def nearly_equal_numbers(tf):
    given = {"x": zeros(3), "y": zeros(3)}
    return refusals(tf, "ApproximateEqual", given, {"y": zeros(3, 1)}, {"x": zeros(4)})


@program
def bounds(tf):
    given = {"t": zeros(2, 2), "clip_value_min": np.float32(0), "clip_value_max": np.float32(1)}
    return refusals(tf, "ClipByValue", given, {"clip_value_min": zeros(2)})
