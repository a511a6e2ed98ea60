"""Objects that are told apart by identity."""

from __future__ import annotations

import gc

import pytest

from stillflow.util.object_identity import (
    ObjectIdentityDictionary,
    ObjectIdentitySet,
    ObjectIdentityWeakKeyDictionary,
    ObjectIdentityWeakSet,
)


class _Thing:
    """Object with weak references."""


def test_equal_objects_are_several_members():
    a, b = [1], [1]
    members = ObjectIdentitySet([a])
    assert a in members and b not in members
    members.update([a, b])
    assert len(members) == 2
    members.discard(a)
    assert [member is b for member in members] == [True]


def test_equal_objects_are_several_keys():
    a, b = [1], [1]
    values = ObjectIdentityDictionary()
    values[a], values[b] = 1, 2
    assert (values[a], values[b], [1] in values) == (1, 2, False)
    del values[a]
    with pytest.raises(KeyError):
        values[a]


def test_weak_ones_keep_nothing_alive():
    kept, lost = _Thing(), _Thing()
    members, values = ObjectIdentityWeakSet([kept, lost]), ObjectIdentityWeakKeyDictionary()
    values[kept], values[lost] = 1, 2
    del lost
    gc.collect()
    assert [member is kept for member in members] == [True]
    assert list(values.values()) == [1]
