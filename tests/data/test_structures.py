"""Errors for structures of elements that differ; the texts are TensorFlow 1.15.5's."""

from __future__ import annotations

from typing import Any

import pytest

import stillflow as tf
from stillflow.data import nest

SAME = "The two structures don't have the same"
CASES: list[tuple[Any, Any, type[Exception], str]] = [
    (
        (((1, 2), 3), 4), ("spam", "eggs"), ValueError,
        ('Substructure "type=tuple str=((1, 2), 3)" is a sequence, while substructure '
        '"type=str str=spam" is not'),
    ),
    (
        {"a": 1, "b": 2}, {"a": 1}, ValueError,
        ("The two dictionaries don't have the same set of keys. First structure has keys "
        "type=list str=['a', 'b'], while second structure has keys type=list str=['a']"),
    ),
    (
        {"a": 1}, (1,), TypeError,
        ("The two namedtuples don't have the same sequence type. First structure "
        "type=dict str={'a': 1} has type dict, while second structure type=tuple str=(1,) has type "
        "tuple"),
    ),
    (
        ((1, 2), 3), ((1, 2, 4), 3), ValueError,
        (f"{SAME} number of elements. First structure: type=tuple str=(1, 2). Second structure: "
        "type=tuple str=(1, 2, 4)"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("first, second, kind, detail", CASES)
def test_structures_that_differ_are_told_whole_and_in_part(
    first: Any, second: Any, kind: type[Exception], detail: str
) -> None:
    with pytest.raises(kind) as found:
        nest.assert_same_structure(first, second)
    whole = (
        f"{SAME} nested structure.\n\nFirst structure: type={type(first).__name__} str={first}\n\n"
        f"Second structure: type={type(second).__name__} str={second}\n\nMore specifically: "
    )
    assert str(found.value) == whole + detail


def test_classes_and_keys_may_differ_where_only_the_form_counts() -> None:
    nest.assert_same_structure({"a": 1}, (1,), check_types=False)


def test_slices_of_nothing_are_an_index_error():
    with pytest.raises(IndexError, match="list index out of range"):
        tf.data.Dataset.from_tensor_slices(())
