"""Summaries of quantiles as the messages that tf.contrib.boosted_trees writes."""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from stillflow import protos
from stillflow.ops.boosted_trees.quantiles import EMPTY, Summary, summary_of
from stillflow.ops.boosted_trees.resources import refused

MESSAGES = protos.file("tensorflow/contrib/boosted_trees/proto/quantiles.proto")


def message_of(summary: Summary) -> Any:
    """Return a QuantileSummaryState of a summary."""
    entries = [
        MESSAGES["QuantileEntry"](value=value, weight=weight, min_rank=low, max_rank=high)
        for value, weight, low, high in summary.rows().tolist()
    ]
    return MESSAGES["QuantileSummaryState"](entries=entries)


def summary_in(message: Any) -> Summary:
    """Return the summary of a QuantileSummaryState."""
    rows = [(each.value, each.weight, each.min_rank, each.max_rank) for each in message.entries]
    return summary_of(np.array(rows, np.float32)) if rows else EMPTY


def parsed(kind: Any, text: bytes, refusal: str) -> Any:
    """Parse a message of a class, or raise InvalidArgumentError with the text `refusal`."""
    try:
        return kind.FromString(text)
    except DecodeError:
        raise refused(refusal) from None


def serialized(message: Any) -> np.ndarray:
    """Return a string tensor with a message."""
    result = np.empty((), object)
    result[()] = message.SerializeToString()
    return result
