"""Variables in checkpoints of objects, found by the names that variables have in graphs."""

from __future__ import annotations

from typing import Any

from stillflow import errors
from stillflow.files.checkpoint_reader import CheckpointReader
from stillflow.protos import TrackableObjectGraph
from stillflow.train import saveables as saveables_lib

OBJECT_GRAPH_PROTO_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


def object_graph_key_mapping(checkpoint_path: str) -> dict[str, str]:
    """Return the keys of variables in a checkpoint of objects, by the names they had.

    NotFoundError if it is no such checkpoint.
    """
    content = CheckpointReader(checkpoint_path).get_tensor(OBJECT_GRAPH_PROTO_KEY)
    graph = TrackableObjectGraph.FromString(content)
    return {
        attribute.full_name: attribute.checkpoint_key
        for node in graph.nodes
        for attribute in node.attributes
    }


def saver_from_object_based_checkpoint(
    checkpoint_path: str,
    var_list: Any = None,
    builder: Any = None,
    names_to_keys: dict[str, str] | None = None,
    cached_saver: Any = None,
) -> Any:
    """Return a `Saver` that restores variables, by default all, from a checkpoint of objects.

    `builder` has no effect; `names_to_keys` is the result of `object_graph_key_mapping`,
    `cached_saver` one made before for a checkpoint of the same kind. ValueError if it is no
    checkpoint of objects, NotFoundError if a variable is missing.
    """
    from stillflow.train.saver import Saver
    from stillflow.variables.collections import all_saveable_objects

    del builder
    if names_to_keys is None:
        try:
            names_to_keys = object_graph_key_mapping(checkpoint_path)
        except errors.NotFoundError:
            raise ValueError(
                f"Checkpoint in {checkpoint_path} not an object-based checkpoint."
            ) from None
    if var_list is None:
        var_list = all_saveable_objects()
    saveables = saveables_lib.validate_and_slice_inputs(var_list)
    specs = [spec for saveable in saveables for spec in saveable.specs]
    _check_known({spec.name for spec in specs}, set(names_to_keys))
    for spec in specs:
        spec.name = names_to_keys[spec.name]
    return Saver(saveables) if cached_saver is None else cached_saver


def _check_known(current: set[str], previous: set[str]) -> None:
    missing = current - previous
    if not missing:
        return
    raise errors.not_found(
        f"\n\nExisting variables not in the checkpoint: {', '.join(sorted(missing))}\n\n"
        "Variables names when this checkpoint was written which don't exist now: "
        f"{', '.join(sorted(previous - current))}\n\n"
        f"({len(previous & current)} variable name(s) did match)\n\n"
        "Could not find some variables in the checkpoint (see names above). Saver was attempting "
        "to load an object-based checkpoint (saved using tf.train.Checkpoint or "
        "tf.keras.Model.save_weights) using variable names. If the checkpoint was written with "
        "eager execution enabled, it's possible that variable names have changed (for example "
        "missing a '_1' suffix). It's also possible that there are new variables which did not "
        "exist when the checkpoint was written. You can construct a Saver(var_list=...) with only "
        "the variables which previously existed, and if variable names have changed you may need "
        "to make this a dictionary with the old names as keys. If you're using an Estimator, "
        "you'll need to return a tf.train.Saver inside a tf.train.Scaffold from your model_fn."
    )
