"""Saving and restoring where operations run when they are called: no session, nothing is kept."""

from __future__ import annotations

from collections.abc import Sequence

from stillflow.graph.api import device
from stillflow.ops.constants import constant
from stillflow.train import saver_builder
from stillflow.train.saveables import SaveableObject


def save_now(saveables: Sequence[SaveableObject], prefix: str, version: int = 2) -> str:
    """Write a checkpoint; give its prefix."""
    with device("/cpu:0"):
        saver_builder.BaseSaverBuilder(version).save_op(constant(prefix), saveables)
    return prefix


def restore_now(saveables: Sequence[SaveableObject], prefix: str) -> None:
    """Restore saveables from a checkpoint; NotFoundError if one of them is missing in it."""
    builder = saver_builder.BaseSaverBuilder()
    with device("/cpu:0"):
        path = constant(prefix)
        for saveable in saveables:
            saveable.restore(builder.restore_op(path, saveable, -1), None)
