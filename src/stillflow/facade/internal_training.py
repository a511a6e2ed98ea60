"""Internal names of `tensorflow.python.training` that have an equivalent of our own."""

from __future__ import annotations

OBJECTS: dict[str, dict[str, str]] = {
    "tensorflow.python.training.basic_loops": {"*": "stillflow.train.basic_loops"},
    "tensorflow.python.training.basic_session_run_hooks": {
        "_as_graph_element": "stillflow.train.logging_hooks:_as_graph_element",
        "*": "stillflow.train.logging_hooks stillflow.train.saving_hooks "
             "stillflow.train.stopping_hooks stillflow.train.step_counter "
             "stillflow.train.hook_timer",
    },
    "tensorflow.python.training.device_setter": {
        "_ReplicaDeviceChooser": "stillflow.train.device_setter:DeviceChooser",
        "_RoundRobinStrategy": "stillflow.train.device_setter:RoundRobin",
        "*": "stillflow.train.device_setter",
    },
    "tensorflow.python.training.evaluation": {
        "_StopAfterNEvalsHook": "stillflow.train.evaluation:StopAfterNEvalsHook",
        "_evaluate_once": "stillflow.train.evaluation:evaluate_once",
        "_get_or_create_eval_step": "stillflow.train.evaluation:get_or_create_eval_step",
    },
    "tensorflow.python.training.monitored_session": {
        "_CoordinatedSession": "stillflow.train.wrapped_sessions:CoordinatedSession",
        "_HookedSession": "stillflow.train.wrapped_sessions:HookedSession",
        "_RecoverableSession": "stillflow.train.wrapped_sessions:RecoverableSession",
        "_WrappedSession": "stillflow.train.wrapped_sessions:WrappedSession",
        "*": "stillflow.train.monitored_session stillflow.train.scaffold "
             "stillflow.train.session_creator",
    },
    "tensorflow.python.training.session_manager": {
        "_ready": "stillflow.train.session_manager:_ready",
        "*": "stillflow.train.session_manager",
    },
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
        "_as_original_type": "stillflow.train.batching:as_given",
        "_as_tensor_list": "stillflow.train.batching:as_list",
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
        "get_filtered_grad_fn": "stillflow_contrib.distribute.step_fn:filtered",
        "*": "stillflow.train.optimizer stillflow.train.processors",
    },
    "tensorflow.python.training.saving.saveable_object": {"*": "stillflow.train.saveables"},
    "tensorflow.python.training.saving.saveable_object_util": {"*": "stillflow.train.saveables"},
    "tensorflow.python.training.slot_creator": {"*": "stillflow.train.slot_creator"},
    "tensorflow.python.training.tracking.base": {
        "PythonStringStateSaveable": "stillflow.train.tracking.python_state:PythonStateSaveable",
        "*": "stillflow.train.tracking.base",
    },
    "tensorflow.python.training.tracking.data_structures": {
        "NoDependency": "stillflow.train.tracking.base:NoDependency",
        "_DictWrapper": "stillflow.train.tracking.wrappers:DictWrapper",
        "*": "stillflow.train.tracking.data_structures stillflow.train.tracking.wrappers",
    },
    "tensorflow.python.training.tracking.tracking": {
        "TrackableAsset": "stillflow.lookup.table_initializers:TrackableAsset",
        "*": "stillflow.train.tracking.base stillflow.train.tracking.resources",
    },
    "tensorflow.python.training.tracking.graph_view": {
        "ObjectGraphView": "stillflow.train.tracking.object_graph:ObjectGraphView",
    },
    "tensorflow.python.training.tracking.util": {
        "*": "stillflow.train.tracking.checkpoint stillflow.train.tracking.captured_variables",
    },
    "tensorflow.python.training.summary_io": {
        "SummaryWriter": "stillflow.summary.old_writer:SummaryWriter",
    },
    "tensorflow.python.training.training_util": {
        "_get_global_step_read": "stillflow.train.global_step:get_global_step_read",
        "_get_or_create_global_step_read":
            "stillflow.train.global_step:get_or_create_global_step_read",
        "_increment_global_step": "stillflow.train.global_step:increment_global_step",
        "*": "stillflow.train.global_step",
    },
}
