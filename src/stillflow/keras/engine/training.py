"""The part of a model that runs epochs: `fit`, `evaluate`, `predict`."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import stillflow as tf
from stillflow.graph.arrays import Array
from stillflow.keras.callbacks.base import History
from stillflow.keras.engine import composites, datasets, distributed, generators
from stillflow.keras.engine.feeding import check_steps, held_values
from stillflow.keras.engine.loop import Loop
from stillflow.keras.engine.modes import PREDICT, TEST, TRAIN
from stillflow.keras.engine.sources import (
    ArraySource,
    GeneratorSource,
    Source,
    StepResults,
    TensorSource,
    sized,
)
from stillflow.layers.learning_phase import symbolic_learning_phase
from stillflow.platform import tf_logging as logging


class Training:
    """Epochs over arrays, tensors, datasets and generators."""

    run_eagerly: bool  # of Compiling
    _standardize_user_data: Any
    _set_weight_modes: Any
    _make_execution_function: Any
    _runs_at_once: Any
    _infer_batch_size: Any
    _check_compiled: Any
    _distribution_strategy: Any
    _check_call_arguments: Any
    _feed_inputs: list[Any]
    _feed_targets: Any
    train_on_batch: Any
    test_on_batch: Any
    predict_on_batch: Any

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: Any = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_freq: Any = 1,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs: Any,
    ) -> History:
        """Trains the model.

        Args:
          x: inputs: arrays, tensors, a dataset, a generator or a `Sequence`.
          y: targets, unless `x` has them.
          batch_size: 32 by default.
          epochs, initial_epoch: the epochs are numbered from the second to below the first.
          verbose: 0 for silence, 1 for a bar, 2 for a line for each epoch.
          callbacks: callbacks of the training.
          validation_split: the part of the data at the end that is for validation.
          validation_data: (inputs, targets), (inputs, targets, weights), or as `x`.
          shuffle: whether examples come in random order; "batch" for batches.
          class_weight, sample_weight: weights of classes and examples.
          steps_per_epoch, validation_steps: the numbers of steps, where there are no arrays.
          validation_freq: every how many epochs there is a validation, or the epochs' numbers.
          max_queue_size, workers, use_multiprocessing: how generators and sequences are read.

        Returns:
          The `History`.

        Raises:
          RuntimeError: if the model is not compiled.
          ValueError: if the data do not fit it.
        """
        given = dict(locals())
        if "nb_epoch" in kwargs:
            logging.warning("The `nb_epoch` argument in `fit` has been renamed `epochs`.")
            epochs = given["epochs"] = kwargs.pop("nb_epoch")
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        self._check_compiled()
        self._check_call_arguments("fit")
        reading = {name: given[name] for name in _READING}
        run = {
            "epochs": epochs, "verbose": verbose, "callbacks": callbacks,
            "initial_epoch": initial_epoch, "validation_freq": validation_freq,
            "steps_name": "steps_per_epoch",
        }  # fmt: skip
        _reject_iterators(x)
        if self._distribution_strategy:
            return distributed.fit(self, x, y, given)
        x, y, sample_weight, validation_data = held_values((x, y, sample_weight, validation_data))
        batch_size = self._infer_batch_size(batch_size, steps_per_epoch, x)
        if generators.is_generator(x):
            generators.refuse_other_data(y, sample_weight, validation_split)
            source: Source = self._generator_source(
                x, steps_per_epoch, TRAIN, class_weight, shuffle=shuffle, **reading
            )
            validation = self._validation_during_training(
                source, validation_data, validation_steps, reading, verbose
            )
            return self._loop(TRAIN, source, validation=validation, **run)
        if datasets.is_dataset(x):
            datasets.check_training_data(x, y, sample_weight, validation_split, shuffle)
        data = self._standardize_user_data(
            x, y, sample_weight=sample_weight, class_weight=class_weight, batch_size=batch_size
        )
        if not datasets.is_dataset(x):
            check_steps(x, steps_per_epoch, "steps_per_epoch", self.run_eagerly)
        if validation_data is None and 0.0 < validation_split < 1.0:
            data, held_out = _split(data, validation_split)
            validation = functools.partial(self._validate_arrays, held_out, batch_size, None)
        else:
            if validation_data is None and validation_steps:
                raise ValueError(
                    "`validation_steps` should not be specified if `validation_data` is None."
                )
            validation = self._validation(validation_data, batch_size, validation_steps, reading)
        source = self._source(data, batch_size, steps_per_epoch, TRAIN, shuffle, epochs)
        if validation and datasets.is_dataset(validation_data) and not tf.executing_eagerly():
            validation = self._validation_by_one_iterator(validation)
        if verbose:
            _print_counts(source, validation, datasets.is_dataset(x), self._runs_at_once())
        return self._loop(TRAIN, source, validation=validation, batch_size=batch_size, **run)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int = 1,
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """Return the loss over data; a list with the metrics if there are some.

        Args:
          See `fit`.
        """
        self._check_compiled()
        self._check_call_arguments("evaluate")
        _reject_iterators(x)
        if self._distribution_strategy:
            given = {
                "batch_size": batch_size, "steps": steps, "sample_weight": sample_weight,
                "verbose": verbose, "callbacks": callbacks,
            }  # fmt: skip
            return distributed.evaluate(self, x, y, given)
        x, y, sample_weight = held_values((x, y, sample_weight))
        batch_size = self._infer_batch_size(batch_size, steps, x)
        if generators.is_generator(x):
            generators.refuse_other_data(y, sample_weight)
            source: Source = self._generator_source(
                x, steps, TEST, max_queue_size=max_queue_size, workers=workers,
                use_multiprocessing=use_multiprocessing,
            )  # fmt: skip
        else:
            data = self._standardize_user_data(
                x, y, sample_weight=sample_weight, batch_size=batch_size
            )
            check_steps(x, steps, "steps", self.run_eagerly)
            source = self._source(data, batch_size, steps, TEST, steps_name="steps")
        return self._loop(TEST, source, verbose=verbose, callbacks=callbacks, batch_size=batch_size)

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int = 0,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """Return the outputs for data; a list if there are several.

        Args:
          See `fit`.
        """
        self._check_call_arguments("predict")
        _reject_iterators(x)
        if self._distribution_strategy:
            given = {
                "batch_size": batch_size, "steps": steps, "verbose": verbose,
                "callbacks": callbacks,
            }  # fmt: skip
            return distributed.predict(self, x, given)
        (x,) = held_values((x,))
        batch_size = self._infer_batch_size(batch_size, steps, x)
        if generators.is_generator(x):
            source: Source = self._generator_source(
                x, steps, PREDICT, max_queue_size=max_queue_size, workers=workers,
                use_multiprocessing=use_multiprocessing,
            )  # fmt: skip
        else:
            data = self._standardize_user_data(x)
            check_steps(x, steps, "steps", self.run_eagerly)
            source = self._source(data, batch_size, steps, PREDICT, steps_name="steps")
        return self._loop(
            PREDICT, source, verbose=verbose, callbacks=callbacks, batch_size=batch_size
        )

    def fit_generator(self, generator: Any, *args: Any, **kwargs: Any) -> History:
        """Trains on a generator or `Sequence`; arguments are those of `fit` without `y`.

        Args:
          generator: the batches.
          *args: steps_per_epoch, epochs, verbose, callbacks, validation_data, validation_steps,
            validation_freq, class_weight, max_queue_size, workers, use_multiprocessing, shuffle
            and initial_epoch.
        """
        self._check_call_arguments("fit_generator")
        given = {**dict(zip(_FIT_GENERATOR, args, strict=False)), **kwargs}
        return self.fit(generator, **given)

    def evaluate_generator(self, generator: Any, *args: Any, **kwargs: Any) -> Any:
        """Evaluate on a generator or `Sequence`.

        Args:
          generator: the batches.
          *args: steps, callbacks, max_queue_size, workers, use_multiprocessing and verbose.
        """
        self._check_call_arguments("evaluate_generator")
        given = {"verbose": 0, **dict(zip(_USE_GENERATOR, args, strict=False)), **kwargs}
        return self.evaluate(generator, **given)

    def predict_generator(self, generator: Any, *args: Any, **kwargs: Any) -> Any:
        """Predicts on a generator or `Sequence`; arguments are those of `evaluate_generator`."""
        self._check_call_arguments("predict_generator")
        given = {**dict(zip(_USE_GENERATOR, args, strict=False)), **kwargs}
        return self.predict(generator, **given)

    # ---- sources of batches

    def _loop(self, mode: str, source: Source, **options: Any) -> Any:
        return Loop(self, mode, source, **options).run()

    def _source(
        self,
        data: Any,
        batch_size: int | None,
        steps: int | None,
        mode: str,
        shuffle: Any = False,
        epochs: int = 1,
        steps_name: str = "steps_per_epoch",
    ) -> Source:
        x, y, weights = data
        iterator, by_itself = None, False
        if datasets.is_dataset(x):
            by_itself = steps is None
            if by_itself:
                steps = datasets.steps_of(x, steps_name)
                if self._runs_at_once() and mode == TRAIN:
                    steps = None  # as TensorFlow, which finds out how many there are
            dataset, iterator = x, datasets.iterator_of(x)
            x, y, weights = self._standardize_user_data(iterator)
        feeds = list(x) + list(y or []) + list(weights or [])
        at_once = self._runs_at_once()
        if mode == TRAIN and not at_once and not isinstance(symbolic_learning_phase(), int):
            feeds.append(True)
        if mode != PREDICT and not at_once:
            self._set_weight_modes(weights)
        run = self._make_execution_function(mode, (len(x), len(y or [])))
        if iterator is not None and tf.executing_eagerly():
            iterator = datasets.Walk(dataset)
            run = self._on_next_batch(iterator, run, feeds[-1:] if feeds[-1] is True else [])
        if at_once and iterator is None:
            batch_size = batch_size or -(-composites.number_of_rows(feeds[0]) // (steps or 1))
            shuffled_epochs = epochs if mode == TRAIN else 0
            source = ArraySource(feeds, batch_size, shuffle, run, shuffled_epochs)
            source.steps = -(-(source.count or 0) // batch_size)  # the callbacks' number of steps
            return source
        if iterator is not None or steps is not None or not feeds or _is_one_batch(feeds[0]):
            return TensorSource(feeds, steps, run, iterator, by_itself)
        assert batch_size is not None
        return ArraySource(feeds, batch_size, shuffle, run)

    def _on_next_batch(self, walk: datasets.Walk, run: Any, more: list[Any]) -> Callable[..., Any]:
        """Return the function that runs a step on a dataset's next batch.

        `more` is fed after it.
        """

        def run_next(_: Any) -> StepResults:
            x, y, weights = self._standardize_user_data(*walk.next())
            return sized(run(list(x) + list(y or []) + list(weights or []) + more), x)

        return run_next

    def _generator_source(
        self, data: Any, steps: int | None, mode: str, class_weight: Any = None, **reading: Any
    ) -> Source:
        if steps is None and not isinstance(data, generators.Sequence):
            argument = "steps_per_epoch" if mode == TRAIN else "steps"
            raise ValueError(f"Please specify the number of steps via the `{argument}` argument.")
        if self._runs_at_once():
            run = functools.partial(self._run_batch, mode, class_weight)
        elif mode == TRAIN:
            run = functools.partial(
                self.train_on_batch, class_weight=class_weight, reset_metrics=False
            )
        elif mode == TEST:
            run = functools.partial(self.test_on_batch, reset_metrics=False)
        else:
            run = _first_argument(self.predict_on_batch)
        return GeneratorSource(data, steps, run, **reading)

    def _run_batch(
        self, mode: str, class_weight: Any, x: Any, y: Any = None, sample_weight: Any = None
    ) -> StepResults:
        """Run a step with a batch of a generator."""
        x, y, weights = self._standardize_user_data(
            x, None if mode == PREDICT else y, sample_weight=sample_weight,
            class_weight=class_weight,
        )  # fmt: skip
        run = self._make_execution_function(mode, (len(x), len(y or [])))
        return sized(run(list(x) + list(y or []) + list(weights or [])), x)

    # ---- validation

    def _validation(
        self, data: Any, batch_size: Any, steps: Any, reading: Any
    ) -> functools.partial[Any] | None:
        """`f(callbacks)` that gives the results over validation data; None for none."""
        if data is None or (isinstance(data, (list, tuple)) and not data):
            return None
        if generators.is_generator(data):
            if steps is None and not isinstance(data, generators.Sequence):
                raise ValueError("Please specify the `validation_steps` argument.")
            return functools.partial(self._validate_generator, data, steps, reading, 0)
        parts = (data,) if datasets.is_dataset(data) else _parts(data)
        if batch_size is None and steps is None and not datasets.is_dataset(data):
            batch_size = 32
        held_out = self._standardize_user_data(*parts, batch_size=batch_size)
        return functools.partial(self._validate_arrays, held_out, batch_size, steps)

    def _validation_during_training(
        self, source: Any, data: Any, steps: Any, reading: Any, verbose: int
    ) -> Callable[..., Any] | None:
        """Return validation during training on a generator: it is shown too, without shuffling."""
        if isinstance(data, (list, tuple)) and data:
            parts = _parts(data)
            return lambda callbacks: self._validate_generator(
                generators.ArrayBatches(parts, source.last_size), None,
                {"workers": 0, "unit": "samples"}, verbose, callbacks,
            )  # fmt: skip
        validation = self._validation(data, None, steps, reading)
        if generators.is_generator(data):
            return functools.partial(self._validate_generator, data, steps, reading, verbose)
        return validation

    def _validation_by_one_iterator(
        self, validation: functools.partial[Any]
    ) -> functools.partial[Any]:
        """Return the same over a dataset, whose nodes are added once and not after every epoch."""
        data, batch_size, steps = validation.args
        source = self._source(data, batch_size, steps, TEST, steps_name="validation_steps")
        return functools.partial(self._validate_again, source, itertools.count())

    def _validate_again(self, source: Any, counter: Iterator[int], callbacks: Any) -> list[Any]:
        if next(counter):
            source.begin_anew()
        return self._loop(TEST, source, callbacks=callbacks, steps_name="validation_steps")

    def _validate_arrays(self, data: Any, batch_size: Any, steps: Any, callbacks: Any) -> Any:
        # TensorFlow shuffles validation data too, which moves NumPy's generator on.
        source = self._source(
            data, batch_size, steps, TEST, shuffle=True, steps_name="validation_steps"
        )
        return self._loop(TEST, source, callbacks=callbacks, steps_name="validation_steps")

    def _validate_generator(
        self, data: Any, steps: Any, reading: Any, verbose: int, callbacks: Any
    ) -> list[Any]:
        source = self._generator_source(data, steps, TEST, **reading)
        return self._loop(
            TEST, source, callbacks=callbacks, steps_name="validation_steps", verbose=verbose
        )


_READING = "max_queue_size", "workers", "use_multiprocessing"
_FIT_GENERATOR = (
    "steps_per_epoch", "epochs", "verbose", "callbacks", "validation_data", "validation_steps",
    "validation_freq", "class_weight", "max_queue_size", "workers", "use_multiprocessing",
    "shuffle", "initial_epoch",
)  # fmt: skip
_USE_GENERATOR = (
    "steps", "callbacks", "max_queue_size", "workers", "use_multiprocessing", "verbose",
)  # fmt: skip


def _parts(data: Any) -> Any:
    """Return validation data as (inputs, targets) or (inputs, targets, weights)."""
    if len(data) not in (2, 3):
        raise ValueError(
            "When passing a `validation_data` argument, it must contain either 2 items (x_val, "
            "y_val), or 3 items (x_val, y_val, val_sample_weights), or alternatively it could "
            "be a dataset or a dataset or a dataset iterator. However we received "
            f"`validation_data={data}`"
        )
    return data


def _first_argument(function: Any) -> Any:
    return lambda x, *others: function(x)


def _is_one_batch(x: Any) -> bool:
    """Return True if an input is a tensor of a graph, whose number of rows is unknown."""
    return tf.is_tensor(x) and not (composites.is_composite(x) and tf.executing_eagerly())


def _reject_iterators(x: Any) -> None:
    if datasets.is_iterator(x):
        raise ValueError(
            "For performance reasons Keras `fit`, `evaluate` and`predict` accept tf.data `Datasets`"
            " as input but not iterators that have been manually generated from Datasets by users. "
            "Please directly pass in the original `Dataset` object instead of passing in "
            "`iter(dataset)`."
        )


def _split(data: Any, part: float) -> tuple[Any, Any]:
    """Return the data without a part at the end, and that part."""
    x, y, weights = data
    if any(tf.is_tensor(value) for value in x):
        raise ValueError(
            "If your data is in the form of symbolic tensors, you cannot use `validation_split`."
        )
    at = int(x[0].shape[0] * (1.0 - part))

    def cut(arrays: Any, places: slice) -> list[Array | None] | None:
        if not arrays:
            return arrays
        return [None if value is None else value[places] for value in arrays]

    return tuple(cut(a, slice(0, at)) for a in (x, y, weights)), tuple(
        cut(a, slice(at, None)) for a in (x, y, weights)
    )


def _print_counts(source: Source, validation: Any, is_dataset: bool, at_once: bool) -> None:
    """Print how much an epoch and its validation have.

    Steps are called otherwise where operations run when they are called (`at_once`).
    """
    in_a_graph_of_keras = tf.executing_eagerly() and not at_once
    if (is_dataset and in_a_graph_of_keras) or (at_once and source.count is None):
        return
    unit, word = ("steps", "for" if at_once else "on") if is_dataset else ("samples", "on")
    message = f"Train {word} {source.count} {unit}"
    if validation is not None and isinstance(validation, functools.partial):
        held_out = validation.args[0]
        if isinstance(held_out, Source):
            count = held_out.steps
        elif isinstance(held_out, tuple) and isinstance(held_out[0], list) and held_out[0]:
            count = composites.number_of_rows(held_out[0][0])
        else:
            count = validation.args[2]
            if at_once and count is None and datasets.is_dataset(held_out[0]):
                count = datasets.steps_of(held_out[0], "validation_steps")
        if count:
            message += f", validate {word} {count} {unit}"
    print(message)
