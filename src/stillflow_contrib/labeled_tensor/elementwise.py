"""Functions of elements: of one labeled tensor, and of two that broadcast by names of axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export, export_value
from stillflow_contrib.labeled_tensor.axis_order import align
from stillflow_contrib.labeled_tensor.core import LabeledTensor, convert_to_labeled_tensor


@export("contrib.labeled_tensor.define_unary_op")
def define_unary_op(op_name: str, elementwise_function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of labeled tensors, from one of tensors.

    Args:
      op_name: its name.
      elementwise_function: of a tensor and a name; gives one of the same shape.
    """

    def op(labeled_tensor: Any, name: str | None = None) -> LabeledTensor:
        with tf.name_scope(name, f"lt_{op_name}", [labeled_tensor]) as scope:
            given = convert_to_labeled_tensor(labeled_tensor)
            return LabeledTensor(elementwise_function(given.tensor, name=scope), given.axes)

    op.__name__ = op_name
    op.__doc__ = f"`tf.{op_name}` of a labeled tensor, with the same axes."
    return op


@export("contrib.labeled_tensor.define_binary_op")
def define_binary_op(op_name: str, elementwise_function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of two labeled tensors, from one of tensors.

    Args:
      op_name: its name.
      elementwise_function: of two tensors that broadcast, and a name.
    """

    def op(labeled_tensor_0: Any, labeled_tensor_1: Any, name: str | None = None) -> LabeledTensor:
        values = [labeled_tensor_0, labeled_tensor_1]
        with tf.name_scope(name, f"lt_{op_name}", values) as scope:
            first, second, axes = align(*values)
            return LabeledTensor(
                elementwise_function(first.tensor, second.tensor, name=scope), axes
            )

    op.__name__ = op_name
    op.__doc__ = f"`tf.{op_name}` of two labeled tensors, with the axes of both."
    return op


abs_function = define_unary_op("abs", tf.abs)
neg = define_unary_op("neg", tf.negative)
sign = define_unary_op("sign", tf.sign)
reciprocal = define_unary_op("reciprocal", tf.reciprocal)
square = define_unary_op("square", tf.square)
round_function = define_unary_op("round", tf.round)
sqrt = define_unary_op("sqrt", tf.sqrt)
rsqrt = define_unary_op("rsqrt", tf.rsqrt)
exp = define_unary_op("exp", tf.exp)
log = define_unary_op("log", tf.log)
ceil = define_unary_op("ceil", tf.ceil)
floor = define_unary_op("floor", tf.floor)
cos = define_unary_op("cos", tf.cos)
sin = define_unary_op("sin", tf.sin)
tan = define_unary_op("tan", tf.tan)
acos = define_unary_op("acos", tf.acos)
asin = define_unary_op("asin", tf.asin)
atan = define_unary_op("atan", tf.atan)
lgamma = define_unary_op("lgamma", tf.lgamma)
digamma = define_unary_op("digamma", tf.digamma)
erf = define_unary_op("erf", tf.erf)
erfc = define_unary_op("erfc", tf.erfc)
logical_not = define_unary_op("logical_not", tf.logical_not)
tanh = define_unary_op("tanh", tf.tanh)
sigmoid = define_unary_op("sigmoid", tf.sigmoid)
add = define_binary_op("add", tf.add)
sub = define_binary_op("sub", tf.subtract)
mul = define_binary_op("mul", tf.multiply)
div = define_binary_op("div", tf.div)
mod = define_binary_op("mod", tf.mod)
pow_function = define_binary_op("pow", tf.pow)
equal = define_binary_op("equal", tf.equal)
greater = define_binary_op("greater", tf.greater)
greater_equal = define_binary_op("greater_equal", tf.greater_equal)
not_equal = define_binary_op("not_equal", tf.not_equal)
less = define_binary_op("less", tf.less)
less_equal = define_binary_op("less_equal", tf.less_equal)
logical_and = define_binary_op("logical_and", tf.logical_and)
logical_or = define_binary_op("logical_or", tf.logical_or)
logical_xor = define_binary_op("logical_xor", tf.logical_xor)
maximum = define_binary_op("maximum", tf.maximum)
minimum = define_binary_op("minimum", tf.minimum)
squared_difference = define_binary_op("squared_difference", tf.squared_difference)
igamma = define_binary_op("igamma", tf.igamma)
igammac = define_binary_op("igammac", tf.igammac)
zeta = define_binary_op("zeta", tf.zeta)
polygamma = define_binary_op("polygamma", tf.polygamma)

export_value("contrib.labeled_tensor.abs", abs_function)
export_value("contrib.labeled_tensor.neg", neg)
export_value("contrib.labeled_tensor.sign", sign)
export_value("contrib.labeled_tensor.reciprocal", reciprocal)
export_value("contrib.labeled_tensor.square", square)
export_value("contrib.labeled_tensor.round", round_function)
export_value("contrib.labeled_tensor.sqrt", sqrt)
export_value("contrib.labeled_tensor.rsqrt", rsqrt)
export_value("contrib.labeled_tensor.exp", exp)
export_value("contrib.labeled_tensor.log", log)
export_value("contrib.labeled_tensor.ceil", ceil)
export_value("contrib.labeled_tensor.floor", floor)
export_value("contrib.labeled_tensor.cos", cos)
export_value("contrib.labeled_tensor.sin", sin)
export_value("contrib.labeled_tensor.tan", tan)
export_value("contrib.labeled_tensor.acos", acos)
export_value("contrib.labeled_tensor.asin", asin)
export_value("contrib.labeled_tensor.atan", atan)
export_value("contrib.labeled_tensor.lgamma", lgamma)
export_value("contrib.labeled_tensor.digamma", digamma)
export_value("contrib.labeled_tensor.erf", erf)
export_value("contrib.labeled_tensor.erfc", erfc)
export_value("contrib.labeled_tensor.logical_not", logical_not)
export_value("contrib.labeled_tensor.tanh", tanh)
export_value("contrib.labeled_tensor.sigmoid", sigmoid)
export_value("contrib.labeled_tensor.add", add)
export_value("contrib.labeled_tensor.sub", sub)
export_value("contrib.labeled_tensor.mul", mul)
export_value("contrib.labeled_tensor.div", div)
export_value("contrib.labeled_tensor.mod", mod)
export_value("contrib.labeled_tensor.pow", pow_function)
export_value("contrib.labeled_tensor.equal", equal)
export_value("contrib.labeled_tensor.greater", greater)
export_value("contrib.labeled_tensor.greater_equal", greater_equal)
export_value("contrib.labeled_tensor.not_equal", not_equal)
export_value("contrib.labeled_tensor.less", less)
export_value("contrib.labeled_tensor.less_equal", less_equal)
export_value("contrib.labeled_tensor.logical_and", logical_and)
export_value("contrib.labeled_tensor.logical_or", logical_or)
export_value("contrib.labeled_tensor.logical_xor", logical_xor)
export_value("contrib.labeled_tensor.maximum", maximum)
export_value("contrib.labeled_tensor.minimum", minimum)
export_value("contrib.labeled_tensor.squared_difference", squared_difference)
export_value("contrib.labeled_tensor.igamma", igamma)
export_value("contrib.labeled_tensor.igammac", igammac)
export_value("contrib.labeled_tensor.zeta", zeta)
export_value("contrib.labeled_tensor.polygamma", polygamma)
