"""Random feature columns: of what features, and how they are made of them.

Each is a function of the model `p`, which makes its choices; `p.fc` is tf.feature_column.
"""

from __future__ import annotations

from typing import Any

import numpy as np

CITIES = ["ulm", "bonn", "kiel", "jena"]

#: Columns of categories.
CATEGORICAL = {
    "bucketized": lambda p: _bucketized(p),
    "crossed": lambda p: p.fc.crossed_column(
        p.choose([["city", "code"], ["city", _bucketized(p)], ["code", "city"]]), p.choose([3, 10])
    ),
    "file": lambda p: p.fc.categorical_column_with_vocabulary_file(
        "city", p.file("cities.txt", CITIES[:3]), p.choose([None, 2, 3]), **_outside(p)
    ),
    "hashed": lambda p: p.fc.categorical_column_with_hash_bucket("city", p.choose([2, 5])),
    "hashed integers": lambda p: p.fc.categorical_column_with_hash_bucket(
        "code", p.choose([2, 5]), p.tf.int64
    ),
    "identity": lambda p: p.fc.categorical_column_with_identity(
        "code", p.choose([5, 3]), p.choose([None, 0, 1])
    ),
    "sparse": lambda p: p.fc.categorical_column_with_hash_bucket("tags", 4),
    "vocabulary": lambda p: p.fc.categorical_column_with_vocabulary_list(
        "city", CITIES[: p.choose([2, 4])], **_outside(p)
    ),
    "vocabulary of integers": lambda p: p.fc.categorical_column_with_vocabulary_list(
        "code", [0, 3, 1], **_outside(p)
    ),
    "vocabulary of tags": lambda p: p.fc.categorical_column_with_vocabulary_list(
        "tags", ["a", "b"]
    ),
    "weighted": lambda p: p.fc.weighted_categorical_column(
        p.fc.categorical_column_with_hash_bucket("tags", 3), "weights"
    ),
}

#: Columns of numbers: what networks take.
DENSE = {
    "bucketized": lambda p: _bucketized(p),
    "embedding": lambda p: p.fc.embedding_column(
        _categories(p),
        p.choose([1, 2, 3]),
        p.choose(["mean", "sqrtn", "sum"]),
        initializer=p.choose([None, p.tf.ones_initializer()]),
        max_norm=p.choose([None, None, 0.5]),
        trainable=p.maybe(0.8),
    ),
    "indicator": lambda p: p.fc.indicator_column(_categories(p)),
    "normalized": lambda p: p.fc.numeric_column(
        "age", normalizer_fn=lambda age: (age - 30.0) / 10.0
    ),
    "numeric": lambda p: p.fc.numeric_column("age"),
    "numeric of integers": lambda p: p.fc.numeric_column("code", dtype=p.tf.int64),
    "numeric of two": lambda p: p.fc.numeric_column(
        "size", shape=p.choose([2, (2,), (2, 1)]), default_value=p.choose([None, 0.5])
    ),
    "shared embedding": lambda p: p.shared(
        [
            p.fc.categorical_column_with_hash_bucket("city", 5),
            p.fc.categorical_column_with_hash_bucket("tags", 5),
        ],
        p.choose([1, 2]),
        p.choose(["mean", "sum"]),
    ),
}


def columns(p: Any, names: list[str]) -> list[Any]:
    """Return the columns of these names; one of two names is a list's."""
    found = []
    for name in names:
        kind, _, own = name.partition(" ")
        made = {"categorical": CATEGORICAL, "dense": DENSE}[kind][own](p)
        found += made if isinstance(made, list) else [made]
    return found


def _outside(p: Any) -> dict[str, Any]:
    """Return the setting for words outside of a vocabulary."""
    return p.choose([{}, {"default_value": 0}, {"num_oov_buckets": 2}])


def _bucketized(p: Any) -> Any:
    return p.fc.bucketized_column(p.fc.numeric_column("age"), p.choose([[30.0], [20.0, 40.5]]))


def _categories(p: Any) -> Any:
    return CATEGORICAL[p.choose(sorted(set(CATEGORICAL) - {"bucketized"}))](p)


def features(numbers: np.random.RandomState, rows: int) -> dict[str, Any]:
    """Arrays by name; "tags" and "weights" are lists of unequal lengths."""
    counts = numbers.randint(0, 3, rows)
    return {
        "age": np.round(numbers.uniform(10, 60, [rows, 1]), 1).astype(np.float32),
        "size": np.round(numbers.uniform(-1, 1, [rows, 2]), 2).astype(np.float32),
        "code": numbers.randint(0, 5, [rows, 1]).astype(np.int64),
        "city": np.array([[(CITIES + ["rom"])[at].encode()] for at in numbers.randint(0, 5, rows)]),
        "tags": [[b"a", b"b", b"c"][:count] for count in counts],
        "weights": [[0.5, 1.5, 0.25][:count] for count in counts],
    }
