"""Small models that TensorFlow 1.15.5 has converted and run: what they are made of.

A builder adds a model to the default graph and returns its inputs and outputs. They run under
Python 3.7 and TensorFlow 1.15.5 as well as under ours (see `record.py`).
"""

import zlib

import numpy as np

MODELS = {}


def model(builder):
    """Put a builder on the list."""
    MODELS[builder.__name__] = builder
    return builder


def weights(*shape):
    """Numbers that look like weights, the same at every call with one shape."""
    return np.random.RandomState(sum(shape)).uniform(-0.5, 0.5, shape).astype(np.float32)


def feeds(name, shapes, dtypes):
    """Return the feeds of a model: one array for each input."""
    random = np.random.RandomState(zlib.crc32(name.encode()) % 2**31)
    made = []
    for shape, dtype in zip(shapes, dtypes):
        if np.dtype(dtype).kind == "f":
            made.append(random.uniform(-2, 2, shape).astype(dtype))
        elif np.dtype(dtype) == bool:
            made.append(random.rand(*shape) > 0.5)
        else:
            made.append(random.randint(0, 4, shape).astype(dtype))
    return made


def _input(tf, *shape, dtype="float32"):
    return tf.placeholder(dtype, shape, "input")


@model
def mlp(tf):
    x = _input(tf, 2, 8)
    h = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, weights(8, 16)), weights(16)))
    return [x], [tf.nn.softmax(tf.matmul(h, weights(16, 4)) + weights(4), name="probabilities")]


@model
def cnn(tf):
    x = _input(tf, 1, 12, 12, 3)
    h = tf.nn.conv2d(x, weights(3, 3, 3, 8), [1, 1, 1, 1], "SAME")
    h = tf.nn.relu(tf.nn.bias_add(h, weights(8)))
    h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    h = tf.nn.relu6(tf.nn.conv2d(h, weights(3, 3, 8, 12), [1, 2, 2, 1], "VALID") + weights(12))
    h = tf.reshape(h, [1, 2 * 2 * 12])
    return [x], [tf.matmul(h, weights(48, 5)) + weights(5)]


@model
def batch_norms(tf):
    x = _input(tf, 1, 8, 8, 4)
    h = tf.nn.conv2d(x, weights(1, 1, 4, 6), [1, 1, 1, 1], "SAME")
    h = _norm(tf, h, 6)
    h = tf.nn.relu6(h)
    h = tf.nn.depthwise_conv2d(h, weights(3, 3, 6, 2), [1, 1, 1, 1], "SAME")
    h = tf.nn.relu(_norm(tf, h, 12))
    return [x], [tf.reduce_mean(h, [1, 2])]


def _norm(tf, x, channels):
    return tf.nn.fused_batch_norm(
        x,
        1 + weights(channels),
        weights(channels + 1)[1:],
        weights(channels + 2)[2:],
        1 + weights(channels + 3)[3:],
        is_training=False,
    )[0]


@model
def mobile_blocks(tf):
    x = _input(tf, 1, 16, 16, 3)
    h = tf.nn.conv2d(x, weights(3, 3, 3, 8), [1, 2, 2, 1], "SAME")
    h = tf.nn.relu6(_norm(tf, h, 8))
    skip = h
    h = tf.nn.relu6(_norm(tf, tf.nn.conv2d(h, weights(1, 1, 8, 24), [1] * 4, "SAME"), 24))
    h = tf.nn.depthwise_conv2d(h, weights(3, 3, 24, 1), [1] * 4, "SAME")
    h = tf.nn.relu6(_norm(tf, h, 24))
    h = skip + _norm(tf, tf.nn.conv2d(h, weights(1, 1, 24, 8), [1] * 4, "SAME"), 8)
    h = tf.nn.avg_pool(h, [1, 8, 8, 1], [1, 1, 1, 1], "VALID")
    h = tf.squeeze(tf.nn.conv2d(h, weights(1, 1, 8, 5), [1] * 4, "SAME"), [1, 2])
    return [x], [tf.nn.softmax(h)]


@model
def layers_with_variables(tf):
    x = _input(tf, None, 10, 10, 1)
    h = tf.layers.conv2d(
        x,
        4,
        3,
        activation=tf.nn.relu,
        kernel_initializer=tf.constant_initializer(weights(3, 3, 1, 4)),
    )
    h = tf.layers.max_pooling2d(h, 2, 2)
    h = tf.layers.flatten(h)
    h = tf.layers.dense(h, 6, kernel_initializer=tf.constant_initializer(weights(64, 6)))
    return [x], [tf.identity(tf.nn.sigmoid(h), "scores")]


@model
def dilated_convolution(tf):
    x = _input(tf, 1, 8, 8, 2)
    h = tf.nn.atrous_conv2d(x, weights(3, 3, 2, 3), 2, "SAME")
    return [x], [tf.nn.relu(tf.nn.bias_add(h, weights(3)))]


@model
def transposed_convolution(tf):
    x = _input(tf, 1, 4, 4, 3)
    h = tf.nn.conv2d_transpose(x, weights(3, 3, 2, 3), [1, 8, 8, 2], [1, 2, 2, 1], "SAME")
    return [x], [tf.nn.tanh(h)]


@model
def arithmetic(tf):
    x, y = _input(tf, 2, 3, 4), _input(tf, 2, 3, 4)
    h = tf.maximum(x * y - x / (y * y + 1.0), tf.minimum(x, y))
    h = tf.squared_difference(h, y) + tf.exp(-tf.abs(x)) + tf.sqrt(tf.square(y))
    h = h + tf.math.rsqrt(h * h + 1.0) + tf.floor(x) + tf.log(h * h + 2.0) + tf.sin(x) + tf.cos(y)
    return [x, y], [h, tf.pow(tf.abs(x), 2.5), tf.floordiv(x, y), tf.add_n([x, y, h])]


@model
def activations(tf):
    x = _input(tf, 1, 4, 4, 3)
    alpha = weights(1, 1, 3).reshape(1, 1, 3)
    prelu = tf.nn.relu(x) + alpha * -tf.nn.relu(-x)
    return [x], [
        tf.nn.elu(x),
        tf.nn.leaky_relu(x, 0.3),
        tf.nn.sigmoid(x),
        prelu,
        tf.nn.log_softmax(x),
        tf.nn.relu(x),
        tf.nn.relu6(x),
        tf.tanh(x),
    ]


@model
def shapes(tf):
    x = _input(tf, 2, 4, 6)
    a, b = tf.split(x, 2, 2)
    h = tf.concat([b, a], 1)
    u, v = tf.unstack(h)
    h = tf.stack([v, u], 2)
    h = tf.transpose(h, [2, 0, 1])
    h = tf.pad(h, [[0, 0], [1, 0], [0, 2]])
    return [x], [
        tf.expand_dims(h, 1),
        tf.tile(h, [1, 2, 1]),
        tf.slice(h, [0, 1, 0], [2, 3, 2]),
        h[:, 1::2, ::-1],
        tf.squeeze(h[0:1], [0]),
        tf.reverse(h, [1]),
        tf.reshape(h, [2, -1]),
    ]


@model
def more_shapes(tf):
    x = _input(tf, 1, 4, 4, 8)
    h = tf.depth_to_space(x, 2)
    a, b, c = tf.split(x, [1, 3, 4], 3)
    return [x], [
        h,
        tf.space_to_depth(x, 2),
        a,
        b + 0.5,
        c,
        tf.batch_to_space_nd(
            tf.space_to_batch_nd(x, [2, 2], [[0, 0], [0, 0]]) * 2.0, [2, 2], [[0, 0], [0, 0]]
        ),
        tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"),
        tf.pad(x, [[0, 0], [0, 0], [2, 1], [0, 0]], constant_values=3.0),
    ]


@model
def reductions(tf):
    x = _input(tf, 2, 3, 4)
    return [x], [
        tf.reduce_mean(x, 1),
        tf.reduce_sum(x, [0, 2]),
        tf.reduce_max(x, 2, keepdims=True),
        tf.reduce_min(x, 0),
        tf.reduce_prod(x, 1),
        tf.argmax(x, 2),
        tf.argmin(x, 1),
    ]


@model
def choices(tf):
    x, y = _input(tf, 3, 4), _input(tf, 3, 4)
    greater = tf.greater(x, y)
    rest = tf.logical_or(tf.less(x, 0.5), tf.logical_not(tf.logical_and(greater, x >= y)))
    values, indices = tf.nn.top_k(x, 2)
    return [x, y], [
        tf.where(greater, x, y),
        rest,
        tf.equal(x, y),
        x <= y,
        tf.not_equal(x, y),
        values,
        indices,
    ]


@model
def indices(tf):
    x = _input(tf, 3, 2, dtype="int32")
    table = tf.constant(weights(4, 5))
    return [x], [
        tf.gather(table, x),
        tf.one_hot(x, 4),
        tf.cast(x, tf.float32) * 0.5,
        tf.nn.embedding_lookup(table, x) * 2.0,
        x + 1,
        tf.gather_nd(table, x),
        tf.floormod(x, 3),
        tf.range(0, 5) + 1,
    ]


@model
def pictures(tf):
    x = _input(tf, 1, 5, 5, 3)
    return [x], [
        tf.image.resize_bilinear(x, [8, 9]),
        tf.image.resize_bilinear(x, [9, 9], align_corners=True),
        tf.image.resize_nearest_neighbor(x, [7, 10]),
        tf.nn.lrn(x, 2, 1.0, 0.1, 0.5),
        tf.nn.l2_normalize(x, 3),
    ]


@model
def unfused(tf):
    """Return an output before an activation, and one value with two uses, keep their operations."""
    x = _input(tf, 1, 6, 6, 2)
    h = tf.nn.conv2d(x, weights(3, 3, 2, 4), [1] * 4, "SAME") + weights(4)
    return [x], [h, tf.nn.relu(h), tf.nn.relu6(h) * 2.0]


@model
def batched_matmul(tf):
    x = _input(tf, 4, 6)
    h = tf.matmul(x, weights(5, 6), transpose_b=True)
    return [x], [tf.nn.relu(h), tf.matmul(h, x, transpose_a=True)]


@model
def wide(tf):
    """Weights large enough to be quantized."""
    x = _input(tf, 2, 8, 8, 4)
    h = tf.nn.relu(tf.nn.conv2d(x, weights(3, 3, 4, 32), [1] * 4, "SAME") + weights(32))
    h = tf.nn.depthwise_conv2d(h, weights(6, 6, 32, 1), [1, 2, 2, 1], "SAME")
    h = tf.reshape(h, [2, 4 * 4 * 32])
    h = tf.nn.relu(tf.matmul(h, weights(512, 40)) + weights(40))
    return [x], [tf.matmul(h, weights(40, 3))]


@model
def batched_products(tf):
    """Products of stacks of matrices: with constants, transposed, repeated, one alone."""
    x, y, z = _input(tf, 2, 3, 4), _input(tf, 2, 4, 5), _input(tf, 2, 1, 3, 4)
    return [x, y, z], [
        tf.matmul(x, y),
        tf.matmul(x, weights(2, 5, 4), transpose_b=True),
        tf.matmul(weights(2, 3, 4), y) + weights(5),
        tf.matmul(x, y) * 2.0,
        tf.matmul(y, x, transpose_a=True, transpose_b=True),
        tf.matmul(z, weights(3, 4, 5)),
        tf.matmul(z, y),
        tf.matmul(x, weights(4, 5)),
        tf.matmul(x, y[:, :, :1]),
        tf.nn.relu(tf.matmul(x[:1], y[:1])),
        tf.raw_ops.BatchMatMul(x=x, y=y),
        tf.einsum("bij,bjk->bik", x, y),
    ]


@model
def attention(tf):
    x = _input(tf, 2, 4, 8)
    heads = []
    for i in range(3):
        h = tf.reshape(tf.tensordot(x, weights(8, 8) + i, 1), [2, 4, 2, 4])
        heads.append(tf.transpose(h, [0, 2, 1, 3]))
    query, key, value = heads
    scores = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) * 0.05)
    h = tf.transpose(tf.matmul(scores, value), [0, 2, 1, 3])
    return [x], [tf.reshape(h, [2, 4, 8])]


@model
def random_numbers(tf):
    """Return the numbers of a seed are constants of the model."""
    tf.set_random_seed(5)
    x = _input(tf, 2, 3, 4)
    return [x], [
        tf.random_uniform([2, 3, 4], seed=3) + x,
        tf.random_uniform([2, 3, 4], -2.0, 5.0) + x,
        tf.nn.dropout(x, rate=0.5, seed=3),
        tf.nn.dropout(x, rate=0.25, noise_shape=[2, 1, 4]),
        tf.layers.dropout(x, 0.5, training=True),
    ]


@model
def simplified(tf):
    """Arithmetic with constants of which little is left."""
    x = _input(tf, 2, 3, 4)
    h = tf.exp(x)
    return [x], [
        tf.tanh(x + 0.0) * 1.0,
        tf.exp((x - 1.0) + weights(4)) / 3.0,
        tf.exp(1.0 - (2.0 - x)),
        tf.exp((x * 2.0) * weights(4)),
        (x * np.zeros(4, np.float32) + h) * 2.0,
        tf.reshape(tf.transpose(x, [0, 1, 2]), [2, 3, 4]) - 0.5,
        tf.transpose(x[:, :1], [1, 0, 2]),
        tf.maximum(tf.minimum(x, 1.0), -1.0),
        tf.tile(x, [1, 2, 1]),
        tf.nn.relu(tf.reshape(x + weights(4), [6, 4])),
        tf.nn.relu(tf.transpose(x - weights(4), [1, 0, 2])),
        tf.nn.relu(tf.nn.bias_add(tf.tensordot(x, weights(4, 5), 1), weights(5))),
        tf.nn.conv1d(x, weights(2, 4, 3), 1, "SAME") + weights(3),
        tf.add_n([x, h]),
    ]


@model
def hard_swish(tf):
    """TensorFlow's converter crashes where the product is not the only one."""
    x = _input(tf, 2, 3, 4)
    return [x], [x * tf.nn.relu6(x + 3.0) * (1 / 6.0)]


@model
def hard_swish_by_division(tf):
    x = _input(tf, 2, 3, 4)
    return [x], [x * tf.nn.relu6(x + 3.0) / 6.0]


@model
def parametric_rectifier(tf):
    x = _input(tf, 1, 8, 8, 3)
    h = tf.nn.conv2d(x, weights(3, 3, 3, 4), [1] * 4, "SAME") + weights(4)
    alpha = weights(1, 1, 4)
    return [x], [tf.nn.relu(h) - alpha * tf.nn.relu(-h), tf.nn.relu(x) + -0.25 * tf.nn.relu(-x)]


@model
def more_tensors(tf):
    x, filters = _input(tf, 1, 3, 3, 2), _input(tf, 2, 2, 2, 3)
    matrix = tf.reshape(x, [2, 9])[:, :4]
    return [x, filters], [
        tf.nn.conv2d(x, filters, [1] * 4, "SAME"),
        tf.fill([2, 3], matrix[0, 0]),
        tf.matrix_set_diag(matrix, matrix[:, 0]),
        tf.where_v2(x > 0.0, x, -x),
        tf.where(matrix > 0.0),
        tf.unique(tf.reshape(tf.round(matrix), [8]))[1],
        tf.compat.v2.image.resize(x, [6, 9], "nearest"),
        tf.cast(tf.shape(x), tf.float32) * 2.0,
        tf.cast(x, tf.int32) // 2,
        tf.squeeze(tf.norm(x, keepdims=True)),
    ]


def custom(tf):
    """Operations that TensorFlow knows and TensorFlow Lite does not."""
    x = _input(tf, 2, 3, 4)
    volume = tf.reshape(x, [1, 2, 3, 4, 1])
    picture = tf.reshape(x, [1, 2, 3, 4])
    return [x], [
        tf.math.lgamma(x),
        tf.nn.relu(tf.atan(x)) + 1.0,
        tf.cumsum(x, 1, exclusive=True),
        tf.nn.conv3d(volume, weights(2, 2, 2, 1, 2), [1] * 5, "SAME"),
        tf.matrix_band_part(x, 0, -1),
        tf.image.crop_and_resize(
            picture, [[0.0, 0.0, 1.0, 1.0]], [0], [2, 2], extrapolation_value=0.5
        ),
        tf.nn.max_pool_with_argmax(picture, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")[1],
        tf.strings.join([tf.strings.as_string(x), "ab"], "-"),
        tf.multinomial(x[0], 3, seed=3),
        tf.random_uniform([2, 3, 4]) + x,
        tf.raw_ops.RandomStandardNormal(shape=[4], dtype=tf.float32, seed=2**40 + 1, seed2=-5),
        tf.raw_ops.Bucketize(input=x, boundaries=[0.0, 0.5]),
        tf.Print(x, [x], "x is ") - 1.0,
    ]


def detector(tf):
    """Boxes and scores of three classes, and a background, from a picture."""
    x = _input(tf, 1, 4, 6, 2)
    boxes = tf.reshape(tf.nn.conv2d(x, weights(3, 3, 2, 8), [1] * 4, "SAME"), [1, 48, 4])
    scores = tf.reshape(tf.nn.conv2d(x, weights(1, 1, 2, 8), [1] * 4, "SAME"), [1, 48, 4])
    tf.identity(boxes, "boxes")
    tf.sigmoid(scores, "scores")
    random = np.random.RandomState(7)
    sizes = random.uniform(0.1, 0.4, (48, 2))
    anchors = np.concatenate([random.uniform(0.2, 0.8, (48, 2)), sizes], 1)
    tf.constant(anchors.astype(np.float32), name="anchors")


@model
def quantization_aware(tf):
    """Fake quantization of everything, as quantization-aware training leaves it."""
    x = _input(tf, 1, 8, 8, 3)
    fake = tf.quantization.fake_quant_with_min_max_args

    def conv(h, w, kind, stride=1):
        return kind(h, fake(w, -0.5, 0.5), [1, stride, stride, 1], "SAME")

    h = fake(x, -2.0, 2.0)
    h = conv(h, weights(3, 3, 3, 8), tf.nn.conv2d, 2) + weights(8)
    h = fake(tf.nn.relu6(h), 0.0, 6.0)
    skip = h
    h = conv(h, weights(3, 3, 8, 1), tf.nn.depthwise_conv2d) + weights(8)
    h = fake(tf.nn.relu(h), 0.0, 4.0)
    h = fake(conv(h, weights(1, 1, 8, 8), tf.nn.conv2d) + weights(8), -3.0, 3.0)
    h = fake(h + skip, -2.0, 7.0)
    h = tf.concat([h, tf.nn.max_pool(skip, [1, 3, 3, 1], [1, 1, 1, 1], "SAME")], 3)
    h = fake(h, -2.0, 7.0)
    h = fake(tf.nn.avg_pool(h, [1, 4, 4, 1], [1, 1, 1, 1], "VALID"), -2.0, 7.0)
    h = tf.reshape(h, [1, 16])
    h = fake(tf.matmul(h, fake(weights(16, 10), -0.5, 0.5)) + weights(10), -6.0, 6.0)
    return [x], [tf.nn.softmax(h)]


@model
def quantized_pieces(tf):
    """Operations that work on quantized values, each behind a range of its own."""
    x = _input(tf, 1, 6, 6, 4)
    fake = tf.quantization.fake_quant_with_min_max_args
    h = fake(x, -2.0, 2.0)
    return [x], [
        fake(tf.nn.sigmoid(h), 0.0, 255.0 / 256),
        fake(tf.tanh(h), -1.0, 127.0 / 128),
        fake(h * h, 0.0, 4.0),
        fake(h - 1.0, -3.0, 1.0),
        fake(tf.reduce_mean(h, [1, 2], keepdims=True), -1.0, 1.0),
        tf.pad(h, [[0, 0], [1, 1], [2, 0], [0, 0]]),
        tf.image.resize_bilinear(h, [12, 12]),
        tf.reshape(h, [36, 4]),
        tf.transpose(h, [0, 2, 1, 3]),
        h[:, 1:4, :, 2:],
        fake(tf.nn.leaky_relu(h, 0.2), -1.0, 2.0),
        tf.argmax(h, 3),
    ]
