"""Base of Keras' optimizers: hyperparameters and slots as variables."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.distribute.context import get_replica_context, get_strategy
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.graph.api import control_dependencies, init_scope, name_scope
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.initialization import track_variable
from stillflow.keras.backend.session import batch_get_value, batch_set_value, get_value, set_value
from stillflow.keras.optimizers.schedules import LearningRateSchedule
from stillflow.keras.optimizers.schedules import deserialize as deserialize_schedule
from stillflow.keras.optimizers.schedules import serialize as serialize_schedule
from stillflow.layers.identifiers import initializer_of
from stillflow.layers.names import to_snake_case, unique_object_name
from stillflow.layers.weights import check_synchronization, make_variable
from stillflow.platform import tf_logging as logging
from stillflow.train.slot_creator import first_part, name_of
from stillflow.train.tracking.base import Trackable
from stillflow.variables.base import (
    VariableAggregation,
    VariableSynchronization,
    VariableV2,
)

_OPTIONS = {"clipnorm", "clipvalue", "lr", "decay"}
_DTYPES = (tf.float16, tf.bfloat16, tf.float32, tf.float64)


def _with_state(apply: Callable[..., Any], state: Any) -> Callable[..., Any]:
    """Return a method that applies gradients, with the hyperparameters if it takes them."""
    takes = "apply_state" in inspect.signature(apply).parameters
    return functools.partial(apply, apply_state=state) if takes else apply


@export("keras.optimizers.Optimizer")
class OptimizerV2(Trackable):
    """An optimizer whose numbers are variables. A subclass says how a gradient is applied.

    Args:
      name: of the operations.
      clipnorm, clipvalue: bounds of the gradients' norms and elements.
      lr: the learning rate, by its old name.
      decay: how fast the learning rate falls.

    Raises:
      TypeError: for an argument that there is not.
      ValueError: if one is negative.
    """

    _object_identifier = "optimizer"  # in SavedModels

    def __init__(self, name: str | None, **kwargs: Any) -> None:
        for key, value in kwargs.items():
            if key not in _OPTIONS:
                raise TypeError(f"Unexpected keyword argument passed to optimizer: {key}")
            if value < 0:
                raise ValueError(f"Expected {key} >= 0, received: {value}")
        self._use_locking = True
        kind = to_snake_case(type(self).__name__)
        self._name = name or unique_object_name(kind, zero_based=True)
        self._hyper: dict[str, Any] = {}
        self._slots: dict[str, dict[str, Any]] = {}
        self._slot_names: list[str] = []
        self._weights: list[Any] = []
        self._iterations: Any = None
        self._slot_restorations: list[Any] = []
        self._initial_decay = kwargs.get("decay", 0.0)
        for key in ("clipnorm", "clipvalue"):
            if key in kwargs:
                setattr(self, key, kwargs[key])
        self._hypers_created = False

    # ---- gradients

    def minimize(self, loss: Any, var_list: Any, grad_loss: Any = None, name: Any = None) -> Any:
        """Compute gradients and apply them.

        Args:
          loss: a function without arguments that gives the loss.
          var_list: the variables, or a function that gives them.
          grad_loss: the gradient of the loss; 1 by default.
          name: of the operation.

        Returns:
          The operation that changes the variables.
        """
        grads_and_vars = self._compute_gradients(loss, var_list, grad_loss)
        return self.apply_gradients(grads_and_vars, name=name)

    def _compute_gradients(
        self, loss: Any, var_list: Any, grad_loss: Any = None
    ) -> list[tuple[Any, Any]]:
        with tf.GradientTape() as tape:
            if not callable(var_list):
                tape.watch(var_list)
            value = loss()
        variables = nest.flatten(var_list() if callable(var_list) else var_list)
        with name_scope(self._name + "/gradients"):
            grads = self._clipped(tape.gradient(value, variables, grad_loss))
        found = list(zip(grads, variables, strict=True))
        _check_dtypes([v for grad, v in found if grad is not None])
        return found

    def get_gradients(self, loss: Any, params: Any) -> list[Any]:
        """Return the gradients of a tensor with respect to variables, clipped.

        Raises:
          ValueError: if there is none for a variable.
        """
        params = nest.flatten(params)
        with name_scope(self._name + "/gradients"):
            grads = tf.gradients(loss, params)
            for grad, param in zip(grads, params, strict=True):
                if grad is None:
                    raise ValueError(
                        f"Variable {param} has `None` for gradient. Please make sure that all of "
                        "your ops have a gradient defined (i.e. are differentiable). Common ops "
                        "without gradient: K.argmax, K.round, K.eval."
                    )
            return self._clipped(grads)

    def _clipped(self, grads: list[Any]) -> list[Any]:
        if hasattr(self, "clipnorm"):
            grads = [tf.clip_by_norm(grad, self.clipnorm) for grad in grads]
        if hasattr(self, "clipvalue"):
            bound = self.clipvalue
            grads = [tf.clip_by_value(grad, -bound, bound) for grad in grads]
        return grads

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """Return the updates of the variables that reduce the loss."""
        found = list(zip(self.get_gradients(loss, params), params, strict=True))
        _check_dtypes([v for grad, v in found if grad is not None])
        return [self.apply_gradients(found)]

    # ---- applying them

    def apply_gradients(self, grads_and_vars: Any, name: Any = None) -> Any:
        """Change variables.

        Args:
          grads_and_vars: pairs (gradient, variable).
          name: of the operation.

        Returns:
          The operation that does so and counts the step.

        Raises:
          ValueError: if there is no gradient at all.
        """
        grads_and_vars = _with_gradients(grads_and_vars)
        variables = [variable for _, variable in grads_and_vars]
        with name_scope(self._name):
            self._create_all_weights(variables)
            apply = functools.partial(self._distributed_apply, state=self._prepare(variables))
            replica = get_replica_context()
            return replica.merge_call(apply, args=(grads_and_vars,), kwargs={"name": name})

    def _create_all_weights(self, variables: list[Any]) -> None:
        """Make the variables that the optimizer keeps, where it has not made them."""
        with init_scope():
            _ = self.iterations
            self._create_hypers()
            self._create_slots(variables)

    def _distributed_apply(
        self, strategy: Any, grads_and_vars: Any, name: Any, state: dict[Any, Any]
    ) -> Any:
        """Change variables by the sums of all replicas' updates."""
        extended = strategy.extended
        reduced = extended.batch_reduce_to(ReduceOp.SUM, grads_and_vars)
        variables = [variable for _, variable in grads_and_vars]

        def update(variable: Any, grad: Any) -> Any:
            return self._update(grad, variable, state)

        with name_scope(name or self._name):
            updates: list[Any] = []
            for grad, variable in zip(reduced, variables, strict=True):
                scope = f"update_{name_of(variable)}"
                with name_scope(scope), extended.colocate_vars_with(variable):
                    updates.extend(extended.update(variable, update, args=(grad,), group=False))
            with control_dependencies(updates):
                counted = self._iterations.assign_add(1)
                return counted if tf.executing_eagerly() else counted.op

    def _update(self, grad: Any, variable: Any, state: dict[Any, Any]) -> Any:
        if not isinstance(variable, VariableV2):
            raise NotImplementedError("Trying to update a Tensor ", variable)
        if isinstance(grad, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            apply = _with_state(self._resource_apply_sparse_duplicate_indices, state)
            return apply(grad.values, variable, grad.indices)
        update = _with_state(self._resource_apply_dense, state)(grad, variable)
        if variable.constraint is None:
            return update
        with control_dependencies([update]):
            return tf.assign(variable, variable.constraint(variable))

    def _prepare(self, variables: list[Any]) -> dict[Any, Any]:
        """Return the hyperparameters as tensors, by device and dtype."""
        state: dict[Any, Any] = {}
        for variable in variables:
            is_whole = getattr(variable, "is_distributed", False)
            for where in variable.devices if is_whole else (variable.device,):
                key = where, variable.dtype.base_dtype
                if key not in state:
                    state[key] = {}
                    with tf.device(where):
                        self._prepare_local(*key, state)
        return state

    def _numbers(self, dtype: Any) -> dict[str, Any]:
        """Return the hyperparameters as tensors of a dtype."""
        if "learning_rate" not in self._hyper:
            return {}
        return {"lr_t": tf.identity(self._decayed_lr(dtype))}

    def _create_slots(self, variables: list[Any]) -> None:
        """Make the slots of each variable."""

    # ---- what programs' optimizers override, by TensorFlow's names

    def _prepare_local(self, var_device: str, var_dtype: Any, apply_state: dict[Any, Any]) -> None:
        apply_state[var_device, var_dtype].update(self._numbers(var_dtype))

    def _fallback_apply_state(self, var_device: str, var_dtype: Any) -> dict[str, Any]:
        state: dict[Any, dict[str, Any]] = {(var_device, var_dtype): {}}
        self._prepare_local(var_device, var_dtype, state)
        return state[var_device, var_dtype]

    def _state_of(self, variable: Any, state: Any) -> Any:
        key = variable.device, variable.dtype.base_dtype
        return (state or {}).get(key) or self._fallback_apply_state(*key)

    def _resource_apply_dense(self, grad: Any, handle: Any, apply_state: Any = None) -> Any:
        return self._apply_dense(grad, handle, self._state_of(handle, apply_state))

    def _resource_apply_sparse(
        self, grad: Any, handle: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        return self._apply_sparse(grad, handle, indices, self._state_of(handle, apply_state))

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, handle: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        unique, positions = tf.unique(indices)
        summed = tf.unsorted_segment_sum(grad, positions, tf.shape(unique)[0])
        return _with_state(self._resource_apply_sparse, apply_state)(summed, handle, unique)

    def _apply_dense(self, grad: Any, variable: Any, numbers: dict[str, Any]) -> Any:
        raise NotImplementedError

    def _apply_sparse(self, grad: Any, variable: Any, indices: Any, numbers: dict[str, Any]) -> Any:
        raise NotImplementedError

    def _scatter_add(self, variable: Any, indices: Any, values: Any) -> Tensor:
        added = tf.raw_ops.ResourceScatterAdd(
            resource=variable.handle, indices=indices, updates=values
        )
        with control_dependencies([added]):
            return variable.value()

    _resource_scatter_add = _scatter_add

    # ---- hyperparameters

    def _set_hyper(self, name: str, value: Any) -> None:
        if isinstance(value, Trackable):
            self._track_trackable(value, name, overwrite=True)
        before = self._hyper.get(name)
        if isinstance(before, VariableV2) and not isinstance(value, LearningRateSchedule):
            set_value(before, value)
        else:
            self._hyper[name] = value

    def _set_hypers(self, learning_rate: Any, **others: Any) -> None:
        """Set the learning rate, its decay that the constructor was given, and other numbers."""
        numbers = {"learning_rate": learning_rate, "decay": self._initial_decay, **others}
        for name, value in numbers.items():
            self._set_hyper(name, value)

    def _get_hyper(self, name: str, dtype: Any = None) -> Any:
        self._create_hypers()
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return value
        value = value() if callable(value) else value
        return tf.cast(value, dtype) if dtype else value

    def __getattr__(self, name: str) -> Any:
        hyper = self.__dict__.get("_hyper", {})
        name = "learning_rate" if name == "lr" else name
        if name in hyper:
            return self._get_hyper(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        name = "learning_rate" if name == "lr" else name
        if name in self.__dict__.get("_hyper", {}):
            self._set_hyper(name, value)
        else:
            super().__setattr__(name, value)

    def _create_hypers(self) -> None:
        if self._hypers_created:
            return
        self._hypers_created = True
        for name, value in sorted(self._hyper.items()):
            if not (tf.is_tensor(value) or callable(value)):
                self._hyper[name] = self.add_weight(
                    name, shape=[], trainable=False, initializer=value,
                    aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
                )  # fmt: skip

    def _decayed_lr(self, dtype: Any) -> Any:
        rate = self._get_hyper("learning_rate", dtype)
        if isinstance(rate, LearningRateSchedule):
            rate = tf.cast(rate(tf.cast(self.iterations, dtype)), dtype)
        if self._initial_decay > 0.0:
            step = tf.cast(self.iterations, dtype)
            rate = rate / (1.0 + self._get_hyper("decay", dtype) * step)
        return rate

    @property
    def iterations(self) -> Any:
        """The variable that counts steps."""
        if self._iterations is None:
            self._iterations = self.add_weight(
                "iter", shape=[], dtype=tf.int64, trainable=False,
                aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
            )  # fmt: skip
            self._weights.append(self._iterations)
        return self._iterations

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        if self._iterations is not None:
            raise RuntimeError(
                "Cannot set `iterations` to a new Variable after the Optimizer weights have been "
                "created"
            )
        self._iterations = variable
        self._weights.append(variable)

    # ---- variables

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = "zeros",
        trainable: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
    ) -> Any:
        """Make a variable of the optimizer; see `tf.get_variable`."""
        if isinstance(initializer, str) or callable(initializer):
            initializer = initializer_of(initializer)
        variable = make_variable(
            name, shape=shape, dtype=tf.as_dtype(dtype or tf.float32), initializer=initializer,
            trainable=check_synchronization(synchronization, trainable), use_resource=True,
            synchronization=synchronization, aggregation=aggregation,
        )  # fmt: skip
        self._track_trackable(variable, name, overwrite=True)
        track_variable(variable)
        return variable

    def add_slot(self, var: Any, slot_name: str, initializer: Any = "zeros") -> Any:
        """Make a variable that is kept for another one.

        Args:
          var: the other one.
          slot_name: its name.
          initializer: gives its first value.
        """
        if slot_name not in self._slot_names:
            self._slot_names.append(slot_name)
        slots = self._slots.setdefault(_key(var), {})
        if slot_name not in slots:
            initial: Any = initializer
            if isinstance(initializer, str) or callable(initializer):
                made = initializer_of(initializer)
                initial = functools.partial(made, shape=var.shape, dtype=var.dtype)
            with get_strategy().extended.colocate_vars_with(var):
                slots[slot_name] = tf.Variable(
                    initial, name=f"{var._shared_name}/{slot_name}", dtype=var.dtype,
                    trainable=False, use_resource=True,
                )  # fmt: skip
            track_variable(slots[slot_name])
            self._weights.append(slots[slot_name])
            for restoration in self._slot_restorations:
                restoration.bind_slots()
        return slots[slot_name]

    def make_restored_slot(self, var: Any, slot_name: str, value: Any) -> Any:
        """Return the slot of `var` that a checkpoint has, before the optimizer itself needs it."""
        return self.add_slot(var, slot_name, lambda shape, dtype: value)

    def get_slot_names(self) -> list[str]:
        """Return the names of each variable's slots."""
        return self._slot_names

    def get_slot(self, var: Any, slot_name: str) -> Any:
        """Return the variable that is kept for another one.

        Raises:
          KeyError: if there is none.
        """
        return self._slots[_key(var)][slot_name]

    def variables(self) -> list[Any]:
        """Return the variables: the count of steps, then the slots."""
        return self._weights

    @property
    def weights(self) -> list[Any]:
        """The same as `variables()`."""
        return self._weights

    def get_weights(self) -> list[Any]:
        """Return the values of `weights`, in Keras' session."""
        return batch_get_value(self.weights)

    def set_weights(self, weights: list[Any]) -> None:
        """Set the values of `weights`, in Keras' session.

        Raises:
          ValueError: if the number or the shapes of the values do not fit.
        """
        params = self.weights
        if len(params) != len(weights):
            raise ValueError(
                f"You called `set_weights(weights)` on optimizer {self._name} with a  weight list "
                f"of length {len(weights)}, but the optimizer was expecting {len(params)} weights. "
                f"Provided weights: {str(weights)[:50]}..."
            )
        for held, value in zip(batch_get_value(params), weights, strict=True):
            if held.shape != value.shape:
                raise ValueError(
                    f"Optimizer weight shape {held.shape} not compatible with provided weight "
                    f"shape {value.shape}"
                )
        batch_set_value(list(zip(params, weights, strict=True)))

    # ---- configuration

    # The hyperparameters and attributes that are the constructor's arguments; a program's own
    # subclass adds its ones itself.
    _config_hypers: tuple[str, ...] = ()
    _config_attributes: tuple[str, ...] = ()

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        config: dict[str, Any] = {"name": self._name}
        for key in ("clipnorm", "clipvalue"):
            if hasattr(self, key):
                config[key] = getattr(self, key)
        for name in self._config_hypers:
            config[name] = self._serialize_hyperparameter(name)
        for name in self._config_attributes:
            config[name.removeprefix("_")] = getattr(self, name)
        return config

    def _serialize_hyperparameter(self, name: str) -> Any:
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return serialize_schedule(value)
        if callable(value):
            return value()
        return get_value(value)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> OptimizerV2:
        """Return the optimizer with these constructor's arguments."""
        if "lr" in config:
            config["learning_rate"] = config.pop("lr")
        if isinstance(config.get("learning_rate"), dict):
            config["learning_rate"] = deserialize_schedule(
                config["learning_rate"], custom_objects=custom_objects
            )
        return cls(**config)


def _check_dtypes(variables: list[Any]) -> None:
    for variable in variables:
        dtype = variable.dtype.base_dtype
        if dtype not in _DTYPES:
            raise ValueError(
                f"Invalid type {dtype!r} for {variable.name}, expected: {list(_DTYPES)}."
            )


def _with_gradients(grads_and_vars: Any) -> list[Any]:
    """Return the pairs that have a gradient."""
    grads_and_vars = list(grads_and_vars)
    found = [(grad, variable) for grad, variable in grads_and_vars if grad is not None]
    if grads_and_vars and not found:
        names = [variable.name for _, variable in grads_and_vars]
        raise ValueError(f"No gradients provided for any variable: {names}.")
    missing = [variable.name for grad, variable in grads_and_vars if grad is None]
    if missing:
        logging.warning(
            "Gradients do not exist for variables %s when minimizing the loss.", missing
        )
    return found


def _key(var: Any) -> str:
    """Return the key of a variable: its name, unless others may have the same."""
    if not getattr(var, "is_distributed", False) and hasattr(var, "_distributed_container"):
        var = var._distributed_container()
    var = first_part(var)
    key: str = getattr(var, "_unique_id", None) or var._shared_name
    return key
