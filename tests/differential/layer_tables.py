"""Layers that random models are made of, by the rank that they take, and what to pass to them.

Values are plain data; the function of the name of a `Made` in `layers.py` makes it.
"""

from __future__ import annotations

from typing import Any

from .arguments import Made

#: Layers of tf.keras by the ranks of their inputs, which count the batch.
KERAS: dict[tuple[int, ...], str] = {
    (2, 3, 4, 5): "Activation ActivityRegularization AlphaDropout BatchNormalization Dense Dropout "
    "ELU Flatten GaussianDropout GaussianNoise LayerNormalization LeakyReLU PReLU Permute ReLU "
    "Reshape Softmax ThresholdedReLU",
    (2,): "RepeatVector",
    (3,): "AveragePooling1D Bidirectional Conv1D Cropping1D GRU GlobalAveragePooling1D "
    "GlobalMaxPooling1D LSTM LocallyConnected1D Masking MaxPooling1D RNN SeparableConv1D SimpleRNN "
    "SpatialDropout1D UpSampling1D ZeroPadding1D",
    (3, 4): "TimeDistributed",
    (4,): "AveragePooling2D Conv2D Conv2DTranspose Cropping2D DepthwiseConv2D "
    "GlobalAveragePooling2D GlobalMaxPooling2D LocallyConnected2D MaxPooling2D SeparableConv2D "
    "SpatialDropout2D UpSampling2D ZeroPadding2D",
    (5,): "AveragePooling3D Conv3D Conv3DTranspose ConvLSTM2D Cropping3D GlobalAveragePooling3D "
    "GlobalMaxPooling3D MaxPooling3D SpatialDropout3D UpSampling3D ZeroPadding3D",
}
#: Layers of tf.keras that take several inputs.
MERGING = (
    "Add AdditiveAttention Attention Average Concatenate Dot Maximum Minimum Multiply Subtract"
)
#: Layers of tf.layers; in functions' names words are apart: `conv2d_transpose`.
CLASSIC: dict[tuple[int, ...], str] = {
    (2, 3, 4, 5): "BatchNormalization Dense Dropout Flatten",
    (3,): "AveragePooling1D Conv1D MaxPooling1D SeparableConv1D",
    (4,): "AveragePooling2D Conv2D Conv2DTranspose MaxPooling2D SeparableConv2D",
    (5,): "AveragePooling3D Conv3D Conv3DTranspose MaxPooling3D",
}
FUNCTIONS = {
    "AveragePooling1D": "average_pooling1d",
    "AveragePooling2D": "average_pooling2d",
    "AveragePooling3D": "average_pooling3d",
    "BatchNormalization": "batch_normalization",
    "Conv1D": "conv1d",
    "Conv2D": "conv2d",
    "Conv2DTranspose": "conv2d_transpose",
    "Conv3D": "conv3d",
    "Conv3DTranspose": "conv3d_transpose",
    "Dense": "dense",
    "Dropout": "dropout",
    "Flatten": "flatten",
    "MaxPooling1D": "max_pooling1d",
    "MaxPooling2D": "max_pooling2d",
    "MaxPooling3D": "max_pooling3d",
    "SeparableConv1D": "separable_conv1d",
    "SeparableConv2D": "separable_conv2d",
}
CELLS = "GRUCell LSTMCell SimpleRNNCell"
RECURRENT = "GRU LSTM SimpleRNN"

#: Ranks of outputs, where they are others than those of the inputs.
RANKS = {"Flatten": 2, "RepeatVector": 3}
RANKS.update(
    (f"Global{kind}Pooling{axes}D", 2) for kind in ("Average", "Max") for axes in (1, 2, 3)
)
#: Sizes of inputs without the batch, by rank.
SIZES = {
    2: [[3], [5], [1]],
    3: [[4, 3], [5, 2], [1, 2]],
    4: [[5, 4, 3], [4, 4, 2], [6, 6, 1], [3, 1, 2]],
    5: [[4, 4, 3, 2], [3, 5, 4, 1]],
}


def _regularizers(space: str) -> list[Any]:
    return [Made("called", [f"{space}.{name}_regularizer", 0.1]) for name in ("l1", "l2")]


_PUBLIC_ACTIVATIONS = [Made("public", f"nn.{name}") for name in ("relu", "tanh", "elu", "softmax")]
_DTYPES = [None, "float32"]

#: What both sorts of layers take.
_BOTH: dict[str, list[Any]] = {
    "units": [1, 2, 3],
    "filters": [1, 2, 3, 4],
    "padding": ["same", "valid", "SAME"],
    "depth_multiplier": [1, 2],
    "data_format": ["channels_last", "channels_last", "channels_first"],
    "momentum": [0.9, 0.5],
    "epsilon": [1e-3, 0.1],
    "axis": [-1, 1, 2],
    "rate": [0.0, 0.5, 0.3],
    "noise_shape": [None],
    "seed": [1, 7],
    "fused": [None, True, False],
    "name": ["nm", None],
    "trainable use_bias center scale": [True, False],
    "renorm": [True],
    "renorm_clipping": [{"rmax": 1.5, "dmax": 0.5}],
    "renorm_momentum": [0.5],
    "virtual_batch_size": [2],
}
#: What layers of tf.keras take; a name's last word stands for what has none of its own.
KERAS_VALUES: dict[str, list[Any]] = {
    **_BOTH,
    "activation": ["relu", "tanh", "sigmoid", "softmax", "linear", "elu", "hard_sigmoid", None]
    + [*_PUBLIC_ACTIVATIONS, "selu", "softsign", "softplus", "exponential", "swish"],
    "initializer": ["ones", "glorot_uniform", "he_normal", "orthogonal", "lecun_uniform", "zeros"]
    + ["random_normal", "truncated_normal", "random_uniform", "identity"]
    + [Made("called", ["keras.initializers.VarianceScaling", 2.0, "fan_avg", "uniform"])]
    + [Made("called", ["keras.initializers.Constant", 0.3]), Made("public", "ones_initializer")],
    "regularizer": ["l1", "l2", "l1_l2", None]
    + [Made("called", ["keras.regularizers.l1_l2", 0.01, 0.02])],
    # Not "l1": the gradients of these are rounding in front of another normalization.
    "beta_regularizer bias_regularizer": ["l2", None],
    "constraint": ["max_norm", "non_neg", "unit_norm", None]
    + [Made("called", ["keras.constraints.MinMaxNorm", 0.1, 1.0, 0.5])],
    "implementation": [1, 2],
    "return_sequences go_backwards unroll reset_after unit_forget_bias time_major": [True, False],
    "return_state stateful": [False, False, False, True],
    "dropout recurrent_dropout": [0.0, 0.3],
    "alpha": [0.1, 0.5],
    "theta": [0.5],
    "max_value": [1.0, 0.5, None],
    "negative_slope": [0.1, 0],
    "threshold": [0.0, 0.3],
    "shared_axes": [[1], [1, 2]],
    "stddev": [0.5],
    "l1 l2": [0.1, 0.01],
    "n": [2, 3],
    "dims": [[1], [2, 1], [1, 2], [3, 1, 2], [2, 1, 3], [4, 1, 2, 3]],
    "target_shape": [[-1], [-1, 1], [3], [1, -1, 1], [2, -1], [1, 1, -1, 1]],
    "mask_value": [0.0, 0.5],
    "input_dim": [5],
    "output_dim": [2, 3],
    "mask_zero": [True, False],
    "input_length": [4, None],
    "interpolation": ["nearest", "bilinear"],
    "merge_mode": ["concat", "sum", "ave", "mul", None],
    "axes": [1, -1, [1, 1], [2, 1]],
    "normalize use_scale": [True, False],
    "dtype": _DTYPES,
}
#: What layers of tf.layers take.
CLASSIC_VALUES: dict[str, list[Any]] = {
    **_BOTH,
    "activation": [*_PUBLIC_ACTIVATIONS, None],
    "initializer": [
        Made("called", ["ones_initializer"]),
        Made("called", ["glorot_uniform_initializer", 3]),
        Made("called", ["truncated_normal_initializer", 0.0, 0.5]),
        Made("called", ["variance_scaling_initializer", 2.0]),
        Made("called", ["orthogonal_initializer"]),
        Made("called", ["keras.initializers.he_normal"]),
        Made("public", "zeros_initializer"),
        None,
    ],
    "regularizer": [*_regularizers("contrib.layers"), None]
    + [Made("called", ["keras.regularizers.l2", 0.1])],
    "beta_regularizer bias_regularizer": [*_regularizers("contrib.layers")[1:], None],
    "constraint": [None, Made("called", ["keras.constraints.max_norm", 0.5])]
    + [Made("public", "nn.relu")],
    "reuse": [None, False],
    "training": [True, False, Made("training")],
    "_reuse": [None],
}
#: A number, or one for each of the image's axes.
PER_AXIS: dict[str, list[int]] = {
    "kernel_size": [1, 2, 3],
    "pool_size": [1, 2, 3],
    "strides": [1, 2],
    "dilation_rate": [1, 1, 2],
    "size": [1, 2],
    "output_padding": [0, 1],
    "cropping": [0, 1],
}
#: Passed now and then, for any name.
STRANGE: list[Any] = [0, -1, "bad", None, 1.5, [2], [1, 2, 3, 4], 7, True]

LOSSES: list[Any] = [
    *("mse", "mae", "mape", "msle", "hinge", "squared_hinge", "categorical_hinge", "logcosh"),
    *("kullback_leibler_divergence", "poisson", "binary_crossentropy", "categorical_crossentropy"),
    "cosine_similarity",
    Made("called", ["keras.losses.Huber", 0.5]),
]
METRICS: list[Any] = [
    "mse",
    "accuracy",
    "mae",
    "cosine_proximity",
    "binary_accuracy",
    Made("called", ["keras.metrics.MeanSquaredError", "squares"]),
    Made("called", ["keras.metrics.RootMeanSquaredError"]),
    Made("called", ["keras.metrics.TopKCategoricalAccuracy", 1]),
]
#: Optimizers with what they take.
OPTIMIZERS: list[Any] = [
    *("sgd", "rmsprop", "adagrad", "adadelta", "adam", "adamax", "nadam", "ftrl"),
    Made("optimizer", ("keras.optimizers.SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True})),
    Made("optimizer", ("keras.optimizers.SGD", {"lr": 0.1, "decay": 0.1, "clipnorm": 0.5})),
    Made("optimizer", ("keras.optimizers.Adam", {"lr": 0.01, "amsgrad": True, "clipvalue": 0.1})),
    Made("optimizer", ("keras.optimizers.RMSprop", {"lr": 0.01, "centered": True})),
    Made("optimizer", ("train.AdamOptimizer", {"learning_rate": 0.01})),
    Made("optimizer", ("train.MomentumOptimizer", {"learning_rate": 0.1, "momentum": 0.9})),
]
