"""Elements that are copied to devices: what stays behind when their iterators end."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.ops.data.iterators import IteratorResource

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def walked(session):
    """Return the iterators of a session that hold on to a dataset."""
    things = session._resources._objects.values()
    return {id(t) for t in things if isinstance(t, IteratorResource)}


@pytest.mark.parametrize("name", ["copy_to_device", "prefetch_to_device"])
def test_iterators_on_the_source_device_end_with_the_walk(name):
    copied = tf.data.Dataset.range(3).apply(getattr(tf.data.experimental, name)("/cpu:0"))
    iterator = tf.data.make_initializable_iterator(copied)
    element = iterator.get_next()
    with tf.Session() as session:
        for _ in range(3):
            session.run(iterator.initializer)
            assert [session.run(element) for _ in range(3)] == [0, 1, 2]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(element)
        assert len(walked(session)) == 1  # the outer one
