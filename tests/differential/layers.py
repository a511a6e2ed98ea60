"""Random models: stacks of layers of tf.layers and tf.keras, described, trained and saved."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import outcomes
from .arguments import Made
from .layer_tables import FUNCTIONS

STEPS = 3
LIMIT = 60
ROWS = 4  # examples of a batch
NOISE = 1e-5  # what may be left of numbers around 1 that cancel out


def cases(seed: int, names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield cases without end; needs Stillflow, whose signatures say what layers take.

    Args:
      seed: of the first case; other seeds share none with it for 100,000 cases.
      names: layers, one of which each case begins with; any, if there are none.
    """
    return importlib.import_module(__package__ + ".layer_cases").cases(seed, names)


class Builder:
    """Builder of a case's layers, which keeps the values to compare."""

    def __init__(self, tf: Any, case: dict[str, Any]) -> None:
        self.tf, self.case = tf, case
        self.numbers = np.random.RandomState(case["seed"] % 2**31)
        self.training = None  # the placeholder that says so, where a layer asks for one
        self.told: list[Any] = []
        self.values: list[Any] = []
        self.nodes: list[Any] = []

    def argument(self, value: Any) -> Any:
        """Return the argument that a plain value stands for."""
        if isinstance(value, Made):
            return MAKERS[value.maker](self, value.told)
        return [self.argument(item) for item in value] if isinstance(value, list) else value

    def arguments(self, values: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name."""
        return {name: self.argument(value) for name, value in values.items()}

    def inputs(self) -> np.ndarray:
        """One batch for the model."""
        shape = [ROWS, *self.case["shape"]]
        if self.case["integers"]:
            return self.numbers.randint(0, 5, shape).astype(np.int32)
        return np.round(self.numbers.uniform(-1, 1, shape), 2).astype(np.float32)

    def positive(self, shape: Sequence[int]) -> np.ndarray:
        """Numbers between 0 and 1."""
        return np.round(self.numbers.uniform(0.05, 0.95, shape), 2).astype(np.float32)

    def tell(self, what: str, told: Any) -> None:
        """Keep something to compare: texts, names, numbers of either NumPy."""
        self.told.append((what, plain(told)))

    def keep(self, values: Any) -> None:
        """Keep arrays to compare."""
        self.values += [outcomes.pack(value) for value in _flat(values)]


MAKERS: dict[str, Callable[[Builder, Any], Any]] = {
    "called": lambda b, told: outcomes.named(b.tf, told[0])(*told[1:]),
    "layer": lambda b, told: getattr(b.tf.keras.layers, told[0])(**b.arguments(told[1])),
    "optimizer": lambda b, told: outcomes.named(b.tf, told[0])(**told[1]),
    "public": lambda b, told: outcomes.named(b.tf, told),
    "training": lambda b, told: _training_switch(b),
}


def _training_switch(b: Builder) -> Any:
    if b.training is None:
        b.training = b.tf.placeholder_with_default(True, [], name="training")
    return b.training


def plain(value: Any) -> Any:
    """Return configuration and names as plain data: functions by their names."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    return getattr(value, "__name__", None) or type(value).__name__


def _flat(values: Any) -> list[Any]:
    if isinstance(values, (list, tuple)):
        return [leaf for value in values for leaf in _flat(value)]
    return [values]


def run(tf: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Build a model, train it, and, if it is one of tf.keras, save and load it."""
    _look_for_devices(tf)
    np.random.seed(case["seed"] % 2**31)  # some layers draw their seeds from it
    graph = tf.Graph()
    builder = Builder(tf, case)
    found = {"noise": NOISE}
    with graph.as_default(), tf.Session(config=outcomes.one_thread(tf)).as_default():
        tf.set_random_seed(5)
        try:
            for step in STYLES[case["style"]](builder):
                found["reached"] = step
        except Exception as error:
            stage = "run" if "reached" in found else "build"
            outcome = outcomes.failed(stage, error, **found)
        else:
            outcome = outcomes.done(**found)
        nodes = builder.nodes or outcomes.nodes_of(graph)
    return dict(
        outcome,
        result=builder.told,
        values=builder.values,
        nodes=[_in_order(*node) for node in nodes],
    )


@functools.lru_cache(maxsize=1)
def _look_for_devices(tf: Any) -> None:
    """TensorFlow's Keras does once in a process, and initializes what variables there are."""
    with tf.Graph().as_default(), tf.Session().as_default():
        tf.keras.backend.pool2d(tf.zeros([1, 1, 2, 2]), (1, 1), data_format="channels_first")


def _in_order(
    name: str, op: str, inputs: tuple[str, ...], attrs: Any
) -> tuple[str, str, tuple[str, ...], Any]:
    """Return a node with inputs in one order: TensorFlow's Keras has sets of variables."""
    if op == "VarIsInitializedOp":
        return name, op, (), attrs
    return name, op, tuple(sorted(inputs)) if op == "NoOp" else inputs, attrs


def _classic(b: Builder) -> Iterator[str]:
    """Yield a stack of tf.layers, trained by an optimizer of tf.train; yields what it has done."""
    tf = b.tf
    batch = b.inputs()
    fed = tf.placeholder(tf.float32, [b.case["batch"], *b.case["shape"]], name="x")
    tensor = fed
    for name, values, _ in b.case["layers"]:
        tensor = _applied(b, name, b.arguments(values), tensor)
        b.tell(name, [tensor.name, tensor.dtype.name, str(tensor.shape)])
    yield "built"
    b.tell("variables", [[v.name, str(v.shape), v.dtype.name] for v in tf.global_variables()])
    b.tell("trainable", [v.name for v in tf.trainable_variables()])
    for key in ("UPDATE_OPS", "REGULARIZATION_LOSSES"):
        held = tf.get_collection(getattr(tf.GraphKeys, key))
        b.tell(key, [None if item is None else item.name for item in held])
    loss = tf.reduce_mean(tf.square(tensor)) + tf.losses.get_regularization_loss()
    train = tf.no_op()
    if tf.trainable_variables():
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    session = tf.get_default_session()
    session.run(tf.global_variables_initializer())
    for _ in range(STEPS):
        b.keep(session.run([tensor, loss], {fed: batch}))
        session.run(train, {fed: batch})
    b.keep(session.run(tf.global_variables()))
    if b.training is not None:
        b.keep(session.run(tensor, {fed: batch, b.training: False}))
    yield "trained"


def _applied(b: Builder, name: str, arguments: dict[str, Any], tensor: Any) -> Any:
    if b.case["style"] == "functions":
        return getattr(b.tf.layers, FUNCTIONS[name])(tensor, **arguments)
    layer = getattr(b.tf.layers, name)(**arguments)
    found = layer(tensor)
    b.tell("layer", [layer.name, [v.name for v in layer.weights], len(layer.losses)])
    return found


def _keras(b: Builder) -> Iterator[str]:
    """Yield a model of tf.keras; yields what it has done."""
    model = (_sequential if b.case["style"] == "sequential" else _functional)(b)
    yield "built"
    _describe(b, model)
    yield "described"
    batch = b.inputs()
    b.keep(model.get_weights())
    model.set_weights([_moved(b, weight) for weight in model.get_weights()])
    predicted = model.predict(batch)
    b.keep(predicted)
    yield "predicted"
    _train(b, model, batch, predicted)
    yield "trained"
    # Later Keras initializes variables of metrics that nobody has collected yet.
    b.nodes = outcomes.nodes_of(b.tf.get_default_graph())
    _save_and_load(b, model, batch)
    yield "saved"


def _moved(b: Builder, weight: np.ndarray) -> np.ndarray:
    if weight.dtype.kind != "f":
        return weight
    return weight + b.positive(weight.shape).astype(weight.dtype) * 0.2


def _sequential(b: Builder) -> Any:
    tf, case = b.tf, b.case
    model = tf.keras.Sequential()
    dtype = "int32" if case["integers"] else "float32"
    if case["given"] == "InputLayer":
        model.add(tf.keras.layers.InputLayer(case["shape"], case["batch"], dtype))
    for place, (name, values, _) in enumerate(case["layers"]):
        arguments = b.arguments(values)
        if not place and case["given"] == "batch_input_shape":
            arguments["batch_input_shape"] = [case["batch"], *case["shape"]]
        elif not place and case["given"] == "input_shape":
            arguments["input_shape"] = case["shape"]
        model.add(getattr(tf.keras.layers, name)(**arguments))
    if case["given"] == "build":
        model.build([case["batch"], *case["shape"]])
    return model


def _functional(b: Builder) -> Any:
    tf, case = b.tf, b.case
    dtype = "int32" if case["integers"] else "float32"
    tensors = [tf.keras.Input(case["shape"], case["batch"], dtype=dtype)]
    for name, values, sources in case["layers"]:
        layer = getattr(tf.keras.layers, name)(**b.arguments(values))
        taken = [tensors[place] for place in sources]
        given = layer(taken if len(taken) > 1 else taken[0])
        for tensor in _flat(given):
            b.tell(name, [tensor.name, tensor.dtype.name, str(tensor.shape)])
        tensors.append(_flat(given)[0])
    return tf.keras.Model(tensors[0], tensors[-1])


def _describe(b: Builder, model: Any) -> None:
    b.tell("weights", [[w.name, str(w.shape), w.dtype.name] for w in model.weights])
    b.tell("trainable", [w.name for w in model.trainable_weights])
    b.tell("shapes", [str(model.input_shape), str(model.output_shape)])
    b.tell("losses", [loss.name for loss in model.losses])
    b.tell("updates", [update.name for update in model.updates])
    for layer in model.layers:
        b.tell(type(layer).__name__, [layer.name, layer.count_params(), layer.get_config()])
        b.tell("spec", str(layer.input_spec))
    b.tell("config", model.get_config())
    lines: list[str] = []
    model.summary(print_fn=lines.append)
    b.tell("summary", lines)


def _train(b: Builder, model: Any, batch: np.ndarray, predicted: Any) -> None:
    options = b.case["training"]
    model.compile(
        b.argument(options["optimizer"]),
        loss=b.argument(options["loss"]),
        metrics=b.argument(options["metrics"]),
    )
    b.tell("metrics", model.metrics_names)
    outputs = predicted if isinstance(predicted, list) else [predicted]
    targets = [b.positive(output.shape) for output in outputs]
    targets = targets if isinstance(predicted, list) else targets[0]
    weights = b.positive([ROWS]) if options["weighted"] else None
    if options["how"] == "fit":
        size = b.case["batch"] or 2
        history = model.fit(
            batch, targets, size, epochs=2, verbose=0, shuffle=False, sample_weight=weights
        )
        b.keep([history.history[key] for key in sorted(history.history)])
    else:
        for _ in range(STEPS):
            b.keep(model.train_on_batch(batch, targets, weights))
    b.keep(model.test_on_batch(batch, targets))
    b.keep(model.get_weights())
    if hasattr(model.optimizer, "get_config"):
        b.tell("optimizer", model.optimizer.get_config())
        b.tell("its weights", [weight.name for weight in model.optimizer.weights])
        b.keep(model.optimizer.get_weights())


def _save_and_load(b: Builder, model: Any, batch: np.ndarray) -> None:
    keras = b.tf.keras
    clone = keras.models.clone_model(model)
    b.tell("clone", [weight.name for weight in clone.weights])
    again = keras.models.model_from_json(model.to_json())
    again.set_weights(model.get_weights())
    b.keep(again.predict(batch))
    model.save("model.h5")
    loaded = keras.models.load_model("model.h5")
    b.tell("loaded", [weight.name for weight in loaded.weights])
    b.keep(loaded.predict(batch))
    model.save_weights("weights.h5")
    again.load_weights("weights.h5")
    b.keep(again.get_weights())


STYLES = {
    "sequential": _keras,
    "functional": _keras,
    "classes": _classic,
    "functions": _classic,
}
