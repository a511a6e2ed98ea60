"""Layers whose inputs can be computed from their outputs, so that none of them need be kept."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.layers.base import Layer
from stillflow.platform import tf_logging as logging

_LAYER = re.compile(r".*revlayer_([0-9]*)/([fg])/.*")


def _call(function: Callable[..., Any], x: Any, side: Any) -> Tensor:
    return function(x, side) if side else function(x)


def _layer_forward(
    xs: Any, f: Any, g: Any, f_side: Any, g_side: Any, gate_outputs: bool = False
) -> tuple[Any, Any]:
    """Return the outputs of a layer: each half plus a function of the other one."""
    x1, x2 = xs
    y1 = x1 + _call(f, x2, f_side)
    y2 = x2 + _call(g, y1, g_side)
    return tuple(tf.tuple([y1, y2])) if gate_outputs else (y1, y2)


def _added(*lists: Any) -> list[Any]:
    """Return the sums of several lists of gradients, some of which are None."""
    sums = []
    for grads in zip(*lists):
        known = [grad for grad in grads if grad is not None]
        sums.append(tf.add_n(known) if known else None)
    return sums


def _layer_backward(
    ys: Any, grad_ys: Any, f: Any, g: Any, f_vars: Any, f_side: Any, g_vars: Any, g_side: Any
) -> Any:
    """Return a layer's inputs, their gradients, and those of variables and side inputs."""
    (y1, y2), (grad_y1, grad_y2) = ys, grad_ys
    y1_stop = tf.stop_gradient(y1)
    g_side = [tf.stop_gradient(each) for each in g_side]
    gy1 = _call(g, y1_stop, g_side)
    x2 = y2 - gy1
    x2_stop = tf.stop_gradient(x2)
    f_side = [tf.stop_gradient(each) for each in f_side]
    fx2 = _call(f, x2_stop, f_side)
    x1 = y1 - fx2
    grad_gy1_y2 = tf.gradients(gy1, y1_stop, grad_y2)[0]
    grad_x1 = grad_y1 + grad_gy1_y2
    grad_x2 = (
        tf.gradients(fx2, x2_stop, grad_y1)[0]
        + grad_y2
        + tf.gradients(fx2, x2_stop, grad_gy1_y2)[0]
    )
    of_g = tf.gradients(gy1, g_vars + g_side, grad_y2)
    from_y1 = tf.gradients(fx2, f_vars + f_side, grad_y1)
    from_y2 = tf.gradients(fx2, f_vars + f_side, grad_gy1_y2)
    count = len(f_vars)
    of_f_vars = _added(from_y1[:count], from_y2[:count])
    of_f_side = _added(from_y1[count:], from_y2[count:])
    outputs = (
        (x1, x2),
        (grad_x1, grad_x2),
        (of_f_vars, of_f_side),
        (of_g[: len(g_vars)], of_g[len(g_vars) :]),
    )
    return nest.pack_sequence_as(outputs, tf.tuple(nest.flatten(outputs)))


def _in_scope(function: Callable[..., Any], scope: str) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Tensor:
        with tf.variable_scope(scope, use_resource=True):
            return function(*args, **kwargs)

    # Partial functions have no name to give on.
    return (
        wrapped if isinstance(function, functools.partial) else functools.wraps(function)(wrapped)
    )


def _for_each_layer(functions: Any, num_layers: int, name: str) -> list[Callable[..., Any]]:
    functions = functions if isinstance(functions, list) else [functions] * num_layers
    assert len(functions) == num_layers
    return [_in_scope(each, f"revlayer_{place}/{name}") for place, each in enumerate(functions)]


@export("contrib.layers.RevBlock")
class RevBlock(Layer):
    """Layers that turn (x1, x2) into (x1 + f(x2), x2 + g(x1 + f(x2))).

    Args:
      f, g: functions of a tensor, and of side inputs if there are any, that keep its shape; or a
        list of them, one for each layer.
      num_layers: how many layers there are.
      f_side_input, g_side_input: lists of more tensors for the functions.
      use_efficient_backprop: True to recompute activations for gradients instead of keeping them.
      name: of the layer.
    """

    def __init__(
        self,
        f: Any,
        g: Any,
        num_layers: int = 1,
        f_side_input: Any = None,
        g_side_input: Any = None,
        use_efficient_backprop: bool = True,
        name: str = "revblock",
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.f = _for_each_layer(f, num_layers, "f")
        self.g = _for_each_layer(g, num_layers, "g")
        self.num_layers = num_layers
        self.f_side_input = f_side_input or []
        self.g_side_input = g_side_input or []
        self._use_efficient_backprop = use_efficient_backprop

    def forward(self, x1: Any, x2: Any) -> Any:
        """Return the outputs of the inputs."""
        return self.apply([x1, x2])

    def backward(self, y1: Any, y2: Any) -> Any:
        """Return the inputs of the outputs."""
        return self.apply([y1, y2], forward=False)

    def build(self, _: Any) -> None:
        """Make nothing: the functions make their variables when they are called."""
        logging.warn("RevBlock constructs its variables on first call, not on build.")
        self.built = True

    def call(self, inputs: Any, forward: bool = True) -> tuple[Tensor, Tensor]:
        """Return the outputs of the inputs, or the other way round."""
        scope = tf.get_variable_scope()
        before = len(scope.global_variables())
        out = self._forward(*inputs) if forward else self._backward(*inputs)
        trained = scope.trainable_variables()
        for variable in scope.global_variables()[before:]:
            if any(variable is each for each in trained):
                self._trainable_weights.append(variable)
            else:
                self._non_trainable_weights.append(variable)
        return out

    def _run(self, x1: Any, x2: Any, *flat_side: Any) -> tuple[Any, Any]:
        f_side, g_side = nest.pack_sequence_as([self.f_side_input, self.g_side_input], flat_side)
        xs = x1, x2
        for f, g in zip(self.f, self.g):
            xs = _layer_forward(xs, f, g, f_side, g_side, self._use_efficient_backprop)
        return xs

    def _forward(self, x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
        side = nest.flatten([self.f_side_input, self.g_side_input])
        if not self._use_efficient_backprop:
            return self._run(x1, x2, *side)

        @tf.custom_gradient
        def run(*args: Any) -> tuple[tuple[Tensor, Tensor], Callable[..., Any]]:
            ys = self._run(*args)
            return ys, functools.partial(self._gradient, args[2:], ys)

        return run(x1, x2, *side)

    def _backward(self, y1: Any, y2: Any) -> tuple[Any, Any]:
        for f, g in zip(reversed(self.f), reversed(self.g)):
            x2 = y2 - _call(g, y1, self.g_side_input)
            y1, y2 = y1 - _call(f, x2, self.f_side_input), x2
        return y1, y2

    def _gradient(
        self, side_inputs: Any, ys: Any, *grad_ys: Any, **named: Any
    ) -> tuple[list[Any], list[Any]]:
        """Return gradients of the inputs and the named `variables`, from the last layer back."""
        variables = named.get("variables", ())
        # The places of each layer's variables among all of them.
        places: dict[tuple[int, str], list[int]] = {}
        for place, variable in enumerate(variables):
            match = _LAYER.match(variable.name)
            assert match is not None
            layer, function = match.groups()
            places.setdefault((int(layer), function), []).append(place)

        variable_grads: list[Any] = [None] * len(variables)
        f_side_grads, g_side_grads = [], []
        with tf.variable_scope(self.scope_name, reuse=True):
            for layer in reversed(range(self.num_layers)):
                of_f, of_g = (places.get((layer, name), []) for name in "fg")
                ys, grad_ys, (f_grads, f_side), (g_grads, g_side) = _layer_backward(
                    ys, grad_ys, self.f[layer], self.g[layer],
                    [variables[place] for place in of_f], self.f_side_input,
                    [variables[place] for place in of_g], self.g_side_input,
                )  # fmt: skip
                for place, grad in zip([*of_f, *of_g], [*f_grads, *g_grads]):
                    variable_grads[place] = grad
                f_side_grads.append(f_side)
                g_side_grads.append(g_side)
        side_grads = _added(*f_side_grads) + _added(*g_side_grads)
        assert len(side_grads) == len(side_inputs)
        return [*grad_ys, *side_grads], variable_grads


@export("contrib.layers.rev_block")
def rev_block(
    x1: Any,
    x2: Any,
    f: Any,
    g: Any,
    num_layers: int = 1,
    f_side_input: Any = None,
    g_side_input: Any = None,
    is_training: bool = True,
) -> tuple[Tensor, Tensor]:
    """Layers whose activations need not be kept: see `RevBlock`.

    Args:
      x1, x2: the halves of the input.
      is_training: True to recompute activations for gradients.
      f, g, ...: as of `RevBlock`.

    Returns:
      The halves of the output.
    """
    block = RevBlock(
        f=f, g=g, num_layers=num_layers, f_side_input=f_side_input, g_side_input=g_side_input,
        use_efficient_backprop=is_training, _reuse=tf.get_variable_scope().reuse,
    )  # fmt: skip
    return block.forward(x1, x2)
