"""Set operations, with the loop in C and without."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph", "either_way")

OPERATIONS = {
    "a-b": set.difference, "b-a": lambda a, b: b - a,
    "intersection": set.intersection, "union": set.union,
}  # fmt: skip


def dense(sets):
    """Return sparse sets as a list of the values of each."""
    found = [[] for _ in range(int(np.prod(sets.dense_shape[:-1])))]
    for place, value in zip(sets.indices, sets.values, strict=True):
        number = int(np.ravel_multi_index(place[:-1], sets.dense_shape[:-1]))
        assert place[-1] == len(found[number])
        found[number].append(value)
    assert sets.dense_shape[-1] == max(map(len, found))
    return found


def combine(name, a, b):
    with tf.Session() as session:
        if name in ("a-b", "b-a"):
            return dense(session.run(tf.sets.set_difference(a, b, aminusb=name == "a-b")))
        return dense(session.run(getattr(tf.sets, f"set_{name}")(a, b)))


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, object])
@pytest.mark.parametrize("most", [4, 100])
def test_random_sets_are_combined_as_by_python(name, kind, most):
    rng = np.random.RandomState(0)
    a, b = rng.randint(0, most, (2, 3, 40)), rng.randint(0, most, (2, 3, 17))
    if kind is object:
        a, b = (np.vectorize(lambda x: b"%d" % x, otypes=[object])(each) for each in (a, b))
    else:
        low = np.iinfo(kind).min
        a, b = (each.astype(kind) + low for each in (a, b))
    rows = zip(a.reshape(6, -1).tolist(), b.reshape(6, -1).tolist(), strict=True)
    expected = [sorted(OPERATIONS[name](set(one), set(other))) for one, other in rows]
    assert combine(name, a, b) == expected


@pytest.mark.parametrize("name", OPERATIONS)
def test_sparse_sets_may_be_empty(name):
    a = tf.SparseTensor([[0, 0], [0, 3], [2, 1]], [7, 3, 5], [4, 5])
    b = tf.SparseTensor([[1, 0], [2, 0], [2, 1]], [4, 9, 5], [4, 2])
    sets = [({3, 7}, set()), (set(), {4}), ({5}, {5, 9}), (set(), set())]
    assert combine(name, a, b) == [sorted(OPERATIONS[name](*each)) for each in sets]


def test_large_sets_are_sorted():
    values = np.random.RandomState(0).permutation(1 << 12)[None] * 1_000_003 - (1 << 31)
    assert combine("union", values, values[:, :7]) == [sorted(values[0].tolist())]
