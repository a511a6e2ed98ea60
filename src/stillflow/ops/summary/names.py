"""Names and tags of summaries, and the collections they are kept in."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec

from stillflow.graph.api import add_to_collection, name_scope
from stillflow.graph.constant_value import constant_value
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.ops.constants import constant
from stillflow.platform import tf_logging as logging

_Params = ParamSpec("_Params")
_ILLEGAL = re.compile(r"[^-/\w\.]")


def collect(
    val: Any, collections: Sequence[str] | None, default_collections: Sequence[str]
) -> Tensor:
    """Add a summary to collections, to the default ones if that is None, and return it."""
    for key in default_collections if collections is None else collections:
        add_to_collection(key, val)
    return val


def collect_summary(summary: Any, collections: Sequence[str] | None) -> Tensor:
    """Add a summary to collections, by default to that of all summaries, and return it."""
    return collect(summary, collections, (GraphKeys.SUMMARIES,))


def clean_tag(name: str | None) -> str | None:
    """Return a name with "_" for characters that names of operations cannot have."""
    if name is None:
        return None
    cleaned = _ILLEGAL.sub("_", name).lstrip("/")
    if cleaned != name:
        logging.info(f"Summary name {name} is illegal; using {cleaned} instead.")
    return cleaned


@contextlib.contextmanager
def summary_scope(
    name: str | None,
    family: str | None = None,
    default_name: str | None = None,
    values: Any = None,
) -> Iterator[tuple[str, str]]:
    """Enter the name scope of a summary; yield its tag and the scope, both unique.

    The tag is the scope's full name, after the family: the heading it is shown under.
    """
    name, family = clean_tag(name), clean_tag(family)
    base = name if family is None else f"{family}/{name}"
    with name_scope(base, default_name, values) as scope:
        path = scope.rstrip("/")
        yield path if family is None else f"{family}/{path}", scope


def skip_summary() -> bool:
    """Return True in replicas of a strategy other than the first, which alone has summaries."""
    modes = get_default_graph()._of_thread.strategies
    replica = modes[-1].replica if modes else None
    if replica is None:
        return False
    number = replica.replica_id_in_sync_group
    return bool(number if isinstance(number, int) else constant_value(number))


def of_first_replica(summarize: Callable[_Params, Tensor]) -> Callable[_Params, Tensor]:
    """Decorate a summary function: it returns an empty string in all replicas but the first."""

    @functools.wraps(summarize)
    def summarize_once(*args: _Params.args, **kwargs: _Params.kwargs) -> Tensor:
        return constant("") if skip_summary() else summarize(*args, **kwargs)

    return summarize_once
