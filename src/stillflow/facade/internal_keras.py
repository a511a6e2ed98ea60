"""Internal names of `tensorflow.python.keras` that have an equivalent of our own."""

from __future__ import annotations

_KERAS, _OURS = "tensorflow.python.keras", "stillflow.keras"

_BACKEND = " ".join(
    f"{_OURS}.backend.{name}"
    for name in ("initialization", "session", "variables", "function", "config")
)

# Internal modules that we have whole: the very module, so that setting its names has an effect.
MODULES = {f"{_KERAS}.engine.base_layer_utils": "stillflow.layers.base_layer_utils"}

OBJECTS: dict[str, dict[str, str]] = {
    f"{_KERAS}.backend": {
        "_initialize_variables": f"{_OURS}.backend.initialization:initialize_variables",
        "depthwise_conv2d": f"{_OURS}.backend.convolution:depthwise_conv2d",
        "dtypes_module": "stillflow.graph.dtypes",
        "get_graph": "stillflow.layers.symbolic_graph:symbolic_graph",
        "local_conv": f"{_OURS}.backend.local_convolution:local_conv",
        "variables_module": "stillflow.variables.base",
        "unique_object_name": "stillflow.layers.names:unique_object_name",
        "symbolic_learning_phase": "stillflow.layers.learning_phase:symbolic_learning_phase",
        "*": _BACKEND,
    },
    f"{_KERAS}.engine.base_layer": {
        "Layer": "stillflow.layers.base_layer:Layer",
        "*": "stillflow.layers.base_layer stillflow.layers.history"
             f" {_OURS}.engine.op_layer stillflow.layers.input_spec",
    },
    **{
        f"{_KERAS}.engine.base_preprocessing_layer{version}": {
            "*": f"{_OURS}.engine.preprocessing_layer",
        }
        for version in ("", "_v1")
    },
    **{
        f"{_KERAS}.layers.preprocessing.normalization{version}": {
            "*": f"{_OURS}.layers.preprocessing",
        }
        for version in ("", "_v1")
    },
    f"{_KERAS}.engine.input_layer": {"*": f"{_OURS}.engine.input_layer"},
    f"{_KERAS}.engine.input_spec": {"*": "stillflow.layers.input_spec"},
    f"{_KERAS}.engine.network": {
        "Network": f"{_OURS}.engine.network:Network",
        "get_source_inputs": f"{_OURS}.engine.input_layer:get_source_inputs",
    },
    f"{_KERAS}.engine.node": {"Node": "stillflow.layers.node:Node"},
    f"{_KERAS}.engine.sequential": {"Sequential": f"{_OURS}.engine.sequential:Sequential"},
    f"{_KERAS}.engine.training_utils": {
        "ModelInputs": f"{_OURS}.engine.model_inputs:ModelInputs",
        "standardize_weights": f"{_OURS}.engine.standardize:example_weights",
        "*": f"{_OURS}.engine.datasets",
    },
    f"{_KERAS}.engine.training_generator": {
        "convert_to_generator_like": f"{_OURS}.engine.generators:batches_of",
    },
    f"{_KERAS}.engine.training": {"Model": f"{_OURS}.engine.model:Model"},
    f"{_KERAS}.layers.recurrent": {
        "DropoutRNNCellMixin": f"{_OURS}.layers.recurrent.cells:DropoutRNNCellMixin",
        "PeepholeLSTMCell": f"{_OURS}.layers.recurrent.standard:PeepholeLSTMCell",
    },
    f"{_KERAS}.layers.dense_attention": {
        "_lower_triangular_mask": f"{_OURS}.layers.attention:lower_triangular_mask",
        "*": f"{_OURS}.layers.attention",
    },
    f"{_KERAS}.callbacks": {"CallbackList": f"{_OURS}.callbacks.base:CallbackList"},
    f"{_KERAS}.layers.kernelized": {"*": f"{_OURS}.layers.random_features"},
    f"{_KERAS}.utils.kernelized_utils": {"*": f"{_OURS}.utils.exact_kernels"},
    f"{_KERAS}.layers.rnn_cell_wrapper_v2": {"*": f"{_OURS}.layers.recurrent.cell_wrappers"},
    f"{_KERAS}.layers.cudnn_recurrent": {"*": f"{_OURS}.layers.recurrent.cudnn"},
    f"{_KERAS}.layers.convolutional_recurrent": {"*": f"{_OURS}.layers.recurrent.convolutional"},
    f"{_KERAS}.mixed_precision.experimental.policy": {
        "*": f"{_OURS}.mixed_precision.policy stillflow.layers.policy",
    },
    f"{_KERAS}.mixed_precision.experimental.loss_scale_optimizer": {
        "*": f"{_OURS}.mixed_precision.loss_scale_optimizer",
    },
    f"{_KERAS}.mixed_precision.experimental.test_util": {
        "*": "stillflow.testing.gradient_checks",
    },
    f"{_KERAS}.saving.hdf5_format": {
        "preprocess_weights_for_loading":
            f"{_OURS}.saving.recurrent_weights:preprocess_weights_for_loading",
        "load_model_from_hdf5": f"{_OURS}.saving.hdf5:load_model_from_hdf5",
        "save_model_to_hdf5": f"{_OURS}.saving.hdf5:save_model_to_hdf5",
        "*": f"{_OURS}.saving.hdf5_groups",
    },
    "tensorflow.python.saved_model.model_utils": {"*": "stillflow.saved_model.names"},
    "tensorflow.python.util.serialization": {
        "get_json_type": f"{_OURS}.engine.network_config:get_json_type",
    },
    f"{_KERAS}.saving.saved_model.load": {"load": f"{_OURS}.saving.saved_models:load"},
    f"{_KERAS}.saving.saved_model.save": {"save": f"{_OURS}.saving.saved_models:save_model"},
    f"{_KERAS}.losses": {"LossFunctionWrapper": f"{_OURS}.losses.base:LossFunctionWrapper"},
    f"{_KERAS}.models": {
        "Network": f"{_OURS}.engine.network:Network",
        "_clone_functional_model": f"{_OURS}.engine.cloning:clone_functional_model",
        "_clone_sequential_model": f"{_OURS}.engine.cloning:clone_sequential_model",
        "*": f"{_OURS}.engine.cloning {_OURS}.engine.in_place",
    },
    f"{_KERAS}.premade.linear": {"*": f"{_OURS}.premade.linear"},
    f"{_KERAS}.premade.wide_deep": {"*": f"{_OURS}.premade.wide_deep"},
    f"{_KERAS}.optimizer_v2.optimizer_v2": {
        "OptimizerV2": f"{_OURS}.optimizers.base:OptimizerV2",
        "_var_key": f"{_OURS}.optimizers.base:_key",
    },
    f"{_KERAS}.keras_parameterized": {
        "TestCase": "stillflow.testing.keras_modes:TestCase",
        "*": "stillflow.testing.keras_modes",
    },
    f"{_KERAS}.testing_utils": {
        "*": "stillflow.testing.random_classes stillflow.testing.keras_modes"
             " stillflow.testing.layer_tests",
    },
    f"{_KERAS}.optimizers": {
        **{name: f"{_OURS}.optimizers.classic:{name}"
           for name in ("Optimizer", "SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax",
                        "Nadam")},
        **{name.lower(): f"{_OURS}.optimizers.classic:{name}"
           for name in ("SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax", "Nadam")},
        "TFOptimizer": f"{_OURS}.optimizers.tf_optimizer:TFOptimizer",
        "gradient_descent_v2": f"{_OURS}.optimizers.gradient_descent",
    },
    f"{_KERAS}.utils.tf_utils": {
        "smart_cond": "stillflow.ops.control_flow.cond:smart_cond",
        "get_reachable_from_inputs": "stillflow.layers.reachability:get_reachable_from_inputs",
        "*": f"{_OURS}.utils.symbolic",
    },
    f"{_KERAS}.utils.conv_utils": {
        "*": f"stillflow.layers.utils {_OURS}.utils.convolutions {_OURS}.utils.kernels",
    },
    f"{_KERAS}.utils.metrics_utils": {"*": f"{_OURS}.metrics.ragged {_OURS}.metrics.curves"},
    f"{_KERAS}.layers.local": {"make_2d": f"{_OURS}.backend.local_convolution:make_2d"},
    f"{_KERAS}.utils.data_utils": {
        "_hash_file": f"{_OURS}.utils.downloads:hash_of_file",
        "*": f"{_OURS}.utils.downloads",
    },
    f"{_KERAS}.preprocessing.sequence": {
        "_remove_long_seq": "keras_preprocessing.sequence:_remove_long_seq",
    },
    f"{_KERAS}.saving.saving_utils": {
        "extract_model_metrics": f"{_OURS}.saving.serving:compiled_metrics",
        "model_input_signature": f"{_OURS}.saving.serving:input_signature",
        "raise_model_input_error": f"{_OURS}.saving.serving:check_inputs",
        "trace_model_call": f"{_OURS}.saving.serving:serving_function",
    },
    f"{_KERAS}.utils.generic_utils": {
        "to_snake_case": "stillflow.layers.names:to_snake_case",
        "*": f"{_OURS}.utils.objects {_OURS}.utils.arrays {_OURS}.utils.generic",
    },
    f"{_KERAS}.utils.io_utils": {
        "ask_to_proceed_with_overwrite": f"{_OURS}.engine.network_weights:confirm_overwrite",
    },
    f"{_KERAS}.utils.layer_utils": {"*": f"{_OURS}.utils.kernels"},
    f"{_KERAS}.utils.multi_gpu_utils": {
        "_get_available_devices": f"{_OURS}.utils.towers:device_names",
        "_normalize_device_name": f"{_OURS}.utils.towers:short_name",
        "*": f"{_OURS}.utils.towers",
    },
    f"{_KERAS}.utils.mode_keys": {"ModeKeys": f"{_OURS}.engine.modes:ModeKeys"},
    f"{_KERAS}.utils.vis_utils": {"*": f"{_OURS}.utils.drawing"},
    f"{_KERAS}.utils.losses_utils": {
        "ReductionV2": f"{_OURS}.losses.base:Reduction",
        "*": f"{_OURS}.losses.base",
    },
}
for _name, _classes in {
    "adadelta": "adaptive", "adagrad": "adaptive", "adam": "adam", "adamax": "adam",
    "ftrl": "ftrl", "gradient_descent": "gradient_descent", "nadam": "adam",
    "rmsprop": "rmsprop", "learning_rate_schedule": "schedules",
}.items():  # fmt: skip
    OBJECTS[f"{_KERAS}.optimizer_v2.{_name}"] = {"*": f"{_OURS}.optimizers.{_classes}"}
