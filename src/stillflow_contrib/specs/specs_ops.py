"""Names in specifications of networks: layers by short names."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export, export_value
from stillflow.graph.operation import Tensor
from stillflow_contrib.specs import specs_lib

External = specs_lib.External
Import = specs_lib.Import
Fun = export_value("contrib.specs.Fun", specs_lib.Function)
debug = specs_lib.debug
_layers = tf.contrib.layers


@export("contrib.specs.Idx")
class Idx(specs_lib.Composable):
    """The input as it is."""

    def funcall(self, x: Any) -> Any:
        """Return the input."""
        return x


@export("contrib.specs.Conc")
class Conc(specs_lib.Composable):
    """Concatenation of several parts' outputs for the same input.

    Args:
      dim: the dimension.
      *args: the parts.
    """

    def __init__(self, dim: int, *args: Any) -> None:
        self.dim = dim
        self.funs = args

    def funcall(self, x: Any) -> Tensor:
        """Return their concatenated outputs for an input."""
        return tf.concat([f.funcall(x) for f in self.funs], self.dim)


Print = export_value("contrib.specs.Print", Fun(tf.Print))
Id = export_value("contrib.specs.Id", Fun(tf.identity))

# Convolutions, with the activation function that the second letter says; x is the layer's own.
Cx = export_value("contrib.specs.Cx", Fun(_layers.conv2d))
Cs = export_value("contrib.specs.Cs", Fun(_layers.conv2d, activation_fn=tf.sigmoid))
Ct = export_value("contrib.specs.Ct", Fun(_layers.conv2d, activation_fn=tf.tanh))
Cr = export_value("contrib.specs.Cr", Fun(_layers.conv2d, activation_fn=tf.nn.relu))
Cm = export_value("contrib.specs.Cm", Fun(_layers.conv2d, activation_fn=tf.nn.softmax))
Cl = export_value("contrib.specs.Cl", Fun(_layers.conv2d, activation_fn=None))

# Fully connected layers, in the same way.
Fx = export_value("contrib.specs.Fx", Fun(_layers.fully_connected))
Fs = export_value("contrib.specs.Fs", Fun(_layers.fully_connected, activation_fn=tf.sigmoid))
Ft = export_value("contrib.specs.Ft", Fun(_layers.fully_connected, activation_fn=tf.tanh))
Fr = export_value("contrib.specs.Fr", Fun(_layers.fully_connected, activation_fn=tf.nn.relu))
Fm = export_value("contrib.specs.Fm", Fun(_layers.fully_connected, activation_fn=tf.nn.softmax))
Fl = export_value("contrib.specs.Fl", Fun(_layers.fully_connected, activation_fn=None))

Mp = export_value("contrib.specs.Mp", Fun(_layers.max_pool2d))
Ap = export_value("contrib.specs.Ap", Fun(_layers.avg_pool2d))

Do = export_value("contrib.specs.Do", Fun(_layers.dropout))
Bn = export_value("contrib.specs.Bn", Fun(_layers.batch_norm))
Lrn = export_value("contrib.specs.Lrn", Fun(tf.nn.local_response_normalization))
Unit = export_value("contrib.specs.Unit", Fun(_layers.unit_norm))

Flat = export_value("contrib.specs.Flat", Fun(_layers.flatten))
Reshape = export_value("contrib.specs.Reshape", Fun(tf.reshape))
Transpose = export_value("contrib.specs.Transpose", Fun(tf.transpose))
Squeeze = export_value("contrib.specs.Squeeze", Fun(tf.squeeze))
Expand = export_value("contrib.specs.Expand", Fun(tf.expand_dims))

Relu = export_value("contrib.specs.Relu", Fun(tf.nn.relu))
Sig = export_value("contrib.specs.Sig", Fun(tf.sigmoid))
Tanh = export_value("contrib.specs.Tanh", Fun(tf.tanh))
Smax = export_value("contrib.specs.Smax", Fun(tf.nn.softmax))


@export("contrib.specs.Dws")
def Dws(n: int) -> specs_lib.Function:
    """Return a sigmoid layer over the channels of each pixel, with `n` outputs."""
    return Cs(n, [1, 1])


@export("contrib.specs.Dwm")
def Dwm(n: int) -> specs_lib.Function:
    """Return a softmax layer over the channels of each pixel, with `n` outputs."""
    return Cm(n, [1, 1])


@export("contrib.specs.Var")
def Var(name: str, *args: Any, **kw: Any) -> specs_lib.Callable:
    """Return a variable, regardless of the input.

    Args:
      name: of the variable.
      *args: what else `tf.get_variable` takes.
      **kw: the same by name.
    """
    return specs_lib.Callable(lambda _: tf.get_variable(name, *args, **kw))


@export("contrib.specs.Shared")
class Shared(specs_lib.Composable):
    """A part of a network that has the same variables wherever it is used.

    Args:
      subnet: the part.
      name: of their scope.
      scope: a scope whose variables are there already.

    Raises:
      ValueError: for both, or another type.
    """

    shared_number = 1

    def __init__(self, subnet: Any, name: str | None = None, scope: Any = None) -> None:
        if not isinstance(scope, (type(None), tf.VariableScope)):
            raise ValueError("scope must be None or a VariableScope")
        if name is None:
            name = f"Shared_{Shared.shared_number}"
            Shared.shared_number += 1
        elif not isinstance(scope, str):  # so any name raises an error, as in TF
            raise ValueError("name must be None or a string")
        self.subnet, self.name, self.scope = subnet, name, scope

    def funcall(self, x: Any) -> Tensor:
        """Return the part's output for an input, with the variables of the first time."""
        first = self.scope is None
        given = self.name if first else self.scope
        with tf.variable_scope(given, values=[x], reuse=None if first else True) as scope:
            self.scope = scope if first else self.scope
            return self.subnet.funcall(x)
