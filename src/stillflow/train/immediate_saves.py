"""Saving and restoring where operations run when they are called: no session, nothing is kept."""

from __future__ import annotations

from collections.abc import Sequence

from stillflow.graph.api import device
from stillflow.ops.constants import constant
from stillflow.train import saver_builder
from stillflow.train.saveables import SaveableObject


def save_now(saveables: Sequence[SaveableObject], prefix: str, version: int = 2) -> str:
    """Writes a checkpoint; gives its prefix."""
    with device("/cpu:0"):
        saver_builder.BaseSaverBuilder(version).save_op(constant(prefix), saveables)
    return prefix


def restore_now(saveables: Sequence[SaveableObject], prefix: str) -> None:
    """Gives saveables what a checkpoint holds for them.

    Raises:
      NotFoundError: if it lacks one of them.
    """
    builder = saver_builder.BaseSaverBuilder()
    with device("/cpu:0"):
        path = constant(prefix)
        for saveable in saveables:
            saveable.restore(builder.restore_op(path, saveable, -1), None)
