"""Kernels of summaries that a plan has fused: scalars with their merge, histograms together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.graph.lazy import torch
from stillflow.graph.operation import Operation
from stillflow.ops.kernel_errors import as_op_error
from stillflow.ops.summary.device_histograms import extremes
from stillflow.ops.summary.encoding import simple_value, value
from stillflow.ops.summary.histograms import TaggedHistograms, histogram_summary, not_finite
from stillflow.ops.summary.kernels import in_numpy, string


def scalar_message(tag: bytes) -> Callable[[Any], bytes]:
    """Return a function from a number, as a tensor, to its `Summary` message."""
    before = value(tag, simple_value(0))[: -len(simple_value(0))]

    def summarize(number: Any) -> bytes:
        if number.dtype is not torch.float32:
            with np.errstate(over="ignore"):
                number = in_numpy(number).astype(np.float32)
        return before + simple_value(number.item())

    return summarize


def histogram_messages(tags: Sequence[bytes], ops: Sequence[Operation]) -> Callable[..., Any]:
    """Return a function from tensors to the message of each, a list if there are several.

    Args:
      tags: of the histograms.
      ops: their operations, which errors name.
    """
    histograms = TaggedHistograms(tags)

    def summarize(*values: Any) -> Any:
        messages = histograms(values)
        for message, tag, op, shown in zip(messages, tags, ops, values):
            if not message:
                try:
                    histogram_summary(tag, shown, op.name)
                except Exception as error:
                    raise as_op_error(error, op) from None
        return messages if len(messages) > 1 else messages[0]

    return summarize


def messages_of_counts(tags: Sequence[bytes], ops: Sequence[Operation]) -> Callable[..., Any]:
    """Return the same function from the counts of a device."""
    histograms = TaggedHistograms(tags)

    def summarize(counted: Any) -> Any:
        messages = histograms.of_counts(counted)
        for place, (message, op) in enumerate(zip(messages, ops)):
            if not message:
                least, largest = extremes(counted, len(tags))[place]
                number = least if np.isnan(least) or np.isinf(least) else largest
                raise as_op_error(not_finite(number, op.name), op)
        return messages if len(messages) > 1 else messages[0]

    return summarize


def merged(
    parts: Sequence[tuple[int, Callable[[Any], bytes]]], plain: Callable[..., Any] | None
) -> Callable[..., Any]:
    """Return the kernel of a merge, some of whose inputs `parts` make messages of, by position.

    `plain` is the kernel of the merge itself, which compares tags; None if these differ.
    """

    def merge(*values: Any) -> Any:
        made = list(values)
        for place, part in parts:
            made[place] = part(made[place])
        if plain is None:
            return string(b"".join(made))
        return plain(*[string(each) if isinstance(each, bytes) else each for each in made])

    return merge
