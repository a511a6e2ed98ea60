"""`tf.contrib.labeled_tensor.nn`: activations and losses of labeled tensors."""

from __future__ import annotations

import stillflow as tf
from stillflow.graph.export import export_value
from stillflow_contrib.labeled_tensor.elementwise import define_binary_op, define_unary_op
from stillflow_contrib.nn import cross_entropy

relu = define_unary_op("relu", tf.nn.relu)
relu6 = define_unary_op("relu6", tf.nn.relu6)
crelu = define_unary_op("crelu", tf.nn.crelu)
elu = define_unary_op("elu", tf.nn.elu)
softplus = define_unary_op("softplus", tf.nn.softplus)
l2_loss = define_unary_op("l2_loss", tf.nn.l2_loss)
softmax = define_unary_op("softmax", tf.nn.softmax)
log_softmax = define_unary_op("log_softmax", tf.nn.log_softmax)
sigmoid_cross_entropy_with_logits = define_binary_op(
    "sigmoid_cross_entropy_with_logits",
    cross_entropy.deprecated_flipped_sigmoid_cross_entropy_with_logits,
)
softmax_cross_entropy_with_logits = define_binary_op(
    "softmax_cross_entropy_with_logits",
    cross_entropy.deprecated_flipped_softmax_cross_entropy_with_logits,
)
sparse_softmax_cross_entropy_with_logits = define_binary_op(
    "sparse_softmax_cross_entropy_with_logits",
    cross_entropy.deprecated_flipped_sparse_softmax_cross_entropy_with_logits,
)

export_value("contrib.labeled_tensor.nn.relu", relu)
export_value("contrib.labeled_tensor.nn.relu6", relu6)
export_value("contrib.labeled_tensor.nn.crelu", crelu)
export_value("contrib.labeled_tensor.nn.elu", elu)
export_value("contrib.labeled_tensor.nn.softplus", softplus)
export_value("contrib.labeled_tensor.nn.l2_loss", l2_loss)
export_value("contrib.labeled_tensor.nn.softmax", softmax)
export_value("contrib.labeled_tensor.nn.log_softmax", log_softmax)
export_value(
    "contrib.labeled_tensor.nn.sigmoid_cross_entropy_with_logits", sigmoid_cross_entropy_with_logits
)
export_value(
    "contrib.labeled_tensor.nn.softmax_cross_entropy_with_logits", softmax_cross_entropy_with_logits
)
export_value(
    "contrib.labeled_tensor.nn.sparse_softmax_cross_entropy_with_logits",
    sparse_softmax_cross_entropy_with_logits,
)
