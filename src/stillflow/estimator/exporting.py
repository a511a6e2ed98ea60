"""The export of an estimator's model as a SavedModel."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from stillflow import errors
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.spec import EstimatorSpec
from stillflow.files import gfile
from stillflow.graph.api import add_to_collection, get_collection
from stillflow.graph.graph import Graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.platform import tf_logging as logging
from stillflow.runtime.session.session import Session
from stillflow.saved_model import names
from stillflow.saved_model.export_outputs import EvalOutput, TrainOutput, with_default_output
from stillflow.saved_model.exported_signatures import signatures_of
from stillflow.saved_model.writing import SavedModelBuilder
from stillflow.train.saver import Saver
from stillflow.train.scaffold import Scaffold

if TYPE_CHECKING:
    from stillflow.estimator.estimator import Estimator

_ATTEMPTS = 10
# The modes in the order of their graphs, each with its tag.
EXPORT_TAGS = {
    ModeKeys.TRAIN: names.TRAINING, ModeKeys.EVAL: "eval", ModeKeys.PREDICT: names.SERVING,
}  # fmt: skip


def export_all_saved_models(
    estimator: Estimator, base: Any, receivers: dict[Any, Any], assets_extra: Any, as_text: bool,
    checkpoint_path: Any, strip_default_attrs: bool,
) -> bytes:  # fmt: skip
    """Write a SavedModel with a graph for each mode; it has its name only once it is whole.

    `receivers` is {mode: function that gives a receiver of inputs}, `assets_extra` {path below
    `assets.extra`: file}. Returns the path of the folder, below `base`. ValueError if no known mode
    is given, or a variable is missing in the checkpoint.
    """
    modes = [mode for mode in EXPORT_TAGS if receivers.get(mode)]
    if not modes:
        raise ValueError(f"No valid modes for exporting found. Got {receivers.keys()}.")
    path = timestamped_directory(base)
    unfinished = unfinished_directory(path)
    builder = SavedModelBuilder(unfinished)
    for mode in modes:
        _add_graph(
            builder, estimator, mode, receivers[mode], checkpoint_path, strip_default_attrs,
            with_variables=mode == modes[0],
        )  # fmt: skip
    builder.save(as_text)
    copy_extra_assets(unfinished, assets_extra)
    gfile.rename(unfinished, path)
    return path


def timestamped_directory(base: Any) -> bytes:
    """Return a path below `base`, named by the seconds since 1970, that does not exist."""
    for attempt in range(1, _ATTEMPTS + 1):
        path = os.path.join(os.fsencode(base), str(int(time.time())).encode())
        if not gfile.file_exists(path):
            return path
        time.sleep(1)
        logging.warn(f"Directory {path!r} already exists; retrying (attempt {attempt}/{_ATTEMPTS})")
    raise RuntimeError(
        f"Failed to obtain a unique export directory name after {_ATTEMPTS} attempts."
    )


def unfinished_directory(path: bytes) -> bytes:
    """Return the temporary directory of an unfinished SavedModel."""
    return os.path.join(os.path.dirname(path), b"temp-" + os.path.basename(path))


def copy_extra_assets(folder: bytes, assets_extra: Any) -> None:
    """Copy files, {path below `assets.extra`: file}, into the folder of a SavedModel."""
    for name, source in (assets_extra or {}).items():
        target = os.path.join(folder, b"assets.extra", os.fsencode(name))
        gfile.recursive_create_dir(os.path.dirname(target))
        gfile.copy(source, target)


def _add_graph(
    builder: SavedModelBuilder, estimator: Estimator, mode: Any, receiver_fn: Any,
    checkpoint_path: Any, strip_default_attrs: bool, with_variables: bool,
) -> None:  # fmt: skip
    with Graph().as_default() as graph:
        estimator._begin(graph)
        receiver = receiver_fn()
        labels = getattr(receiver, "labels", None)
        spec = estimator._call_model_fn(receiver.features, labels, mode, estimator.config)
        signatures = signatures_of(
            receiver.receiver_tensors, _outputs(spec),
            getattr(receiver, "receiver_tensors_alternatives", None),
            serving_only=mode == ModeKeys.PREDICT,
        )  # fmt: skip
        with Session(config=estimator.config.session_config) as session:
            local_init = spec.scaffold.local_init_op
            if local_init is None:
                local_init = Scaffold.default_local_init_op()
            saver = spec.scaffold.saver or Saver(sharded=True)
            _restore(saver, session, checkpoint_path, mode)
            arguments: dict[str, Any] = {
                "tags": [EXPORT_TAGS[mode]], "signature_def_map": signatures, "main_op": local_init,
                "assets_collection": get_collection(GraphKeys.ASSET_FILEPATHS), "saver": saver,
                "strip_default_attrs": strip_default_attrs,
            }  # fmt: skip
            if spec.train_op is not None:
                add_to_collection(names.TRAIN_OP_KEY, spec.train_op)
            if with_variables:
                builder.add_meta_graph_and_variables(session, **arguments)
            else:
                builder.add_meta_graph(**arguments)


def _restore(saver: Any, session: Any, path: Any, mode: Any) -> None:
    try:
        saver.restore(session, path)
    except errors.NotFoundError as error:
        raise ValueError(
            "Could not load all requested variables from checkpoint. Please make sure your "
            "model_fn does not expect variables that were not saved in the checkpoint.\n\n"
            f"Encountered error with mode `{mode}` while restoring checkpoint from: `{path}`. "
            f"Full Traceback:\n\n{error}"
        ) from error


def _outputs(spec: EstimatorSpec) -> dict[str, Any]:
    if spec.mode == ModeKeys.PREDICT:
        return with_default_output(spec.export_outputs, spec.predictions)
    kind = TrainOutput if spec.mode == ModeKeys.TRAIN else EvalOutput
    return {EXPORT_TAGS[spec.mode]: kind(spec.loss, spec.predictions, spec.eval_metric_ops)}
