"""Names of variables as keys of a state dict, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stillflow.export.naming import key_of, keys_of, name_of

NAMES = st.text("abx019_-./\\é", min_size=1, max_size=12).filter(lambda name: name != "/")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("dense/kernel", "dense.kernel"),
        ("lstm/w-1", "lstm.w_x2d1"),
        ("1x1/weights", "_x31x1.weights"),
        ("model.0/class", "model_x2e0._x63lass"),
        ("a_x41", "a_x5fx41"),
        ("net/training", "net._x74raining"),
    ],
)
def test_keys_are_names_that_python_can_read(name: str, key: str) -> None:
    assert key_of(name) == key
    assert all(part.isidentifier() for part in key.split("."))


@given(NAMES)
def test_keys_lead_back_to_names(name: str) -> None:
    assert name_of(key_of(name)) == name


@given(st.lists(NAMES, unique=True))
def test_no_two_variables_have_one_key(names: list[str]) -> None:
    keys = keys_of(names)
    assert len(set(keys.values())) == len(names)
    assert {key: name_of(key) for key in keys.values()} == {keys[name]: name for name in names}


def test_a_variable_that_is_named_as_a_scope_has_a_place_beside_it() -> None:
    keys = keys_of(["a", "a/b"])
    assert keys["a/b"] == "a.b"
    assert not keys["a/b"].startswith(keys["a"] + ".")
    assert name_of(keys["a"]) == "a"
