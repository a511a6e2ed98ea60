"""The functions of layers that SavedModels hold, of which TensorFlow makes layers again.

Each layer gets functions of its `call`, traced in training and outside of it. The function of a
layer calls those of the layers inside it, so that all are traced for the same arguments.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from stillflow import nest
from stillflow.functional.concrete import ConcreteFunction
from stillflow.functional.polymorphic import Function
from stillflow.graph.api import init_scope
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.keras.backend.config import floatx
from stillflow.keras.engine.model import Model
from stillflow.keras.saving.revived import RevivedLayer, RevivedModel
from stillflow.keras.saving.serving import contributions_apart, input_signature
from stillflow.layers.attributes import all_layers, layers_in
from stillflow.layers.call_context import call_context
from stillflow.layers.input_spec import to_tensor_spec
from stillflow.layers.learning_phase import learning_phase, learning_phase_scope
from stillflow.ops.control_flow.cond import smart_cond
from stillflow.util import tf_decorator, tf_inspect


def inner_layers(layer: Any) -> list[Any]:
    """Return the layers that a layer calls: those of a model, or those among the attributes."""
    return list(layer.layers if isinstance(layer, Model) else layers_in(layer._layers))


class LayerFunctions:
    """The functions of a layer, which are all traced for the same arguments.

    Args:
      layer: the layer, which is built.

    Attributes:
      by_name: the functions by the names that SavedModels have for them.
    """

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._call = layer.call
        self._spec = _spec_of(layer)
        self._in_training = "training" in (*self._spec.args, *self._spec.kwonlyargs)
        self._tracing = False
        self._functions: list[_LayerFunction] = []
        self._signature = _signature_of(layer)
        with_losses = self._add(self._outputs_and_losses, "call_and_return_conditional_losses")
        self.by_name: dict[str, Any] = {
            "call_and_return_conditional_losses": with_losses,
            "__call__": self._add(lambda *args, **kwargs: with_losses(*args, **kwargs)[0],
                                  "call_fn"),
            "call_and_return_all_conditional_losses": with_losses,
        }  # fmt: skip
        if layer.activity_regularizer is not None:
            self._add_regularized(with_losses)

    def _add_regularized(self, with_losses: Any) -> None:
        layer = self._layer
        regularize = Function(
            lambda x: layer.activity_regularizer(x), f"{layer.name}_activity_regularizer",
            [TensorSpec(None, layer.dtype or floatx())],
        )  # fmt: skip
        self.by_name["activity_regularizer_fn"] = regularize

        def run(*args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
            outputs, losses = with_losses(*args, **kwargs)
            return outputs, [*losses, regularize(outputs)]

        name = "call_and_return_all_conditional_losses"
        self.by_name[name] = self._add(run, name)

    def trace_signature(self) -> None:
        """Traces the functions for the inputs that the layer says it takes, if it does."""
        if self._signature is not None:
            self.trace(*self._signature)

    def _add(self, run: Callable[..., Any], name: str) -> _LayerFunction:
        added = _LayerFunction(self, self._alone(run), f"{self._layer.name}_layer_{name}")
        self._functions.append(added)
        return added

    def _alone(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Run a part of the layer without the leftovers of earlier calls."""

        def call(*args: Any, **kwargs: Any) -> Any:
            layer = self._layer
            training = self._training_of(args, kwargs)
            with call_context.enter(layer, args[0], training), contributions_apart(layer):
                return run(*args, **kwargs)

        return tf_decorator.make_decorator(self._call, call, decorator_argspec=self._spec)

    def _outputs_and_losses(
        self, inputs: Any, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, list[Any]]:
        if self._in_training and not self._layer._expects("training"):
            args, kwargs = self._with_training(args, kwargs, None)  # for layers inside alone
        return self._call(inputs, *args, **kwargs), self._layer.get_losses_for(inputs)

    # ---- the argument `training`

    def _place(self) -> int | None:
        """Return the position of `training` after the inputs; None if it is passed by name."""
        names = self._spec.args[2:]
        return names.index("training") if "training" in names else None

    def _training_of(self, args: Any, kwargs: Any) -> bool | None:
        place = self._place()
        if place is not None and len(args) > place + 1:
            return args[place + 1]
        return kwargs.get("training")

    def _with_training(self, args: Any, kwargs: Any, value: Any) -> tuple[Any, Any]:
        """Arguments after the inputs with another value of `training`; None leaves it out."""
        place = self._place()
        others = {key: given for key, given in kwargs.items() if key != "training"}
        if place is not None and len(args) > place:
            kept = () if value is None else (value,)
            return (*args[:place], *kept, *args[place + 1 :]), others
        return args, others if value is None else {**others, "training": value}

    # ---- tracing and calling

    def trace(self, inputs: Any, *args: Any, **kwargs: Any) -> None:
        """Traces all functions for some arguments, in training and outside of it."""
        if self._tracing:
            return
        self._tracing = True
        try:
            for function in self._functions:
                for value in (True, False) if self._in_training else (None,):
                    self._trace_one(function, inputs, args, kwargs, value)
        finally:
            self._tracing = False

    def _trace_one(self, function: Any, inputs: Any, args: Any, kwargs: Any, value: Any) -> None:
        if value is None:
            function.get_concrete_function(inputs, *args, **kwargs)
            return
        args, kwargs = self._with_training(args, kwargs, value)
        with learning_phase_scope(int(value)):
            function.get_concrete_function(inputs, *args, **kwargs)

    def stand_in(self) -> Callable[..., Any]:
        """Return the layer's replacement of `call` while an outer layer's function is traced."""
        run = self.by_name["call_and_return_conditional_losses"]

        def call(inputs: Any, *args: Any, **kwargs: Any) -> Tensor:
            outputs, losses = self._call_function(run, inputs, args, kwargs)
            self._layer.add_loss(losses, inputs=True)
            return outputs

        stand_in = tf_decorator.make_decorator(self._call, call, decorator_argspec=self._spec)
        stand_in.__module__ = __name__  # nothing for AutoGraph
        return stand_in

    def _call_function(
        self, run: Any, inputs: Any, args: Any, kwargs: Any
    ) -> tuple[Tensor, list[Any]]:
        if not self._in_training:
            return run(inputs, *args, **kwargs)
        training = self._training_of((inputs, *args), kwargs)
        if training is None:
            training = call_context.training
        if training is None:
            training = learning_phase()

        def with_value(value: bool) -> Any:
            new_args, new_kwargs = self._with_training(args, kwargs, value)
            return run(inputs, *new_args, **new_kwargs)

        return smart_cond(
            training, functools.partial(with_value, True), functools.partial(with_value, False)
        )


class _LayerFunction(Function):
    """Function whose calls trace the layer's other functions for the same arguments."""

    def __init__(self, functions: LayerFunctions, run: Any, name: str) -> None:
        super().__init__(run, name, autograph=(False, None))
        self._siblings = functions

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._siblings.trace(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def _function_for(self, args: Any, kwargs: Any) -> ConcreteFunction:
        with init_scope():  # one trace for all functions that call it
            return super()._function_for(args, kwargs)


def _spec_of(layer: Any) -> Any:
    """Return the arguments of a layer's `call`, with `training` if it or an inner layer uses it."""
    spec = tf_inspect.getfullargspec(layer.call)
    defaults = list(spec.defaults or ())
    if not any(one._expects("training") for one in all_layers(layer)):
        return spec._replace(annotations={})
    changed = spec._replace(annotations={}, kwonlydefaults=spec.kwonlydefaults or {})
    if not layer._expects("training"):
        return changed._replace(args=[*spec.args, "training"], defaults=[*defaults, False])
    if "training" not in spec.args:
        by_name = {**changed.kwonlydefaults, "training": False}
        names = [*(name for name in spec.kwonlyargs if name != "training"), "training"]
        return changed._replace(kwonlyargs=names, kwonlydefaults=by_name, defaults=defaults)
    from_end = len(spec.args) - spec.args.index("training")
    if len(defaults) >= from_end and defaults[-from_end] is None:
        defaults[-from_end] = False
    return changed._replace(defaults=defaults)


def _signature_of(layer: Any) -> list[Any] | None:
    """Return the `TensorSpec`s of a layer's inputs; None if it takes several shapes."""
    if isinstance(layer, Model):
        return input_signature(layer)
    if layer.input_spec is None:
        return None
    specs = nest.map_structure(lambda x: to_tensor_spec(x, layer.dtype), layer.input_spec)
    if any(spec.shape.ndims is None for spec in nest.flatten(specs)):
        return None
    return [specs]


class LayerFunctionsCache:
    """The functions of layers, made once for each."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def of(self, layer: Any) -> dict[str, Any]:
        """Return the functions of a layer by name; none while they are being made.

        Raises:
          TypeError, ValueError: if the layer's `call` cannot be traced.
        """
        functions = self._functions(layer)
        return {} if functions is None else functions.by_name

    def _functions(self, layer: Any) -> Any:
        if id(layer) in self._made:
            return self._made[id(layer)]
        self._made[id(layer)] = None
        if isinstance(layer, (RevivedLayer, RevivedModel)):
            made: Any = _SavedBefore(layer)
        else:
            with self._inner_replaced(layer):
                made = LayerFunctions(layer)
                made.trace_signature()
        self._made[id(layer)] = made
        return made

    @contextlib.contextmanager
    def _inner_replaced(self, layer: Any) -> Iterator[None]:
        """Make the layers inside one call their functions."""
        replaced = []
        try:
            for inner in inner_layers(layer):
                functions = self._functions(inner) if inner.built else None
                if isinstance(functions, LayerFunctions):
                    object.__setattr__(inner, "call", functions.stand_in())
                    replaced.append(inner)
            yield
        finally:
            for inner in replaced:
                object.__delattr__(inner, "call")


class _SavedBefore:
    """The functions that a layer was made of."""

    def __init__(self, layer: Any) -> None:
        api = layer._saved.keras_api
        names = (
            "call_and_return_conditional_losses", "__call__", "activity_regularizer_fn",
            "call_and_return_all_conditional_losses",
        )  # fmt: skip
        own = vars(api)
        self.by_name = {name: own[name] for name in names if name in own}
