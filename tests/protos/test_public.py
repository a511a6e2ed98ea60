"""The messages that are part of the public API."""

import pytest

import stillflow.protos
from stillflow.protos.public import PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_public_messages_exist(name):
    message = getattr(stillflow.protos, PUBLIC[name])
    assert message.FromString(message().SerializeToString()) == message()
