"""The export of a model of `tf.contrib.learn` as a SavedModel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow.estimator.exporting import (
    copy_extra_assets,
    timestamped_directory,
    unfinished_directory,
)
from stillflow.files import gfile
from stillflow.graph.api import add_to_collection, get_collection
from stillflow.graph.graph import Graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.runtime.session.session import Session
from stillflow.saved_model.writing import SavedModelBuilder
from stillflow.train.global_step import create_global_step
from stillflow.train.saver import Saver
from stillflow.variables.collections import (
    all_saveable_objects,
    local_variables_initializer,
    tables_initializer,
)
from stillflow.variables.resources import initialize_resources, shared_resources
from stillflow_contrib.learn.keys import COLLECTION_DEF_KEY_FOR_INPUT_FEATURE_KEYS
from stillflow_contrib.learn.mode_keys import ModeKeys
from stillflow_contrib.learn.saved_model_export import (
    all_signature_defs,
    input_alternatives,
    output_alternatives,
)
from stillflow_contrib.meta_graph_transform.meta_graph_transform import meta_graph_transform

if TYPE_CHECKING:
    from stillflow_contrib.learn.estimator import Estimator


def export_savedmodel(
    estimator: Estimator, base: Any, serving_input_fn: Any, default_output: str | None,
    assets_extra: Any, as_text: bool, checkpoint_path: Any, specs: Any,
    strip_default_attrs: bool,
) -> bytes:  # fmt: skip
    """Export like `Estimator.export_savedmodel`; the folder is renamed when it is complete."""
    if not specs or specs[0].transforms:
        raise ValueError("The first element of graph_rewrite_specs must specify no transforms.")
    path = timestamped_directory(base)
    unfinished = unfinished_directory(path)
    builder = SavedModelBuilder(unfinished)
    with Graph().as_default() as graph:
        create_global_step(graph)
        received = serving_input_fn()
        inputs, features = input_alternatives(received)
        for name in received.features:
            add_to_collection(COLLECTION_DEF_KEY_FOR_INPUT_FEATURE_KEYS, name)
        model = estimator._call_model_fn(features, None, ModeKeys.INFER)
        outputs, default = output_alternatives(model, default_output)
        main_op = group(
            local_variables_initializer(), initialize_resources(shared_resources()),
            tables_initializer(),
        )  # fmt: skip
        signatures = all_signature_defs(inputs, outputs, default)
        with Session("") as session:
            saver = model.scaffold.saver if model.scaffold is not None else None
            (saver or Saver(all_saveable_objects(), sharded=True)).restore(session, checkpoint_path)
            builder.add_meta_graph_and_variables(
                session, specs[0].tags, signature_def_map=signatures,
                assets_collection=get_collection(GraphKeys.ASSET_FILEPATHS), main_op=main_op,
                strip_default_attrs=strip_default_attrs,
            )  # fmt: skip
    for spec in specs[1:]:
        _add_rewritten(builder, inputs, outputs, spec)
    copy_extra_assets(unfinished, assets_extra)
    builder.save(as_text)
    gfile.rename(unfinished, path)
    return path


def _add_rewritten(builder: Any, inputs: Any, outputs: Any, spec: Any) -> None:
    """Add the exported graph once more, after transforms."""
    fed = [tensor.name for tensors in inputs.values() for tensor in tensors.values()]
    fetched = [tensor.name for _, tensors in outputs.values() for tensor in tensors.values()]
    graphs = builder._saved_model.meta_graphs
    made = meta_graph_transform(graphs[0], fed, fetched, spec.transforms, spec.tags)
    graphs.add().CopyFrom(made)
