"""What only eager execution has refuses when it is used, not when it is named."""

from __future__ import annotations

import pytest

from stillflow import errors
from stillflow.facade import eager_only


def test_decorated_functions_refuse_to_be_called() -> None:
    @eager_only.function
    def plain(x: int) -> int:
        return x

    @eager_only.defun(input_signature=[])
    def with_arguments(x: int) -> int:
        return x

    assert plain.__name__ == "plain"
    with pytest.raises(errors.UnimplementedError, match="function is not supported"):
        plain(1)
    with pytest.raises(errors.UnimplementedError, match="defun is not supported"):
        with_arguments(1)
