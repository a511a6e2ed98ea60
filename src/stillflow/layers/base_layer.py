"""Base of `tf.layers.Layer` and `tf.keras.layers.Layer`."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from stillflow import nest
from stillflow.autograph.hooks import converted_method
from stillflow.errors import OperatorNotAllowedInGraphError
from stillflow.graph import dtypes
from stillflow.graph.api import init_scope, name_scope
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly, executing_eagerly_outside_functions
from stillflow.graph.export import export, redefinable
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.layers import learning_phase
from stillflow.layers.attributes import Attributes, layers_in
from stillflow.layers.autocast_variable import variables_read_as
from stillflow.layers.call_context import call_context
from stillflow.layers.connections import Connections
from stillflow.layers.contributions import Contributions
from stillflow.layers.description import Description
from stillflow.layers.effects import call_with_effects
from stillflow.layers.history import create_history, has_history, needs_history
from stillflow.layers.input_spec import InputSpec, check_inputs
from stillflow.layers.names import to_snake_case, unique_object_name
from stillflow.layers.policy import (
    Policy,
    global_policy,
    policy_defaults_to_floatx,
    v2_dtypes,
    with_input_dtype,
)
from stillflow.layers.shape_inference import inferred_output_shape, placeholders_of_outputs
from stillflow.layers.symbolic_graph import (
    in_function,
    in_symbolic_graph,
    is_symbolic,
    symbolic_graph,
)
from stillflow.layers.weights import Weights
from stillflow.ops.math.cast import cast
from stillflow.platform import tf_logging as logging
from stillflow.train.tracking.base import no_automatic_dependency_tracking
from stillflow.util import tf_inspect
from stillflow.util.notices import noticed
from stillflow.variables.module import Module

_Build = TypeVar("_Build", bound=Callable[..., Any])
_OPTIONS = {
    "input_shape", "batch_input_shape", "batch_size", "weights", "activity_regularizer", "autocast",
}  # fmt: skip
_PYTHON_CONTROL_FLOW = (
    "You are attempting to use Python control flow in a layer that was not declared to be dynamic. "
    "Pass `dynamic=True` to the class constructor.\nEncountered error:\n"
)
_CAST = (
    "Layer {} is casting an input tensor from dtype {given} to the layer's dtype of {own}, which "
    "is new behavior in TensorFlow 2.  The layer has dtype {own} because it's dtype defaults to "
    "floatx.\n\nIf you intended to run this layer in {own}, you can safely ignore this warning. If "
    "in doubt, this warning is likely only an issue if you are porting a TensorFlow 1.X model to "
    "TensorFlow 2.\n\nTo change all layers to have dtype {given} by default, call "
    "`tf.keras.backend.set_floatx('{given}')`. To change just this layer, pass dtype='{given}' to "
    "the layer constructor. If you are the author of this layer, you can disable autocasting by "
    "passing autocast=False to the base Layer constructor.\n"
)


def only_for_users(build: _Build) -> _Build:
    """Mark a method `build` that calling the layer does not call."""
    build.only_for_users = True  # type: ignore[attr-defined]
    return build


@export("keras.layers.Layer")
class Layer(Attributes, Weights, Contributions, Connections, Description, Module):
    """A function of tensors that keeps its variables.

    A subclass makes variables in `build(input_shape)`, which is called once, and computes its
    outputs in `call(inputs, ...)`.

    Args:
      trainable: whether its variables are trained.
      name: of the layer; one made from the class by default.
      dtype: of its variables, or a policy; that of the first input by default.
      dynamic: whether `call` can only run eagerly.
      input_shape, batch_input_shape, batch_size: of the first layer of a Keras model.
      weights: the first values of its variables.
      activity_regularizer: `f(output)` gives a loss.
      autocast: whether inputs are cast to the layer's dtype.
    """

    # Whether calling it computes masks as well as outputs.
    _compute_output_and_mask_jointly = False
    _is_layer = True  # other objects with weights are none: a template, a list of layers
    _input_spec: Any
    _TF_MODULE_IGNORED_PROPERTIES = frozenset({"_tracked", "_deferred"})
    _in_version_2 = True  # whether the class is TensorFlow 2's as well: see `TimeDistributed`

    @no_automatic_dependency_tracking
    def __init__(
        self,
        trainable: bool = True,
        name: Any = None,
        dtype: Any = None,
        dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        for key in kwargs:
            if key not in _OPTIONS:
                raise TypeError("Keyword argument not understood:", key)
        self._trainable = trainable
        self.stateful = self.built = self.supports_masking = False
        self.input_spec = None
        self._init_set_name(name)
        self._activity_regularizer = kwargs.get("activity_regularizer")
        for attribute in ("_trainable_weights", "_non_trainable_weights", "_layers"):
            if not hasattr(self, attribute):
                setattr(self, attribute, [])
        self._updates, self._losses, self._callable_losses = [], [], []
        self._eager_losses = []
        self._metrics: list[Any] = []
        self._inbound_nodes, self._outbound_nodes = [], []
        self._dtype_policy = _policy(dtype)
        self._autocast = kwargs.get("autocast", v2_dtypes())
        self._warns_of_casts = not dtype and policy_defaults_to_floatx()
        self._dynamic = dynamic
        self._initial_weights = kwargs.get("weights")
        if "batch_input_shape" in kwargs:
            self._batch_input_shape = tuple(kwargs["batch_input_shape"])
        elif "input_shape" in kwargs:
            self._batch_input_shape = (kwargs.get("batch_size"), *kwargs["input_shape"])

    # ---- methods of subclasses

    def build(self, input_shape: Any) -> None:
        """Make the layer's variables for inputs of a shape."""
        self.built = True

    if TYPE_CHECKING:  # layers take more by position, or less by name

        def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any: ...

    else:

        def call(self, inputs: Any, **kwargs: Any) -> Any:
            """Compute the layer's outputs."""
            return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shapes of the outputs for inputs of a shape; it builds the layer.

        Raises:
          NotImplementedError: in a graph, or if `call` cannot be called on placeholders.
        """
        if not executing_eagerly():
            raise NotImplementedError
        return inferred_output_shape(self, input_shape)

    def compute_output_signature(self, input_signature: Any) -> TensorSpec:
        """Return the `TensorSpec`s of the outputs for inputs of given ones.

        Raises:
          TypeError: if there is anything but a `TensorSpec`.
        """
        for spec in nest.flatten(input_signature):
            if not isinstance(spec, TensorSpec):
                raise TypeError(
                    "Only TensorSpec signature types are supported, but saw signature signature "
                    f"entry: {spec}."
                )
        shapes = nest.map_structure(lambda spec: spec.shape, input_signature)
        dtype = self._compute_dtype or nest.flatten(input_signature)[0].dtype
        return nest.map_structure(
            lambda shape: TensorSpec(dtype=dtype, shape=shape), self.compute_output_shape(shapes)
        )

    @redefinable
    def compute_mask(self, inputs: Any, mask: Any = None) -> Tensor | None:
        """Return the mask of the outputs.

        Raises:
          TypeError: if one of the inputs is unknown to the layer.
        """
        if self.supports_masking:
            return mask
        if any(m is not None for m in nest.flatten(mask)):
            raise TypeError(
                f"Layer {self.name} does not support masking, but was passed an input_mask: {mask}"
            )
        return None

    # ---- properties

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> Any:
        """The name of the dtype of the layer's variables; None before it is known."""
        return self._dtype_policy.variable_dtype

    @property
    def _dtype(self) -> Any:
        return self._dtype_policy.variable_dtype

    @_dtype.setter
    def _dtype(self, value: Any) -> None:
        self._dtype_policy = Policy(dtypes.as_dtype(value).name)

    @property
    def _compute_dtype(self) -> str | None:
        return self._dtype_policy.compute_dtype

    @property
    def dynamic(self) -> bool:
        return self._dynamic

    @property
    def trainable(self) -> bool:
        """True if the layer's variables are trained; setting it sets it for layers inside."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value
        for layer in layers_in(self.__dict__.get("_layers", ())):
            layer.trainable = value

    @property
    def activity_regularizer(self) -> Any:
        """`f(output)` gives a loss, or None."""
        return self._activity_regularizer

    @activity_regularizer.setter
    def activity_regularizer(self, regularizer: Any) -> None:
        self._activity_regularizer = regularizer

    @property
    def input_spec(self) -> Any:
        """The inputs that the layer takes: an `InputSpec`, a structure of them, or None."""
        return self._input_spec

    @input_spec.setter
    def input_spec(self, value: Any) -> None:
        for spec in nest.flatten(value):
            if spec is not None and not isinstance(spec, InputSpec):
                raise TypeError(f"Layer input_spec must be an instance of InputSpec. Got: {spec}")
        object.__setattr__(self, "_input_spec", value)  # no part of the layer in checkpoints

    @property
    def metrics(self) -> list[Any]:
        return self._metrics + self._of_children("metrics")

    # ---- names and configuration

    def _init_set_name(self, name: Any, zero_based: bool = True) -> None:
        base_name = to_snake_case(type(self).__name__)
        self._name = name or unique_object_name(base_name, zero_based=zero_based)

    def _name_scope(self) -> str:
        if not isinstance(self.name, str):
            raise ValueError("name for name_scope must be a string.")
        return self.name

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments.

        Raises:
          NotImplementedError: if a subclass has others and does not give them.
        """
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        config["dtype"] = self.dtype
        arguments = tf_inspect.getfullargspec(self.__init__).args  # type: ignore[misc]
        if self.dynamic:
            config["dynamic"] = self.dynamic
        extra = [name for name in arguments if name not in config and name != "dynamic"]
        if len(extra) > 1 and type(self).get_config is Layer.get_config:
            raise NotImplementedError(
                "Layers with arguments in `__init__` must override `get_config`."
            )
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Layer:
        """Return the layer with these constructor's arguments."""
        return cls(**config)

    # ---- calling

    # Whether variables are made and named as Keras does, rather than by variable scopes.
    _keras_style = True

    @functools.cached_property
    def _call_fn_args(self) -> list[str]:
        return _arguments(self.call)[0]

    @functools.cached_property
    def _call_accepts_kwargs(self) -> bool:
        return _arguments(self.call)[1]

    def _expects(self, argument: str) -> bool:
        return argument in self._call_fn_args or self._call_accepts_kwargs

    def _given(self, argument: str, args: Any, kwargs: Any) -> tuple[bool, Any]:
        """Return True if a call gives an argument, and its value."""
        if argument in kwargs:
            return True, kwargs[argument]
        names = self._call_fn_args[1:]
        if argument in names and names.index(argument) < len(args):
            return True, args[names.index(argument)]
        return False, None

    @redefinable
    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Tensor:
        """Build the layer if this is its first call, and return the result of `call`.

        Args:
          inputs: a tensor, or a structure of tensors; arrays and numbers are converted.
          *args, **kwargs: other arguments of `call`. A call of a layer inside another gets
            `training` from that one unless it is given.

        Raises:
          ValueError: if the layer does not take these inputs, or gives nothing.
          TypeError: if `call` asks for the truth of a tensor.
        """
        symbolic = all(is_symbolic(x) for x in nest.flatten(inputs))
        inputs = nest.map_structure(_to_tensor, inputs)
        given = set(kwargs)
        masks = self._input_masks(inputs, args, kwargs)
        training = self._pass_training(args, kwargs, symbolic)
        if symbolic and not call_context.in_call and needs_history(inputs):
            create_history(inputs)
        if not call_context.in_call and (executing_eagerly() or in_function()):
            self._clear_losses()
        graph = symbolic_graph() if symbolic else get_default_graph()
        with call_context.enter(self, inputs, training), graph.as_default():
            if symbolic:
                check_inputs(self.input_spec, inputs, self.name)
            with name_scope(self._name_scope()):
                self._maybe_build(inputs)
                if symbolic and self.dynamic:
                    outputs = placeholders_of_outputs(self, inputs)
                else:
                    call = functools.partial(
                        self._call, self._maybe_cast_inputs(inputs), args, kwargs
                    )
                    ordered = symbolic and in_symbolic_graph()
                    outputs = call_with_effects(call) if ordered else call()
                if outputs is None and symbolic:
                    raise ValueError(
                        "A layer's `call` method should return a Tensor or a list of Tensors, not "
                        f"None (layer: {self.name})."
                    )
                if symbolic and has_history(inputs):
                    kept = {key: value for key, value in kwargs.items() if key in given}
                    outputs = self._connect(inputs, outputs, args, kept)
                self._regularize_activity(inputs, outputs)
                self._mask_outputs(inputs, outputs, masks)
                if symbolic:
                    self._called_on(inputs, outputs)
        return outputs

    def _called_on(self, inputs: Any, outputs: Any) -> None:
        """Act after a call on tensors, in a subclass."""

    def _call(self, inputs: Any, args: Any, kwargs: Any) -> Any:
        try:
            with variables_read_as(self._compute_dtype):
                return converted_method(self.call)(inputs, *args, **kwargs)
        except OperatorNotAllowedInGraphError as error:
            raise TypeError(f'{_PYTHON_CONTROL_FLOW}"""\n{error}\n"""') from error

    def _pass_training(self, args: Any, kwargs: Any, symbolic: bool) -> Any:
        """Return the argument `training` of a call, put into `kwargs` if an outer call sets it."""
        given, training = self._given("training", args, kwargs)
        expected = self._expects("training")
        if given:
            if not expected:
                kwargs.pop("training")
            return training
        training = call_context.training
        if training is None:
            training = _phase_of_keras(symbolic)
        if training is not None and expected:
            is_symbol = is_tensor(training)
            kwargs["training"] = cast(training, dtypes.bool) if is_symbol else bool(training)
        return training

    def _maybe_build(self, inputs: Any) -> None:
        if not self.built:
            check_inputs(self.input_spec, inputs, self.name)
            flat = nest.flatten(inputs)
            if flat and self._dtype_policy.compute_dtype is None and hasattr(flat[0], "dtype"):
                dtype = flat[0].dtype.base_dtype.name
                self._dtype_policy = with_input_dtype(self._dtype_policy, dtype)
            shapes = None
            if all(hasattr(x, "shape") for x in flat):
                shapes = nest.map_structure(lambda x: x.shape, inputs)
            if not getattr(self.build, "only_for_users", False):
                lifted = self._keras_style and executing_eagerly_outside_functions()
                with init_scope() if lifted else contextlib.nullcontext():
                    self.build(shapes)
            self.built = True
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)
            self._initial_weights = None

    def _maybe_cast_inputs(self, inputs: Any) -> Any:
        dtype = self._compute_dtype
        if not (self._autocast and dtype and dtypes.as_dtype(dtype).is_floating):
            return inputs

        def as_layer(x: Any) -> Tensor:
            is_tensor = isinstance(x, (Tensor, CompositeTensor))
            if not (is_tensor and x.dtype.is_floating) or x.dtype.base_dtype.name == dtype:
                return x
            if self._warns_of_casts:
                logging.warn(_CAST.format(self.name, given=x.dtype.base_dtype.name, own=dtype))
                self._warns_of_casts = False
            return cast(x, dtype)

        return nest.map_structure(as_layer, inputs)

    # ---- masks

    @property
    def _should_compute_mask(self) -> bool:
        """True if the layer uses masks of inputs."""
        return True

    def _input_masks(self, inputs: Any, args: Any, kwargs: Any) -> Tensor | None:
        """Return the masks of a call's inputs, put into `kwargs` where `call` takes them."""
        given, mask = self._given("mask", args, kwargs)
        if given:
            return mask
        if not self._should_compute_mask:
            return None
        masks = nest.map_structure(lambda x: getattr(x, "_keras_mask", None), inputs)
        if all(mask is None for mask in nest.flatten(masks)):
            return None
        if self._expects("mask"):
            kwargs["mask"] = masks
        return masks

    def _mask_outputs(self, inputs: Any, outputs: Any, masks: Any) -> None:
        flat = nest.flatten(outputs)
        if self._compute_output_and_mask_jointly:
            return
        if all(getattr(x, "_keras_mask", None) is not None for x in flat):
            return
        computed = None
        if self.supports_masking or type(self).compute_mask is not Layer.compute_mask:
            computed = self.compute_mask(inputs, masks)
        of_each = [None] * len(flat) if computed is None else nest.flatten(computed)
        for output, mask in zip(flat, of_each, strict=False):
            try:
                output._keras_mask = mask
            except AttributeError:  # an array or a number
                continue
            if mask is not None:
                mask._keras_history_checked = True

    # ---- deprecated names

    @noticed("keras.layers.Layer")
    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the same as calling the layer."""
        return self(inputs, *args, **kwargs)

    @noticed("keras.layers.Layer")
    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """Return the same as `add_weight`."""
        return self.add_weight(*args, **kwargs)


def _phase_of_keras(symbolic: bool) -> Tensor | int | None:
    """Return the phase of a call that is not told, where operations run when they are called."""
    if learning_phase.is_set_at_once():
        return learning_phase.learning_phase()
    if not symbolic:
        return None
    with symbolic_graph().as_default():
        return learning_phase.learning_phase() if in_symbolic_graph() else None


def _policy(dtype: Any) -> Policy:
    if isinstance(dtype, Policy):
        return dtype
    return Policy(dtypes.as_dtype(dtype).name) if dtype else global_policy()


@functools.lru_cache(maxsize=1024)
def _arguments_of(function: Any, is_method: bool) -> tuple[list[str], bool]:
    spec = tf_inspect.getfullargspec(function)
    names = spec.args[1:] if is_method or spec.args[:1] == ["self"] else spec.args
    return names, spec.varkw is not None


def _arguments(call: Any) -> tuple[list[str], bool]:
    """Return the names of a method's arguments, and whether it takes any others by keyword."""
    call = getattr(call, "python_function", call)  # of a `tf.function`
    is_method = inspect.ismethod(call)
    return _arguments_of(call.__func__ if is_method else call, is_method)


def _to_tensor(x: Any) -> Any:
    return convert_to_tensor(x) if isinstance(x, (np.ndarray, float, int)) else x
