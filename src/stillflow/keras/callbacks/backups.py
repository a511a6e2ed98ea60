"""Backups of training in several workers: what `ModelCheckpoint` goes on with after a failure."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stillflow.distribute import worker_context
from stillflow.files import gfile
from stillflow.graph import dtypes
from stillflow.keras.backend.session import get_value, set_value
from stillflow.train.tracking.base import AutoTrackable
from stillflow.variables.resource_variable import ResourceVariable

_EPOCH = "_ckpt_saved_epoch"  # the variable's name in the checkpoint


class TrainingBackup:
    """A checkpoint of a model and the last whole epoch, in the folder `backup` until `fit` is done.

    Args:
      model: that is trained.
      path: of `ModelCheckpoint`; the folder is in the same one.
    """

    def __init__(self, model: Any, path: str) -> None:
        self._model = model
        self._folder = os.path.join(os.path.dirname(path), "backup")
        self._epoch = ResourceVariable(-1, dtype=dtypes.int64, name="ckpt_saved_epoch")
        set_value(self._epoch, -1)
        self._show()

    def _show(self) -> None:
        AutoTrackable.__setattr__(self._model, _EPOCH, self._epoch)  # no weight of the model

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Return a context in which the epoch is no part of the model."""
        AutoTrackable.__delattr__(self._model, _EPOCH)
        yield
        self._show()

    def restore(self) -> bool:
        """Load the backup of a run that has ended early; False if there is none.

        Raises:
          ValueError: if it cannot be read.
        """
        if not gfile.file_exists_v2(self._folder):
            return False
        load_weights(self._model, os.path.join(self._folder, "training_state"))
        return True

    def first_epoch(self, wanted: int) -> int:
        """Return the epoch to begin with: the one after a backup that was loaded, or `wanted`."""
        saved = int(get_value(self._epoch))
        return wanted if saved < 0 else saved + 1

    def save(self, epoch: int) -> None:
        """Save the model after an epoch."""
        set_value(self._epoch, epoch)
        with saving_folder(self._folder) as folder:
            self._model.save_weights(os.path.join(folder, "training_state"), overwrite=True)

    def delete(self) -> None:
        """Delete the backup; training is done."""
        AutoTrackable.__delattr__(self._model, _EPOCH)
        if worker_context.current().should_checkpoint:
            gfile.delete_recursively_v2(self._folder)


def load_weights(model: Any, path: str) -> None:
    """Load a model's weights; ValueError names a file that cannot be read."""
    try:
        model.load_weights(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"Error loading file from {path}. Reason: {error}") from error


@contextmanager
def saving_folder(folder: str) -> Iterator[str]:
    """Return a context with the folder to save to: another, for a moment, in workers but the chief.

    All of them save, as all read variables together.
    """
    context = worker_context.current()
    if context is None or context.should_checkpoint:
        yield folder
    else:
        with tempfile.TemporaryDirectory() as other:
            yield other
