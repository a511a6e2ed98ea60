"""tf.train.Saver: writes the variables of a graph to checkpoints, and reads them back."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files.checkpoint_paths import advice
from stillflow.files.durability import write_back
from stillflow.files.local_path import is_remote, plain_path
from stillflow.graph import collection_protos, trust
from stillflow.graph.api import add_to_collection, get_collection
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.ops.control_flow.contexts import with_scope, without_scope
from stillflow.platform import compat
from stillflow.platform import tf_logging as logging
from stillflow.protos import SaverDef
from stillflow.runtime.session.session import BaseSession as SessionInterface
from stillflow.train import checkpoint_management
from stillflow.train.checkpoint_management import (
    checkpoint_exists,
    generate_checkpoint_state_proto,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    remove_checkpoint,
    update_checkpoint_state,
)
from stillflow.train.global_step import global_step as value_of_step
from stillflow.train.immediate_saves import restore_now, save_now
from stillflow.train.meta_graph import (
    export_meta_graph,
    import_meta_graph,
    import_meta_graph_with_return_elements,
)
from stillflow.train.object_names import (
    object_graph_key_mapping,
    saver_from_object_based_checkpoint,
)
from stillflow.train.saveables import SaveableObject, validate_and_slice_inputs
from stillflow.train.saver_builder import BaseSaverBuilder, BulkSaverBuilder
from stillflow.variables.collections import all_saveable_objects

_NAMES = ("filename_tensor_name", "save_tensor_name", "restore_op_name")
_V1_WARNING = (
    "*******************************************************",
    "TensorFlow's V1 checkpoint format has been deprecated.",
    "Consider switching to the more efficient V2 format:",
    "   `tf.train.Saver(write_version=tf.train.SaverDef.V2)`",
    "now on by default.",
    "*******************************************************",
)


@export("train.Saver")
class Saver:
    """Saver of variables: adds the operations to the default graph, and runs them.

    Args:
      var_list: The objects to save: a list of variables and saveables, or a dict of these by the
        names they get in the checkpoint; by default all global variables.
      reshape: Whether a variable may be restored from a tensor of another shape.
      sharded: Whether there is a file for each device.
      max_to_keep: How many checkpoints are kept; None or 0 for all.
      keep_checkpoint_every_n_hours: Of those that would go, one in so many hours stays.
      name: Of the name scope; with `saver_def`, the scope that it was imported under.
      restore_sequentially: Has no effect.
      saver_def: A `SaverDef` that tells the operations, which are in the graph already.
      builder: What builds them, by default a `BulkSaverBuilder`.
      defer_build: Whether they are added by `build()`, not now.
      allow_empty: Whether there may be nothing to save.
      write_version: `SaverDef.V2` or `SaverDef.V1`; both can be read in any case.
      pad_step_number: Whether step numbers in names have eight digits.
      save_relative_paths: Whether the state file names checkpoints relative to itself.
      filename: The file if none is given at run time.

    Raises:
      TypeError: If something cannot be saved.
      ValueError: If there is nothing to save, or one name stands for two things.

    Example:
      >>> v, sess = tf.get_variable("v", initializer=[1.0, 2.0]), tf.Session()
      >>> sess.run(v.initializer), tf.train.Saver().save(sess, "model/v", global_step=7)
      (None, 'model/v-7')
      >>> with tf.Session() as new: print(tf.train.Saver().restore(new, "model/v-7"), new.run(v))
      None [1. 2.]
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = SaverDef.V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        if executing_eagerly() and var_list is None:
            raise RuntimeError(
                "When eager execution is enabled, `var_list` must specify a list or dict of "
                "variables to save"
            )
        # A supervisor's thread and the program save with one saver: the last to begin is the last
        # in the state file, too.
        self._saving = threading.RLock()
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._restore_sequentially = restore_sequentially
        self.saver_def = saver_def
        self._builder: BaseSaverBuilder | None = builder
        self._is_built = False
        self._allow_empty = allow_empty
        self._is_empty: bool | None = None
        self._write_version = write_version
        self._pad_step_number = pad_step_number
        self._filename = filename
        self._last_checkpoints: list[tuple[str, float]] = []
        self._checkpoints_to_be_deleted: list[tuple[str, float]] = []
        self._next_checkpoint_time = 0.0
        self._is_immediate = executing_eagerly()
        if self._is_immediate:
            self._is_built = True
            self.saver_def = SaverDef(
                max_to_keep=max_to_keep or 0,
                keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
                version=write_version,
            )
            self._next_checkpoint_time = time.time() + keep_checkpoint_every_n_hours * 3600
        elif not defer_build:
            self.build()
        if self.saver_def and not self._is_immediate:
            self._check_saver_def()
            self._write_version = self.saver_def.version
        self._save_relative_paths = save_relative_paths
        # For checkpoints of objects: a saver that knows the names these have there.
        self._object_restore_saver: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy has in common; each has a lock of its own."""
        return {name: value for name, value in vars(self).items() if name != "_saving"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _saving=threading.RLock())

    def build(self) -> None:
        """Add the operations to the default graph, unless they are there.

        Raises:
          ValueError: If there is nothing to save.
        """
        if executing_eagerly():
            raise RuntimeError("Use save/restore instead of build in eager mode.")
        if self._is_built:
            return
        self._is_built = True
        if not self.saver_def:
            if self._builder is None:
                self._builder = BulkSaverBuilder(self._write_version)
            if self._var_list is None:
                self._var_list = all_saveable_objects()
            if not self._var_list:
                if not self._allow_empty:
                    raise ValueError("No variables to save")
                self._is_empty = True
                return
            self._is_empty = False
            self.saver_def = self._builder._build_internal(
                self._var_list,
                reshape=self._reshape,
                sharded=self._sharded,
                max_to_keep=self._max_to_keep,
                keep_checkpoint_every_n_hours=self._keep_checkpoint_every_n_hours,
                name=self._name,
                restore_sequentially=self._restore_sequentially,
                filename=self._filename,
            )
        elif self._name:
            for field in _NAMES:
                setattr(
                    self.saver_def, field, with_scope(getattr(self.saver_def, field), self._name)
                )
        self._check_saver_def()
        self._next_checkpoint_time = (
            time.time() + self.saver_def.keep_checkpoint_every_n_hours * 3600
        )

    def _check_saver_def(self) -> None:
        if not isinstance(self.saver_def, SaverDef):
            raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {self.saver_def}")
        for field in _NAMES[1:]:
            if not getattr(self.saver_def, field):
                raise ValueError(f"saver_def must specify the {field}: {self.saver_def}")

    # ---- Which checkpoints there are

    def _CheckpointFilename(self, p: tuple[str, float]) -> str:
        return p[0]

    def _RecordLastCheckpoint(self, latest_save_path: str) -> None:
        if not self.saver_def.max_to_keep:
            return
        self._last_checkpoints = [p for p in self._last_checkpoints if p[0] != latest_save_path]
        self._last_checkpoints.append((latest_save_path, time.time()))
        if len(self._last_checkpoints) > self.saver_def.max_to_keep:
            self._checkpoints_to_be_deleted.append(self._last_checkpoints.pop(0))

    def _MaybeDeleteOldCheckpoints(self, meta_graph_suffix: str = "meta") -> None:
        if not self._checkpoints_to_be_deleted:
            return
        path, stamp = self._checkpoints_to_be_deleted.pop(0)
        if stamp > self._next_checkpoint_time:
            self._next_checkpoint_time += self.saver_def.keep_checkpoint_every_n_hours * 3600
            return
        try:
            write_back.wait_for_one(self.last_checkpoints)
            checkpoint_management.delete_checkpoint(path, self.saver_def.version, meta_graph_suffix)
        except Exception as error:
            logging.warning("Ignoring: %s", str(error))

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that are kept, the oldest first."""
        return [self._CheckpointFilename(p) for p in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Set the kept checkpoints; `set_last_checkpoints_with_time` sets their times, too."""
        assert isinstance(last_checkpoints, list)
        # Never old enough to be deleted.
        self._last_checkpoints = [(path, np.inf) for path in last_checkpoints]

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: list[tuple[str, float]]
    ) -> None:
        """Set the kept checkpoints.

        Args:
          last_checkpoints_with_time: Checkpoints and when they were made, in seconds.
        """
        assert isinstance(last_checkpoints_with_time, list)
        self._last_checkpoints = last_checkpoints_with_time

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Set the list of checkpoints that an earlier program saved.

        Args:
          checkpoint_paths: Checkpoints; those that are not there are left out.
        """
        found = []
        for path in checkpoint_paths:
            times = checkpoint_management.checkpoint_mtimes([path])
            if times:
                found.append((path, times[0]))
        self.set_last_checkpoints_with_time(found)

    # ---- As a message

    def as_saver_def(self) -> Any:
        """Return this as a `SaverDef`."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return this as a `SaverDef`; None if it is not in `export_scope`."""
        if export_scope is None:
            return self.saver_def
        if not all(getattr(self.saver_def, field).startswith(export_scope) for field in _NAMES):
            return None
        result = SaverDef()
        result.CopyFrom(self.saver_def)
        for field in _NAMES:
            setattr(result, field, without_scope(getattr(result, field), export_scope))
        return result

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """Return the saver that a `SaverDef` describes, whose nodes are in the graph already."""
        return Saver(saver_def=saver_def, name=import_scope)

    # ---- Saving and restoring

    def save(
        self,
        sess: Any,
        save_path: Any,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Save the variables of a session.

        Args:
          sess: The session.
          save_path: Prefix of the files to write.
          global_step: A number, tensor, or tensor name; it is appended to the prefix.
          latest_filename: The name of the state file, "checkpoint" by default.
          meta_graph_suffix: How the file of the graph ends.
          write_meta_graph: Whether the graph is written too.
          write_state: Whether the state file is.
          strip_default_attrs: Whether attributes with their defaults are left out of the graph.
          save_debug_info: Whether it is written where the program made the nodes.

        Returns:
          The checkpoint, for `restore`; None if there is nothing to save.

        Raises:
          TypeError: If `sess` is no session.
          ValueError: If the names are in each other's way, or there is no such directory.
          RuntimeError: If the operations were not built.
        """
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        latest_filename = "checkpoint" if latest_filename is None else latest_filename
        save_path = os.fspath(save_path)
        if self._write_version != SaverDef.V2:
            for line in _V1_WARNING:
                logging.warning(line)
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        with self._saving:
            checkpoint_file = self._checkpoint_file(sess, save_path, global_step, latest_filename)
            if not self._is_immediate and not isinstance(sess, SessionInterface):
                raise TypeError(f"'sess' must be a Session; {sess}")
            saved = None
            if not self._is_empty:
                saved = self._run_save(sess, save_path, checkpoint_file)
                if write_state:
                    self._write_state(os.path.dirname(save_path), saved, latest_filename)
                    self._MaybeDeleteOldCheckpoints(meta_graph_suffix=meta_graph_suffix)
            if write_meta_graph and not self._is_immediate:
                suffix = meta_graph_suffix
                with sess.graph.as_default():
                    self.export_meta_graph(
                        checkpoint_management.meta_graph_filename(checkpoint_file, suffix),
                        strip_default_attrs=strip_default_attrs,
                        save_debug_info=save_debug_info,
                    )
        return saved

    def _checkpoint_file(
        self, sess: Any, save_path: str, global_step: Any, latest_filename: str
    ) -> str:
        if global_step is None:
            if os.path.basename(save_path) == latest_filename and not self._sharded:
                raise ValueError(
                    f"'latest_filename' collides with 'save_path': '{latest_filename}' and "
                    f"'{save_path}'"
                )
            return save_path
        if not isinstance(global_step, compat.integral_types):
            global_step = value_of_step(sess, global_step)
        digits = f"{global_step:08d}" if self._pad_step_number else str(int(global_step))
        return f"{save_path}-{digits}"

    def _run_save(self, sess: Any, save_path: str, checkpoint_file: str) -> str:
        try:
            if self._is_immediate:
                return save_now(self._saveables(), checkpoint_file, self._write_version)
            saved = sess.run(
                self.saver_def.save_tensor_name,
                {self.saver_def.filename_tensor_name: checkpoint_file},
            )
        except (errors.FailedPreconditionError, errors.NotFoundError):
            parent = os.path.dirname(save_path)
            if not (is_remote(parent) or os.path.isdir(plain_path(parent) or ".")):
                raise ValueError(
                    f"Parent directory of {save_path} doesn't exist, can't save."
                ) from None
            raise
        return compat.as_str(saved)

    def _saveables(self) -> list[SaveableObject]:
        return validate_and_slice_inputs(self._var_list)

    def _write_state(self, directory: str, saved: str, latest_filename: str) -> None:
        self._RecordLastCheckpoint(saved)
        checkpoint_management.update_checkpoint_state_internal(
            save_dir=directory,
            model_checkpoint_path=saved,
            all_model_checkpoint_paths=self.last_checkpoints,
            latest_filename=latest_filename,
            save_relative_paths=self._save_relative_paths,
        )

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """Return the default graph and this saver as a `MetaGraphDef`.

        See the function of this name.
        """
        return export_meta_graph(
            filename=filename,
            graph_def=get_default_graph().as_graph_def(add_shapes=True),
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
            save_debug_info=save_debug_info,
        )

    def restore(self, sess: Any, save_path: Any) -> None:
        """Restore variables of a session; they need no initial values.

        Args:
          sess: The session.
          save_path: The checkpoint.

        Raises:
          ValueError: If there is no such checkpoint.
          NotFoundError: If a variable is missing.
          InvalidArgumentError: If a variable has another type or shape there.
          DataLossError: If it is damaged.
        """
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        prefix = compat.as_text(os.fspath(save_path))
        if not checkpoint_management.checkpoint_exists_internal(prefix):
            raise ValueError(
                f"The passed save_path is not a valid checkpoint: {prefix}{advice(prefix)}"
            )
        logging.info("Restoring parameters from %s", prefix)
        try:
            if self._is_immediate:
                restore_now(self._saveables(), prefix)
                return
            file = self.saver_def.filename_tensor_name
            with trust.reading(sess.graph, [file]):
                sess.run(self.saver_def.restore_op_name, {file: prefix})
        except errors.NotFoundError as error:
            self._restore_objects(sess, prefix, error)
        except errors.InvalidArgumentError as error:
            raise _explained(error, "a mismatch between the current graph and the graph") from None

    def _restore_objects(self, sess: Any, prefix: str, error: errors.NotFoundError) -> None:
        """Restore from a checkpoint of `tf.train.Checkpoint`, if it is one."""
        try:
            names_to_keys = object_graph_key_mapping(prefix)
        except errors.NotFoundError:
            raise _explained(error, "a Variable name or other graph key that is missing") from None
        logging.warning(
            "Restoring an object-based checkpoint using a name-based saver. This may be somewhat "
            "fragile, and will re-build the Saver. Instead, consider loading object-based "
            "checkpoints using tf.train.Checkpoint()."
        )
        self._object_restore_saver = saver_from_object_based_checkpoint(
            prefix,
            var_list=self._var_list,
            builder=self._builder,
            names_to_keys=names_to_keys,
            cached_saver=self._object_restore_saver,
        )
        self._object_restore_saver.restore(sess=sess, save_path=prefix)

    @staticmethod
    def _add_collection_def(meta_graph_def: Any, key: str, export_scope: str | None = None) -> None:
        from stillflow.train.meta_graph_export import add_collection_def

        add_collection_def(meta_graph_def, key, export_scope=export_scope)


collection_protos.saver.provide(Saver)


def _explained(error: errors.OpError, missing: str) -> errors.OpError:
    message = (
        f"Restoring from checkpoint failed. This is most likely due to {missing} from the "
        "checkpoint. Please ensure that you have not altered the graph expected based on the "
        f"checkpoint. Original error:\n\n{error.message}"
    )
    kind: Any = error.__class__
    result: errors.OpError = kind(error.node_def, error.op, message)
    return result


def get_saver_or_default() -> Saver:
    """Return the graph's saver, or a new one of all variables; RuntimeError if several."""
    savers = get_collection(GraphKeys.SAVERS)
    if savers:
        if len(savers) > 1:
            raise RuntimeError(
                f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one "
                "to use by passing it to the constructor."
            )
        return savers[0]
    saver = Saver(sharded=True, allow_empty=True)
    add_to_collection(GraphKeys.SAVERS, saver)
    return saver


# Old programs find these here: tensorflow.python.training.saver is this very module.
_get_saver_or_default = get_saver_or_default
_import_meta_graph_with_return_elements = import_meta_graph_with_return_elements
__all__ = [
    "BaseSaverBuilder",
    "BulkSaverBuilder",
    "Saver",
    "checkpoint_exists",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_saver_or_default",
    "import_meta_graph",
    "latest_checkpoint",
    "object_graph_key_mapping",
    "remove_checkpoint",
    "saver_from_object_based_checkpoint",
    "update_checkpoint_state",
]
