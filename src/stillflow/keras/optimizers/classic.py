"""The optimizers that Keras had before: a rule each, and variables made when it is used.

Programs find them as `tensorflow.python.keras.optimizers`. Here a learning rate is called `lr`, it
may fall with `decay`, and a rule's state of the last step are plain variables in `weights`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras import backend

K: Any = backend  # its attributes are looked up at their use


@export("contrib.keras.optimizers.Optimizer", "contrib.keras.api.keras.optimizers.Optimizer")
class Optimizer:
    """Base of the rules.

    Args:
      clipnorm: the most that the norm of a gradient may be.
      clipvalue: the most that an entry of a gradient may be.

    Raises:
      TypeError: if anything else is given.
      ValueError: if one is negative.
    """

    # Numbers that are variables, in the order of their creation; other entries of a config.
    _variables: tuple[str, ...] = ()
    _settings: tuple[str, ...] = ()

    def __init__(self, **kwargs: Any) -> None:
        for key, value in kwargs.items():
            if key not in ("clipnorm", "clipvalue"):
                raise TypeError(f"Unexpected keyword argument passed to optimizer: {key}")
            if value < 0:
                raise ValueError(f"Expected {key} >= 0, received: {value}")
        self.__dict__.update(kwargs)
        self.updates: list[Any] = []
        self.weights: list[Any] = []

    def _set(self, given: dict[str, Any]) -> None:
        """Make attributes of the arguments of a constructor, variables of some."""
        with tf.name_scope(type(self).__name__):
            for name in self._variables:
                kind = {"dtype": "int64"} if name == "iterations" else {}
                setattr(self, name, K.variable(given.get(name, 0), name=name, **kind))
        for name in self._settings:
            value = given[name]
            setattr(self, name, K.epsilon() if name == "epsilon" and value is None else value)
        if "decay" in given:
            self.initial_decay = given["decay"]

    def get_updates(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """Return the updates of variables that reduce a loss.

        Args:
          loss: a scalar tensor.
          params: the variables.
        """
        raise NotImplementedError

    def get_gradients(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """Return the gradients of a loss, clipped.

        Raises:
          ValueError: if there is none of a variable.
        """
        grads = K.gradients(loss, params)
        if any(grad is None for grad in grads):
            raise ValueError(
                "An operation has `None` for gradient. Please make sure that all of your ops have "
                "a gradient defined (i.e. are differentiable). Common ops without gradient: "
                "K.argmax, K.round, K.eval."
            )
        norm, bound = (getattr(self, name, None) for name in ("clipnorm", "clipvalue"))
        if norm is not None:
            grads = [tf.clip_by_norm(grad, norm) for grad in grads]
        return grads if bound is None else [tf.clip_by_value(x, -bound, bound) for x in grads]

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Set the variables of the last step, which are there once the rule was used.

        Raises:
          ValueError: if there are more or less of them, or shapes differ.
        """
        params = self.weights
        if len(params) != len(weights):
            raise ValueError(
                f"Length of the specified weight list ({len(weights)}) does not match the number "
                f"of weights of the optimizer ({len(params)})"
            )
        for value, weight in zip(K.batch_get_value(params), weights, strict=True):
            if value.shape != weight.shape:
                raise ValueError(
                    f"Optimizer weight shape {value.shape} not compatible with provided weight "
                    f"shape {weight.shape}"
                )
        K.batch_set_value(list(zip(params, weights, strict=True)))

    def get_weights(self) -> list[Any]:
        """Return the values of the variables of the last step."""
        return K.batch_get_value(self.weights)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments for an equal optimizer."""
        given = vars(self)
        config: dict[str, Any] = {
            key: given[key] for key in ("clipnorm", "clipvalue") if key in given
        }
        kept = [name for name in self._variables if name not in ("iterations", "m_schedule")]
        config.update({name: float(K.get_value(given[name])) for name in kept})
        return {**config, **{name: given[name] for name in self._settings}}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Optimizer:
        """Return the optimizer of a config."""
        return cls(**config)

    def _rate(self) -> Any:
        """Return the learning rate of this step."""
        given: Any = self
        if given.initial_decay <= 0:
            return given.lr
        steps = tf.cast(given.iterations, K.dtype(given.decay))
        return given.lr * (1.0 / (1.0 + given.decay * steps))

    def _count(self) -> None:
        self.updates = [tf.assign_add(vars(self)["iterations"], 1)]

    def _counted(self) -> Tensor:
        """Return the number of this step, from 1 on."""
        iterations = vars(self)["iterations"]
        with tf.control_dependencies([tf.assign_add(iterations, 1)]):
            return tf.cast(iterations, K.floatx())

    def _assign(self, variable: Any, value: Any) -> None:
        self.updates.append(tf.assign(variable, value))

    def _assign_param(self, param: Any, value: Any) -> None:
        constraint = getattr(param, "constraint", None)
        self._assign(param, value if constraint is None else constraint(value))


def _zeros(params: Sequence[Any], typed: bool = False) -> list[Any]:
    """Return a variable of zeros for each, of its type or that of Keras."""
    return [K.zeros(K.int_shape(p), **({"dtype": K.dtype(p)} if typed else {})) for p in params]


@export("contrib.keras.optimizers.SGD", "contrib.keras.api.keras.optimizers.SGD")
class SGD(Optimizer):
    """Gradient descent, with momentum.

    Args:
      lr: learning rate.
      momentum: how much of the last step goes into the next.
      decay: by how much of itself the learning rate falls at every step.
      nesterov: whether gradients count as if taken after the momentum.
      **kwargs: see `Optimizer`.
    """

    _variables = ("iterations", "lr", "momentum", "decay")
    _settings = ("nesterov",)

    def __init__(
        self, lr: float = 0.01, momentum: float = 0.0, decay: float = 0.0, nesterov: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        given = dict(locals())
        super().__init__(**kwargs)
        self._set(given)

    def get_updates(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """Return the updates of variables; see `Optimizer`."""
        own: Any = self
        grads = self.get_gradients(loss, params)
        self._count()
        rate = self._rate()
        moments = _zeros(params)
        self.weights = [own.iterations, *moments]
        for param, grad, moment in zip(params, grads, moments, strict=True):
            velocity = own.momentum * moment - rate * grad
            self._assign(moment, velocity)
            if own.nesterov:
                self._assign_param(param, param + own.momentum * velocity - rate * grad)
            else:
                self._assign_param(param, param + velocity)
        return self.updates


@export("contrib.keras.optimizers.RMSprop", "contrib.keras.api.keras.optimizers.RMSprop")
class RMSprop(Optimizer):
    """Gradients divided by the average of their size.

    Args:
      lr, decay: as in `SGD`.
      rho: of the average.
      epsilon: added to it; that of Keras if it is None.
      **kwargs: see `Optimizer`.
    """

    _variables = ("lr", "rho", "decay", "iterations")
    _settings = ("epsilon",)

    def __init__(
        self, lr: float = 0.001, rho: float = 0.9, epsilon: float | None = None,
        decay: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        given = dict(locals())
        super().__init__(**kwargs)
        self._set(given)

    def get_updates(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """Return the updates of variables; see `Optimizer`."""
        own: Any = self
        grads = self.get_gradients(loss, params)
        self.weights = _zeros(params, typed=True)
        self._count()
        rate = self._rate()
        for param, grad, average in zip(params, grads, self.weights, strict=True):
            moved = own.rho * average + (1.0 - own.rho) * tf.square(grad)
            self._assign(average, moved)
            self._assign_param(param, param - rate * grad / (K.sqrt(moved) + own.epsilon))
        return self.updates


@export("contrib.keras.optimizers.Adagrad", "contrib.keras.api.keras.optimizers.Adagrad")
class Adagrad(Optimizer):
    """Gradients divided by the sum of their sizes so far.

    Args:
      lr, epsilon, decay: as in `RMSprop`.
      **kwargs: see `Optimizer`.
    """

    _variables = ("lr", "decay", "iterations")
    _settings = ("epsilon",)

    def __init__(
        self, lr: float = 0.01, epsilon: float | None = None, decay: float = 0.0, **kwargs: Any
    ) -> None:
        given = dict(locals())
        super().__init__(**kwargs)
        self._set(given)

    def get_updates(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """Return the updates of variables; see `Optimizer`."""
        own: Any = self
        grads = self.get_gradients(loss, params)
        self.weights = _zeros(params)
        self._count()
        rate = self._rate()
        for param, grad, total in zip(params, grads, self.weights, strict=True):
            grown = total + tf.square(grad)
            self._assign(total, grown)
            self._assign_param(param, param - rate * grad / (K.sqrt(grown) + own.epsilon))
        return self.updates


@export("contrib.keras.optimizers.Adadelta", "contrib.keras.api.keras.optimizers.Adadelta")
class Adadelta(Optimizer):
    """Gradients scaled by how far variables have moved of late.

    Args:
      lr, rho, epsilon, decay: as in `RMSprop`.
      **kwargs: see `Optimizer`.
    """

    _variables = ("lr", "decay", "iterations")
    _settings = ("rho", "epsilon")

    def __init__(
        self, lr: float = 1.0, rho: float = 0.95, epsilon: float | None = None,
        decay: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        given = dict(locals())
        super().__init__(**kwargs)
        self._set(given)

    def get_updates(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """Return the updates of variables; see `Optimizer`."""
        own: Any = self
        grads = self.get_gradients(loss, params)
        averages, moves = _zeros(params), _zeros(params)
        self.weights = averages + moves
        self._count()
        rate = self._rate()
        for param, grad, average, move in zip(params, grads, averages, moves, strict=True):
            moved = own.rho * average + (1.0 - own.rho) * tf.square(grad)
            self._assign(average, moved)
            update = grad * K.sqrt(move + own.epsilon) / K.sqrt(moved + own.epsilon)
            self._assign_param(param, param - rate * update)
            self._assign(move, own.rho * move + (1 - own.rho) * tf.square(update))
        return self.updates


@export("contrib.keras.optimizers.Adam", "contrib.keras.api.keras.optimizers.Adam")
class Adam(Optimizer):
    """Averages of gradients divided by the averages of their size (Kingma and Ba, 2015).

    Args:
      lr, epsilon, decay: as in `RMSprop`.
      beta_1, beta_2: of the averages of gradients, and of their squares.
      amsgrad: whether the most of the latter counts.
      **kwargs: see `Optimizer`.
    """

    _variables = ("iterations", "lr", "beta_1", "beta_2", "decay")
    _settings = ("epsilon", "amsgrad")

    def __init__(
        self, lr: float = 0.001, beta_1: float = 0.9, beta_2: float = 0.999,
        epsilon: float | None = None, decay: float = 0.0, amsgrad: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        given = dict(locals())
        super().__init__(**kwargs)
        self._set(given)

    def get_updates(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """Return the updates of variables; see `Optimizer`."""
        own: Any = self
        grads = self.get_gradients(loss, params)
        self.updates = []
        rate, step = self._rate(), self._counted()
        rate = rate * (K.sqrt(1.0 - tf.pow(own.beta_2, step)) / (1.0 - tf.pow(own.beta_1, step)))
        means, squares = _zeros(params, typed=True), _zeros(params, typed=True)
        most = _zeros(params, typed=True) if own.amsgrad else [K.zeros(1) for _ in params]
        self.weights = [own.iterations, *means, *squares, *most]
        for param, grad, mean, square, top in zip(params, grads, means, squares, most, strict=True):
            new_mean = own.beta_1 * mean + (1.0 - own.beta_1) * grad
            new_square = own.beta_2 * square + (1.0 - own.beta_2) * tf.square(grad)
            size = tf.maximum(top, new_square) if own.amsgrad else new_square
            value = param - rate * new_mean / (K.sqrt(size) + own.epsilon)
            if own.amsgrad:
                self._assign(top, size)
            self._assign(mean, new_mean)
            self._assign(square, new_square)
            self._assign_param(param, value)
        return self.updates


@export("contrib.keras.optimizers.Adamax", "contrib.keras.api.keras.optimizers.Adamax")
class Adamax(Optimizer):
    """Adam with the maximum of sizes instead of their average.

    Args:
      lr, beta_1, beta_2, epsilon, decay: as in `Adam`.
      **kwargs: see `Optimizer`.
    """

    _variables = Adam._variables
    _settings = ("epsilon",)

    def __init__(
        self, lr: float = 0.002, beta_1: float = 0.9, beta_2: float = 0.999,
        epsilon: float | None = None, decay: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        given = dict(locals())
        super().__init__(**kwargs)
        self._set(given)

    def get_updates(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """Return the updates of variables; see `Optimizer`."""
        own: Any = self
        grads = self.get_gradients(loss, params)
        self.updates = []
        rate, step = self._rate(), self._counted()
        rate = rate / (1.0 - tf.pow(own.beta_1, step))
        means, sizes = _zeros(params), _zeros(params)
        self.weights = [own.iterations, *means, *sizes]
        for param, grad, mean, size in zip(params, grads, means, sizes, strict=True):
            new_mean = own.beta_1 * mean + (1.0 - own.beta_1) * grad
            new_size = tf.maximum(own.beta_2 * size, tf.abs(grad))
            value = param - rate * new_mean / (new_size + own.epsilon)
            self._assign(mean, new_mean)
            self._assign(size, new_size)
            self._assign_param(param, value)
        return self.updates


@export("contrib.keras.optimizers.Nadam", "contrib.keras.api.keras.optimizers.Nadam")
class Nadam(Optimizer):
    """Adam with Nesterov's momentum (Dozat, 2015).

    Args:
      lr, beta_1, beta_2, epsilon: as in `Adam`.
      schedule_decay: how fast the momentum grows.
      **kwargs: see `Optimizer`.
    """

    _variables = ("iterations", "m_schedule", "lr", "beta_1", "beta_2")
    _settings = ("epsilon", "schedule_decay")

    def __init__(
        self, lr: float = 0.002, beta_1: float = 0.9, beta_2: float = 0.999,
        epsilon: float | None = None, schedule_decay: float = 0.004, **kwargs: Any,
    ) -> None:  # fmt: skip
        given = dict(locals(), m_schedule=1.0)
        super().__init__(**kwargs)
        self._set(given)

    def _momentum(self, step: Any) -> Tensor:
        own: Any = self
        return own.beta_1 * (1.0 - 0.5 * tf.pow(K.cast_to_floatx(0.96), step * own.schedule_decay))

    def get_updates(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        """Return the updates of variables; see `Optimizer`."""
        own: Any = self
        grads = self.get_gradients(loss, params)
        step = self._counted()
        now, then = self._momentum(step), self._momentum(step + 1)
        schedule = own.m_schedule * now
        next_schedule = own.m_schedule * now * then
        self.updates = [(own.m_schedule, schedule)]
        means, squares = _zeros(params), _zeros(params)
        self.weights = [own.iterations, own.m_schedule, *means, *squares]
        for param, grad, mean, square in zip(params, grads, means, squares, strict=True):
            grad_part = grad / (1.0 - schedule)
            new_mean = own.beta_1 * mean + (1.0 - own.beta_1) * grad
            mean_part = new_mean / (1.0 - next_schedule)
            new_square = own.beta_2 * square + (1.0 - own.beta_2) * tf.square(grad)
            size = new_square / (1.0 - tf.pow(own.beta_2, step))
            ahead = (1.0 - now) * grad_part + then * mean_part
            self._assign(mean, new_mean)
            self._assign(square, new_square)
            self._assign_param(param, param - own.lr * ahead / (K.sqrt(size) + own.epsilon))
        return self.updates
