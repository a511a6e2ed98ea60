"""Random feature columns under layers and canned estimators: trained, evaluated, asked."""

from __future__ import annotations

import itertools
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import outcomes
from .feature_columns import CATEGORICAL, DENSE, columns, features

ROWS = 6
STEPS = 3
LIMIT = 60
NOISE = 1e-5


def cases(seed: int, names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield cases endlessly: the object to make, and its columns.

    Args:
      seed: of the first case; other seeds share none with it for 100,000 cases.
      names: layers and estimators to keep to; all of them, if there are none.
    """
    for number in itertools.count(seed * 100_000):
        rng = random.Random(number)
        made = rng.choice([name for name in sorted(MADE) if not names or name in names])
        wide, deep = ([_drawn(rng, kind) for _ in range(rng.choice([1, 2, 3]))] for kind in KINDS)
        yield {"name": made, "wide": wide, "deep": deep, "seed": number, "changes": 0}


KINDS = ("wide", "deep")


def _drawn(rng: random.Random, kind: str) -> str:
    """Return a column for a linear model, or for a network."""
    if kind == "deep":
        return "dense " + rng.choice(sorted(DENSE))
    number = rng.choice(["numeric", "numeric of two", "normalized", "shared embedding"])
    return rng.choice(["categorical " + rng.choice(sorted(CATEGORICAL))] * 3 + ["dense " + number])


class Model:
    """Arguments of columns and estimators: choices, features and labels."""

    def __init__(self, tf: Any, case: dict[str, Any]) -> None:
        self.tf, self.fc, self.case = tf, tf.feature_column, case
        self.random = random.Random(case["seed"])
        self.numbers = np.random.RandomState(case["seed"] % 2**31)
        self.arrays = features(self.numbers, ROWS)
        self.nodes: list[Any] = []
        self.told: list[Any] = []
        self.values: list[Any] = []

    def choose(self, items: Sequence[Any]) -> Any:
        """One of the items."""
        return items[self.random.randrange(len(items))]

    def maybe(self, chance: float) -> bool:
        """Return True with the probability `chance`."""
        return self.random.random() < chance

    def file(self, name: str, lines: list[str]) -> str:
        """Return a file of lines."""
        with open(name, "w") as written:
            written.write("\n".join(lines) + "\n")
        return name

    def shared(self, categories: list[Any], size: int, combiner: str) -> list[Any]:
        """Columns that share an embedding."""
        return self.fc.shared_embedding_columns(categories, size, combiner)

    def columns(self, kind: str) -> list[Any]:
        """Return the columns of one side."""
        return columns(self, self.case[kind])

    def tensors(self) -> dict[str, Any]:
        """Return the features of all rows."""
        found = {
            name: self.tf.constant(self.arrays[name]) for name in ("age", "size", "code", "city")
        }
        for name, dtype in (("tags", self.tf.string), ("weights", self.tf.float32)):
            lists = self.arrays[name]
            indices = [[row, at] for row, items in enumerate(lists) for at in range(len(items))]
            found[name] = self.tf.SparseTensor(
                np.array(indices, np.int64).reshape([-1, 2]),
                self.tf.constant([item for items in lists for item in items], dtype),
                [ROWS, 3],
            )
        return found

    def keep(self, values: Any) -> None:
        """Keep values to compare, those of a dictionary in the order of its keys."""
        if isinstance(values, dict):
            self.told.append(sorted(values))
            values = [values[key] for key in sorted(values)]
        self.values += [outcomes.pack(value) for value in values]


def run(tf: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Make what the case says, and run it."""
    model = Model(tf, case)
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(5)
        try:
            MADE[case["name"]](model)
        except Exception as error:
            outcome = outcomes.failed("run" if model.values else "build", error)
        else:
            outcome = outcomes.done()
        model.nodes += outcomes.nodes_of(graph)
    return dict(outcome, result=model.told, nodes=model.nodes, values=model.values, noise=NOISE)


def _layer(kind: str, build: Callable[[Model, list[Any]], Any]) -> Callable[[Model], None]:
    """Return a function that adds a layer of columns, and the gradients of its variables."""

    def fetch(p: Model) -> None:
        tf = p.tf
        output = build(p, p.columns(kind))
        p.told.append([output.name, str(output.shape)])
        variables = tf.global_variables()
        p.told += [[variable.name, str(variable.shape)] for variable in variables]
        trained = tf.trainable_variables()
        found = tf.gradients(tf.reduce_sum(tf.square(output + 1.0)), trained) if trained else []
        gradients = [
            grad.values if isinstance(grad, tf.IndexedSlices) else grad
            for grad in found
            if grad is not None
        ]
        with tf.Session(config=outcomes.one_thread(tf)) as session:
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            p.keep(session.run([output, *gradients, *variables]))

    return fetch


def _parsed(p: Model, made: list[Any]) -> Any:
    """Examples, parsed as the columns ask for."""
    tf = p.tf
    examples = [tf.train.Example() for _ in range(ROWS)]
    for row, example in enumerate(examples):
        for name, array in p.arrays.items():
            feature, items = example.features.feature[name], list(array[row])
            if name == "code":
                feature.int64_list.value.extend(int(item) for item in items)
            elif name in ("city", "tags"):
                feature.bytes_list.value.extend(bytes(item) for item in items)
            else:
                feature.float_list.value.extend(float(item) for item in items)
    spec = p.fc.make_parse_example_spec(made)
    p.told.append(sorted((key, str(value)) for key, value in spec.items()))
    texts = [example.SerializeToString() for example in examples]
    return p.fc.input_layer(tf.parse_example(texts, spec), made)


def _estimator(name: str, sides: str, options: dict[str, Any]) -> Callable[[Model], None]:
    """Return an estimator, trained, evaluated and asked."""
    return lambda p: _train(p, name, sides, options)


def _arguments(p: Model, name: str, sides: str, options: dict[str, Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {key: make(p) for key, make in options.items() if p.maybe(0.5)}
    arguments.update({key: p.columns(side) for key, side in SIDES[sides].items()})
    if "dnn" in sides:
        arguments["dnn_hidden_units" if "linear" in sides else "hidden_units"] = p.choose(
            [[2], [3, 2]]
        )
    if name.endswith("Classifier"):
        arguments["n_classes"] = p.choose([2, 2, 3])
        if p.maybe(0.3):
            arguments["label_vocabulary"] = ["no", "yes", "maybe"][: arguments["n_classes"]]
    if p.maybe(0.2):
        arguments["weight_column"] = "size_of_row"
    return arguments


def _train(p: Model, name: str, sides: str, options: dict[str, Any]) -> None:
    tf = p.tf
    arguments = _arguments(p, name, sides, options)
    labels = _labels(p, arguments.get("n_classes"), arguments.get("label_vocabulary"))
    config = tf.estimator.RunConfig(
        tf_random_seed=7, session_config=outcomes.one_thread(tf), log_step_count_steps=1000
    )
    folder = tempfile.mkdtemp(dir=".")  # in the one of the child
    estimator = getattr(tf.estimator, name)(model_dir=folder, config=config, **arguments)
    hooks = [_nodes_hook(p)]
    estimator.train(lambda: _dataset(p, labels), hooks, steps=STEPS)
    p.told.append(estimator.get_variable_names())
    p.keep([estimator.get_variable_value(each) for each in estimator.get_variable_names()])
    p.keep(estimator.evaluate(lambda: _dataset(p, labels, 1), hooks=hooks))
    asked = estimator.predict(lambda: _dataset(p, None, 1), hooks=hooks)
    for answer in asked:
        p.keep(answer)


def _labels(p: Model, classes: int | None, words: list[str] | None) -> Any:
    shape = p.choose([[ROWS, 1], [ROWS]])
    if not classes:
        return np.round(p.numbers.uniform(-1, 1, shape), 2).astype(np.float32)
    numbers = p.numbers.randint(0, classes, shape)
    return np.array(words)[numbers] if words else numbers


def _dataset(p: Model, labels: Any, times: int | None = None) -> Any:
    given = {**p.tensors(), "size_of_row": p.tf.constant(p.arrays["age"] / 50)}
    whole = given if labels is None else (given, p.tf.constant(labels))
    dataset = p.tf.data.Dataset.from_tensor_slices(whole)
    return dataset.batch(ROWS // 2).repeat(times)


def _nodes_hook(p: Model) -> Any:
    class Hook(p.tf.train.SessionRunHook):  # type: ignore[name-defined, misc]
        """Notes the nodes of the graph that is about to run."""

        def begin(self) -> None:
            p.nodes.extend(outcomes.nodes_of(p.tf.get_default_graph()))

    return Hook()


SIDES = {
    "linear": {"feature_columns": "wide"},
    "dnn": {"feature_columns": "deep"},
    "linear and dnn": {"linear_feature_columns": "wide", "dnn_feature_columns": "deep"},
    "none": {},
}
_OPTIMIZERS: list[Callable[[Any], Any]] = [
    lambda tf: "Adagrad",
    lambda tf: "SGD",
    lambda tf: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.1),
    # None like Adam: where gradients are rounding, its steps are as long as elsewhere.
    lambda tf: lambda: tf.train.MomentumOptimizer(0.01, 0.9),
]
_ANY = {
    "loss_reduction": lambda p: p.choose(["weighted_sum", "weighted_sum_over_batch_size"]),
}
_ALONE = {"optimizer": lambda p: p.choose(_OPTIMIZERS)(p.tf), **_ANY}
_LINEAR = {"sparse_combiner": lambda p: p.choose(["mean", "sum"]), **_ALONE}
_NETWORK = {
    "activation_fn": lambda p: p.choose([p.tf.nn.tanh, p.tf.nn.elu]),
    "dropout": lambda p: p.choose([0.2, 0.5]),
    "batch_norm": lambda p: True,
    **_ALONE,
}
_COMBINED = {
    "linear_optimizer": _ALONE["optimizer"],
    "dnn_optimizer": _ALONE["optimizer"],
    "dnn_dropout": lambda p: 0.3,
    "batch_norm": lambda p: True,
    "linear_sparse_combiner": lambda p: p.choose(["mean", "sqrtn"]),
    **_ANY,
}

#: What a case makes, by name.
MADE: dict[str, Callable[[Model], None]] = {
    "DenseFeatures": _layer("deep", lambda p, made: p.tf.keras.layers.DenseFeatures(made)(
        p.tensors())),
    "input_layer": _layer("deep", lambda p, made: p.fc.input_layer(p.tensors(), made)),
    "linear_model": _layer(
        "wide",
        lambda p, made: p.fc.linear_model(
            p.tensors(),
            made,
            units=p.choose([1, 2]),
            sparse_combiner=p.choose(["sum", "mean", "sqrtn"]),
        ),
    ),
    "parsed": _layer("deep", _parsed),
    **{
        kind + answer: _estimator(kind + answer, sides, options)
        for kind, sides, options in (
            ("Linear", "linear", _LINEAR),
            ("DNN", "dnn", _NETWORK),
            ("DNNLinearCombined", "linear and dnn", _COMBINED),
            ("Baseline", "none", _ALONE),
        )
        for answer in ("Classifier", "Regressor")
    },
}  # fmt: skip
