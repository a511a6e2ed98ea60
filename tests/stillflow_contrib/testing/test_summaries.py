"""A summary writer for tests, and what event files hold."""

from __future__ import annotations

import unittest
from pathlib import Path

import pytest

import stillflow as tf
from stillflow.summary.writer import FileWriterCache

testing = tf.contrib.testing


def scalar(tag: str, value: float) -> tf.Summary:
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)])


def test_the_latest_numbers_of_tags_are_found(tmp_path: Path) -> None:
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        for step, value in ((1, 0.5), (3, 1.5), (2, 1.0)):
            writer.add_summary(scalar("loss", value), step)
    events = testing.latest_summaries(str(tmp_path))
    assert len(events) == 3
    assert testing.simple_values_from_events(events, ["loss", "other"]) == {"loss": 1.5}
    testing.assert_summary(["loss"], {"loss": 0.5}, events[0].summary)
    with pytest.raises(ValueError, match="Expected tags"):
        testing.assert_summary(["other"], {}, events[0].summary)


def test_an_empty_folder_has_no_events(tmp_path: Path) -> None:
    assert testing.latest_event_file(str(tmp_path)) is None
    assert testing.latest_summaries(str(tmp_path)) == []


def test_an_installed_writer_keeps_what_hooks_write(tmp_path: Path) -> None:
    testing.FakeSummaryWriter.install()
    try:
        with pytest.raises(ValueError, match="already installed"):
            testing.FakeSummaryWriter.install()
        FileWriterCache.clear()
        writer = FileWriterCache.get(str(tmp_path))
        writer.add_summary(scalar("loss", 2.0).SerializeToString(), 7)
        case = unittest.TestCase()
        writer.assert_summaries(case, str(tmp_path), expected_summaries={7: {"loss": 2.0}})
        with pytest.raises(AssertionError, match="Missing step 8"):
            writer.assert_summaries(case, expected_summaries={8: {}})
    finally:
        testing.FakeSummaryWriter.uninstall()
        FileWriterCache.clear()
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="not installed"):
        testing.FakeSummaryWriter.uninstall()
