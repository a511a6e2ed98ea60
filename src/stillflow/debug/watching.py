"""Says in `RunOptions` which tensors a run is to record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stillflow.graph.operation import Tensor

_Pattern = tuple[re.Pattern[str], Callable[[Tensor], str]]  # and the text of a tensor to match


class WatchOptions:
    """Watch options of a run: tensors that match all the given patterns.

    Args:
      debug_ops: debug ops: "DebugIdentity" (its value, the default), "DebugNanCount",
        "DebugNumericSummary"; one or a list.
      node_name_regex_whitelist: matches the names of operations.
      op_type_regex_whitelist: matches their types.
      tensor_dtype_regex_whitelist: matches the names of dtypes, as "float32" or "float32_ref".
      tolerate_debug_op_creation_failures: whether to leave out what debug ops do not know.
    """

    def __init__(
        self,
        debug_ops: Any = None,
        node_name_regex_whitelist: str | None = None,
        op_type_regex_whitelist: str | None = None,
        tensor_dtype_regex_whitelist: str | None = None,
        tolerate_debug_op_creation_failures: bool = False,
    ) -> None:
        self.debug_ops = debug_ops or ["DebugIdentity"]
        self.node_name_regex_whitelist = node_name_regex_whitelist
        self.op_type_regex_whitelist = op_type_regex_whitelist
        self.tensor_dtype_regex_whitelist = tensor_dtype_regex_whitelist
        self.tolerate_debug_op_creation_failures = tolerate_debug_op_creation_failures

    def __repr__(self) -> str:
        fields = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"WatchOptions({fields})"


def add_debug_tensor_watch(
    run_options: Any,
    node_name: str,
    output_slot: int = 0,
    debug_ops: str | Sequence[str] = "DebugIdentity",
    debug_urls: str | Sequence[str] | None = None,
    tolerate_debug_op_creation_failures: bool = False,
    global_step: int = -1,
) -> None:
    """Add a tensor to those that a run records.

    Args:
      run_options: the `RunOptions` to change.
      node_name: the operation; "*" with slot -1 for all there are.
      output_slot: which of its outputs.
      debug_ops: debug ops.
      debug_urls: folders to write it into, as "file:///tmp/dump".
      tolerate_debug_op_creation_failures: whether to leave out what debug ops do not know.
      global_step: is recorded as well; -1 for none.
    """
    options = run_options.debug_options
    options.global_step = global_step
    watch = options.debug_tensor_watch_opts.add()
    watch.node_name = node_name
    watch.output_slot = output_slot
    watch.tolerate_debug_op_creation_failures = tolerate_debug_op_creation_failures
    watch.debug_ops.extend(_listed(debug_ops))
    watch.debug_urls.extend(_listed(debug_urls or ()))


def watch_graph(
    run_options: Any,
    graph: Any,
    debug_ops: str | Sequence[str] = "DebugIdentity",
    debug_urls: str | Sequence[str] | None = None,
    node_name_regex_whitelist: str | None = None,
    op_type_regex_whitelist: str | None = None,
    tensor_dtype_regex_whitelist: str | None = None,
    tolerate_debug_op_creation_failures: bool = False,
    global_step: int = -1,
    reset_disk_byte_usage: bool = False,
) -> None:
    """Add the tensors of a graph that match all given patterns; all tensors if none is given.

    ValueError without `debug_urls`.
    """
    patterns = _patterns(
        node_name_regex_whitelist, op_type_regex_whitelist, tensor_dtype_regex_whitelist
    )
    _watch(
        run_options, graph, patterns, all, debug_ops, debug_urls,
        tolerate_debug_op_creation_failures, global_step, reset_disk_byte_usage,
    )  # fmt: skip
    if not patterns:  # tensors that only the run itself makes, in functions, are wanted too
        add_debug_tensor_watch(
            run_options, "*", -1, debug_ops, debug_urls, tolerate_debug_op_creation_failures,
            global_step,
        )  # fmt: skip


def watch_graph_with_blacklists(
    run_options: Any,
    graph: Any,
    debug_ops: str | Sequence[str] = "DebugIdentity",
    debug_urls: str | Sequence[str] | None = None,
    node_name_regex_blacklist: str | None = None,
    op_type_regex_blacklist: str | None = None,
    tensor_dtype_regex_blacklist: str | None = None,
    tolerate_debug_op_creation_failures: bool = False,
    global_step: int = -1,
    reset_disk_byte_usage: bool = False,
) -> None:
    """Add tensors of a graph that match none of the patterns; ValueError for no `debug_urls`."""
    patterns = _patterns(
        node_name_regex_blacklist, op_type_regex_blacklist, tensor_dtype_regex_blacklist
    )
    _watch(
        run_options, graph, patterns, lambda matches: not any(matches), debug_ops, debug_urls,
        tolerate_debug_op_creation_failures, global_step, reset_disk_byte_usage,
    )  # fmt: skip


def _watch(
    run_options: Any,
    graph: Any,
    patterns: list[_Pattern],
    wanted: Callable[[Iterator[Any]], bool],
    debug_ops: Any,
    debug_urls: Any,
    tolerate: bool,
    global_step: int,
    reset_disk_byte_usage: bool,
) -> None:
    """Add the tensors of a graph of whose matches with all patterns `wanted` is true."""
    if not debug_urls:
        raise ValueError("debug_urls must not be empty or None.")
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage
    for tensor in (tensor for op in graph.get_operations() for tensor in op.outputs):
        if wanted(pattern.match(text(tensor)) for pattern, text in patterns):
            add_debug_tensor_watch(
                run_options, tensor.op.name, tensor.value_index, debug_ops, debug_urls, tolerate,
                global_step,
            )  # fmt: skip


def _patterns(name: str | None, kind: str | None, dtype: str | None) -> list[_Pattern]:
    """Return the given patterns, each with its subject."""
    texts: list[tuple[str | None, Callable[[Tensor], str]]] = [
        (name, lambda tensor: tensor.op.name),
        (kind, lambda tensor: tensor.op.type),
        (dtype, lambda tensor: tensor.dtype.name),
    ]
    return [(re.compile(pattern), text) for pattern, text in texts if pattern]


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
