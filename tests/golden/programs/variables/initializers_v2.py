"""Initializers of TensorFlow 2 as TF 1.15 has them: seeded ones give the same values always."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised

NAMES = (
    "RandomUniform", "RandomNormal", "TruncatedNormal", "VarianceScaling", "Orthogonal",
    "GlorotUniform", "GlorotNormal", "lecun_normal", "lecun_uniform", "he_normal", "he_uniform",
)  # fmt: skip
ALIASES = ("zeros", "ones", "constant", "orthogonal", "identity", "glorot_normal", "glorot_uniform")


def seeded(name):
    """Record a program that draws from an initializer, with a seed and with the graph's."""

    def build(tf):
        tf.set_random_seed(5)
        make = getattr(tf.compat.v2.initializers, name)
        values = {
            "matrix": make(seed=3)([4, 6]),
            "wide": make()((2, 8)),
            "filters": make(seed=0)([3, 3, 2, 4]),
            "doubles": make(seed=3)([4, 6], tf.float64),
            "variable": tf.Variable(lambda: make(seed=1)([3, 2])).initialized_value(),
        }
        config = make(seed=3).get_config()
        return Run(values, facts={"config": {key: str(value) for key, value in config.items()}})

    build.__name__ = name.lower() + "_v2" if name[0].isupper() else name + "_v2"
    program(build)


for each in NAMES:
    seeded(each)


@program
def options_v2(tf):
    init = tf.compat.v2.initializers
    make = init.VarianceScaling
    return Run(
        {
            "zeros": init.Zeros()([2, 3]),
            "words": init.zeros()([2], tf.string),
            "ones": init.Ones()([2], tf.int32),
            "constant": init.Constant([1, 2, 3, 4])([2, 2], tf.float32),
            "repeated": init.Constant(0.5)([2, 2]),
            "untyped": init.constant(4)([2]),
            "identity": init.Identity(2.0)([3, 3]),
            "integers": init.RandomUniform(0, 9, seed=2)([8], tf.int32),
            "normal": make(2.0, "fan_out", "Normal", 4)([5, 3]),
            "untruncated": make(2.0, "fan_avg", "untruncated_normal", 4)([5, 3]),
            "vector": make(seed=4, distribution="uniform")([7]),
            "scalar": make(seed=4)([]),
            "tall": init.Orthogonal(0.5, 6)([5, 2]),
        },
        facts={
            "configs": {
                "zeros": init.Zeros().get_config(),
                "constant": init.Constant(3).get_config(),
                "identity": init.Identity(3).get_config(),
                "again": init.RandomNormal.from_config(
                    {"mean": 1.0, "stddev": 2.0, "seed": 4, "dtype": "float32"}
                ).get_config(),
            },
            "names": {name: getattr(init, name).__name__ for name in ALIASES},
            "aliases": tf.compat.v2.random_normal_initializer is init.RandomNormal,
        },
    )


@program
def refusals_v2(tf):
    init = tf.compat.v2.initializers
    return Run(
        {},
        facts={
            "abstract": raised(init.Initializer(), [2]),
            "ones": raised(init.Ones(), [2], tf.string),
            "constant": raised(init.Constant, {}),
            "too few": raised(init.Constant([1, 2, 3]), [2, 2]),
            "uniform": raised(init.RandomUniform(), [2], tf.string),
            "normal": raised(init.RandomNormal(), [2], tf.int32),
            "scale": raised(init.VarianceScaling, 0),
            "mode": raised(init.VarianceScaling, mode="fan"),
            "distribution": raised(init.VarianceScaling, distribution="flat"),
            "orthogonal": raised(init.Orthogonal(), [2]),
            "identity": raised(init.Identity(), [2]),
            "scaled": raised(init.he_normal(), [2, 2], tf.int32),
        },
    )
