"""tf.saved_model: signatures, written and loaded models, and errors."""

from __future__ import annotations

import os
import shutil
import tempfile

from tests.golden.registry import Run, program, raised


class directory:
    """A directory that goes when it is left."""

    def __enter__(self):
        self.path = tempfile.mkdtemp()
        return self.path

    def __exit__(self, *unused):
        shutil.rmtree(self.path, ignore_errors=True)


def lines(message):
    return str(message).splitlines()


@program
def signatures(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    texts = tf.placeholder(tf.string, name="texts")
    sparse = tf.sparse_placeholder(tf.int64, name="sparse")
    utils = tf.saved_model
    infos = {name: utils.build_tensor_info(t) for name, t in (("x", x), ("sparse", sparse))}
    found = {
        "infos": {name: lines(info) for name, info in infos.items()},
        "back": [
            utils.get_tensor_from_tensor_info(infos["x"]).name,
            utils.get_tensor_from_tensor_info(infos["sparse"]).indices.name,
        ],
        "predict": lines(utils.predict_signature_def({"x": x}, {"y": x})),
        "regress": lines(utils.regression_signature_def(texts, x)),
        "classify": lines(utils.classification_signature_def(texts, texts, x)),
        "built": lines(utils.build_signature_def({"a": infos["x"]}, None, "method")),
    }
    signatures = [
        utils.predict_signature_def({"x": x}, {"y": x}),
        utils.regression_signature_def(texts, x),
        utils.classification_signature_def(texts, None, x),
        utils.build_signature_def({}, {}, "tensorflow/serving/regress"),
    ]
    found["valid"] = [utils.is_valid_signature(each) for each in signatures]
    found["refused"] = [
        raised(utils.regression_signature_def, x, x),
        raised(utils.regression_signature_def, texts, texts),
        raised(utils.regression_signature_def, None, x),
        raised(utils.classification_signature_def, texts, None, None),
        raised(utils.classification_signature_def, texts, x, x),
        raised(utils.predict_signature_def, {}, {"y": x}),
    ]
    found["names"] = [
        utils.SERVING,
        utils.tag_constants.TRAINING,
        utils.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY,
        utils.constants.VARIABLES_DIRECTORY,
    ]
    return Run(facts=found)


@program
def written_and_loaded(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    w = tf.get_variable("w", initializer=3.0)
    y = tf.multiply(x, w, name="y")
    local = tf.Variable(5.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="local")
    start = tf.assign(local, w + 1.0, validate_shape=False).op
    asset = tf.constant("tests/golden/README.md", name="asset")
    tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)
    signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})

    def call(session):
        with directory() as path:
            export = os.path.join(path, "export")
            builder = tf.saved_model.Builder(export)
            early = raised(builder.add_meta_graph, ["early"])
            builder.add_meta_graph_and_variables(
                session,
                ["serve", "other"],
                {"sig": signature},
                main_op=start,
                assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            )
            builder.save()
            found = {
                "early": early,
                "files": sorted(
                    os.path.relpath(os.path.join(root, name), export)
                    for root, _, names in os.walk(export)
                    for name in names
                ),
                "is": [tf.saved_model.maybe_saved_model_directory(p) for p in (export, path)],
                "again": raised(builder.add_meta_graph_and_variables, session, ["x"]),
            }
            with tf.Graph().as_default(), tf.Session() as loaded:
                meta = tf.saved_model.loader.load(loaded, ["other", "serve"], export)
                found["tags"] = list(meta.meta_info_def.tags)
                found["signature"] = lines(meta.signature_def["sig"])
                found["y"] = loaded.run("y:0", {"x:0": [1.0, 2.0]})
                found["local"] = loaded.run("local:0")
                found["wrong_tags"] = raised(tf.saved_model.load, loaded, ["none"], export)
            with tf.Graph().as_default(), tf.Session() as loaded:
                tf.saved_model.load(loaded, ["serve", "other"], export, import_scope="in")
                found["scoped"] = loaded.run("in/y:0", {"in/x:0": [4.0]})
            return found

    return Run(setup=[tf.global_variables_initializer(), start], call=call)


@program
def saved_simply(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    w = tf.get_variable("w", initializer=[3.0], use_resource=True)
    y = tf.multiply(x, w, name="y")

    def call(session):
        with directory() as path:
            export = os.path.join(path, "export")
            tf.saved_model.simple_save(session, export, {"x": x}, {"y": y})
            with tf.Graph().as_default(), tf.Session() as loaded:
                meta = tf.saved_model.loader.load(loaded, [tf.saved_model.SERVING], export)
                name = meta.signature_def["serving_default"].outputs["y"].name
                return {
                    "y": loaded.run(name, {"x:0": [2.0]}),
                    "key": sorted(meta.signature_def),
                    "method": meta.signature_def["serving_default"].method_name,
                    "full": raised(tf.saved_model.Builder, path)["class"],
                }

    return Run(setup=[tf.global_variables_initializer()], call=call)


@program
def seeds_of_reloaded_functions(tf):
    """Return a function that is loaded has the seed of the graph in which it is loaded."""

    def reloaded(path, seed):
        with tf.Graph().as_default() as graph:
            graph.seed = seed
            module = tf.compat.v2.saved_model.load(path)
            signature = module.signatures["serving_default"]
            graph.seed = 99
            return [signature.graph.seed, module.add.concrete_functions[0].graph.seed]

    with directory() as path:
        path = os.path.join(path, "model")
        with tf.Graph().as_default() as graph:
            graph.seed = 5
            module = tf.Module()
            module.add = tf.function(
                lambda x: x + 1, input_signature=[tf.TensorSpec([], tf.float32)]
            )
            tf.saved_model.save(module, path)
        return Run(facts={"seeds": [reloaded(path, seed) for seed in (None, 7)]})


@program
def main_operations(tf):
    v = tf.get_variable("v", initializer=3.0)
    w = tf.get_variable("w", initializer=1, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    start = tf.saved_model.main_op.main_op()
    after = tf.saved_model.main_op_with_restore(tf.no_op(name="restore"))
    return [Run({"v": v, "w": w}, setup=[start]), Run({"v": v}, setup=[after])]
