"""Lines of LibSVM's files."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, internal_module, program

LINES = np.array([["1 1:3.5 4:2", " 0\t"], ["-2  0:1e2", "7 2:-1 2:inf\v3:.5 "]])


def _decoded(tf, content, num_features=5, **types):
    libsvm = internal_module(tf, "contrib.libsvm", "contrib.libsvm")
    features, labels = libsvm.decode_libsvm(content, num_features, **types)
    return {"features": features, "labels": labels}


@program
def shapes(tf):
    return Run({
        "square": _decoded(tf, tf.constant(LINES)),
        "row": _decoded(tf, LINES[0]),
        "unknown": _decoded(tf, tf.placeholder_with_default(LINES, None)),
        "nothing": _decoded(tf, tf.constant([], tf.string)),
    })


@program
def types(tf):
    lines = tf.constant(["+3 0:1 2:-7", "9 1:2147483647"])
    return Run({
        name: _decoded(tf, lines[:rows], dtype=getattr(tf, name), label_dtype=getattr(tf, label))
        for rows, name, label in ((2, "float32", "float32"), (2, "float64", "float64"),
                                  (2, "int64", "float32"), (2, "int32", "float64"))
    })


@program
def many_numbers(tf):
    lines = [" ".join([str(row)] + [f"{k}:{(k + 1) / (row + 3)!r}" for k in range(row)])
             for row in range(12)]
    return Run(_decoded(tf, tf.constant(lines), 12, dtype=tf.float64))


def _fails(name, line, **types):
    def refused(tf):
        return Run(_decoded(tf, tf.constant(["1 1:1", line]), **types), fails=True)

    refused.__name__, refused.__module__ = name, __name__
    return program(refused)


no_label = _fails("no_label", " \t")
no_colon = _fails("no_colon", "1 2:3 45")
label_no_number = _fails("label_no_number", "one 2:3")
label_fraction = _fails("label_fraction", "1.5 2:3")
label_plus = _fails("label_plus", "+1 2:3")
number_negative = _fails("number_negative", "1 -2:3")
number_fraction = _fails("number_fraction", "1 2.0:3")
value_missing = _fails("value_missing", "1 2: 3:4")
value_two_colons = _fails("value_two_colons", "1 2:3:4")
value_no_integer = _fails("value_no_integer", "1 2:3.5", dtype=np.int32)
value_too_large = _fails("value_too_large", "1 2:2147483648", dtype=np.int32)


@program(fails=True)
def no_features(tf):
    return Run(_decoded(tf, LINES[0], 0))
