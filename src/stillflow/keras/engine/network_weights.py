"""The part of a network that has the variables of its layers, and saves and loads them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.keras.backend.session import get_session
from stillflow.layers.attributes import has_weights
from stillflow.platform import tf_logging as logging
from stillflow.train.checkpoint_management import update_checkpoint_state_internal
from stillflow.train.checkpoint_utils import new_checkpoint_reader
from stillflow.train.tracking.base import Trackable
from stillflow.train.tracking.trackable_saver import TrackableSaver

if TYPE_CHECKING:
    from stillflow.runtime.session.session import Session
    from stillflow.train.tracking.status import CheckpointLoadStatus


_HDF5 = (".h5", ".keras", ".hdf5")
_FORMATS = {
    "tensorflow": "tf", "tf": "tf", "hdf5": "h5", "h5": "h5", "keras": "h5",
}  # fmt: skip


_OPTIMIZER_LEFT_OUT = (
    "This model was compiled with a Keras optimizer ({}) but is being saved in TensorFlow format "
    "with `save_weights`. The model's weights will be saved, but unlike with TensorFlow optimizers "
    "in the TensorFlow format the optimizer's state will not be saved.\n\nConsider using a "
    "TensorFlow optimizer from `tf.train`."
)


class NetworkWeights:
    """Variables of a network: those of its layers, then its own."""

    name: Any
    built: bool
    layers: Any
    dynamic: Any
    trainable: Any
    _layers: list[Any]
    _trainable_weights: list[Any]
    _non_trainable_weights: list[Any]
    _is_graph_network: bool

    def _of_layers(self, attribute: str) -> list[Any]:
        # The contents of lists and dictionaries count here, and again as the model's own.
        return [x for part in filter(has_weights, self._layers) for x in getattr(part, attribute)]

    def _own(self, trainable: bool) -> list[Any]:
        own = self._trainable_weights + self._non_trainable_weights
        return [v for v in own if getattr(v, "trainable", False) is trainable]

    def _assert_weights_created(self) -> None:
        if self.dynamic or self._is_graph_network or self.built:
            return
        if "build" in type(self).__dict__:
            raise ValueError(
                f"Weights for model {self.name} have not yet been created. Weights are created "
                "when the Model is first called on inputs or `build()` is called with an "
                "`input_shape`."
            )

    @property
    def weights(self) -> list[Any]:
        """All variables, those of the layers first."""
        self._assert_weights_created()
        return self._of_layers("weights") + self._trainable_weights + self._non_trainable_weights

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that optimizers change; none if the network is not trainable."""
        self._assert_weights_created()
        return self._of_layers("trainable_weights") + self._own(True) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables."""
        self._assert_weights_created()
        frozen = self._of_layers("non_trainable_weights") + self._own(False)
        if self.trainable:
            return frozen
        return self._of_layers("trainable_weights") + self._own(True) + frozen

    @property
    def _unique_trainable_weights(self) -> list[Any]:
        return list({id(v): v for v in self.trainable_weights}.values())

    @property
    def _saver(self) -> TrackableSaver:
        own = self.__dict__
        if "_trackable_saver" not in own:
            own["_trackable_saver"] = TrackableSaver(self)
        saver: TrackableSaver = own["_trackable_saver"]
        return saver

    def save_weights(
        self, filepath: Any, overwrite: bool = True, save_format: str | None = None
    ) -> None:
        """Write the values of all variables, and those of the optimizer in TensorFlow's format.

        Args:
          filepath: a file, or the prefix of the file names in TensorFlow's format.
          overwrite: False to ask before files are replaced.
          save_format: "tf" or "h5"; by default what the ending of `filepath` says.

        Raises:
          ValueError: if the format is unknown or does not go with the ending.
          ImportError: for HDF5 if h5py is not installed.
        """
        self._assert_weights_created()
        filepath = os.fspath(filepath)
        kind = _format_of(filepath, save_format)
        target = f"{filepath}.index" if kind == "tf" else filepath
        if not overwrite and os.path.isfile(target) and not confirm_overwrite(target):
            return
        if kind == "h5":
            from stillflow.keras.saving import hdf5

            hdf5.save_weights(filepath, self.layers)
            return
        optimizer = getattr(self, "optimizer", None)
        if optimizer and not isinstance(optimizer, Trackable):
            logging.warning(_OPTIMIZER_LEFT_OUT.format(optimizer))
        self._saver.save(filepath, _session())
        update_checkpoint_state_internal(
            save_dir=os.path.dirname(filepath),
            model_checkpoint_path=filepath,
            save_relative_paths=True,
            all_model_checkpoint_paths=[filepath],
        )

    def load_weights(self, filepath: Any, by_name: bool = False) -> CheckpointLoadStatus | None:
        """Read the values of all variables; those made later get theirs too.

        Args:
          filepath: the argument of `save_weights`.
          by_name: whether layers are matched by their names; for HDF5 only.

        Returns:
          A status for TensorFlow's format, else None.

        Raises:
          NotImplementedError: if the format cannot be read so.
          ImportError: for HDF5 if h5py is not installed.
        """
        filepath = os.fspath(filepath)
        if _is_hdf5(filepath):
            from stillflow.keras.saving import hdf5

            if self._is_graph_network and not self.built:
                raise NotImplementedError(
                    "Unable to load weights saved in HDF5 format into a subclassed Model which has "
                    "not created its variables yet. Call the Model first, then load the weights."
                )
            self._assert_weights_created()
            hdf5.load_weights(filepath, self.layers, by_name)
            return None
        status = self._saver.restore(filepath)
        if by_name:
            raise NotImplementedError(
                "Weights may only be loaded based on topology into Models when loading "
                "TensorFlow-formatted weights (got by_name=True to load_weights)."
            )
        status.streaming_restore(_session())
        status.assert_nontrivial_match()
        return status


def _session() -> Session | None:
    """Return the session to save from and restore into; None where operations run when called."""
    return None if tf.executing_eagerly() else get_session()


def _is_hdf5(filepath: str) -> bool:
    if filepath.endswith(_HDF5):
        return True
    try:
        new_checkpoint_reader(filepath)
    except tf.errors.DataLossError:
        return True
    return False


def _format_of(filepath: str, save_format: str | None) -> str:
    ending = "h5" if filepath.endswith(_HDF5) else "tf"
    if save_format is None:
        return ending
    kind = _FORMATS.get(save_format.lower().strip())
    if kind is None:
        raise ValueError(f'Unknown format "{save_format}". Was expecting one of {{"tf", "h5"}}.')
    if kind == "tf" and ending == "h5":
        raise ValueError(
            'save_weights got save_format="tf"/"tensorflow", but the filepath ("'
            f'{filepath}") looks like an HDF5 file. Omit the ".h5"/".keras" when saving in '
            "TensorFlow format."
        )
    return kind


def confirm_overwrite(filepath: str) -> bool:
    """Asks at the terminal whether a file may be replaced."""
    answer = input(f"[WARNING] {filepath} already exists - overwrite? [y/n]").strip().lower()
    while answer not in ("y", "n"):
        answer = input('Enter "y" (overwrite) or "n" (cancel).').strip().lower()
    return answer == "y"
