"""Merged summaries: concatenated, with histograms counted together."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.summary.histograms import TaggedHistograms

pytestmark = pytest.mark.usefixtures("graph", "either_way")
NUMBERS = np.random.RandomState(0).randn(5000).astype("f")


@pytest.fixture
def together(monkeypatch):
    """Return the tags of histograms that one step counts."""
    found = []
    make = TaggedHistograms.__init__

    def noting(self, tags):
        found.append(list(tags))
        make(self, tags)

    monkeypatch.setattr(TaggedHistograms, "__init__", noting)
    return found


def run(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def values(content):
    return {value.tag: value for value in tf.Summary.FromString(content).value}


def is_their_merge(merged, parts, feeds=None):
    """Return True if a merge gives what its parts give one by one."""
    whole = tf.Summary()
    for part in run(parts, feeds):
        whole.MergeFromString(part)
    return run(merged, feeds) == whole.SerializeToString()


def test_histograms_of_variables_are_one_step(either_way, together):
    starts = [np.arange(size, dtype=np.float32) for size in (3, 70000, 0, 17)]
    for number, start in enumerate(starts):
        tf.summary.histogram(f"h{number}", tf.Variable(start))
    found = values(run(tf.summary.merge_all()))
    assert [found[f"h{number}"].histo.num for number in range(4)] == [3, 70000, 0, 17]
    sums = [found[f"h{number}"].histo.sum for number in range(4)]
    assert sums == [start.sum() for start in starts]
    assert together == ([[b"h0", b"h1", b"h2", b"h3"]] if either_way == "native" else [])


def test_a_merge_is_what_its_parts_are():
    x, unknown = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32)
    scalars = [
        tf.summary.scalar("mean", tf.reduce_mean(x)),
        tf.summary.scalar("large", tf.cast(tf.reduce_max(x), tf.float64) * 1e300),
        tf.summary.scalar("count", tf.size(x, out_type=tf.int64) * (1 << 40)),
        tf.summary.scalar("rate", 0.125),
        tf.summary.scalar("step", tf.Variable(7, name="step")),
    ]
    histograms = [
        tf.summary.histogram("a", x),
        tf.summary.histogram("halves", tf.cast(x, tf.half)),
        tf.summary.histogram("doubles", tf.cast(x, tf.float64)),
    ]
    image = tf.summary.image("image", tf.reshape(x[:27], [1, 3, 3, 3]))
    feeds = {x: NUMBERS, unknown: 2.5}
    mixed = [histograms[0], *scalars, histograms[1]]
    assert is_their_merge(tf.summary.merge(mixed), mixed, feeds)
    others = [scalars[0], tf.summary.scalar("unknown", unknown), *histograms, image]
    assert is_their_merge(tf.summary.merge(others), others, feeds)
    nested = tf.summary.merge([tf.summary.merge(mixed), image])
    assert is_their_merge(nested, [*mixed, image], feeds)


@pytest.mark.parametrize("second", ["scalar", "histogram", "constant"])
def test_no_tag_comes_twice(second):
    x = tf.placeholder(tf.float32, [])
    first = tf.summary.scalar("a", x)
    with tf.name_scope("other"):
        content = tf.Summary(value=[{"tag": "a", "simple_value": 1}]).SerializeToString()
        other = {
            "scalar": lambda: tf.raw_ops.ScalarSummary(tags="a", values=x + 1),
            "histogram": lambda: tf.raw_ops.HistogramSummary(tag="a", values=tf.reshape(x, [1])),
            "constant": lambda: tf.constant(content),
        }[second]()
    merged = tf.raw_ops.MergeSummary(inputs=[first, other])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Duplicate tag a found in summary"):
        run(merged, {x: 1})


def test_a_tag_that_is_no_text_is_refused():
    x = tf.placeholder(tf.float32, [])
    merged = tf.summary.merge([tf.raw_ops.ScalarSummary(tags=b"\xff", values=x)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse"):
        run(merged, {x: 1})


def test_a_scalar_shows_a_variable_as_it_was_where_the_summary_stands():
    w = tf.Variable(1.0)
    now = w.read_value()
    before = tf.summary.scalar("before", now)
    with tf.control_dependencies([before]):
        change = w.assign_add(1.0)
    with tf.control_dependencies([change]):
        after = tf.summary.scalar("after", w.read_value())
    found, *_ = run([tf.summary.merge([before, after]), now * now, now * 2])
    shown = values(found)
    assert (shown["before"].simple_value, shown["after"].simple_value) == (1, 2)


def test_none_is_put_off_until_a_variable_has_changed():
    w = tf.Variable(np.zeros(4, np.float32))
    before = tf.summary.histogram("before", w)
    with tf.control_dependencies([before]):
        change = w.assign_add(tf.ones(4))
    with tf.control_dependencies([change]):
        after = tf.summary.histogram("after", w.read_value())
    found = values(run(tf.summary.merge([before, after])))
    assert (found["before"].histo.max, found["after"].histo.max) == (0, 1)


def test_the_one_that_is_not_finite_is_named():
    x, y = (tf.placeholder(tf.float32, [2]) for _ in range(2))
    tf.summary.histogram("good", x)
    bad = tf.summary.histogram("bad", y)
    feeds = {x: [1, 2], y: [3, np.nan]}
    with pytest.raises(tf.errors.InvalidArgumentError, match="histogram for: bad") as e:
        run(tf.summary.merge_all(), feeds)
    assert e.value.op is bad.op


def test_summaries_in_a_branch_are_merged_there():
    x, wanted = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.bool, [])

    def summaries():
        parts = [tf.summary.histogram("h", x), tf.summary.scalar("s", tf.reduce_sum(x))]
        return tf.summary.merge(parts)

    merged = tf.cond(wanted, summaries, lambda: tf.constant(b""))
    assert run(merged, {x: NUMBERS, wanted: False}) == b""
    assert len(values(run(merged, {x: NUMBERS, wanted: True}))) == 2


def test_a_part_that_is_wanted_by_itself_is_still_there():
    x = tf.placeholder(tf.float32, [None])
    parts = [tf.summary.histogram("h", x), tf.summary.scalar("s", tf.reduce_sum(x))]
    merged, *alone = run([tf.summary.merge(parts), *parts], {x: NUMBERS})
    assert merged == b"".join(alone)
