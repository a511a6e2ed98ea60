"""Steps of training as objects: the source of input, and the use that a step makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.eager.gradient_functions import implicit_grad
from stillflow.graph.export import export


def filtered(gradient: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Return a function that leaves out the variables without a gradient.

    Where replicas have threads, they are variables that the thread of another replica has read.
    """

    def of_replica(*args: Any, **kwargs: Any) -> list[Any]:
        return [pair for pair in gradient(*args, **kwargs) if pair[0] is not None]

    return of_replica


@export("contrib.distribute.Step")
class Step:
    """Base of steps, which are called to make one.

    Args:
      distribution: a `tf.distribute.Strategy`.
    """

    def __init__(self, distribution: Any) -> None:
        self._distribution = distribution

    @property
    def distribution(self) -> Any:
        return self._distribution

    def initialize(self) -> Any:
        """Return the operations to run before the first step."""
        return []

    def __call__(self) -> Any:
        """Build the operation of a step, or make one where operations run at once."""
        raise NotImplementedError("must be implemented in descendants")


@export("contrib.distribute.StandardInputStep")
class StandardInputStep(Step):
    """Base of steps with input.

    Args:
      dataset_fn: makes a dataset of each replica's batches.
      distribution: a `tf.distribute.Strategy`.
    """

    def __init__(self, dataset_fn: Callable[[], Any], distribution: Any) -> None:
        super().__init__(distribution)
        self._iterator = distribution.make_input_fn_iterator(lambda _: dataset_fn())

    def initialize(self) -> Any:
        return self._iterator.initialize()


@export("contrib.distribute.StandardSingleLossStep")
class StandardSingleLossStep(StandardInputStep):
    """A step of training by one loss.

    Args:
      dataset_fn: makes a dataset of each replica's batches.
      loss_fn: `loss_fn(context, inputs)` returns a replica's loss; the context is a
        `MultiStepContext`.
      optimizer: an optimizer of `tf.train`.
      distribution: a `tf.distribute.Strategy`.
      iterations_per_step: how many batches of each replica a step takes.
    """

    def __init__(
        self, dataset_fn: Callable[[], Any], loss_fn: Callable[[Any, Any], Any], optimizer: Any,
        distribution: Any, iterations_per_step: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(dataset_fn, distribution)
        self._loss_fn, self._optimizer = loss_fn, optimizer
        self._iterations_per_step = iterations_per_step

    def __call__(self) -> Any:
        extended = self.distribution.extended
        gradients = filtered(implicit_grad(self._loss_fn))

        def step(context: Any, inputs: Any) -> Any:
            pairs = extended.call_for_each_replica(gradients, args=(context, inputs))
            return self._optimizer._distributed_apply(self.distribution, pairs)

        with self.distribution.scope():
            context = extended.experimental_run_steps_on_iterator(
                step, self._iterator, self._iterations_per_step
            )
        return context.run_op
