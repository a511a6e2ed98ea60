"""Settings of devices and of asynchronous execution, which can be read back."""

from __future__ import annotations

import pytest

import stillflow as tf

config = tf.config.experimental


@pytest.mark.parametrize("asked, found", [(False, False), ("x", True), (None, True)])
def test_synchronous_execution(asked, found):
    config.set_synchronous_execution(asked)
    assert config.get_synchronous_execution() is found
    config.set_synchronous_execution(None)


@pytest.mark.parametrize("policy", ["explicit", "warn", "silent_for_int32", "silent"])
def test_policies(policy):
    config.set_device_policy(policy)
    assert config.get_device_policy() == policy
    config.set_device_policy(None)
    assert config.get_device_policy() == "silent"


@pytest.mark.parametrize("policy", ["bad", 3])
def test_unknown_policies(policy):
    with pytest.raises(ValueError, match=f"^Not a valid device policy: {policy!r}$"):
        config.set_device_policy(policy)
