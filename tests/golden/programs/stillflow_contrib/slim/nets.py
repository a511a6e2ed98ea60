"""tf.contrib.slim.nets: the graphs of the networks, node for node, and their end points."""

from __future__ import annotations

import importlib

from tests.golden.registry import Run, program, raised


def nets_of(tf):
    """tf.contrib.slim.nets: nothing else imports it."""
    return importlib.import_module(f"{tf.__name__}.contrib.slim.nets")


def built(tf, build, size, channels=3, values=False, **facts):
    """Return the facts about a network of images of a size; the values of small ones too."""
    tf.set_random_seed(3)
    images = tf.placeholder(tf.float32, [2, size, size, channels])
    net, end_points = build(images)
    for name in ("variables", "trainable_variables", "regularization_losses", "moving_vars"):
        facts[name] = len(tf.get_collection(name))
    facts["end_points"] = [f"{n} {t.name} {t.shape}" for n, t in sorted(end_points.items())]
    facts["net"] = [net.name, str(net.shape)]
    if not values:
        return Run(facts=facts)
    feeds = {images: [[[[0.1 * c + 0.01 * (x + y + b) for c in range(channels)]
                        for x in range(size)] for y in range(size)] for b in range(2)]}
    return Run({"net": net}, feeds, setup=[tf.global_variables_initializer()], facts=facts)


def network(name, size, **options):
    """Return a program of one of the networks with its argument scope."""
    module, _, function = name.partition(".")

    def build(tf):
        nets = getattr(nets_of(tf), module)
        scope = getattr(nets, f"{options.get('scope') or function}_arg_scope")()
        with tf.contrib.slim.arg_scope(scope):
            return built(tf, lambda images: getattr(nets, function)(
                images, options.get("classes", 5), is_training=options.get("training", False)),
                size)

    build.__name__ = function
    return build


alexnet_v2 = program(network("alexnet.alexnet_v2", 224, training=True))
overfeat = program(network("overfeat.overfeat", 231))
vgg_a = program(network("vgg.vgg_a", 224, scope="vgg", training=True))
vgg_16 = program(network("vgg.vgg_16", 224, scope="vgg"))
vgg_19 = program(network("vgg.vgg_19", 224, scope="vgg"))
inception_v1 = program(network("inception.inception_v1", 224, training=True))
inception_v2 = program(network("inception.inception_v2", 64))
inception_v3 = program(network("inception.inception_v3", 139))
resnet_v1_50 = program(network("resnet_v1.resnet_v1_50", 32, scope="resnet"))
resnet_v2_50 = program(network("resnet_v2.resnet_v2_50", 32, scope="resnet"))


@program
def variables_of_deep_resnets(tf):
    """Graphs of thousands of nodes, of which the names of the variables are recorded alone."""
    found = {}
    for name, depth in (("resnet_v1", 101), ("resnet_v2", 152)):
        nets = getattr(nets_of(tf), name)
        with tf.Graph().as_default(), tf.contrib.slim.arg_scope(nets.resnet_arg_scope()):
            net, _ = getattr(nets, f"{name}_{depth}")(tf.zeros([1, 32, 32, 3]), 2)
            variables = [f"{v.op.name} {v.shape}" for v in tf.global_variables()]
            found[name] = [net.name, len(variables), *variables[::7]]
    return Run(facts=found)


@program(rtol=1e-4, atol=1e-5, reason="eight units of convolutions add up their rounding")
def resnet_v1_dilated(tf):
    nets = nets_of(tf).resnet_v1
    blocks = [nets.resnet_v1_block("block1", 4, 2, 2), nets.resnet_v1_block("block2", 6, 3, 2),
              nets.resnet_v1_block("block3", 8, 2, 1)]
    with tf.contrib.slim.arg_scope(nets.resnet_arg_scope(batch_norm_scale=False)):
        return built(tf, lambda images: nets.resnet_v1(
            images, blocks, None, is_training=False, global_pool=False, output_stride=8), 33,
            values=True)


@program
def resnet_v2_of_few_blocks(tf):
    nets = nets_of(tf).resnet_v2
    blocks = [nets.resnet_v2_block("block1", 2, 3, 2), nets.resnet_v2_block("block2", 3, 2, 1)]

    def build(images):
        return nets.resnet_v2(images, blocks, 4, False, output_stride=8, scope="tiny")

    with tf.contrib.slim.arg_scope(nets.resnet_arg_scope()):
        run = built(tf, build, 17, values=True)
        images = tf.placeholder(tf.float32, [2, 17, 17, 3])
        run.facts["stride"] = raised(nets.resnet_v2, images, blocks, output_stride=16, scope="a")
        run.facts["odd"] = raised(nets.resnet_v2, images, blocks, output_stride=6, scope="b")
    return run


@program
def parts_of_inception(tf):
    nets = nets_of(tf).inception
    images = tf.placeholder(tf.float32, [None, None, None, 3])
    found = {}
    for name, last in (("v1", "Mixed_3b"), ("v2", "Conv2d_2c_3x3"), ("v3", "MaxPool_3a_3x3")):
        base = getattr(nets, f"inception_{name}_base")
        options = {} if name == "v1" else {"depth_multiplier": 0.1, "min_depth": 4}
        net, end_points = base(images, last, **options)
        found[name] = [net.name, sorted(end_points)]
    with tf.Graph().as_default():
        small = tf.zeros([1, 64, 64, 3])
        found["unknown"] = raised(nets.inception_v1_base, small, "Mixed_9z")
    found["negative"] = raised(nets.inception_v3, images, depth_multiplier=-1.0)
    scope = nets.inception_v3_arg_scope(use_fused_batchnorm=False, updates_collections=None)
    with tf.contrib.slim.arg_scope(scope):
        nets.inception_v3_base(images, "Conv2d_1a_3x3", scope="plain")
    with tf.contrib.slim.arg_scope(nets.inception_v1_arg_scope(use_batch_norm=False)):
        nets.inception_v1_base(images, "Mixed_3b", scope="unnormalized")
    return Run(facts=found)


@program
def resnet_parts(tf):
    utils = nets_of(tf).resnet_utils
    x = tf.placeholder(tf.float32, [1, 7, 7, 2])
    tf.set_random_seed(3)
    fetches = {
        "subsample": utils.subsample(x, 2),
        "conv": utils.conv2d_same(x, 3, 3, 2, rate=1, scope="conv"),
        "dilated": utils.conv2d_same(x, 3, 3, 1, rate=2, scope="dilated"),
        "unit": nets_of(tf).resnet_v1.bottleneck(x, 4, 2, 2),
    }
    feeds = {x: [[[[0.1 * c + i - j for c in range(2)] for i in range(7)] for j in range(7)]]}
    facts = {"same": utils.subsample(x, 1) is x, "block": list(utils.Block._fields)}
    return Run(fetches, feeds, setup=[tf.global_variables_initializer()], facts=facts)
