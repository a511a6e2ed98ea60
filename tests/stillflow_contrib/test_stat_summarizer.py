"""Summaries of runs of ours; the goldens have the tables."""

from __future__ import annotations

from typing import Any

import pytest

import stillflow as tf


def traced(fetch: Any, feeds: dict[Any, Any], count: int) -> str:
    """Return the tables of a few runs."""
    summarizer = tf.contrib.stat_summarizer.StatSummarizer()
    with tf.Session() as session:
        for _ in range(count):
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run(fetch, feeds, options=options, run_metadata=metadata)
            summarizer.ProcessStepStatsStr(metadata.step_stats.SerializeToString())
    return summarizer.GetOutputString()


def test_nodes_of_runs_are_listed() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3])
        product = tf.matmul(x, x, transpose_b=True, name="product")
        found = traced(tf.nn.relu(product), {x: [[1, 2, 3]]}, 3)
    lines = [line.split() for line in found.splitlines() if line.endswith("\tproduct")]
    assert [line[0] for line in lines] == ["MatMul"] * 3
    assert "Timings (microseconds): count=3 " in found and "\n2 nodes observed\n" in found


def test_a_run_of_constants_counts_without_nodes() -> None:
    with tf.Graph().as_default():
        found = traced(tf.constant(1.0) + 2.0, {}, 2)
    assert "Timings (microseconds): count=2 curr=0(all same)" in found


def test_tables_are_printed(capfd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    summarizer = tf.contrib.stat_summarizer.StatSummarizer()
    summarizer.PrintStepStats()
    assert capfd.readouterr().err == summarizer.GetOutputString()
