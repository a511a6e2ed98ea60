"""Contents of event files, for tests."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.protos import Summary


@export("contrib.testing.assert_summary")
def assert_summary(
    expected_tags: Iterable[str], expected_simple_values: dict[str, float], summary_proto: Any
) -> None:
    """Compare a summary with the expected one, numbers to two decimals.

    Args:
      expected_tags: all of its tags.
      expected_simple_values: {tag: number}, for some of them.
      summary_proto: a `Summary`.

    Raises:
      AssertionError: another number.
      ValueError: other tags.
    """
    tags = set()
    for value in summary_proto.value:
        tags.add(value.tag)
        if value.tag in expected_simple_values:
            np.testing.assert_almost_equal(
                value.simple_value, expected_simple_values[value.tag], decimal=2, err_msg=value.tag
            )
    expected = set(expected_tags)
    if expected != tags:
        raise ValueError(f"Expected tags {expected}, got {tags}.")


@export("contrib.testing.to_summary_proto")
def to_summary_proto(summary_str: bytes) -> Any:
    """Return a serialized summary as a `Summary`."""
    return Summary.FromString(summary_str)


@export("contrib.testing.latest_event_file")
def latest_event_file(base_dir: Any) -> str | None:
    """Return the event file of a folder whose name comes last; None if there is none."""
    paths = glob.glob(os.path.join(base_dir, "events.*"))
    return max(paths, default=None)


@export("contrib.testing.latest_events")
def latest_events(base_dir: Any) -> Iterable[Any]:
    """Return the events of that file."""
    path = latest_event_file(base_dir)
    return tf.train.summary_iterator(path) if path else []


@export("contrib.testing.latest_summaries")
def latest_summaries(base_dir: Any) -> list[Any]:
    """Those of them that are summaries."""
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


@export("contrib.testing.simple_values_from_events")
def simple_values_from_events(events: Iterable[Any], tags: Iterable[str]) -> dict[str, float]:
    """{tag: number at the last step}.

    Args:
      events: events.
      tags: which of their summaries count.

    Raises:
      ValueError: such a summary is no number.
    """
    latest: dict[str, tuple[int, float]] = {}
    for event in events:
        for value in event.summary.value if event.HasField("summary") else ():
            if value.tag not in tags:
                continue
            if not value.HasField("simple_value"):
                raise ValueError(f"Summary for {value.tag} is not a simple_value.")
            if value.tag not in latest or event.step > latest[value.tag][0]:
                latest[value.tag] = event.step, value.simple_value
    return {tag: number for tag, (_, number) in latest.items()}
