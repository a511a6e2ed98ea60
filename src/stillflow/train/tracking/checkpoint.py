"""tf.train.Checkpoint: saves objects that own variables, and finds them again by their paths."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import colocate_with, device
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.train.checkpoint_management import update_checkpoint_state_internal
from stillflow.train.checkpoint_utils import load_checkpoint
from stillflow.train.saveables import SaveableObject
from stillflow.train.tracking import status as status_lib
from stillflow.train.tracking.base import OBJECT_GRAPH_PROTO_KEY, AutoTrackable, is_trackable
from stillflow.train.tracking.object_graph import ObjectGraph
from stillflow.train.tracking.restoration import read_object_graph
from stillflow.train.tracking.trackable_saver import SavedGraph, TrackableSaver
from stillflow.variables.base import Variable
from stillflow.variables.no_dependency import NoDependency

_NO_SAVE_IN_FUNCTIONS = (
    "Calling tf.train.Checkpoint.save() from a function is not supported, as save() modifies "
    "saving metadata in ways not supported by TensorFlow Operations. Consider using "
    "tf.train.Checkpoint.write(), a lower-level API which does not update metadata. "
    "tf.train.latest_checkpoint and related APIs will not see this checkpoint."
)


@export("train.Checkpoint", "contrib.eager.Checkpoint")
class Checkpoint(AutoTrackable):
    """Saves objects that own variables: layers, optimizers, variables, others that hold such.

    Args:
      **kwargs: The objects, by the names that stand for them in the checkpoint; attributes that
        are set later count as well.

    Raises:
      ValueError: If one of them cannot be saved.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        for name, thing in sorted(kwargs.items()):
            if not is_trackable(thing):
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (an object derived from "
                    f"`TrackableBase`), got {thing}. If you believe this object should be "
                    "trackable (i.e. it is part of the TensorFlow Python API and manages state), "
                    "please open an issue."
                )
            setattr(self, name, thing)
        self._save_counter: Any = None
        self._save_assign_op: Any = None
        self._saver: Any = NoDependency(TrackableSaver(self))

    def _maybe_create_save_counter(self) -> None:
        if self._save_counter is None:
            with device("/cpu:0"):
                counter = add_variable(
                    self, "save_counter", initializer=0, dtype=dtypes.int64, trainable=False
                )
            self._save_counter = NoDependency(counter)

    @property
    def save_counter(self) -> Any:
        """The variable that counts how often was saved."""
        self._maybe_create_save_counter()
        return self._save_counter

    def write(self, file_prefix: Any, session: Any = None) -> Any:
        """Save under exactly this prefix, without a state file.

        Args:
          file_prefix: The prefix of the files.
          session: The session, by default the default one.

        Returns:
          The checkpoint, for `restore`; in a function, the tensor that writes it and gives that.
        """
        if not get_default_graph().building_function:
            session = status_lib.session_or_default(session)
        return self._write(file_prefix, session)

    def _write(self, file_prefix: Any, session: Any) -> Any:
        return self._saver.save(file_prefix, session)

    def save(self, file_prefix: Any, session: Any = None) -> str:
        """Save, numbered by `save_counter`, and write the state file of the directory.

        Args:
          file_prefix: The prefix of the file names.
          session: The session, by default the default one.

        Returns:
          The checkpoint, for `restore`.

        Raises:
          NotImplementedError: In a function.
        """
        if get_default_graph().building_function:
            raise NotImplementedError(_NO_SAVE_IN_FUNCTIONS)
        session = status_lib.session_or_default(session)
        number = self._count(session)
        file_prefix = os.fspath(file_prefix)
        path = self._write(f"{file_prefix}-{number}", session)
        update_checkpoint_state_internal(
            save_dir=os.path.dirname(file_prefix),
            model_checkpoint_path=path,
            all_model_checkpoint_paths=[path],
            save_relative_paths=True,
        )
        return path

    def _count(self, session: Any) -> int:
        """Add one to how often was saved."""
        if session is None:
            return int(self.save_counter.assign_add(1))
        if self._save_counter is None:
            session.run(self.save_counter.initializer)
        if self._save_assign_op is None:
            with colocate_with(self.save_counter):
                counted = self.save_counter.assign_add(1, read_value=True)
            self._save_assign_op = NoDependency(counted)
        return int(session.run(self._save_assign_op))

    def restore(self, save_path: Any) -> Any:
        """Prepare reading a checkpoint; objects that come later get their values too.

        Args:
          save_path: The checkpoint, of objects or one that a `Saver` wrote; None for none.

        Returns:
          A status: `run_restore_ops()` and `initialize_or_restore()` read the values,
          `assert_consumed()` tells whether all was found.
        """
        if save_path is None:
            self._maybe_create_save_counter()
            return status_lib.InitializationOnlyStatus(self)
        status = self._saver.restore(save_path, self._maybe_create_save_counter)
        if isinstance(status, status_lib.NameBasedSaverStatus):
            status.add_to_optionally_restored(self.save_counter)
        return status


CheckpointV1 = Checkpoint


@export("compat.v2.train.Checkpoint")
class CheckpointV2(Checkpoint):
    """`tf.train.Checkpoint` of TensorFlow 2, which takes no session but the default one.

    Args:
      **kwargs: The objects, by the names that stand for them in the checkpoint.
    """

    def write(self, file_prefix: Any) -> str:  # type: ignore[override]
        """Save under exactly this prefix; give the checkpoint, for `restore`."""
        return super().write(file_prefix)

    def save(self, file_prefix: Any) -> str:  # type: ignore[override]
        """Save, numbered by `save_counter`; return the checkpoint, for `restore`."""
        return super().save(file_prefix)


def add_variable(
    trackable: Any,
    name: str,
    shape: Any = None,
    dtype: Any = dtypes.float32,
    initializer: Any = None,
    trainable: bool = True,
) -> Any:
    """Make a resource variable that is a part of an object, of the same name.

    `initializer` is a value, without `shape`, or an initializer; by default as `tf.get_variable`
    has it.
    """
    from stillflow.variables.initializers import GlorotUniform, Zeros

    dtype = dtypes.as_dtype(dtype)
    if initializer is None:
        initializer = GlorotUniform() if dtype.is_floating else Zeros()
    value: Any = initializer
    if not callable(initializer) and shape is not None:
        raise ValueError("If initializer is a constant, do not specify shape.")
    if callable(initializer):
        maker = initializer() if isinstance(initializer, type) else initializer
        value = partial(maker, list(shape or []), dtype=dtype)

    variable = Variable(value, name=name, dtype=dtype, trainable=trainable, use_resource=True)
    trackable._maybe_initialize_trackable()
    for restoration, node in trackable._deferred.get(name, ()):
        restoration.initialize(variable, node)
    return trackable._track_trackable(variable, name=name)


def saveables_of(root_trackable: Any) -> list[SaveableObject]:
    """Return an object's saveables for a `Saver`, with the present description of the objects."""
    saveables, message = ObjectGraph(root_trackable).serialize()
    with device("/cpu:0"):
        return [*saveables, SavedGraph(message.SerializeToString(deterministic=True))]


def gather_initializers(root_trackable: Any) -> list[Any]:
    """Return the initializers of all variables that an object leads to."""
    things = ObjectGraph(root_trackable).objects
    return [thing.initializer for thing in things if hasattr(thing, "initializer")]


@export("contrib.checkpoint.list_objects")
def list_objects(root_trackable: Any) -> list[Any]:
    """Return the objects that an object leads to, itself first."""
    return ObjectGraph(root_trackable).objects


@export("contrib.checkpoint.object_metadata")
def object_metadata(save_path: Any) -> Any:
    """Return the `TrackableObjectGraph` of a checkpoint.

    Raises:
      ValueError: If it is none of objects.
    """
    graph = read_object_graph(load_checkpoint(save_path))
    if graph is None:
        raise ValueError(
            f'The specified checkpoint "{save_path}" does not appear to be object-based (saved '
            f'with TF2) since it is missing the key "{OBJECT_GRAPH_PROTO_KEY}". Likely it was '
            "created with the TF1 name-based saver and does not contain an object dependency "
            "graph."
        )
    return graph
