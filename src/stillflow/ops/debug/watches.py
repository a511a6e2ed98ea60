"""Watches of `DebugOptions`: which tensors are shown, by which debug ops, and where to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from stillflow import errors
from stillflow.ops.debug import summaries
from stillflow.ops.debug.dumps import DumpWriter

_FILE = "file://"


def writers_of(options: Any) -> dict[str, DumpWriter]:
    """Return the writers of dumps by URL; UnimplementedError for others than of files."""
    urls = {url for watch in options.debug_tensor_watch_opts for url in watch.debug_urls}
    for url in urls:
        if not url.startswith(_FILE):
            raise errors.unimplemented(f"debug URL {url}: only file:// is supported yet")
    return {url: DumpWriter(url.removeprefix(_FILE)) for url in urls}


def watches_of(options: Any) -> Mapping[tuple[str, int], Sequence[Any]]:
    """Return the debug watches of tensors: (debug op, attributes, its name, URL) each."""
    watches: dict[tuple[str, int], list[Any]] = defaultdict(list)
    for watch in options.debug_tensor_watch_opts:
        for text in watch.debug_ops:
            try:
                debug_op, attributes = summaries.parse(text)
            except ValueError as error:
                if watch.tolerate_debug_op_creation_failures:
                    continue
                raise errors.FailedPreconditionError(
                    None, None, f"Failed to create debug node {text} for tensor "
                    f"{watch.node_name}:{watch.output_slot}, due to: {error}",
                ) from None  # fmt: skip
            label = text.partition("(")[0].strip()
            key = watch.node_name, watch.output_slot
            watches[key] += [(debug_op, attributes, label, url) for url in watch.debug_urls]
    return watches
