"""Results of an input function: features, labels, and initialization operations."""

from __future__ import annotations

from typing import Any

from stillflow.data.dataset import DatasetV2
from stillflow.data.dataset_v1 import make_initializable_iterator
from stillflow.train.session_run_hook import SessionRunHook


class DatasetInitializerHook(SessionRunHook):
    """Initializes an iterator in every new session."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def begin(self) -> None:
        self._initializer = self._iterator.initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._initializer)


def features_and_labels(result: Any) -> tuple[Any, Any, list[Any]]:
    """Split the result of an input function: features, labels or None, and hooks to run.

    It is features, (features, labels), or a dataset of them. ValueError for a list or tuple of
    another length.
    """
    hooks = []
    if isinstance(result, DatasetV2):
        iterator = make_initializable_iterator(result)
        hooks.append(DatasetInitializerHook(iterator))
        result = iterator.get_next()
    return (*parts_of_element(result), hooks)


def parts_of_element(element: Any) -> tuple[Any, Any]:
    """Return features, and labels or None, of a result of an input function or its dataset."""
    if not isinstance(element, (list, tuple)):
        return element, None
    if len(element) != 2:
        raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
    return element[0], element[1]
