"""SavedModels of graphs, as TensorFlow 1.x writes them, as objects with functions."""

from __future__ import annotations

from typing import Any

from stillflow.functional.wrapped import WrappedFunction
from stillflow.functional.wrapped_graphs import wrap_function
from stillflow.graph.api import init_scope
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.tensor_shape import TensorShape
from stillflow.lookup.table_initializers import TrackableAsset
from stillflow.ops.constants import constant
from stillflow.platform import tf_logging as logging
from stillflow.saved_model.object_functions import SignatureMap
from stillflow.saved_model.reading import SavedModelLoader, get_asset_tensors, get_init_op
from stillflow.train.meta_graph import import_meta_graph
from stillflow.train.tracking.base import AutoTrackable
from stillflow.variables.resource_variable import UninitializedVariable


def load_graph(export_dir: str, tags: Any = None) -> AutoTrackable:
    """Return the graph of a SavedModel as an object, its variables and tables initialized.

    Returns:
      An object with the attributes `signatures`, `variables` (those that are resources),
      `asset_paths`, `graph`, and `prune`, which makes functions of other tensors of the graph.

    Raises:
      ValueError: If there are several graphs and no tags.
      RuntimeError: If there is no graph of these tags.
    """
    loader = SavedModelLoader(export_dir)
    graphs = loader.saved_model.meta_graphs
    if tags is None and len(graphs) != 1:
        raise ValueError(
            "Importing a SavedModel with tf.saved_model.load requires a 'tags=' argument if there "
            f"is more than one MetaGraph. Got 'tags=None', but there are {len(graphs)} MetaGraphs "
            f"in the SavedModel with tag sets {[list(each.meta_info_def.tags) for each in graphs]}."
            " Pass a 'tags=' argument to load this SavedModel."
        )
    tags = graphs[0].meta_info_def.tags if tags is None else tags
    message = loader.get_meta_graph_def_from_tags([tags] if isinstance(tags, str) else tags)
    assets = get_asset_tensors(export_dir, message)
    root: Any = AutoTrackable()
    imported = _Imported(message)
    body = wrap_function(imported.build, [])
    if imported.saver is not None:
        names = imported.saver.saver_def
        restore = body.graph.get_operation_by_name(names.restore_op_name)
        body.prune(names.filename_tensor_name, restore)(constant(loader.variables_path))
    root.asset_paths = [TrackableAsset(path) for path in assets.values()]
    if imported.init_op is not None:
        initialize = body.prune(list(assets), imported.init_op)
        initialize(*(each.asset_path for each in root.asset_paths))
    root.signatures = SignatureMap(dict(imported.signatures(body)))
    root.variables, root.graph, root.prune = imported.variables, body.graph, body.prune
    root.tensorflow_version = message.meta_info_def.tensorflow_version
    root.tensorflow_git_version = message.meta_info_def.tensorflow_git_version
    return root


class _Imported:
    """The import of a `MetaGraphDef` into a function, with variables outside of it."""

    def __init__(self, message: Any) -> None:
        self._message = message
        self.variables: list[UninitializedVariable] = []
        self.saver: Any = None
        self.init_op: Any = None

    def build(self) -> None:
        """Import the nodes into the function's graph."""
        graph: Any = get_default_graph()
        handles = {}
        for node in self._message.graph_def.node:
            if node.op == "VarHandleOp":
                dtype, shape = node.attr["dtype"].type, TensorShape(node.attr["shape"].shape)
                with init_scope():
                    variable = UninitializedVariable(name=node.name, dtype=dtype, shape=shape)
                self.variables.append(variable)
                graph.watch_variable(variable)
                handles[f"{node.name}:0"] = graph.capture(variable.handle)
        self.saver = import_meta_graph(self._message, input_map=handles)
        for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
            if variable.dtype._is_ref_dtype:
                logging.warning(
                    f"Unable to create a python object for variable {variable} because it is a "
                    "reference variable. It may not be visible to training APIs. If this is a "
                    "problem, consider rebuilding the SavedModel after running "
                    "tf.compat.v1.enable_resource_variables()."
                )
        self.init_op = get_init_op(self._message)

    def signatures(self, body: WrappedFunction) -> Any:
        """Yield the names and functions of the signatures."""
        for name, signature in self._message.signature_def.items():
            if not name.startswith("__saved_model_"):
                inputs = dict(sorted(signature.inputs.items()))
                feeds = {each: inputs[each].name for each in inputs}
                yield name, body.prune(feeds, dict(signature.outputs))
