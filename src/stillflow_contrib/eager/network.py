"""`tfe.Network`: a network of layers, with their variables in nested variable scopes."""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.layers.base import Layer
from stillflow.layers.names import default_counts
from stillflow.platform import tf_logging as logging
from stillflow.util.function_utils import fn_args
from stillflow.util.notices import noticed
from stillflow.variables.variable_scope import VariableScope, get_variable_scope_store

_INSTEAD = (
    "Please inherit from `tf.keras.Model`, which tracks layers that are attributes: calls of "
    "`track_layer` are to be left out."
)
_ASK = (
    "Please file an issue at https://github.com/tensorflow/tensorflow/issues/new if this is "
    "important to you"
)


def _check_name(name: Any) -> None:
    if isinstance(name, VariableScope):
        raise ValueError("VariableScopes are not valid Network names.")
    if "/" in (name or ""):
        raise ValueError("Forward slashes ('/') are not allowed in Network names.")


@export("contrib.eager.Network")
class Network(Layer):
    """Layer made of others, to be derived from: `call` defines its result.

    Every layer that `call` uses has to be tracked. A network opens a variable scope when it is
    first called, inside that of the network it was first added to; its layers open theirs inside.

    Args:
      name: of the network, without slashes, unique where it is used; made from the class if it is
        not given.

    Raises:
      ValueError: for a variable scope, or a name with slashes.
    """

    # None: not added to any yet; False: used by itself.
    _first_parent: Any = None
    _owned_layers: dict[str, Any]

    @noticed("contrib.eager.Network")
    def __init__(self, name: str | None = None) -> None:
        if tf.executing_eagerly():
            logging.warning(
                "** tfe.Network is deprecated and will be removed in a future version.\n\n%s",
                _INSTEAD,
            )
        _check_name(name)
        super().__init__(name=name)
        self._layers, self._owned_layers = [], {}
        self._non_network_sublayers: list[Any] = []
        self._sub_layer_name_uids: Any = defaultdict(int)
        self._default_parent_variable_scope = tf.get_variable_scope()
        self._variable_scope_counts_on_init = get_variable_scope_store().counts

    def _gather_saveables_for_checkpoint(self) -> NoReturn:
        raise NotImplementedError(
            f"tfe.Network does not support object-based checkpointing.\n\n{_INSTEAD}"
        )

    # ---- names and scopes

    def _init_set_name(self, name: Any, zero_based: bool = True) -> None:
        # Where it is used decides which names are free.
        self._name, self._base_name = name, None

    @property
    def name(self) -> str:
        """The name.

        Raises:
          ValueError: before it is known, if none was given.
        """
        if self._name is None:
            raise ValueError(
                "The network does not yet have a final name, but a name was requested for it. "
                "Networks get a name when they are added to another Network via track_layer, or "
                "when they are first called/built."
            )
        name: str = self._name
        return name

    def _finalize_name(self, parent_network: Any) -> None:
        """Make a name that is free in another network, or in the graph."""
        if not self._name:
            if parent_network:
                taken: Any = parent_network._owned_layers
                counts = parent_network._sub_layer_name_uids
            else:
                taken, counts = self._names_at_start(), default_counts()
            self._name, self._base_name = self._make_unique_name(
                name_uid_map=counts,
                avoid_names=taken,
                namespace=self._default_parent_variable_scope.name,
                zero_based=True,
            )
        if self._first_parent is None or (self._first_parent and self._first_parent() is None):
            self._first_parent = weakref.ref(parent_network) if parent_network else parent_network

    def _names_at_start(self) -> set[str]:
        """Names of variable scopes there were when the network was made, from where it was."""
        outer = self._default_parent_variable_scope.name
        prefix = f"{outer}/" if outer else ""
        names = self._variable_scope_counts_on_init
        return {name[len(prefix) :] for name in names if name and name.startswith(prefix)}

    def _set_scope(self, scope: Any = None) -> None:
        if self._scope is not None:
            return
        parent = self._first_parent() if self._first_parent else self._first_parent
        if parent is None:
            self._finalize_name(parent_network=False)
        if scope is not None:
            raise ValueError("Networks may not be created with explicit scopes.")
        if parent:
            parent._set_scope()
        outer = parent._scope if parent else self._default_parent_variable_scope
        with tf.variable_scope(outer) as opened:
            if f"{opened.name}/{self._name}" in self._variable_scope_counts_on_init:
                self._reject_name()
            with tf.variable_scope(None, use_resource=True, default_name=self._name) as own:
                self._scope = own
                self._check_scope(parent)
        for layer in self._non_network_sublayers:
            self._set_scope_for_nonnetwork_sublayer(layer)

    def _check_scope(self, parent: Any) -> None:
        prefix, slash, name = self._scope.name.rpartition("/")
        if name != self._name:
            self._reject_name()
        if parent and prefix != parent.scope_name:
            raise ValueError(
                "Network variable names must match a nesting of sub-Network names. Expected "
                f"prefix '{parent.scope_name}' from parent network, but got '{prefix}' when "
                f"attempting to create a variable_scope for Network '{self._name}'. Likely an "
                "explicit variable_scope was inserted into the nesting."
            )
        if not parent and slash:
            self._name = self._scope.name

    def _reject_name(self) -> NoReturn:
        raise ValueError(
            f"A Network named '{self._name}' already exists (or a variable_scope was created with "
            "this name). Names must be unique."
        )

    def _set_scope_for_nonnetwork_sublayer(self, layer: Any) -> None:
        if layer._scope is not None:
            return
        parent = layer._first_parent() if layer._first_parent is not None else None
        if not parent:
            self._finalize_name(False)
            raise ValueError(
                f"The parent of a Layer added to Network {self.name} was garbage collected before "
                "the Layer was built. If this limitation bothers you please file a feature request."
            )
        parent._set_scope()
        with tf.variable_scope(parent._scope):
            with tf.variable_scope(None, use_resource=True, default_name=layer.name) as own:
                layer._scope = own

    # ---- layers

    def track_layer(self, layer: Any) -> Any:
        """Says that a layer is part of the network.

        Args:
          layer: a `tf.layers.Layer`, or a network.

        Returns:
          The layer.

        Raises:
          RuntimeError: before `__init__` was called.
          TypeError: for anything else.
          ValueError: if another layer has its name.
        """
        if not hasattr(self, "_layers"):
            raise RuntimeError("Need to call Network.__init__ before adding layers")
        if not isinstance(layer, Layer):
            raise TypeError(
                f"Network.track_layer() passed type {type(layer)}, not a tf.layers.Layer"
            )
        layer._use_resource_variables = True
        if isinstance(layer, Network):
            layer._finalize_name(parent_network=self)
        elif not layer.built:
            self._adopt(layer)
        first: Any = getattr(layer, "_first_parent", None)
        if not layer.built and first and first() is self:
            if self._owned_layers.get(layer.name) is layer:
                return layer
            if layer.name in self._owned_layers:
                raise ValueError(
                    f"Attempt to add two Layers with the name '{layer.name}' to the same Network."
                )
            self._owned_layers[layer.name] = layer
        self._layers.append(layer)
        return layer

    def _adopt(self, layer: Any) -> None:
        """Names a layer that is in no network yet."""
        self._non_network_sublayers.append(layer)
        parent = getattr(layer, "_first_parent", None)
        if parent is not None and parent() is not None:
            return
        if layer._name != layer._base_name:  # no name was given
            taken = {"name_uid_map": self._sub_layer_name_uids, "avoid_names": self._owned_layers}
            layer._name, layer._base_name = layer._make_unique_name(zero_based=True, **taken)
        layer._first_parent = weakref.ref(self)

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """Return a layer by its name, the first that has it, or by its place.

        Raises:
          ValueError: if there is none, or if both or neither are given.
        """
        if index is not None:
            if name is not None:
                raise ValueError("Exactly one of 'index' or 'name' must be provided")
            if len(self._layers) <= index:
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has "
                    f"{len(self._layers)} layers."
                )
            return self._layers[index]
        if not name:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in self._layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}")

    @property
    def layers(self) -> list[Any]:
        """The layers, in the order in which they were added."""
        return self._layers

    def _of_layers(self, attribute: str) -> list[Any]:
        return [item for layer in self._layers for item in getattr(layer, attribute)]

    @property
    def weights(self) -> list[Any]:
        """The variables of all layers."""
        return self._of_layers("weights")

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables of all layers that are trained."""
        return self._of_layers("trainable_weights")

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables of all layers that are not trained."""
        return self._of_layers("non_trainable_weights")

    @property
    def losses(self) -> list[Any]:
        """The losses of all layers."""
        return self._of_layers("losses")

    @property
    def trainable(self) -> bool:
        """Always true.

        Raises:
          AttributeError: if it is set to anything else.
        """
        return True

    @trainable.setter
    def trainable(self, value: bool) -> None:
        if not value:
            raise AttributeError("cannot mark Network as not trainable")

    def add_variable(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: only layers have variables.

        Raises:
          RuntimeError: always.
        """
        raise RuntimeError(f"add_variable not supported in Network class yet. {_ASK}")

    def add_loss(self, losses: Any, inputs: Any = None) -> NoReturn:
        """Refused: only layers have losses.

        Raises:
          RuntimeError: always.
        """
        raise RuntimeError(f"add_loss is not supported in Network class yet. {_ASK}")


@export("contrib.eager.Sequential")
class Sequential(Network):
    """Layers and functions, each of which takes the output of the one before it.

    Args:
      layers_funcs: the layers and functions.
      name: see `Network`.
    """

    def __init__(
        self, layers_funcs: Iterable[Callable[..., Any]] | None = None, name: str | None = None
    ) -> None:
        super().__init__(name=name)
        self._layers_funcs: list[tuple[bool, Callable[..., Any]]] = []
        for layer_func in layers_funcs or ():
            self.add(layer_func)

    def add(self, layer_func: Any) -> None:
        """Add a layer or function at the end.

        Raises:
          TypeError: for anything else.
        """
        is_layer = isinstance(layer_func, Layer)
        if not (is_layer or callable(layer_func)):
            raise TypeError(
                "Sequential.add() takes only tf.layers.Layer objects or callables; not "
                f"'{layer_func}' of type '{type(layer_func)}'."
            )
        arguments = fn_args(layer_func.call if is_layer else layer_func)
        if is_layer:
            self.track_layer(layer_func)
        self._layers_funcs.append(("training" in arguments, layer_func))

    def call(self, inputs: Any, training: Any = None) -> Tensor:
        """Return the output of the last layer.

        Args:
          inputs: of the first.
          training: handed to those that take it, unless it is None.
        """
        for takes_training, layer_func in self._layers_funcs:
            more = (training,) if takes_training and training is not None else ()
            inputs = layer_func(inputs, *more)
        return inputs
