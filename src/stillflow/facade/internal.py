"""Internal names of TensorFlow that have an equivalent of our own outside the public API.

Add a line where an old program needs one, to OBJECTS: {internal module: {name:
"stillflow.module:object"}}.  A value without ":" is a module; the name "*" gives the modules,
separated by blanks, that are asked for every other name.
"""

from __future__ import annotations

from stillflow.facade import (
    internal_autograph,
    internal_contrib,
    internal_data,
    internal_debug,
    internal_distribute,
    internal_estimator,
    internal_features,
    internal_forest,
    internal_keras,
    internal_learn,
    internal_ops,
    internal_ragged,
    internal_timeseries,
    internal_tpu,
    internal_training,
    internal_trees,
)  # fmt: skip

# Internal packages whose modules have the names of a public namespace's.
PACKAGES = {
    "tensorflow.contrib.learn.python.learn.datasets": "contrib.learn.datasets",
    "tensorflow.python.keras.api._v1.keras": "keras",
}

# Internal modules that we have whole: the very module, so that patching it has an effect.
MODULES = {
    **internal_autograph.MODULES,
    **internal_contrib.MODULES,
    **internal_distribute.MODULES,
    **internal_forest.MODULES,
    **internal_keras.MODULES,
    **internal_timeseries.MODULES,
    "tensorflow.examples.saved_model.integration_tests.mnist_util":
        "stillflow_contrib.learn.datasets.mnist_util",
    "tensorflow.examples.tutorials.mnist.input_data": "stillflow_contrib.learn.datasets.mnist",
    "tensorflow.lite.experimental.microfrontend.python.ops.audio_microfrontend_op":
        "stillflow_contrib.lite.audio_microfrontend",
    "tensorflow.lite.python.interpreter": "stillflow.lite.interpreter",
    "tensorflow.python.compat.compat": "stillflow.platform.compat",
    "tensorflow.python.data.util.convert": "stillflow.data.convert",
    "tensorflow.python.data.util.nest": "stillflow.data.nest",
    "tensorflow.python.data.util.options": "stillflow.data.options_base",
    "tensorflow.python.data.util.structure": "stillflow.data.structure",
    "tensorflow.python.eager.cancellation": "stillflow.eager.cancellation",
    "tensorflow.python.eager.context": "stillflow.facade.eager_context",
    "tensorflow.python.eager.profiler": "stillflow.eager.profiler",
    "tensorflow.python.eager.backprop": "stillflow.eager.backprop",
    "tensorflow.python.eager.execution_callbacks": "stillflow.eager.callbacks",
    "tensorflow.python.eager.tape": "stillflow.eager.tape",
    "tensorflow.python.framework.errors": "stillflow.errors",
    "tensorflow.python.debug.cli.offline_analyzer": "stillflow.tools.offline_analyzer",
    "tensorflow.python.framework.errors_impl": "stillflow.errors",
    "tensorflow.python.framework.test_ops": "stillflow.testing.test_ops",
    "tensorflow.python.framework.test_util": "stillflow.testing.test_util",
    "tensorflow.python.ops.control_flow_util": "stillflow.facade.control_flow_util",
    "tensorflow.python.platform.app": "stillflow.platform.app",
    "tensorflow.python.platform.benchmark": "stillflow.testing.benchmark",
    "tensorflow.python.platform.flags": "stillflow.platform.flags",
    "tensorflow.python.platform.resource_loader": "stillflow.platform.resource_loader",
    "tensorflow.python.platform.sysconfig": "stillflow.platform.sysconfig",
    "tensorflow.python.platform.tf_logging": "stillflow.platform.tf_logging",
    "tensorflow.python.tf2": "stillflow.facade.tf2",
    "tensorflow.python.training.checkpoint_management": "stillflow.train.checkpoint_management",
    "tensorflow.python.training.coordinator": "stillflow.train.coordinator",
    "tensorflow.python.training.queue_runner_impl": "stillflow.train.queue_runner",
    "tensorflow.python.training.saver": "stillflow.train.saver",
    "tensorflow.python.tools.freeze_graph": "stillflow.tools.freeze_graph",
    "tensorflow.python.tools.import_pb_to_tensorboard": "stillflow.tools.import_pb_to_tensorboard",
    "tensorflow.python.tools.inspect_checkpoint": "stillflow.tools.inspect_checkpoint",
    "tensorflow.python.tools.saved_model_cli": "stillflow.tools.saved_model_cli",
    "tensorflow.python.tools.optimize_for_inference": "stillflow.tools.optimize_for_inference",
    "tensorflow.python.tools.optimize_for_inference_lib":
        "stillflow.tools.optimize_for_inference_lib",
    "tensorflow.python.tools.saved_model_utils": "stillflow.tools.saved_model_utils",
    "tensorflow.python.tools.strip_unused": "stillflow.tools.strip_unused",
    "tensorflow.python.tools.strip_unused_lib": "stillflow.tools.strip_unused_lib",
    "tensorflow.python.training.experimental.mixed_precision_global_state":
        "stillflow.runtime.session.mixed_precision_state",
    "tensorflow.python.util.all_util": "stillflow.util.all_util",
    "tensorflow.python.util.compat": "stillflow.platform.compat",
    "tensorflow.python.util.decorator_utils": "stillflow.util.decorator_utils",
    "tensorflow.python.util.deprecation": "stillflow.util.deprecation",
    "tensorflow.python.util.function_utils": "stillflow.util.function_utils",
    "tensorflow.python.util.object_identity": "stillflow.util.object_identity",
    "tensorflow.python.util.keyword_args": "stillflow.util.keyword_args",
    "tensorflow.python.util.lazy_loader": "stillflow.util.lazy_loader",
    "tensorflow.python.util.nest": "stillflow.nest",
    "tensorflow.python.util.tf_contextlib": "stillflow.util.tf_contextlib",
    "tensorflow.python.util.tf_decorator": "stillflow.util.tf_decorator",
    "tensorflow.python.util.tf_inspect": "stillflow.util.tf_inspect",
    "tensorflow.tools.graph_transforms": "stillflow.tools.graph_transforms",
    **internal_estimator.MODULES,
}

# Single names of the others, and the modules of ours to ask for all other names.
OBJECTS: dict[str, dict[str, str]] = {
    **internal_autograph.OBJECTS,
    **internal_contrib.OBJECTS,
    **internal_keras.OBJECTS,
    **internal_learn.OBJECTS,
    **internal_data.OBJECTS,
    **internal_debug.OBJECTS,
    **internal_estimator.OBJECTS,
    **internal_distribute.OBJECTS,
    **internal_features.OBJECTS,
    **internal_ops.OBJECTS,
    **internal_ragged.OBJECTS,
    **internal_timeseries.OBJECTS,
    **internal_tpu.OBJECTS,
    **internal_training.OBJECTS,
    **internal_trees.OBJECTS,
    "tensorflow.lite.python.convert": {
        "*": "stillflow.lite.settings stillflow.lite.toco",
    },
    "tensorflow.lite.python.lite": {
        "*": "stillflow.lite.converter stillflow.lite.settings stillflow.lite.interpreter "
        "stillflow.lite.toco",
    },
    "tensorflow.lite.python.lite_constants": {"*": "stillflow.lite.settings"},
    "tensorflow.python.client.device_lib": {
        "list_local_devices": "stillflow.platform.config:list_local_devices",
    },
    "tensorflow.python.client.session": {
        "_DeviceAttributes": "stillflow.runtime.devices.devices:DeviceAttributes",
        "_FetchHandler": "stillflow.facade.fetch_handler:FetchHandler",
        "*": "stillflow.runtime.session.session stillflow.runtime.session.interactive_session "
        "stillflow.runtime.session.fetches",
    },
    "tensorflow.python.client.timeline": {"*": "stillflow.profiler.timeline"},
    "tensorflow.python.eager.monitoring": {"*": "stillflow.eager.monitoring"},
    "tensorflow.python.eager.def_function": {
        "Function": "stillflow.functional.polymorphic:Function",
        "function": "stillflow.functional.polymorphic:function",
    },
    "tensorflow.python.eager.core": {
        "_FallbackException": "stillflow.facade.eager_only:FallbackException",
        "_SymbolicException": "stillflow.facade.eager_only:SymbolicException",
        "_NotOkStatusException": "stillflow.facade.eager_only:NotOkStatusException",
        "_status_to_exception": "stillflow.facade.eager_only:status_to_exception",
    },
    "tensorflow.python.eager.executor": {
        "Executor": "stillflow.facade.eager_context:Executor",
        "new_executor": "stillflow.facade.eager_context:new_executor",
    },
    "tensorflow.python.eager.graph_only_ops": {
        "graph_placeholder": "stillflow.facade.graph_only_ops:graph_placeholder",
        "graph_zeros_like": "stillflow.facade.graph_only_ops:graph_zeros_like",
    },
    "tensorflow.python.eager.execute": {"*": "stillflow.facade.eager_execute"},
    "tensorflow.python.eager.forwardprop": {
        "_forward_gradient": "stillflow.facade.eager_execute:forward_gradient",
        "*": "stillflow.eager.forwardprop",
    },
    "tensorflow.python.eager.function": {
        "Function": "stillflow.functional.registered:Function",
        "register": "stillflow.functional.registered:register",
        "defun": "stillflow.functional.polymorphic:defun",
        "defun_with_attributes": "stillflow.functional.polymorphic:defun_with_attributes",
        "ConcreteFunction": "stillflow.functional.concrete:ConcreteFunction",
        "FunctionSpec": "stillflow.functional.function_spec:FunctionSpec",
    },
    "tensorflow.python.eager.lift_to_graph": {
        "UnliftableError": "stillflow.functional.lifting:UnliftableError",
        "lift_to_graph": "stillflow.functional.lifting:lift_to_graph",
    },
    "tensorflow.python.eager.wrap_function": {"*": "stillflow.functional.wrapped_graphs"},
    "tensorflow.python.eager.test": {
        "main": "stillflow.facade.eager_only:test_main",
        "*": "stillflow.testing.environment stillflow.testing.test_case",
    },
    "tensorflow.python.estimator.inputs.queues.feeding_functions": {
        "_enqueue_data": "stillflow.facade.feeding_functions:enqueue_data",
    },
    "tensorflow.python.framework.c_api_util": {
        "ScopedTFStatus": "stillflow.facade.pywrap:ScopedTFStatus",
    },
    "tensorflow.python.framework.common_shapes": {
        **{name: f"stillflow.facade.framework_ops:{name}"
           for name in ("broadcast_shape", "is_broadcast_compatible", "call_cpp_shape_fn")},
        "scalar_shape": "stillflow.facade.framework_ops:scalar_shape",
        "unknown_shape": "stillflow.facade.framework_ops:unknown_shape",
    },
    "tensorflow.python.framework.constant_op": {
        "_tensor_shape_tensor_conversion_function":
            "stillflow.facade.framework_ops:shape_to_tensor",
    },
    "tensorflow.python.framework.composite_tensor": {"*": "stillflow.graph.composite_tensor"},
    "tensorflow.python.framework.config": {"*": "stillflow.platform.config"},
    "tensorflow.python.framework.device": {"*": "stillflow.graph.device"},
    "tensorflow.python.framework.dtypes": {
        "_TYPE_TO_STRING": "stillflow.graph.dtypes:_TYPE_TO_STRING",
        "*": "stillflow.graph.dtypes",
    },
    "tensorflow.python.framework.error_interpolation": {"*": "stillflow.train.debug_info"},
    "tensorflow.python.framework.indexed_slices": {"*": "stillflow.graph.indexed_slices"},
    "tensorflow.python.framework.func_graph": {
        "FuncGraph": "stillflow.graph.func_graph:FuncGraph",
        "UnknownArgument": "stillflow.functional.placeholders:UnknownArgument",
        "_EAGER_CONST_THRESHOLD": "stillflow.graph.func_graph:_LARGEST_CONSTANT",
    },
    "tensorflow.python.framework.function": {
        "_DefinedFunction": "stillflow.functional.defun:DefinedFunction",
        "_FuncGraph": "stillflow.functional.defun:DefunGraph",
        "_OverloadedFunction": "stillflow.functional.defun:OverloadedFunction",
        "_from_definition": "stillflow.functional.definitions:from_definition",
        "from_library": "stillflow.functional.definitions:from_library",
        "*": "stillflow.functional.defun",
    },
    "tensorflow.python.framework.graph_to_function_def": {
        "graph_to_function_def": "stillflow.functional.definitions:graph_to_function_def",
    },
    "tensorflow.python.framework.graph_io": {"*": "stillflow.train.graph_io"},
    "tensorflow.python.framework.meta_graph": {
        "*": "stillflow.train.meta_graph stillflow.train.meta_graph_export",
    },
    "tensorflow.python.framework.ops": {
        "_NodeDef": "stillflow.graph.explicit:node_def",
        "_default_graph_stack": "stillflow.graph.graph:_default",
        "_default_session_stack": "stillflow.graph.default_session:_stack",
        "_create_c_op": "stillflow.facade.framework_ops:create_c_op",
        "tensor_id": "builtins:id",
        "_set_call_cpp_shape_fn": "stillflow.facade.framework_ops:_set_call_cpp_shape_fn",
        "_get_graph_from_inputs": "stillflow.graph.api:graph_from_inputs",
        "context": "stillflow.facade.eager_context",
        "_gradient_registry": "stillflow.facade.gradient_table:GRADIENTS",
        "get_gradient_function": "stillflow.graph.gradient_registry:gradient_function",
        "_TensorLike": "stillflow.graph.tensor_like:TensorLike",
        "IndexedSlicesValue": "stillflow.graph.indexed_slices:IndexedSlicesValue",
        "*": "stillflow.facade.framework_ops stillflow.profiler.statistics stillflow.graph.graph"
        " stillflow.graph.eager_mode stillflow.graph.collection_protos"
        " stillflow.graph.api stillflow.graph.conversion stillflow.graph.tensor_like"
        " stillflow.graph.indexed_slices stillflow.graph.default_session",
    },
    "tensorflow.python.profiler.model_analyzer": {
        "ALL_ADVICE": "stillflow.profiler.advisor:ALL_ADVICE",
        "_build_options": "stillflow.profiler.outputs:options_proto",
    },
    "tensorflow.python.profiler.tfprof_logger": {
        "TRAINABLE_VARIABLES": "stillflow.profiler.option_builder:TRAINABLE_VARIABLES",
        "merge_default_with_oplog": "stillflow.profiler.op_log:merged",
    },
    "tensorflow.python.framework.op_def_registry": {"*": "stillflow.facade.op_registry"},
    "tensorflow.python.framework.random_seed": {"*": "stillflow.graph.random_seed"},
    "tensorflow.python.framework.smart_cond": {
        "*": "stillflow.ops.control_flow.cond stillflow.ops.control_flow.case",
    },
    "tensorflow.python.framework.sparse_tensor": {"*": "stillflow.graph.sparse_tensor"},
    "tensorflow.python.framework.tensor_shape": {
        "*": "stillflow.graph.tensor_shape",
        "_TENSORSHAPE_V2_OVERRIDE": "stillflow.graph.tensor_shape:_TENSORSHAPE_V2_OVERRIDE",
    },
    "tensorflow.python.framework.tensor_spec": {"*": "stillflow.graph.tensor_spec"},
    "tensorflow.python.framework.tensor_util": {
        "constant_value": "stillflow.graph.static_value:static_value",
        "*": "stillflow.graph.tensor_proto stillflow.graph.static_value",
    },
    "tensorflow.python.framework.type_spec": {"*": "stillflow.graph.type_spec"},
    "tensorflow.python.framework.versions": {
        "__version__": "stillflow.version:VERSION",
        "__git_version__": "stillflow.version:GIT_VERSION",
        "__compiler_version__": "stillflow.version:COMPILER_VERSION",
        "__cxx11_abi_flag__": "stillflow.version:CXX11_ABI_FLAG",
        "__monolithic_build__": "stillflow.version:MONOLITHIC_BUILD",
        "*": "stillflow.version",
    },
    "tensorflow.python.grappler.tf_optimizer": {
        "OptimizeGraph": "stillflow.facade.graph_folding:OptimizeGraph",
    },
    "tensorflow.python.layers.base": {
        "*": "stillflow.layers.base stillflow.layers.style stillflow.layers.input_spec",
    },
    "tensorflow.python.layers.convolutional": {
        "*": "stillflow.layers.convolutional stillflow.layers.separable"
        " stillflow.layers.transposed",
    },
    "tensorflow.python.layers.core": {"*": "stillflow.layers.core"},
    "tensorflow.python.layers.normalization": {"*": "stillflow.layers.normalization"},
    "tensorflow.python.layers.pooling": {"*": "stillflow.layers.pooling"},
    "tensorflow.python.layers.utils": {
        "constant_value": "stillflow.layers.utils:constant_value",
        "conv_input_length": "stillflow.layers.utils:conv_input_length",
        "conv_output_length": "stillflow.layers.utils:conv_output_length",
        "convert_data_format": "stillflow.layers.utils:convert_data_format",
        "normalize_data_format": "stillflow.layers.utils:normalize_data_format",
        "normalize_padding": "stillflow.layers.utils:normalize_padding",
        "normalize_tuple": "stillflow.layers.utils:normalize_tuple",
        "smart_cond": "stillflow.layers.utils:smart_cond",
    },
    "tensorflow.python.lib.io.file_io": {"*": "stillflow.files.gfile stillflow.files.file_io"},
    "tensorflow.python.lib.io.tf_record": {"*": "stillflow.files.records"},
    "tensorflow.python.module.module": {"*": "stillflow.variables.module"},
    "tensorflow.python.platform.googletest": {
        "TestCase": "absl.testing.absltest:TestCase",
        "*": "stillflow.testing.googletest absl.testing.absltest",
    },
    "tensorflow.python.platform.test": {
        "mock": "unittest.mock",
        "*": "stillflow.testing.googletest stillflow.testing.environment",
    },
    "tensorflow.python.pywrap_tensorflow": {
        "EventsWriter": "stillflow.files.events:EventsWriter",
        "FileStatistics": "stillflow.files.gfile:FileStatistics",
        "TFE_Py_FastPathExecute": "stillflow.facade.fast_path:fast_path_execute",
        "TFE_Py_TensorShapeSlice": "stillflow.facade.eager_only:tensor_shape_slice",
        **{name: f"stillflow_contrib.stat_summarizer.summarizer:{name}"
           for name in ("DeleteStatSummarizer", "NewStatSummarizer", "StatSummarizer")},
        "*": "stillflow.facade.pywrap stillflow.eager.attributes",
    },
    "tensorflow.python.summary.plugin_asset": {"*": "stillflow.summary.plugin_asset"},
    "tensorflow.python.summary.writer.event_file_writer": {
        "*": "stillflow.summary.event_file_writer",
    },
    "tensorflow.python.summary.writer.event_file_writer_v2": {
        "*": "stillflow.summary.session_event_writer",
    },
    "tensorflow.python.summary.writer.writer": {
        "_PLUGINS_DIR": "stillflow.summary.writer:PLUGINS",
        "*": "stillflow.summary.writer stillflow.summary.event_file_writer",
    },
    "tensorflow.python.saved_model.builder": {
        "_SavedModelBuilder": "stillflow.saved_model.writing:InternalBuilder",
    },
    "tensorflow.python.framework.graph_util_impl": {
        "_assert_nodes_are_present": "stillflow.train.graph_summary:assert_nodes_are_present",
        "_bfs_for_reachable_nodes": "stillflow.train.graph_summary:bfs_for_reachable_nodes",
        "_extract_graph_summary": "stillflow.train.graph_summary:extract_graph_summary",
        "_node_name": "stillflow.graph_util:node_name",
    },
    "tensorflow.python.saved_model.builder_impl": {
        "_SavedModelBuilder": "stillflow.saved_model.writing:InternalBuilder",
        "*": "stillflow.saved_model.writing",
    },
    "tensorflow.python.saved_model.constants": {"*": "stillflow.saved_model.names"},
    "tensorflow.python.saved_model.load": {"*": "stillflow.saved_model.object_reading"},
    "tensorflow.python.saved_model.loader_impl": {
        "_parse_saved_model": "stillflow.saved_model.reading:parse_saved_model",
        "*": "stillflow.saved_model.reading",
    },
    "tensorflow.python.saved_model.nested_structure_coder": {
        "*": "stillflow.saved_model.structures",
    },
    "tensorflow.python.saved_model.save": {"*": "stillflow.saved_model.object_writing"},
    "tensorflow.python.saved_model.signature_constants": {"*": "stillflow.saved_model.names"},
    "tensorflow.python.saved_model.signature_def_utils_impl": {
        "*": "stillflow.saved_model.signatures",
    },
    "tensorflow.python.saved_model.utils": {
        "build_tensor_info_from_op": "stillflow.saved_model.signatures:tensor_info_of_op",
    },
    "tensorflow.python.saved_model.utils_impl": {
        "build_tensor_info_from_op": "stillflow.saved_model.signatures:tensor_info_of_op",
        "*": "stillflow.saved_model.signatures",
    },
}
