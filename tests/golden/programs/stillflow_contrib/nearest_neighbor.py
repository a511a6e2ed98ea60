"""Places in hash tables where neighbours of points are looked for."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, internal_module, program

POINTS = np.array([[1.2, 0.5, -0.9, -1.0], [2.0, -3.0, 1.0, -1.5], [0.0, -0.0, 4.0, 0.1]])


def _probes(tf, *given, **named):
    module = internal_module(tf, "contrib.nearest_neighbor", "contrib.nearest_neighbor")
    return module.hyperplane_lsh_probes(*given, **named)


@program
def few(tf):
    return Run({
        "all": _probes(tf, POINTS, 2, 2, 8),
        "first": _probes(tf, POINTS, 2, 2, 2, name="first"),
        "fewer_than_tables": _probes(tf, tf.constant(POINTS, tf.float32), 4, 1, 3),
        "one_table": _probes(tf, tf.placeholder_with_default(POINTS, None), 1, 4, 16),
        "no_points": _probes(tf, POINTS[:0], 2, 2, 3),
    })


@program
def many(tf):
    random = np.random.RandomState(3)
    points = random.normal(size=[20, 40])
    return Run({
        "double": _probes(tf, points, 5, 8, 200),
        "single": _probes(tf, points.astype(np.float32), 4, 10, 300),
        "wide": _probes(tf, random.normal(size=[3, 60]), 2, 30, 50),
    })


@program
def equal_distances(tf):
    points = np.array([[1, -1, 1, 1, -1, -1], [2, 1, -2, 1, 1, 2]], np.float32)
    return Run({"probes": _probes(tf, points, 3, 2, 12), "one": _probes(tf, points, 2, 3, 16)})


def _fails(name, *given):
    def fails(tf):
        return Run({"probes": _probes(tf, *given)}, fails=True)

    fails.__name__, fails.__module__ = name, __name__
    return program(fails)


rank = _fails("rank", POINTS[0], 2, 2, 1)
no_tables = _fails("no_tables", POINTS, 0, 2, 1)
many_tables = _fails("many_tables", POINTS, 1001, 2, 1)
tables_rank = _fails("tables_rank", POINTS, [2], 2, 1)
no_hyperplanes = _fails("no_hyperplanes", POINTS, 2, 0, 1)
many_hyperplanes = _fails("many_hyperplanes", POINTS, 2, 31, 1)
no_probes = _fails("no_probes", POINTS, 2, 2, 0)
too_many_probes = _fails("too_many_probes", POINTS[:1], 2, 2, 9)
columns = _fails("columns", POINTS, 2, 3, 1)
