"""Elastic training, which is not supported: every name says so when it is used."""

from __future__ import annotations

from typing import Any

from stillflow import errors

_TEXT = (
    "Elastic Horovod (hvd.elastic.{name}) is not supported: the number of ranks is fixed. Save "
    "checkpoints, and let the launcher start all ranks again (torchrun --max-restarts)."
)


def _unsupported(name: str) -> Any:
    def unsupported(*args: Any, **kwargs: Any) -> Any:
        raise errors.unimplemented(_TEXT.format(name=name))

    unsupported.__name__ = unsupported.__qualname__ = name
    unsupported.__doc__ = f"Raise UnimplementedError: `{name}` needs elastic training."
    return unsupported


run = _unsupported("run")
init = _unsupported("init")
State = _unsupported("State")
ObjectState = _unsupported("ObjectState")
TensorFlowState = _unsupported("TensorFlowState")
TensorFlowKerasState = _unsupported("TensorFlowKerasState")
KerasState = _unsupported("KerasState")
CommitStateCallback = _unsupported("CommitStateCallback")
UpdateBatchStateCallback = _unsupported("UpdateBatchStateCallback")
UpdateEpochStateCallback = _unsupported("UpdateEpochStateCallback")
