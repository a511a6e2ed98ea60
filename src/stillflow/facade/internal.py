"""Internal names of TensorFlow that have an equivalent of our own outside the public API.

Add a line where an old program needs one, to OBJECTS: {internal module: {name:
"stillflow.module:object"}}.  A value without ":" is a module; the name "*" gives the modules,
separated by blanks, that are asked for every other name.
"""

from __future__ import annotations

from stillflow.facade import internal_contrib

# Internal packages whose modules have the names of a public namespace's.
PACKAGES = {
    "tensorflow.contrib.learn.python.learn.datasets": "contrib.learn.datasets",
    "tensorflow.contrib.slim.python.slim.nets": "contrib.slim.nets",
    "tensorflow.python.keras.api._v1.keras": "keras",
}

# Internal modules that we have whole: the very module, so that patching it has an effect.
MODULES = {
    "tensorflow.contrib.opt.python.training.sign_decay": "stillflow.contrib.opt.sign_decay",
    "tensorflow.examples.tutorials.mnist.input_data": "stillflow.contrib.learn.datasets.mnist",
    "tensorflow.python.compat.compat": "stillflow.platform.compat",
    "tensorflow.python.data.util.convert": "stillflow.data.convert",
    "tensorflow.python.data.util.nest": "stillflow.data.nest",
    "tensorflow.python.data.util.options": "stillflow.data.options_base",
    "tensorflow.python.data.util.structure": "stillflow.data.structure",
    "tensorflow.python.eager.context": "stillflow.facade.eager_context",
    "tensorflow.python.eager.backprop": "stillflow.eager.backprop",
    "tensorflow.python.eager.tape": "stillflow.eager.tape",
    "tensorflow.python.framework.errors": "stillflow.errors",
    "tensorflow.python.framework.errors_impl": "stillflow.errors",
    "tensorflow.python.framework.test_ops": "stillflow.testing.test_ops",
    "tensorflow.python.framework.test_util": "stillflow.testing.test_util",
    "tensorflow.python.ops.control_flow_util": "stillflow.facade.control_flow_util",
    "tensorflow.python.platform.app": "stillflow.platform.app",
    "tensorflow.python.platform.benchmark": "stillflow.platform.benchmark",
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
    "tensorflow.python.tools.optimize_for_inference": "stillflow.tools.optimize_for_inference",
    "tensorflow.python.tools.optimize_for_inference_lib":
        "stillflow.tools.optimize_for_inference_lib",
    "tensorflow.python.tools.saved_model_utils": "stillflow.tools.saved_model_utils",
    "tensorflow.python.tools.strip_unused": "stillflow.tools.strip_unused",
    "tensorflow.python.tools.strip_unused_lib": "stillflow.tools.strip_unused_lib",
    "tensorflow.python.training.experimental.mixed_precision_global_state":
        "stillflow.runtime.mixed_precision_state",
    "tensorflow.python.util.all_util": "stillflow.util.all_util",
    "tensorflow.python.util.compat": "stillflow.platform.compat",
    "tensorflow.python.util.decorator_utils": "stillflow.util.decorator_utils",
    "tensorflow.python.util.deprecation": "stillflow.util.deprecation",
    "tensorflow.python.util.function_utils": "stillflow.util.function_utils",
    "tensorflow.python.util.keyword_args": "stillflow.util.keyword_args",
    "tensorflow.python.util.nest": "stillflow.nest",
    "tensorflow.python.util.tf_contextlib": "stillflow.util.tf_contextlib",
    "tensorflow.python.util.tf_decorator": "stillflow.util.tf_decorator",
    "tensorflow.python.util.tf_inspect": "stillflow.util.tf_inspect",
}

# Single names of the others, and the modules of ours to ask for all other names.
OBJECTS: dict[str, dict[str, str]] = {
    **internal_contrib.OBJECTS,
    "tensorflow.python.autograph.core.ag_ctx": {"*": "stillflow.graph.autograph_status"},
    "tensorflow.python.client.device_lib": {
        "list_local_devices": "stillflow.runtime.devices:list_local_devices",
    },
    "tensorflow.python.client.session": {
        "_DeviceAttributes": "stillflow.runtime.devices:DeviceAttributes",
        "*": "stillflow.runtime.session stillflow.runtime.fetches",
    },
    "tensorflow.python.client.timeline": {"*": "stillflow.runtime.timeline"},
    "tensorflow.python.data.ops.dataset_ops": {
        "Dataset": "stillflow.data.dataset_v1:DatasetV1",
        "*": "stillflow.data.dataset stillflow.data.dataset_v1 stillflow.data.specs"
             " stillflow.data.options stillflow.data.structured_function stillflow.data.mapping"
             " stillflow.data.transforming stillflow.data.batching stillflow.data.combining"
             " stillflow.data.sources stillflow.data.wrapping stillflow.data.generator",
    },
    "tensorflow.python.data.ops.iterator_ops": {"*": "stillflow.data.iterator"},
    "tensorflow.python.data.ops.optional_ops": {"*": "stillflow.data.optional"},
    "tensorflow.python.data.ops.readers": {"*": "stillflow.data.readers"},
    "tensorflow.python.data.util.random_seed": {"get_seed": "stillflow.data.convert:get_seed"},
    "tensorflow.python.distribute.distribute_lib": {
        "*": "stillflow.distribute.strategy stillflow.distribute.context",
    },
    "tensorflow.python.distribute.distribution_strategy_context": {
        "*": "stillflow.distribute.context",
    },
    "tensorflow.python.eager.def_function": {
        "function": "stillflow.functional.polymorphic:function",
    },
    "tensorflow.python.eager.execution_callbacks": {
        "ExecutionCallback": "stillflow.facade.eager_only:ExecutionCallback",
        "errstate": "stillflow.facade.eager_only:errstate",
        "seterr": "stillflow.facade.eager_only:seterr",
    },
    "tensorflow.python.eager.function": {
        "defun": "stillflow.functional.polymorphic:defun",
        "defun_with_attributes": "stillflow.functional.polymorphic:defun_with_attributes",
    },
    "tensorflow.python.framework.c_api_util": {
        "ScopedTFStatus": "stillflow.facade.pywrap:ScopedTFStatus",
    },
    "tensorflow.python.framework.common_shapes": {
        "call_cpp_shape_fn": "stillflow.facade.framework_ops:call_cpp_shape_fn",
        "scalar_shape": "stillflow.graph.tensor_shape:scalar",
        "unknown_shape": "stillflow.graph.tensor_shape:unknown_shape",
    },
    "tensorflow.python.framework.composite_tensor": {"*": "stillflow.graph.composite_tensor"},
    "tensorflow.python.framework.config": {"*": "stillflow.runtime.settings"},
    "tensorflow.python.framework.device": {"*": "stillflow.graph.device"},
    "tensorflow.python.framework.dtypes": {
        "_TYPE_TO_STRING": "stillflow.graph.dtypes:_TYPE_TO_STRING",
        "*": "stillflow.graph.dtypes",
    },
    "tensorflow.python.framework.indexed_slices": {"*": "stillflow.graph.indexed_slices"},
    "tensorflow.python.framework.func_graph": {"FuncGraph": "stillflow.graph.func_graph:FuncGraph"},
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
        "_set_call_cpp_shape_fn": "stillflow.facade.framework_ops:_set_call_cpp_shape_fn",
        "_get_graph_from_inputs": "stillflow.graph.api:graph_from_inputs",
        "get_gradient_function": "stillflow.graph.gradient_registry:gradient_function",
        "internal_convert_to_tensor": "stillflow.graph.conversion:convert_to_tensor",
        "IndexedSlicesValue": "stillflow.graph.indexed_slices:IndexedSlicesValue",
        "*": "stillflow.facade.framework_ops stillflow.facade.statistics stillflow.graph.graph"
             " stillflow.graph.eager_mode stillflow.graph.collection_protos"
             " stillflow.graph.api stillflow.graph.conversion stillflow.graph.tensor_like"
             " stillflow.graph.indexed_slices stillflow.graph.default_session",
    },
    "tensorflow.python.framework.random_seed": {"*": "stillflow.graph.random_seed"},
    "tensorflow.python.framework.smart_cond": {
        "*": "stillflow.ops.control_flow.cond stillflow.ops.control_flow.case",
    },
    "tensorflow.python.framework.sparse_tensor": {"*": "stillflow.graph.sparse_tensor"},
    "tensorflow.python.framework.tensor_shape": {"*": "stillflow.graph.tensor_shape"},
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
    "tensorflow.python.keras.engine.base_layer": {
        "Layer": "stillflow.layers.base_layer:Layer",
        "*": "stillflow.layers.base_layer",
    },
    "tensorflow.python.keras.engine.input_spec": {"*": "stillflow.layers.input_spec"},
    "tensorflow.python.keras.mixed_precision.experimental.test_util": {
        "*": "stillflow.testing.gradient_checks",
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
    "tensorflow.python.ops.functional_ops": {"*": "stillflow.functional.functional_ops"},
    "tensorflow.python.ops.array_ops": {
        "_SLICE_TYPE_ERROR": "stillflow.ops.arrays.slicing:INDEX_ERROR",
        "_SliceHelperVar": "stillflow.ops.arrays.slicing:slice_variable",
        "_all_dimensions": "stillflow.ops.arrays.masks:all_dimensions",
        "_slice_helper": "stillflow.ops.arrays.slicing:slice_helper",
        "*": "stillflow.ops.arrays.shape stillflow.ops.arrays.gather_nd"
             " stillflow.ops.arrays.unique stillflow.ops.control",
    },
    "tensorflow.python.ops.control_flow_ops": {
        "_Enter": "stillflow.ops.control_flow.frames:enter",
        "_Identity": "stillflow.ops.control_flow.frames:hand_on",
        "_NextIteration": "stillflow.ops.control_flow.frames:next_iteration",
        "_SwitchRefOrTensor": "stillflow.ops.control_flow.switch:switch_ref_or_tensor",
        "exit": "stillflow.ops.control_flow.frames:exit_",
        "with_dependencies": "stillflow.ops.control:with_dependencies",
        "*": "stillflow.ops.control_flow.contexts stillflow.ops.control_flow.cond"
             " stillflow.ops.control_flow.switch stillflow.ops.control_flow.while_context",
    },
    "tensorflow.python.ops.embedding_ops": {
        "_embedding_lookup_and_transform":
            "stillflow.nn.embedding:embedding_lookup_and_transform",
    },
    "tensorflow.python.ops.gradients_impl": {
        "_hessian_vector_product": "stillflow.ops.hessians:hessian_vector_product",
    },
    "tensorflow.python.ops.gradient_checker_v2": {
        "_to_numpy": "stillflow.testing.gradient_checker_v2:to_numpy",
        "*": "stillflow.testing.gradient_checker_v2",
    },
    "tensorflow.python.ops.init_ops": {
        "_assert_float_dtype": "stillflow.variables.initializers:float_dtype",
        "_compute_fans": "stillflow.variables.initializers:compute_fans",
        "*": "stillflow.variables.initializers stillflow.variables.convolution_initializers",
    },
    "tensorflow.python.ops.confusion_matrix": {"*": "stillflow.ops.math.confusion"},
    "tensorflow.python.ops.lookup_ops": {
        "HashTable": "stillflow.lookup.static_tables:HashTable",
        "InitializableLookupTableBase": "stillflow.lookup.static_tables:FilledTable",
        "index_table_from_tensor": "stillflow.lookup.vocabularies:index_table_from_tensor",
        "index_to_string_table_from_tensor":
            "stillflow.lookup.vocabularies:index_to_string_table_from_tensor",
    },
    "tensorflow.python.ops.math_ops": {
        "_as_indexed_slices": "stillflow.ops.math.sums:as_indexed_slices",
        "_as_indexed_slices_list": "stillflow.ops.math.sums:as_indexed_slices_list",
        "_bucketize": "stillflow.ops.math.counting:bucketize",
        "*": "stillflow.ops.math.reductions",
    },
    "tensorflow.python.ops.metrics_impl": {
        "_at_k_name": "stillflow.metrics.class_sets:at_k_name",
        "_confusion_matrix_at_thresholds":
            "stillflow.metrics.confusion:confusion_matrix_at_thresholds",
        "_count_condition": "stillflow.metrics.counts:count_condition",
        "_remove_squeezable_dimensions": "stillflow.metrics.alignment:align",
        "_streaming_confusion_matrix": "stillflow.metrics.classes:streaming_confusion_matrix",
        "metric_variable": "stillflow.metrics.variables:metric_variable",
    },
    "tensorflow.python.ops.nn": {
        "_compute_sampled_logits": "stillflow.nn.sampled:compute_sampled_logits",
    },
    "tensorflow.python.ops.nn_grad": {
        "_BatchNormGrad": "stillflow.ops.nn.batch_norm_gradient:batch_norm_gradient",
    },
    "tensorflow.python.ops.nn_impl": {
        "_compute_sampled_logits": "stillflow.nn.sampled:compute_sampled_logits",
    },
    "tensorflow.python.ops.nn_ops": {
        "Convolution": "stillflow.nn.convolution:Convolution",
        "_WithSpaceToBatch": "stillflow.nn.space_to_batch:SpaceToBatch",
        "bias_add_v1": "stillflow.ops.nn.bias:bias_add_v1",
    },
    "tensorflow.python.lib.io.file_io": {"*": "stillflow.files.gfile stillflow.files.file_io"},
    "tensorflow.python.lib.io.tf_record": {"*": "stillflow.files.records"},
    "tensorflow.python.module.module": {"*": "stillflow.variables.module"},
    "tensorflow.python.ops.distributions.beta": {"*": "stillflow.distributions.beta"},
    "tensorflow.python.ops.distributions.exponential": {"*": "stillflow.distributions.gamma"},
    "tensorflow.python.ops.distributions.gamma": {"*": "stillflow.distributions.gamma"},
    "tensorflow.python.ops.distributions.laplace": {"*": "stillflow.distributions.laplace"},
    "tensorflow.python.ops.distributions.normal": {"*": "stillflow.distributions.normal"},
    "tensorflow.python.ops.distributions.student_t": {"*": "stillflow.distributions.student_t"},
    "tensorflow.python.ops.distributions.bernoulli": {"*": "stillflow.distributions.bernoulli"},
    "tensorflow.python.ops.distributions.categorical": {"*": "stillflow.distributions.categorical"},
    "tensorflow.python.ops.distributions.dirichlet": {"*": "stillflow.distributions.dirichlet"},
    "tensorflow.python.ops.distributions.uniform": {"*": "stillflow.distributions.uniform"},
    "tensorflow.python.ops.distributions.multinomial": {"*": "stillflow.distributions.multinomial"},
    "tensorflow.python.ops.distributions.bijector": {"*": "stillflow.distributions.bijector"},
    "tensorflow.python.ops.distributions.kullback_leibler": {
        "_DIVERGENCES": "stillflow.distributions.kullback_leibler:DIVERGENCES",
        "_registered_kl": "stillflow.distributions.kullback_leibler:registered_kl",
        "*": "stillflow.distributions.kullback_leibler",
    },
    "tensorflow.python.ops.distributions.distribution": {
        "*": "stillflow.distributions.distribution",
    },
    "tensorflow.python.ops.distributions.identity_bijector": {
        "*": "stillflow.distributions.bijector",
    },
    "tensorflow.python.ops.distributions.special_math": {
        "*": "stillflow.distributions.special_math",
    },
    "tensorflow.python.ops.distributions.util": {
        "_is_integer_like_by_dtype": "stillflow.distributions.checks:is_integer_like",
        "_largest_integer_by_dtype": "stillflow.distributions.checks:largest_integer",
        "_smallest_integer_by_dtype": "stillflow.distributions.checks:smallest_integer",
        "*": "stillflow.distributions.checks stillflow.distributions.parameters"
             " stillflow.distributions.layout",
    },
    "tensorflow.python.ops.linalg.linalg_impl": {
        "*": "stillflow.ops.linalg.decompositions stillflow.ops.linalg.matrix_functions",
    },
    "tensorflow.python.ops.linalg.linear_operator_addition": {
        "_AddAndReturnDiag": "stillflow.linalg.addition:AddAndReturnDiag",
        "_AddAndReturnMatrix": "stillflow.linalg.addition:AddAndReturnMatrix",
        "_AddAndReturnScaledIdentity": "stillflow.linalg.addition:AddAndReturnScaledIdentity",
        "_AddAndReturnTriL": "stillflow.linalg.addition:AddAndReturnTriL",
        "_Adder": "stillflow.linalg.addition:Adder",
        "_Hints": "stillflow.linalg.addition:Hints",
        "*": "stillflow.linalg.addition",
    },
    "tensorflow.python.ops.linalg.linear_operator_algebra": {
        "_registered_adjoint": "stillflow.linalg.algebra:registered_adjoint",
        "_registered_cholesky": "stillflow.linalg.algebra:registered_cholesky",
        "_registered_inverse": "stillflow.linalg.algebra:registered_inverse",
        "_registered_matmul": "stillflow.linalg.algebra:registered_matmul",
        "_registered_solve": "stillflow.linalg.algebra:registered_solve",
        "_ADJOINTS": "stillflow.linalg.algebra:_ADJOINTS",
        "_CHOLESKY_DECOMPS": "stillflow.linalg.algebra:_CHOLESKY_DECOMPS",
        "_INVERSES": "stillflow.linalg.algebra:_INVERSES",
        "_MATMUL": "stillflow.linalg.algebra:_MATMUL",
        "_SOLVE": "stillflow.linalg.algebra:_SOLVE",
        "*": "stillflow.linalg.algebra",
    },
    "tensorflow.python.ops.linalg.linear_operator_circulant": {
        "_to_complex": "stillflow.linalg.linear_operator_circulant:to_complex",
        "_BaseLinearOperatorCirculant":
            "stillflow.linalg.linear_operator_circulant:_BaseLinearOperatorCirculant",
        "*": "stillflow.linalg.linear_operator_circulant",
    },
    "tensorflow.python.ops.linalg.linear_operator_toeplitz": {
        "_to_complex": "stillflow.linalg.linear_operator_circulant:to_complex",
        "*": "stillflow.linalg.linear_operator_toeplitz",
    },
    "tensorflow.python.ops.linalg.linear_operator_util": {
        "*": "stillflow.linalg.operator_util",
    },
    "tensorflow.python.ops.linalg.registrations_util": {"*": "stillflow.linalg.registrations"},
    "tensorflow.python.ops.linalg_ops": {
        "*": "stillflow.ops.linalg.decompositions stillflow.ops.linalg.norms"
             " stillflow.ops.linalg.least_squares stillflow.ops.linalg.matrix_functions",
    },
    "tensorflow.python.ops.data_flow_ops": {
        "*": "stillflow.ops.queues.staging_classes stillflow.ops.queues.barrier",
    },
    "tensorflow.python.ops.parsing_ops": {
        "*": "stillflow.ops.parsing.features stillflow.ops.parsing.functions "
             "stillflow.ops.parsing.sequence_functions stillflow.ops.parsing.conversions "
             "stillflow.ops.parsing.csv",
    },
    "tensorflow.python.ops.sparse_ops": {
        "_add_many_sparse_to_tensors_map":
            "stillflow.ops.sparse.tensor_maps:add_many_sparse_to_tensors_map",
        "_add_sparse_to_tensors_map": "stillflow.ops.sparse.tensor_maps:add_sparse_to_tensors_map",
        "_take_many_sparse_from_tensors_map":
            "stillflow.ops.sparse.tensor_maps:take_many_sparse_from_tensors_map",
        "sparse_dense_cwise_add": "stillflow.ops.sparse.arithmetic:sparse_dense_cwise_add",
        "_DEFAULT_HASH_KEY": "stillflow.ops.sparse.crossing:DEFAULT_HASH_KEY",
    },
    "tensorflow.python.ops.rnn": {
        "_best_effort_input_batch_size":
            "stillflow.nn.recurrent.steps:best_effort_input_batch_size",
        "_reverse_seq": "stillflow.nn.recurrent.static:reversed_sequence",
        "_transpose_batch_time": "stillflow.nn.recurrent.steps:transpose_batch_time",
        "*": "stillflow.nn.recurrent.dynamic stillflow.nn.recurrent.static"
             " stillflow.nn.recurrent.raw",
    },
    "tensorflow.python.ops.rnn_cell_impl": {
        "_BIAS_VARIABLE_NAME": "stillflow.nn.rnn_cell.base:BIAS",
        "_RNNCellWrapperV1": "stillflow.nn.rnn_cell.wrappers:CellWrapper",
        "_WEIGHTS_VARIABLE_NAME": "stillflow.nn.rnn_cell.base:KERNEL",
        "_concat": "stillflow.nn.rnn_cell.sizes:concat",
        "_zero_state_tensors": "stillflow.nn.rnn_cell.sizes:zero_state_tensors",
        "*": "stillflow.nn.rnn_cell.base",
    },
    "tensorflow.python.ops.signal.fft_ops": {"*": "stillflow.ops.signal.real_fourier"},
    "tensorflow.python.ops.signal.util_ops": {"gcd": "stillflow.signal.frames:gcd"},
    "tensorflow.python.ops.session_ops": {"*": "stillflow.ops.session_tensors"},
    "tensorflow.python.ops.summary_op_util": {"*": "stillflow.ops.summary.names"},
    "tensorflow.python.ops.partitioned_variables": {"*": "stillflow.variables.partitioned"},
    "tensorflow.python.ops.random_grad": {
        "add_leading_unit_dimensions": "stillflow.ops.random.gamma:add_leading_unit_dimensions",
    },
    "tensorflow.python.ops.random_ops": {
        "parameterized_truncated_normal": (
            "stillflow.ops.random.bounded_normal:parameterized_truncated_normal"
        ),
    },
    "tensorflow.python.ops.resource_variable_ops": {
        "_UnreadVariable": "stillflow.variables.resource_variable:UnreadVariable",
        "*": "stillflow.variables.resource_variable",
    },
    "tensorflow.python.ops.resources": {"*": "stillflow.variables.resources"},
    "tensorflow.python.ops.state_ops": {"*": "stillflow.variables.state_ops"},
    "tensorflow.python.ops.stateful_random_ops": {"*": "stillflow.random.generator"},
    "tensorflow.python.ops.template": {
        "_skip_common_stack_elements": "stillflow.variables.template:without_common",
        "*": "stillflow.variables.template",
    },
    "tensorflow.python.ops.tensor_array_grad": {
        "_GetGradSource": "stillflow.ops.tensor_array.gradients:_source"
    },
    "tensorflow.python.ops.tensor_array_ops": {
        "build_ta_with_new_flow": "stillflow.ops.tensor_array.tensor_array:build_ta_with_new_flow",
    },
    "tensorflow.python.ops.variable_scope": {
        "_PartitionInfo": "stillflow.variables.partitioned:PartitionInfo",
        "_VariableStore": "stillflow.variables.store:VariableStore",
        "_get_default_variable_store":
            "stillflow.variables.variable_scope:default_variable_store",
        "_pure_variable_scope": "stillflow.variables.variable_scope:PureVariableScope",
        "*": "stillflow.variables.variable_scope stillflow.variables.store",
    },
    "tensorflow.python.ops.variables": {
        "PartitionedVariable": "stillflow.variables.partitioned:PartitionedVariable",
        "RefVariable": "stillflow.variables.ref_variable:RefVariable",
        "Variable": "stillflow.variables.base:VariableV2",
        "VariableAggregationV2": "stillflow.variables.base:VariableAggregation",
        "VariableV1": "stillflow.variables.base:Variable",
        "_try_guard_against_uninitialized_dependencies":
            "stillflow.variables.initial_values:guarded",
        "_all_saveable_objects": "stillflow.variables.collections:all_saveable_objects",
        "*": "stillflow.variables.base",
    },
    "tensorflow.python.ops.weights_broadcast_ops": {"*": "stillflow.losses.weights"},
    "tensorflow.python.platform.googletest": {
        "TestCase": "absl.testing.absltest:TestCase",
        "*": "stillflow.platform.googletest absl.testing.absltest",
    },
    "tensorflow.python.platform.test": {
        "mock": "unittest.mock",
        "*": "stillflow.platform.googletest stillflow.testing.environment",
    },
    "tensorflow.python.pywrap_tensorflow": {
        "EventsWriter": "stillflow.files.events:EventsWriter",
        "FileStatistics": "stillflow.files.gfile:FileStatistics",
        "*": "stillflow.facade.pywrap",
    },
    "tensorflow.python.summary.plugin_asset": {"*": "stillflow.summary.plugin_asset"},
    "tensorflow.python.summary.writer.event_file_writer": {
        "*": "stillflow.summary.event_file_writer",
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
        "_node_name": "stillflow.train.graph_util:node_name",
    },
    "tensorflow.python.saved_model.builder_impl": {
        "_SavedModelBuilder": "stillflow.saved_model.writing:InternalBuilder",
        "*": "stillflow.saved_model.writing",
    },
    "tensorflow.python.saved_model.constants": {"*": "stillflow.saved_model.names"},
    "tensorflow.python.saved_model.loader_impl": {
        "_parse_saved_model": "stillflow.saved_model.reading:parse_saved_model",
        "*": "stillflow.saved_model.reading",
    },
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
    "tensorflow.python.training.basic_loops": {"*": "stillflow.train.basic_loops"},
    "tensorflow.python.training.basic_session_run_hooks": {
        "_as_graph_element": "stillflow.train.logging_hooks:_as_graph_element",
        "*": "stillflow.train.logging_hooks stillflow.train.saving_hooks "
             "stillflow.train.stopping_hooks stillflow.train.step_counter "
             "stillflow.train.hook_timer",
    },
    "tensorflow.python.training.monitored_session": {
        "_CoordinatedSession": "stillflow.train.wrapped_sessions:CoordinatedSession",
        "_HookedSession": "stillflow.train.wrapped_sessions:HookedSession",
        "_RecoverableSession": "stillflow.train.wrapped_sessions:RecoverableSession",
        "_WrappedSession": "stillflow.train.wrapped_sessions:WrappedSession",
        "*": "stillflow.train.monitored_session stillflow.train.scaffold "
             "stillflow.train.session_creator",
    },
    "tensorflow.python.training.session_manager": {"*": "stillflow.train.session_manager"},
    "tensorflow.python.training.session_run_hook": {"*": "stillflow.train.session_run_hook"},
    "tensorflow.python.training.supervisor": {"*": "stillflow.train.supervisor"},
    "tensorflow.python.training.checkpoint_utils": {
        "_get_checkpoint_filename": "stillflow.train.checkpoint_utils:checkpoint_filename",
        "_is_variable": "stillflow.train.initial_checkpoint:is_variable",
        "_set_checkpoint_initializer":
            "stillflow.train.initial_checkpoint:set_checkpoint_initializer",
        "*": "stillflow.train.checkpoint_utils stillflow.train.initial_checkpoint",
    },
    "tensorflow.python.training.checkpoint_ops": {
        "_load_and_remap_matrix": "stillflow.train.checkpoint_ops:load_and_remap_matrix",
        "_load_and_remap_matrix_initializer":
            "stillflow.train.checkpoint_ops:load_and_remap_matrix_initializer",
        "_load_embedding_initializer": "stillflow.train.checkpoint_ops:load_embedding_initializer",
    },
    "tensorflow.python.training.warm_starting_util": {
        "_get_grouped_variables": "stillflow.train.warm_starting:get_grouped_variables",
        "_get_object_checkpoint_renames":
            "stillflow.train.warm_starting:get_object_checkpoint_renames",
        "_get_var_info": "stillflow.train.warm_starting:get_var_info",
        "_infer_var_name": "stillflow.train.warm_starting:infer_var_name",
        "_warm_start_var_with_vocab": "stillflow.train.warm_starting:warm_start_var_with_vocab",
        "*": "stillflow.train.warm_starting",
    },
    "tensorflow.python.training.experimental.loss_scale": {
        "*": "stillflow.train.experimental.loss_scale",
    },
    "tensorflow.python.training.input": {
        "_as_original_type": "stillflow.train.batching:_as_given",
        "_as_tensor_list": "stillflow.train.batching:_as_list",
        "_as_tensor_list_list": "stillflow.train.batching:_as_lists",
        "_SparseMetaData": "stillflow.train.stored_sparse:SparseMetaData",
        "_store_sparse_tensors": "stillflow.train.stored_sparse:store_sparse",
        "_store_sparse_tensors_join": "stillflow.train.stored_sparse:store_sparse_join",
        "_restore_sparse_tensors": "stillflow.train.stored_sparse:restore_sparse",
        "*": "stillflow.train.batch_functions stillflow.train.input_producers "
             "stillflow.train.match_filenames stillflow.train.stored_sparse "
             "stillflow.train.batching",
    },
    "tensorflow.python.training.queue_runner": {"*": "stillflow.train.queue_runner"},
    "tensorflow.python.training.moving_averages": {"*": "stillflow.train.moving_averages"},
    "tensorflow.python.training.optimizer": {
        "_deduplicate_indexed_slices": "stillflow.train.optimizer:deduplicate_indexed_slices",
        "_get_processor": "stillflow.train.processors:get_processor",
        "_var_key": "stillflow.train.slots:var_key",
        "*": "stillflow.train.optimizer stillflow.train.processors",
    },
    "tensorflow.python.training.saving.saveable_object": {"*": "stillflow.train.saveables"},
    "tensorflow.python.training.saving.saveable_object_util": {"*": "stillflow.train.saveables"},
    "tensorflow.python.training.slot_creator": {"*": "stillflow.train.slot_creator"},
    "tensorflow.python.training.tracking.base": {"*": "stillflow.train.tracking.base"},
    "tensorflow.python.training.tracking.data_structures": {
        "NoDependency": "stillflow.train.tracking.base:NoDependency",
    },
    "tensorflow.python.training.tracking.tracking": {"*": "stillflow.train.tracking.base"},
    "tensorflow.python.training.tracking.util": {"*": "stillflow.train.tracking.checkpoint"},
    "tensorflow.python.training.training_util": {
        "_get_global_step_read": "stillflow.train.global_step:get_global_step_read",
        "_get_or_create_global_step_read":
            "stillflow.train.global_step:get_or_create_global_step_read",
        "_increment_global_step": "stillflow.train.global_step:increment_global_step",
        "*": "stillflow.train.global_step",
    },
}
