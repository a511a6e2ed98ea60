"""Internal names of `tensorflow.contrib` that have an equivalent of our own."""

from __future__ import annotations

_SLIM = "tensorflow.contrib.slim.python.slim"

# Internal modules that we have whole.
MODULES = {
    "tensorflow.contrib.meta_graph_transform.meta_graph_transform":
        "stillflow.contrib.meta_graph_transform.meta_graph_transform",
    **{f"tensorflow.contrib.opt.python.training.{name}": f"stillflow_contrib.opt.{name}"
       for name in ("matrix_functions", "sign_decay")},
    **{f"{_SLIM}.{name}": f"stillflow_contrib.slim.{name}"
       for name in ("evaluation", "learning", "model_analyzer", "queues", "summaries")},
    **{f"{_SLIM}.data.{name}": f"stillflow_contrib.slim.{name}"
       for name in ("data_decoder", "data_provider", "dataset", "dataset_data_provider",
                    "parallel_reader", "prefetch_queue", "tfexample_decoder")},
    **{f"{_SLIM}.nets.{name}": f"stillflow_contrib.slim.nets.{name}"
       for name in ("alexnet", "inception_v1", "inception_v2", "inception_v3", "overfeat",
                    "resnet_utils", "resnet_v1", "resnet_v2", "vgg")},
    f"{_SLIM}.nets.inception": "stillflow.contrib.slim.nets.inception",
    **{f"tensorflow.contrib.quantization.python.{name}": "stillflow.contrib.quantization"
       for name in ("array_ops", "math_ops", "nn_ops")},
    "tensorflow.contrib.specs.python": "stillflow.contrib.specs",
    **{f"tensorflow.contrib.specs.python.{name}": f"stillflow_contrib.specs.{name}"
       for name in ("params_ops", "specs", "specs_lib", "specs_ops", "summaries")},
}

_CONSTRAINED = "stillflow_contrib.constrained_optimization"
_CUDNN = "stillflow_contrib.cudnn_rnn"
_FIELD = "stillflow_contrib.receptive_field"
_KERNELS = "stillflow_contrib.kernel_methods"
_LABELED = "stillflow_contrib.labeled_tensor"
_LEARN = "stillflow_contrib.learn"
_LINEAR = "tensorflow.contrib.linear_optimizer.python"
_PRUNING = "stillflow_contrib.model_pruning"
_PREDICTOR = "stillflow_contrib.predictor"
_SOLVER = "stillflow_contrib.linear_optimizer"
_TREES = "stillflow_contrib.boosted_trees"
_QUANTIZE = "stillflow_contrib.quantize"

OBJECTS: dict[str, dict[str, str]] = {
    "tensorflow.contrib.batching.python.ops.batch_ops": {
        "*": "stillflow_contrib.batching.functions",
    },
    "tensorflow.contrib.bayesflow.python.ops.monte_carlo_impl": {
        "_get_samples": "stillflow_contrib.bayesflow.monte_carlo:get_samples",
        "_logspace_mean": "stillflow_contrib.bayesflow.monte_carlo:log_mean",
    },
    "tensorflow.contrib.boosted_trees.python.ops.batch_ops_utils": {
        "*": f"{_TREES}.scheduling",
    },
    "tensorflow.contrib.boosted_trees.python.ops.quantile_ops": {"*": f"{_TREES}.quantile_ops"},
    "tensorflow.contrib.boosted_trees.python.utils.losses": {"*": f"{_TREES}.losses"},
    "tensorflow.contrib.constrained_optimization.python.external_regret_optimizer": {
        "_project_multipliers_wrt_euclidean_norm":
            f"{_CONSTRAINED}.projections:project_multipliers",
    },
    "tensorflow.contrib.constrained_optimization.python.swap_regret_optimizer": {
        "_maximal_eigenvector_power_method": f"{_CONSTRAINED}.projections:maximal_eigenvector",
        "_project_log_stochastic_matrix_wrt_kl_divergence":
            f"{_CONSTRAINED}.projections:project_log_stochastic_matrix",
        "_project_stochastic_matrix_wrt_euclidean_norm":
            f"{_CONSTRAINED}.projections:project_stochastic_matrix",
    },
    "tensorflow.contrib.copy_graph.python.util.copy_elements": {
        "*": "stillflow_contrib.copy_graph.copying",
    },
    "tensorflow.contrib.cudnn_rnn.python.layers.cudnn_rnn": {
        "*": f"{_CUDNN}.layers {_CUDNN}.modes",
    },
    "tensorflow.contrib.cudnn_rnn.python.ops.cudnn_rnn_ops": {
        "_cudnn_rnn": f"{_CUDNN}.networks:cudnn_rnn",
        **{name: f"{_CUDNN}.networks:{name}"  # layers have these names too
           for name in ("CudnnLSTM", "CudnnGRU", "CudnnRNNRelu", "CudnnRNNTanh")},
        "*": f"{_CUDNN}.networks {_CUDNN}.modes {_CUDNN}.converters {_CUDNN}.saveables",
    },
    "tensorflow.contrib.distributions.python.ops.bijectors": {
        "Bijector": "stillflow_contrib.distributions.bijectors.bijector:Bijector",
        "Identity": "stillflow_contrib.distributions.bijectors.bijector:Identity",
    },
    "tensorflow.contrib.distributions.python.ops.distribution_util": {
        "pad_mixture_dimensions":
            "stillflow_contrib.distributions.mixture_same_family:pad_mixture_dimensions",
    },
    "tensorflow.contrib.distributions.python.ops.mvn_linear_operator": {
        "*": "stillflow_contrib.distributions.multivariate_normal",
    },
    "tensorflow.contrib.distributions.python.ops.vector_exponential_linear_operator": {
        "*": "stillflow_contrib.distributions.vectors",
    },
    "tensorflow.contrib.distributions.python.ops.vector_laplace_linear_operator": {
        "*": "stillflow_contrib.distributions.vectors",
    },
    "tensorflow.contrib.framework.python.framework": {
        "experimental": "stillflow.contrib.framework.experimental:experimental",
    },
    "tensorflow.contrib.framework.python.framework.experimental": {
        "experimental": "stillflow.contrib.framework.experimental:experimental",
    },
    "tensorflow.contrib.framework.python.ops": {
        "arg_scope": "stillflow.contrib.framework.argument_scope:arg_scope",
    },
    "tensorflow.contrib.framework.python.ops.audio_ops": {
        "*": "stillflow.ops.audio.wav stillflow.ops.audio.spectrogram stillflow.ops.audio.mfcc",
    },
    "tensorflow.contrib.framework.python.ops.arg_scope": {
        "*": "stillflow.contrib.framework.argument_scope",
    },
    "tensorflow.contrib.framework.python.ops.prettyprint_ops": {
        "print_op": "stillflow.contrib.framework.printing:print_op",
    },
    "tensorflow.contrib.grid_rnn.python.ops.grid_rnn_cell": {
        "*": "stillflow_contrib.grid_rnn.cell stillflow_contrib.grid_rnn.cells",
    },
    "tensorflow.contrib.input_pipeline.python.ops.input_pipeline_ops": {
        "*": "stillflow_contrib.input_pipeline.seeking",
    },
    "tensorflow.contrib.image.python.ops.dense_image_warp": {
        "_interpolate_bilinear": "stillflow_contrib.image.dense_warp:interpolate_bilinear",
    },
    "tensorflow.contrib.image.python.ops.distort_image_ops": {
        "*": "stillflow_contrib.image.yiq",
    },
    "tensorflow.contrib.image.python.ops.sparse_image_warp": {
        "_add_zero_flow_controls_at_boundary":
            "stillflow_contrib.image.sparse_warp:add_zero_flow_controls_at_boundary",
        "_get_boundary_locations": "stillflow_contrib.image.sparse_warp:get_boundary_locations",
        "_get_grid_locations": "stillflow_contrib.image.sparse_warp:get_grid_locations",
    },
    "tensorflow.contrib.kernel_methods.python.kernel_estimators": {"*": f"{_KERNELS}.estimators"},
    "tensorflow.contrib.kernel_methods.python.mappers.dense_kernel_mapper": {
        "*": f"{_KERNELS}.dense_kernel_mapper",
    },
    "tensorflow.contrib.labeled_tensor.python.ops._typecheck": {"Error": f"{_LABELED}.axes:Error"},
    "tensorflow.contrib.labeled_tensor.python.ops.core": {
        "_find_consistent_ordering": f"{_LABELED}.axis_order:consistent_ordering",
        "*": f"{_LABELED}.core {_LABELED}.axes {_LABELED}.axis_order {_LABELED}.elementwise",
    },
    "tensorflow.contrib.labeled_tensor.python.ops.io_ops": {"*": f"{_LABELED}.creation"},
    "tensorflow.contrib.labeled_tensor.python.ops.nn": {"*": f"{_LABELED}.nn"},
    "tensorflow.contrib.labeled_tensor.python.ops.ops": {
        "*": f"{_LABELED}.selection {_LABELED}.shapes {_LABELED}.products {_LABELED}.batching"
             f" {_LABELED}.creation {_LABELED}.reductions",
    },
    "tensorflow.contrib.labeled_tensor.python.ops.sugar": {"*": f"{_LABELED}.shapes"},
    "tensorflow.contrib.layers.python.layers.layers": {
        "poincare_normalize": "stillflow.contrib.layers.normalization:poincare_normalize",
        "_inner_flatten": "stillflow.contrib.layers.core:inner_flatten",
        "_model_variable_getter": "stillflow.contrib.layers.variables:model_variable_getter",
        "_build_variable_getter": "stillflow.contrib.layers.variables:variable_getter",
        "_add_variable_to_collections": "stillflow.contrib.layers.variables:add_to_collections",
        "pool": "stillflow.contrib.layers.pooling:pool",
    },
    "tensorflow.contrib.layers.python.layers.optimizers": {
        "*": "stillflow.contrib.layers.optimization",
    },
    "tensorflow.contrib.layers.python.layers.summaries": {
        "*": "stillflow_contrib.layers.summaries",
    },
    "tensorflow.contrib.layers.python.layers.utils": {"*": "stillflow.contrib.layers.utils"},
    "tensorflow.contrib.learn.python.learn.estimators.constants": {"*": f"{_LEARN}.keys"},
    "tensorflow.contrib.learn.python.learn.estimators.estimator": {
        "_get_replica_device_setter": f"{_LEARN}.estimator:_parameter_server_devices",
        "*": f"{_LEARN}.estimator",
    },
    "tensorflow.contrib.learn.python.learn.estimators.metric_key": {"*": f"{_LEARN}.keys"},
    "tensorflow.contrib.learn.python.learn.estimators.run_config": {
        "*": f"{_LEARN}.run_config {_LEARN}.cluster_config",
    },
    "tensorflow.contrib.learn.python.learn.estimators.tensor_signature": {
        "*": f"{_LEARN}.tensor_signature",
    },
    "tensorflow.contrib.learn.python.learn.graph_actions": {
        "*": f"{_LEARN}.graph_actions {_LEARN}.graph_evaluation {_LEARN}.graph_training",
    },
    "tensorflow.contrib.learn.python.learn.preprocessing": {
        "*": "stillflow_contrib.learn.preprocessing.text"
             " stillflow_contrib.learn.preprocessing.categorical_vocabulary",
    },
    "tensorflow.contrib.learn.python.learn.preprocessing.categorical_vocabulary": {
        "*": "stillflow_contrib.learn.preprocessing.categorical_vocabulary",
    },
    "tensorflow.contrib.learn.python.learn.preprocessing.text": {
        "*": "stillflow_contrib.learn.preprocessing.text",
    },
    "tensorflow.contrib.learn.python.learn.utils.saved_model_export_utils": {
        "*": f"{_LEARN}.export_strategies",
    },
    f"{_LINEAR}.ops.sharded_mutable_dense_hashtable": {"*": f"{_SOLVER}.model"},
    f"{_LINEAR}.sdca_estimator": {"*": f"{_SOLVER}.estimators {_SOLVER}.model_fn"},
    "tensorflow.contrib.model_pruning.python.layers.core_layers": {
        "*": f"{_PRUNING}.core_layers {_PRUNING}.masks",
    },
    "tensorflow.contrib.model_pruning.python.layers.layers": {"*": f"{_PRUNING}.layers"},
    "tensorflow.contrib.model_pruning.python.learning": {"*": f"{_PRUNING}.learning"},
    "tensorflow.contrib.model_pruning.python.pruning": {
        "*": f"{_PRUNING}.pruning {_PRUNING}.masks",
    },
    "tensorflow.contrib.model_pruning.python.pruning_utils": {
        "*": f"{_PRUNING}.blocks {_PRUNING}.assignment {_PRUNING}.masks",
    },
    "tensorflow.contrib.model_pruning.python.strip_pruning_vars_lib": {
        "_node_name": "stillflow.graph_util:node_name",
        "*": f"{_PRUNING}.stripping",
    },
    "tensorflow.contrib.nn.python.ops.fwd_gradients": {
        "*": "stillflow_contrib.nn.forward_gradients",
    },
    "tensorflow.contrib.predictor.contrib_estimator_predictor": {
        "*": f"{_PREDICTOR}.estimators",
    },
    "tensorflow.contrib.predictor.core_estimator_predictor": {"*": f"{_PREDICTOR}.estimators"},
    "tensorflow.contrib.predictor.predictor": {"*": f"{_PREDICTOR}.base"},
    "tensorflow.contrib.predictor.predictor_factories": {
        "*": f"{_PREDICTOR}.saved_models {_PREDICTOR}.estimators",
    },
    "tensorflow.contrib.predictor.saved_model_predictor": {"*": f"{_PREDICTOR}.saved_models"},
    "tensorflow.contrib.metrics.python.ops.histogram_ops": {
        "_strict_1d_cumsum": "stillflow_contrib.metrics.histograms:sums_so_far",
    },
    "tensorflow.contrib.metrics.python.ops.metric_ops": {
        "_next_array_size": "stillflow_contrib.metrics.concatenation:next_array_size",
    },
    **{
        f"tensorflow.contrib.opt.python.training.{name}_optimizer": {
            "GLOBAL_VARIABLE_NAME": "stillflow_contrib.opt.worker_copies:CENTER",
        }
        for name in ("agn", "elastic_average", "model_average")
    },
    "tensorflow.contrib.quantize.python.common": {
        "BatchNormGroups": f"{_QUANTIZE}.unfused_folding:batch_norm_groups",
        "CreateOrGetQuantizationStep": f"{_QUANTIZE}.edges:quantization_step",
        "DropStringPrefix": f"{_QUANTIZE}.edges:without_prefix",
        "GetEndpointActivationOp": f"{_QUANTIZE}.unfused_folding:endpoint_activation",
        "RerouteTensor": f"{_QUANTIZE}.edges:reroute_tensor",
        "SKIPPED_PREFIXES": f"{_QUANTIZE}.edges:SKIPPED_PREFIXES",
    },
    "tensorflow.contrib.quantize.python.fold_batch_norms": {
        "FoldBatchNorms": f"{_QUANTIZE}.rewriting:fold_batch_norms",
    },
    "tensorflow.contrib.quantize.python.graph_matcher": {"*": f"{_QUANTIZE}.patterns"},
    "tensorflow.contrib.quantize.python.input_to_ops": {
        "InputToOps": f"{_QUANTIZE}.edges:Consumers",
    },
    "tensorflow.contrib.quantize.python.quant_ops": {
        "FixedQuantize": f"{_QUANTIZE}.ranges:fixed_quantize",
        "LastValueQuantize": f"{_QUANTIZE}.ranges:last_value_quantize",
        "MovingAvgQuantize": f"{_QUANTIZE}.ranges:moving_avg_quantize",
    },
    "tensorflow.contrib.quantize.python.quantize": {
        "Quantize": f"{_QUANTIZE}.rewriting:quantize",
    },
    "tensorflow.contrib.receptive_field.python.util.graph_compute_order": {
        "*": f"{_FIELD}.compute_order",
    },
    "tensorflow.contrib.receptive_field.python.util.parse_layer_parameters": {
        "*": f"{_FIELD}.layer_parameters",
    },
    "tensorflow.contrib.receptive_field.python.util.receptive_field": {
        "*": f"{_FIELD}.receptive_field",
    },
    "tensorflow.contrib.recurrent.python.ops.functional_rnn": {
        "*": "stillflow_contrib.recurrent.functional_rnn",
    },
    "tensorflow.contrib.recurrent.python.ops.recurrent": {
        "*": "stillflow_contrib.recurrent.recurrent",
    },
    "tensorflow.contrib.recurrent.python.recurrent_api": {
        "*": "stillflow_contrib.recurrent.functional_rnn stillflow_contrib.recurrent.recurrent",
    },
    "tensorflow.contrib.rnn.python.ops.core_rnn_cell": {
        "_BIAS_VARIABLE_NAME": "stillflow.nn.rnn_cell.base:BIAS",
        "_Linear": "stillflow_contrib.rnn.linear:Linear",
        "_WEIGHTS_VARIABLE_NAME": "stillflow.nn.rnn_cell.base:KERNEL",
        "_linear": "stillflow_contrib.rnn.linear:linear",
        "RNNCell": "stillflow.nn.rnn_cell.base:RNNCell",
    },
    "tensorflow.contrib.rnn.python.ops.lstm_ops": {
        "_block_lstm": "stillflow_contrib.rnn.block:block_lstm",
        "_lstm_block_cell": "stillflow_contrib.rnn.block:lstm_block_cell",
    },
    "tensorflow.contrib.rnn.python.ops.rnn_cell": {
        "_Linear": "stillflow_contrib.rnn.linear:Linear",
        "*": "stillflow_contrib.rnn.lstm stillflow_contrib.rnn.minimal"
             " stillflow_contrib.rnn.ntm stillflow_contrib.rnn.weight_norm",
    },
    "tensorflow.contrib.seq2seq.python.ops.beam_search_decoder": {
        "BeamSearchDecoderV2":
            "stillflow_contrib.seq2seq.beam_search_decoder:BeamSearchDecoderV2",
        "_beam_search_step": "stillflow_contrib.seq2seq.beam_step:beam_search_step",
        "_check_batch_beam": "stillflow_contrib.seq2seq.beams:assert_beams",
        "_check_static_batch_beam_maybe": "stillflow_contrib.seq2seq.beams:has_beams",
        "_length_penalty": "stillflow_contrib.seq2seq.beam_step:length_penalty",
        "_mask_probs": "stillflow_contrib.seq2seq.beam_step:mask_finished",
        "*": "stillflow_contrib.seq2seq.beams",
    },
    "tensorflow.contrib.seq2seq.python.ops.helper": {"*": "stillflow_contrib.seq2seq.sampling"},
    "tensorflow.contrib.text.python.ops.skip_gram_ops": {
        "_filter_input": "stillflow_contrib.text.skip_grams:filter_input",
    },
    "tensorflow.contrib.training.python.training.resample": {
        "_repeat_range": "stillflow_contrib.training.resampling:repeat_range",
    },
    "tensorflow.contrib.training.python.training.sampling_ops": {
        "_calculate_acceptance_probabilities":
            "stillflow_contrib.training.sampling:calculate_acceptance_probabilities",
        "_estimate_data_distribution":
            "stillflow_contrib.training.sampling:estimate_data_distribution",
        "_verify_input": "stillflow_contrib.training.sampling:verify_input",
    },
    "tensorflow.contrib.training.python.training.sequence_queueing_state_saver": {
        "_SequenceInputWrapper": "stillflow_contrib.training.state_saver:SequenceInputs",
        "_check_dimensions": "stillflow_contrib.training.sequence_checks:check_dimensions",
        "_check_multiple_of": "stillflow_contrib.training.sequence_checks:check_multiple_of",
        "_check_rank": "stillflow_contrib.training.sequence_checks:check_rank",
        "_check_shape": "stillflow_contrib.training.sequence_checks:check_shape",
        "_deconstruct_sparse_tensor_seq":
            "stillflow_contrib.training.sequence_batches:deconstruct_sparse_tensor_seq",
        "_move_sparse_tensor_in_context":
            "stillflow_contrib.training.sequence_batches:move_sparse_tensor_in_context",
        "_move_sparse_tensor_out_context":
            "stillflow_contrib.training.sequence_batches:move_sparse_tensor_out_context",
        "_padding": "stillflow_contrib.training.sequence_batches:padding",
        "_reconstruct_sparse_tensor_seq":
            "stillflow_contrib.training.sequence_batches:reconstruct_sparse_tensor_seq",
    },
}
