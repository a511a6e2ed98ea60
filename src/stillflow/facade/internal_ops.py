"""Internal names of `tensorflow.python.ops` that have an equivalent of our own."""

from __future__ import annotations

OBJECTS: dict[str, dict[str, str]] = {
    "tensorflow.python.ops.functional_ops": {"*": "stillflow.functional.functional_ops"},
    "tensorflow.python.ops.array_ops": {
        "_SLICE_TYPE_ERROR": "stillflow.ops.arrays.indexing:INDEX_ERROR",
        "_SliceHelperVar": "stillflow.ops.arrays.indexing:slice_variable",
        "_all_dimensions": "stillflow.ops.arrays.masks:all_dimensions",
        "_slice_helper": "stillflow.ops.arrays.indexing:slice_helper",
        "*": "stillflow.ops.arrays.shape stillflow.ops.arrays.gather_nd"
             " stillflow.ops.arrays.unique stillflow.ops.control_flow.identity_and_group",
    },
    "tensorflow.python.ops.control_flow_ops": {
        "_case_helper": "stillflow.ops.control_flow.case:case_helper",
        "_Enter": "stillflow.ops.control_flow.frames:enter",
        "_Identity": "stillflow.ops.control_flow.frames:hand_on",
        "_NextIteration": "stillflow.ops.control_flow.frames:next_iteration",
        "_SwitchRefOrTensor": "stillflow.ops.control_flow.switch:switch_ref_or_tensor",
        "exit": "stillflow.ops.control_flow.frames:exit_",
        "with_dependencies": "stillflow.ops.control_flow.identity_and_group:with_dependencies",
        "*": "stillflow.ops.control_flow.contexts stillflow.ops.control_flow.cond"
             " stillflow.ops.control_flow.switch stillflow.ops.control_flow.while_context",
    },
    "tensorflow.python.ops.embedding_ops": {
        "_embedding_lookup_and_transform":
            "stillflow.nn.embedding:embedding_lookup_and_transform",
    },
    "tensorflow.python.ops.gradients_impl": {
        "_hessian_vector_product": "stillflow.ops.gradients.hessians:hessian_vector_product",
    },
    "tensorflow.python.ops.gradient_checker_v2": {
        "_to_numpy": "stillflow.testing.gradient_checker_v2:to_numpy",
        "*": "stillflow.testing.gradient_checker_v2",
    },
    "tensorflow.python.ops.image_ops_impl": {
        "_verify_compatible_image_shapes":
            "stillflow.image.quality:verify_compatible_image_shapes",
    },
    "tensorflow.python.ops.init_ops": {
        "_assert_float_dtype": "stillflow.variables.initializers:float_dtype",
        "_compute_fans": "stillflow.variables.initializers:compute_fans",
        "*": "stillflow.variables.initializers"
             " stillflow_contrib.framework.convolution_initializers",
    },
    "tensorflow.python.ops.init_ops_v2": {
        "_assert_float_dtype": "stillflow.variables.initializers:float_dtype",
        "_compute_fans": "stillflow.variables.initializers:compute_fans",
        "*": "stillflow.variables.initializers_v2",
    },
    "tensorflow.python.ops.confusion_matrix": {"*": "stillflow.ops.math.confusion"},
    "tensorflow.python.ops.cond_v2": {
        "cond_v2": "stillflow.ops.functional.branches:cond",
        "indexed_case": "stillflow.ops.functional.branches:indexed_case",
    },
    "tensorflow.python.ops.control_flow_util_v2": {
        "*": "stillflow.ops.functional.nodes stillflow.ops.functional.intermediates",
        "output_all_intermediates":
            "stillflow.ops.functional.intermediates:outputs_all_intermediates",
    },
    "tensorflow.python.ops.control_flow_v2_func_graphs": {
        "*": "stillflow.ops.functional.nodes",
    },
    "tensorflow.python.ops.control_flow_v2_toggles": {
        "*": "stillflow.ops.control_flow.toggles stillflow.ops.functional.intermediates",
    },
    "tensorflow.python.ops.critical_section_ops": {
        "*": "stillflow.ops.control_flow.critical_section",
    },
    "tensorflow.python.ops.custom_gradient": {
        "copy_handle_data": "stillflow.ops.functional.nodes:copy_handle_data",
        "*": "stillflow.variables.custom_gradient",
    },
    "tensorflow.python.ops.ctc_ops": {
        "_scan": "stillflow.nn.ctc_alignments:scan",
        "_state_to_olabel": "stillflow.nn.ctc_alignments:of_classes",
        "_state_to_olabel_unique": "stillflow.nn.ctc_alignments:of_classes_by_unique_labels",
        "_sum_states": "stillflow.nn.ctc_alignments:sum_of_equal",
        "*": "stillflow.nn.ctc",
    },
    "tensorflow.python.ops.list_ops": {
        "_build_element_shape": "stillflow.ops.tensor_list.public:element_shape_input",
        "*": "stillflow.ops.tensor_list.public",
    },
    "tensorflow.python.ops.parallel_for": {
        "batch_jacobian": "stillflow.functional.jacobians:batch_jacobian",
        "for_loop": "stillflow.functional.parallel_for:for_loop",
        "jacobian": "stillflow.functional.jacobians:jacobian",
        "pfor": "stillflow.functional.parallel_for:pfor",
    },
    "tensorflow.python.ops.parallel_for.control_flow_ops": {
        "for_loop": "stillflow.functional.parallel_for:for_loop",
        "pfor": "stillflow.functional.parallel_for:pfor",
    },
    "tensorflow.python.ops.parallel_for.gradients": {
        "batch_jacobian": "stillflow.functional.jacobians:batch_jacobian",
        "jacobian": "stillflow.functional.jacobians:jacobian",
    },
    "tensorflow.python.ops.parallel_for.pfor": {
        "PForConfig": "stillflow.functional.parallel_for:PForConfig",
    },
    "tensorflow.python.ops.while_v2": {"while_loop": "stillflow.ops.functional.loops:while_loop"},
    "tensorflow.python.ops.lookup_ops": {
        "HashTable": "stillflow.lookup.static_tables:HashTable",
        "InitializableLookupTableBase": "stillflow.lookup.static_tables:FilledTable",
        "index_table_from_tensor": "stillflow.lookup.vocabularies:index_table_from_tensor",
        "index_to_string_table_from_tensor":
            "stillflow.lookup.vocabularies:index_to_string_table_from_tensor",
    },
    "tensorflow.python.ops.math_ops": {
        "_as_indexed_slices": "stillflow.ops.gradients.aggregation:as_indexed_slices",
        "_as_indexed_slices_list": "stillflow.ops.gradients.aggregation:as_indexed_slices_list",
        "_bucketize": "stillflow.ops.math.counting:bucketize",
        "_mul_dispatch": "stillflow.ops.math.binary:multiply",
        "*": "stillflow.ops.math.reductions",
    },
    "tensorflow.python.ops.spectral_ops_test_util": {
        "fft_kernel_label_map": "stillflow.facade.framework_ops:fft_kernel_label_map",
    },
    "tensorflow.python.ops.metrics_impl": {
        "_aggregate_across_replicas": "stillflow.metrics.variables:across_replicas",
        "_aggregate_variable": "stillflow.metrics.variables:read",
        "_at_k_name": "stillflow.metrics.class_sets:at_k_name",
        "_confusion_matrix_at_thresholds":
            "stillflow.metrics.confusion:confusion_matrix_at_thresholds",
        "_clean_out_of_range_indices": "stillflow.metrics.class_sets:forget_unknown_classes",
        "_count_condition": "stillflow.metrics.counts:count_condition",
        "_expand_and_tile": "stillflow.metrics.class_sets:repeat",
        "_maybe_expand_labels": "stillflow.metrics.class_sets:expand_labels",
        "_num_relevant": "stillflow.metrics.class_sets:count_relevant",
        "_remove_squeezable_dimensions": "stillflow.metrics.alignment:align",
        "_safe_scalar_div": "stillflow.metrics.variables:safe_scalar_div",
        "_sparse_average_precision_at_top_k":
            "stillflow.metrics.average_precision:average_precision_of",
        "_streaming_confusion_matrix": "stillflow.metrics.classes:streaming_confusion_matrix",
        "_streaming_sparse_average_precision_at_top_k":
            "stillflow.metrics.average_precision:streaming_average_precision",
        "metric_variable": "stillflow.metrics.variables:metric_variable",
    },
    "tensorflow.python.ops.nccl_ops": {"*": "stillflow.ops.nccl"},
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
    "tensorflow.python.ops.distributions.bijector": {
        "*": "stillflow_contrib.distributions.bijectors.bijector"
    },
    "tensorflow.python.ops.distributions.kullback_leibler": {
        "_DIVERGENCES": "stillflow.distributions.kullback_leibler:DIVERGENCES",
        "_registered_kl": "stillflow.distributions.kullback_leibler:registered_kl",
        "*": "stillflow.distributions.kullback_leibler",
    },
    "tensorflow.python.ops.distributions.distribution": {
        "*": "stillflow.distributions.distribution",
    },
    "tensorflow.python.ops.distributions.identity_bijector": {
        "*": "stillflow_contrib.distributions.bijectors.bijector",
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
        "_AddAndReturnDiag": "stillflow_contrib.distributions.addition:AddAndReturnDiag",
        "_AddAndReturnMatrix": "stillflow_contrib.distributions.addition:AddAndReturnMatrix",
        "_AddAndReturnScaledIdentity":
            "stillflow_contrib.distributions.addition:AddAndReturnScaledIdentity",
        "_AddAndReturnTriL": "stillflow_contrib.distributions.addition:AddAndReturnTriL",
        "_Adder": "stillflow_contrib.distributions.addition:Adder",
        "_Hints": "stillflow_contrib.distributions.addition:Hints",
        "*": "stillflow_contrib.distributions.addition",
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
        "*": "stillflow.ops.linalg.decompositions stillflow.linalg.norms"
             " stillflow.linalg.least_squares stillflow.ops.linalg.matrix_functions",
    },
    "tensorflow.python.ops.data_flow_ops": {
        "*": "stillflow_contrib.staging stillflow.ops.queues.barrier"
             " stillflow.ops.io.readers.record_input",
    },
    "tensorflow.python.ops.parsing_ops": {
        "*": "stillflow.ops.io.parsing.features stillflow.ops.io.parsing.functions "
             "stillflow.ops.io.parsing.sequence_functions stillflow.ops.io.parsing.conversions "
             "stillflow.ops.io.parsing.csv",
    },
    "tensorflow.python.ops.sparse_ops": {
        "_add_many_sparse_to_tensors_map":
            "stillflow.ops.sparse.tensor_maps:add_many_sparse_to_tensors_map",
        "_add_sparse_to_tensors_map": "stillflow.ops.sparse.tensor_maps:add_sparse_to_tensors_map",
        "_take_many_sparse_from_tensors_map":
            "stillflow.ops.sparse.tensor_maps:take_many_sparse_from_tensors_map",
        "deserialize_sparse": "stillflow.ops.sparse.serialization:deserialize_sparse",
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
    "tensorflow.python.ops.signal.fft_ops": {"*": "stillflow.signal.real_fourier"},
    "tensorflow.python.ops.signal.util_ops": {"gcd": "stillflow.signal.frames:gcd"},
    "tensorflow.python.ops.session_ops": {"*": "stillflow.ops.session_tensors"},
    "tensorflow.python.ops.collective_ops": {"*": "stillflow.ops.collective"},
    "tensorflow.python.ops.summary_op_util": {"*": "stillflow.ops.summary.names"},
    "tensorflow.python.ops.summary_ops_v2": {
        "*": "stillflow.summary.recording stillflow.summary.resource_writer"
             " stillflow.summary.writing",
    },
    "tensorflow.python.ops.inplace_ops": {"*": "stillflow_contrib.recurrent.inplace_functions"},
    "tensorflow.python.ops.op_selector": {
        "*": "stillflow.facade.op_selector stillflow_contrib.graph_editor.select"
             " stillflow_contrib.graph_editor.util",
    },
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
        "_from_proto_fn": "stillflow.facade.framework_ops:variable_from_proto",
        "_to_proto_fn": "stillflow.facade.framework_ops:variable_to_proto",
        "*": "stillflow.variables.resource_variable",
    },
    "tensorflow.python.ops.resources": {"*": "stillflow.variables.resources"},
    "tensorflow.python.ops.script_ops": {"_py_funcs": "stillflow.ops.py_func:functions"},
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
}
