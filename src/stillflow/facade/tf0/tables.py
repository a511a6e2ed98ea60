"""The API of 0.12 where it differs from that of 1.15, as tables.

Names that were only renamed stand in ``stillflow._renamed``, which serves error messages too.
"""

from __future__ import annotations

_SAMPLED = (
    "weights biases inputs labels num_sampled num_classes num_true sampled_values"
    " remove_accidental_hits partition_strategy name"
)
_SHAPES = "shapes allow_smaller_final_batch shared_name name"
_SHAPES_PAD = "shapes dynamic_pad allow_smaller_final_batch shared_name name"

# {public name of 0.x: (public name of 1.15, parameters in the order of 0.x)}. "old=new" is a
# parameter that is called `new` today.
REORDERED = {
    "audio_summary": (
        "contrib.deprecated.audio_summary",
        "tag tensor sample_rate max_outputs collections name",
    ),
    "batch_matmul": ("matmul", "x=a y=b adj_x=adjoint_a adj_y=adjoint_b name"),
    "batch_svd": ("svd", "tensor compute_uv full_matrices name"),
    "concat": ("concat", "concat_dim=axis values name"),
    "contrib.metrics.confusion_matrix": (
        "contrib.metrics.confusion_matrix",
        "predictions labels num_classes dtype name weights",
    ),
    "case": ("case", "pred_fn_pairs default exclusive name"),
    "cond": ("cond", "pred fn1=true_fn fn2=false_fn name"),
    "histogram_summary": ("contrib.deprecated.histogram_summary", "tag values collections name"),
    "image_summary": (
        "contrib.deprecated.image_summary",
        "tag tensor max_images collections name",
    ),
    "listdiff": ("setdiff1d", "x y out_idx=index_dtype name"),
    "merge_all_summaries": ("contrib.deprecated.merge_all_summaries", "key"),
    "merge_summary": ("contrib.deprecated.merge_summary", "inputs collections name"),
    "nn.avg_pool3d": ("nn.avg_pool3d", "input ksize strides padding name"),
    "nn.conv3d": ("nn.conv3d", "input filter strides padding name"),
    "nn.ctc_loss": (
        "nn.ctc_loss",
        "inputs labels sequence_length preprocess_collapse_repeated ctc_merge_repeated time_major",
    ),
    "nn.depthwise_conv2d": ("nn.depthwise_conv2d", "input filter strides padding name"),
    "nn.log_poisson_loss": ("nn.log_poisson_loss", "log_input targets compute_full_loss name"),
    "nn.max_pool3d": ("nn.max_pool3d", "input ksize strides padding name"),
    "nn.nce_loss": (
        "nn.nce_loss",
        _SAMPLED,
    ),
    "nn.sampled_softmax_loss": (
        "nn.sampled_softmax_loss",
        _SAMPLED,
    ),
    "nn.separable_conv2d": (
        "nn.separable_conv2d",
        "input depthwise_filter pointwise_filter strides padding name",
    ),
    "nn.sigmoid_cross_entropy_with_logits": (
        "nn.sigmoid_cross_entropy_with_logits",
        "logits targets=labels name",
    ),
    "nn.softmax_cross_entropy_with_logits": (
        "nn.softmax_cross_entropy_with_logits",
        "logits labels dim name",
    ),
    "nn.sparse_softmax_cross_entropy_with_logits": (
        "nn.sparse_softmax_cross_entropy_with_logits",
        "logits labels name",
    ),
    "nn.weighted_cross_entropy_with_logits": (
        "nn.weighted_cross_entropy_with_logits",
        "logits targets=labels pos_weight name",
    ),
    "pack": ("stack", "values axis name"),
    "scalar_summary": ("contrib.deprecated.scalar_summary", "tags values collections name"),
    "scan": (
        "scan",
        "fn elems initializer parallel_iterations back_prop swap_memory infer_shape name",
    ),
    "select": ("where", "condition t=x e=y name"),
    "sparse_split": ("sparse_split", "split_dim=axis num_split sp_input name"),
    "split": ("split", "split_dim=axis num_split=num_or_size_splits value name"),
    "split_v": ("split", "value size_splits=num_or_size_splits split_dim=axis num name"),
    "svd": ("svd", "tensor full_matrices compute_uv name"),
    "train.batch": (
        "train.batch",
        "tensor_list=tensors batch_size num_threads capacity enqueue_many " + _SHAPES_PAD,
    ),
    "train.batch_join": (
        "train.batch_join",
        "tensor_list_list=tensors_list batch_size capacity enqueue_many " + _SHAPES_PAD,
    ),
    "train.shuffle_batch": (
        "train.shuffle_batch",
        "tensor_list=tensors batch_size capacity min_after_dequeue num_threads seed enqueue_many "
        + _SHAPES,
    ),
    "train.shuffle_batch_join": (
        "train.shuffle_batch_join",
        "tensor_list_list=tensors_list batch_size capacity min_after_dequeue seed enqueue_many "
        + _SHAPES,
    ),
}

_FUNCTIONS = "stillflow.facade.tf0.functions:"
_RNN = "stillflow.facade.tf0.rnn:"

# {public name of 0.x: its module}, where more than names and orders changed.
OWN = {
    "RegisterShape": _FUNCTIONS + "RegisterShape",
    "SparseTensor": _FUNCTIONS + "SparseTensor",
    "SparseTensorValue": _FUNCTIONS + "SparseTensorValue",
    "app.flags": "stillflow.facade.tf0.flags",
    "flags": "stillflow.facade.tf0.flags",
    "get_variable": _FUNCTIONS + "get_variable",
    "image.resize_images": _FUNCTIONS + "resize_images",
    "nn.bidirectional_dynamic_rnn": _RNN + "bidirectional_dynamic_rnn",
    "nn.bidirectional_rnn": _RNN + "bidirectional_rnn",
    "nn.dynamic_rnn": _RNN + "dynamic_rnn",
    "nn.rnn": _RNN + "rnn",
    "nn.rnn_cell": "stillflow.facade.tf0.cells",
    "nn.seq2seq": "stillflow.facade.tf0.seq2seq",
    "nn.state_saving_rnn": _RNN + "state_saving_rnn",
    "ones_initializer": _FUNCTIONS + "ones_initializer",
    "reverse": _FUNCTIONS + "reverse",
    "zeros_initializer": _FUNCTIONS + "zeros_initializer",
}

# Public names, or namespaces, of the tables above that 1.15 has not.
GONE = (
    "RegisterShape",
    "nn.bidirectional_rnn",
    "nn.rnn",
    "nn.rnn_cell.EmbeddingWrapper",
    "nn.rnn_cell.InputProjectionWrapper",
    "nn.rnn_cell.OutputProjectionWrapper",
    "nn.rnn_cell.linear",
    "nn.seq2seq",
    "nn.state_saving_rnn",
)

# {module of 0.x: module of ours that is served for it}. Before 0.7 recurrent networks were models.
MODULES = {
    "tensorflow.flags": "stillflow.facade.tf0.flags",
    "tensorflow.models.rnn.ptb.reader": "stillflow.facade.tf0.ptb_reader",
    "tensorflow.models.rnn.linear": "stillflow.facade.tf0.cells",
    "tensorflow.models.rnn.rnn": "stillflow.facade.tf0.rnn",
    "tensorflow.models.rnn.rnn_cell": "stillflow.facade.tf0.cells",
    "tensorflow.models.rnn.seq2seq": "stillflow.facade.tf0.seq2seq",
    "tensorflow.nn.rnn_cell": "stillflow.facade.tf0.cells",
    "tensorflow.nn.seq2seq": "stillflow.facade.tf0.seq2seq",
    "tensorflow.python.ops.rnn": "stillflow.facade.tf0.rnn",
    "tensorflow.python.ops.rnn_cell": "stillflow.facade.tf0.cells",
    "tensorflow.python.ops.seq2seq": "stillflow.facade.tf0.seq2seq",
    "tensorflow.python.platform.flags": "stillflow.facade.tf0.flags",
}

# Packages that hold nothing but modules.
PACKAGES = ("tensorflow.models", "tensorflow.models.rnn", "tensorflow.models.rnn.ptb")

# Public namespaces with names of 0.x in them.
SPACES = ("", "app", "contrib.metrics", "image", "nn", "train")
