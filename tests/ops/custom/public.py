"""Public operations with fixed inputs: what they give and what graphs they make.

TensorFlow runs this with its own headers and Stillflow with its own; `test_public.py` compares the
two. The sources are not part of this repository. FOLDER has a folder `owner+name` for each public
repository, and this also runs on Python 3.7:

    python tests/ops/custom/public.py FOLDER RESULTS tensorflow|stillflow [NAME ...]
"""

import importlib
import os
import pickle
import re
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import building

GUIDE = "NVIDIA+tensorflow/tensorflow/examples/adding_an_op/"
KPCONV = "HuguesTHOMAS+KPConv/tf_custom_ops/"
FLEX = "cgtuebingen+Flex-Convolution/user_ops/"
MESH = "google+tf_mesh_renderer/mesh_renderer/kernels/"
LATTICE = "tensorflow+lattice/tensorflow_lattice/cc/"
CRF = "sadeepj+crfasrnn_keras/src/cpp/"
CTC = "baidu-research+warp-ctc/"
RNNT = "HawkAaron+warp-transducer/"
SEARCH = "NVIDIA+OpenSeq2Seq/ctc_decoder_with_lm/"
LM = "kpu+kenlm/"
LAUNCHERS = os.path.join(building.SOURCES, "launchers.cc")
CLOUD = KPCONV + "cpp_utils/cloud/cloud.cpp"
NEIGHBORS = [KPCONV + "tf_neighbors/neighbors/neighbors.cpp", CLOUD]
SUBSAMPLING = [KPCONV + "tf_subsampling/grid_subsampling/grid_subsampling.cpp", CLOUD]
# A library: its sources, then folders of headers. "*" stands for all names but tests and programs.
BUILDS = {
    "zero_out_1": ([GUIDE + "zero_out_op_kernel_1.cc"], []),
    "zero_out_2": ([GUIDE + "zero_out_op_kernel_2.cc"], []),
    "zero_out_3": ([GUIDE + "zero_out_op_kernel_3.cc"], []),
    "interpolate": (["charlesq34+pointnet2/tf_ops/3d_interpolation/tf_interpolate.cpp"], []),
    "coref": (["kentonl+e2e-coref/coref_kernels.cc"], []),
    "roi_pool": (
        ["smallcorgi+Faster-RCNN_TF/lib/roi_pooling_layer/roi_pooling_op.cc",
         LAUNCHERS],
        [],
    ),
    "rasterize": (
        [MESH + "rasterize_triangles_op.cc", MESH + "rasterize_triangles_grad.cc",
         MESH + "rasterize_triangles_impl.cc"],
        ["google+tf_mesh_renderer", MESH],
    ),
    "high_dim": ([CRF + "high_dim_filter.cc", CRF + "modified_permutohedral.cc"], []),
    "neighbors": ([KPCONV + "tf_neighbors/tf_neighbors.cpp", *NEIGHBORS], []),
    "batch_neighbors": ([KPCONV + "tf_neighbors/tf_batch_neighbors.cpp", *NEIGHBORS], []),
    "subsampling": ([KPCONV + "tf_subsampling/tf_subsampling.cpp", *SUBSAMPLING], []),
    "batch_subsampling": ([KPCONV + "tf_subsampling/tf_batch_subsampling.cpp", *SUBSAMPLING], []),
    "flex": ([FLEX + "ops/*.cc", FLEX + "kernels/*.cc"], [FLEX]),
    "nn_distance": (
        ["fanhqme+PointSetGeneration/depthestimate/tf_nndistance.cpp", LAUNCHERS], [],
    ),
    "approx_match": (["wentaoyuan+pcn/pc_distance/tf_approxmatch.cpp", LAUNCHERS], []),
    "word2vec": (["tensorflow+models/word2vec_ops.cc", "tensorflow+models/word2vec_kernels.cc"],
                 []),
    "lattice": (
        [LATTICE + "ops/lattice_interpolation_ops.cc", LATTICE + "ops/monotone_lattice_ops.cc",
         LATTICE + "kernels/hypercube_interpolation_kernels.cc",
         LATTICE + "kernels/lattice_interpolation_base.cc",
         LATTICE + "kernels/lattice_raw_iterator.cc",
         LATTICE + "kernels/monotone_lattice_kernels.cc",
         LATTICE + "kernels/simplex_interpolation_kernels.cc",
         LATTICE + "lib/lattice_structure.cc"],
        ["tensorflow+lattice"],
    ),
    "calibration": (
        [LATTICE + "ops/monotonic_projection_op.cc", LATTICE + "ops/pwl_indexing_calibrator_ops.cc",
         LATTICE + "kernels/monotonic_projection_kernel.cc",
         LATTICE + "kernels/pwl_indexing_calibrator_kernels.cc"],
        ["tensorflow+lattice"],
    ),
    "trfl": (["deepmind+trfl/trfl/cc/distribution_ops.cc"], []),
    "warp_ctc": (
        [CTC + "tensorflow_binding/src/ctc_op_kernel.cc",
         CTC + "tensorflow_binding/src/warpctc_op.cc", CTC + "src/ctc_entrypoint.cpp"],
        [CTC + "include"],
    ),
    "warp_rnnt": (
        [RNNT + "tensorflow_binding/src/warprnnt_op.cc", RNNT + "src/rnnt_entrypoint.cpp"],
        [RNNT + "include"],
    ),
    "beam_search": (
        [SEARCH + "beam_search.cc", LM + "lm/*.cc", LM + "util/*.cc",
         LM + "util/double-conversion/*.cc"],
        ["NVIDIA+OpenSeq2Seq", LM],
    ),
}  # fmt: skip
# Libraries that need headers which TensorFlow's package does not have: they have to run, and are
# compared where $TENSORFLOW_SRC_PATH holds those headers.
ONLY_RUN = () if os.environ.get("TENSORFLOW_SRC_PATH") else ("warp_ctc", "beam_search")
# Their rows stand in the order of a std::unordered_map, and TensorFlow's library brings the table
# of primes of an older C++ library along, which orders them in its way.
UNORDERED = ("subsampling", "batch_subsampling")
FLAGS = ["-fopenmp", "-DKENLM_MAX_ORDER=6", "-DNDEBUG"]


def sources_of(folder, name):
    """Return the files of a library, and the folders of its headers."""
    files = []
    for path in BUILDS[name][0]:
        path = os.path.join(folder, path)
        if "*" in path:
            parent, ending = os.path.dirname(path), path.rpartition("*")[2]
            out = ("test" + ending, "main" + ending, ".cu" + ending)
            files += [os.path.join(parent, each) for each in sorted(os.listdir(parent))
                      if each.endswith(ending) and not each.endswith(out)]  # fmt: skip
        else:
            files.append(path)
    return files, [os.path.join(folder, path) for path in BUILDS[name][1]]


class Programs:
    """Operations on random inputs, the same for both implementations."""

    def __init__(self, tf, folder, libraries):
        self.tf, self.folder, self.libraries = tf, folder, libraries

    def floats(self, *shape):
        return self.random.rand(*shape).astype("f")

    def run(self, name):
        """Return the names and values of a program, and the nodes of its graph; or its error."""
        tf, self.random = self.tf, np.random.RandomState(7)
        with tf.Graph().as_default() as graph, tf.Session() as session:
            fetches = getattr(self, name)()
            results = {}
            for key, fetch in sorted(fetches.items()):
                try:
                    if callable(fetch):
                        fetch = fetch()
                    results[key] = [np.asarray(each) for each in _leaves(session.run(fetch))]
                except (tf.errors.OpError, ValueError, TypeError) as error:
                    message = getattr(error, "message", str(error))
                    told = re.sub(r" \(defined at [^)]*\)", "", message.splitlines()[0])
                    results[key] = [type(error).__name__, told]
            results["graph"] = [
                "{} {} {}".format(node.name, node.op, list(node.input))
                for node in graph.as_graph_def().node
            ]
        return results

    def zero_out_1(self):
        ops = self.libraries["zero_out_1"]
        return {"y": ops.zero_out([5, 4, 3]), "type": lambda: ops.zero_out([1.0])}

    def zero_out_2(self):
        tf, ops = self.tf, self.libraries["zero_out_2"]
        kinds = ("float32", "int32")
        fetches = {kind: ops.zero_out(tf.constant([5, 4, 3], kind)) for kind in kinds}
        fetches["vector"] = lambda: ops.zero_out([[1.0]])
        # The last one: TensorFlow runs nothing more of a graph with a node that has no kernel.
        fetches["without kernel"] = lambda: ops.zero_out(tf.constant([1], tf.uint8))
        return fetches

    def zero_out_3(self):
        tf, ops = self.tf, self.libraries["zero_out_3"]
        x = tf.constant([5, 4, 3])
        return {
            "first": ops.zero_out(x), "second": ops.zero_out(x, preserve_index=1),
            "beyond": ops.zero_out(x, preserve_index=7),
            "negative": lambda: ops.zero_out(x, preserve_index=-1),
        }  # fmt: skip

    def interpolate(self):
        ops = self.libraries["interpolate"]
        found = ops.three_nn(self.floats(2, 30, 3), self.floats(2, 12, 3))
        points, weights = self.floats(2, 12, 5), self.floats(2, 30, 3)
        return {
            "found": found, "made": ops.three_interpolate(points, found.idx, weights),
            "grad": ops.three_interpolate_grad(points, found.idx, weights, self.floats(2, 30, 5)),
            "rank": lambda: ops.three_nn(self.floats(2, 3), self.floats(2, 12, 3)),
        }  # fmt: skip

    def nn_distance(self):
        ops = self.libraries["nn_distance"]
        a, b = self.floats(2, 20, 3), self.floats(2, 25, 3)
        found = ops.nn_distance(a, b)
        grads = self.floats(2, 20), self.floats(2, 25)
        return {
            "found": found,
            "grad": ops.nn_distance_grad(a, b, grads[0], found.idx1, grads[1], found.idx2),
        }

    def approx_match(self):
        ops = self.libraries["approx_match"]
        a, b = self.floats(2, 20, 3), self.floats(2, 25, 3)
        match = ops.approx_match(a, b)
        # The kernel adds to what the first gradient's memory held, but for its first column.
        grads = ops.match_cost_grad(a, b, match)
        return {
            "match": match, "cost": ops.match_cost(a, b, match),
            "grad": [grads[0][:, :, 0], grads[1]],
            "rank": ops.approx_match(a[0], b),
        }  # fmt: skip

    def roi_pool(self):
        ops = self.libraries["roi_pool"]
        x = self.floats(1, 14, 14, 3)
        rois = np.array([[0, 0, 0, 100, 100], [0, 30, 40, 120, 200], [0, 5, 5, 5, 5]], "f")
        how = {"pooled_height": 3, "pooled_width": 3, "spatial_scale": 1 / 16.0}
        made = ops.roi_pool(x, rois, **how)
        return {
            "made": made, "grad": ops.roi_pool_grad(x, rois, made[1], made[0], **how),
            "rank": ops.roi_pool(x[0], rois, **how),
        }  # fmt: skip

    def coref(self):
        ops, count = self.libraries["coref"], 40
        starts = np.sort(self.random.randint(0, 50, (1, count))).astype("i")
        ends = starts + self.random.randint(0, 6, (1, count)).astype("i")
        scores = self.floats(1, count)
        return {
            "sorted": ops.extract_spans(scores, starts, ends, [12], 100, True),
            "unsorted": ops.extract_spans(scores, starts, ends, [9], 100, False),
        }

    def rasterize(self):
        ops = self.libraries["rasterize"]
        corners = (self.random.rand(8, 4) * 2 - 1).astype("f")
        corners[:, 3] = 1
        triangles = self.random.randint(0, 8, (12, 3)).astype("i")
        size = {"image_width": 24, "image_height": 18}
        made = ops.rasterize_triangles(corners, triangles, **size)
        grad = ops.rasterize_triangles_grad(
            corners, triangles, made.barycentric_coordinates, made.triangle_ids,
            self.floats(18, 24, 3), **size
        )  # fmt: skip
        return {"made": made, "grad": grad}

    def high_dim(self):
        ops, raw, rgb = self.libraries["high_dim"], self.floats(3, 12, 10), self.floats(3, 12, 10)
        theta = {"theta_alpha": 160.0, "theta_beta": 3.0, "theta_gamma": 3.0}
        return {
            "{} {}".format(bilateral, backwards): ops.high_dim_filter(
                raw, rgb * 255, bilateral=bilateral, backwards=backwards, **theta
            )
            for bilateral in (True, False)
            for backwards in (True, False)
        }

    def neighbors(self):
        queries, supports = self.floats(60, 3), self.floats(80, 3)
        found = self.libraries["neighbors"].ordered_neighbors(queries, supports, 0.4)
        return {"found": found, "shape": self.tf.shape(found)}

    def batch_neighbors(self):
        ops = self.libraries["batch_neighbors"]
        queries, supports = self.floats(60, 3), self.floats(80, 3)
        sizes = np.array([30, 30], "i"), np.array([40, 40], "i")
        return {"found": ops.batch_ordered_neighbors(queries, supports, sizes[0], sizes[1], 0.4)}

    def subsampling(self):
        return {"points": self.libraries["subsampling"].grid_subsampling(self.floats(200, 3), 0.3)}

    def batch_subsampling(self):
        ops, sizes = self.libraries["batch_subsampling"], np.array([90, 110], "i")
        return {"points": ops.batch_grid_subsampling(self.floats(200, 3), sizes, 0.3)}

    def flex(self):
        """Run all but the search of neighbours, which reads a missing input: TensorFlow aborts."""
        ops = self.libraries["flex"]
        near = self.random.randint(0, 20, (2, 6, 20)).astype("i")
        places, features = self.floats(2, 3, 20), self.floats(2, 4, 20)
        theta, bias, top = self.floats(3, 4, 5), self.floats(4, 5), self.floats(2, 5, 20)
        pooled = ops.flex_pool(features, near)
        return {
            "conv": ops.flex_conv(features, theta, bias, near, places),
            "conv grad": ops.flex_conv_grad(features, theta, bias, near, places, top),
            "deconv": ops.flex_deconv(features, theta, bias, near, places),
            "deconv grad": ops.flex_deconv_grad(features, theta, bias, near, places, top),
            "pool": pooled,
            "pool grad": ops.flex_pool_grad(features, near, features, pooled.argmax),
            "rank": lambda: ops.flex_pool(features[0], near),
        }

    def word2vec(self):
        """Train on given examples; negative ones are drawn with no seed, but of one word alone."""
        tf, ops = self.tf, self.libraries["word2vec"]
        path = os.path.join(self.folder, "words.txt")
        # No two words are equally frequent: those stand in the order of a std::unordered_map.
        words = ["w{}".format(i) for i in range(3, 20) for _ in range(i)]
        self.random.shuffle(words)
        with open(path, "w") as file:
            file.write(" ".join(words))
        read = ops.skipgram_word2vec(filename=path, batch_size=8, min_count=3, subsample=0.0)
        weights = [tf.Variable(self.floats(17, 6), use_resource=False) for _ in range(2)]
        examples, labels = self.random.randint(0, 17, (2, 8)).astype("i")
        with tf.control_dependencies([v.initializer for v in weights]):
            ready = tf.no_op()
        trained = []
        for negative in (0, 3):
            with tf.control_dependencies(trained):
                train = ops.neg_train_word2vec(
                    weights[0], weights[1], examples, labels, 0.5,
                    vocab_count=[0] * 11 + [5] + [0] * 5, num_negative_samples=negative,
                )  # fmt: skip
            with tf.control_dependencies([train]):
                trained = trained + [tf.add(v, 0.0) for v in weights]
        session = tf.get_default_session()
        session.run(ready)
        return {
            "words": [read.vocab_word, read.vocab_freq, read.words_per_epoch],
            "examples": read.examples, "trained": trained,
        }  # fmt: skip

    def lattice(self):
        ops, x = self.libraries["lattice"], self.floats(10, 3) * 2 - 0.2
        sizes = [2, 3, 2]
        fetches = {}
        for name, weigh, grad in (
            ("hypercube", ops.hypercube_interpolation, ops.hypercube_gradient),
            ("simplex", ops.simplex_interpolation, ops.simplex_gradient),
        ):
            weights = weigh(x, lattice_sizes=sizes)
            fetches[name] = weights
            top = self.floats(10, 12)
            fetches[name + " grad"] = grad(x, weights, top, lattice_sizes=sizes)
        fetches["monotone"] = ops.monotone_lattice(
            self.floats(4, 12), is_monotone=[True, False, True], lattice_sizes=sizes
        )
        fetches["columns"] = lambda: ops.hypercube_interpolation(x, lattice_sizes=[2, 2])
        fetches["sizes"] = lambda: ops.simplex_interpolation(x, lattice_sizes=[1, 2, 2])
        return fetches

    def calibration(self):
        ops, x = self.libraries["calibration"], self.floats(10)
        points, top = np.sort(self.floats(5)), self.floats(10, 5)
        sparse = ops.pwl_indexing_calibrator_sparse(x, points)
        return {
            "projected": ops.monotonic_projection(self.floats(30), True),
            "falling": ops.monotonic_projection(self.floats(30).astype("d"), False),
            "weights": ops.pwl_indexing_calibrator(x, points),
            "grad": ops.pwl_indexing_calibrator_gradient(x, points, top),
            "sparse": sparse,
            "rank": lambda: ops.pwl_indexing_calibrator(x, top),
        }

    def trfl(self):
        ops, old, new = self.libraries["trfl"], np.sort(self.floats(7)), np.sort(self.floats(5))
        weights = self.floats(4, 7)
        shuffled = self.random.permutation(old).astype("f")
        return {
            "{} {}".format(name, method): ops.project_distribution(support, weights, new, method)
            for method in (1, 2, 3)
            for name, support in (("sorted", old), ("shuffled", shuffled))
        }

    def warp_ctc(self):
        ops = self.libraries["warp_ctc"]
        return {
            "losses": ops.warp_ctc(
                self.floats(9, 2, 5), [1, 2, 3, 1, 4], [3, 2], [9, 7], blank_label=0
            ),
            "lengths": ops.warp_ctc(self.floats(9, 2, 5), [1, 2, 3, 1, 4], [3], [9, 7]),
        }

    def warp_rnnt(self):
        # No function of NumPy here: its versions differ in the last digit of exp and log.
        ops, acts = self.libraries["warp_rnnt"], -2 * self.floats(2, 6, 4, 5)
        return {"losses": ops.warp_rnnt(acts, [[1, 2, 3], [1, 4, 0]], [6, 5], [3, 2])}

    def beam_search(self):
        """Decode the sample of the repository with its model of language: "ten seconds"."""
        tf, ops = self.tf, self.libraries["beam_search"]
        place = os.path.join(self.folder, SEARCH)
        with open(place + "ctc-test.pickle", "rb") as file:
            logits, _ = pickle.load(file, encoding="bytes")
        words = os.path.join(self.folder, "alphabet.txt")
        with open(words, "w") as file:
            file.write("".join(letter + "\n" for letter in " abcdefghijklmnopqrstuvwxyz'"))
        return {
            "decoded": ops.ctc_beam_search_decoder_with_lm(
                tf.constant(logits), [logits.shape[0]], model_path=place + "ctc-test-lm.binary",
                trie_path=place + "ctc-test-lm.trie", alphabet_path=words, alpha=2.0, beta=0.5,
                trie_weight=0.1, beam_width=16, top_paths=2, merge_repeated=False,
            )
        }  # fmt: skip


def _leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in _leaves(each)]
    return [value]


def main(folder, results, implementation, names):
    """Compile and run the programs of these names; write what they give."""
    tf = importlib.import_module(implementation)
    found = {}
    for name in names:
        sources, folders = sources_of(folder, name)
        extra = os.environ.get("TENSORFLOW_SRC_PATH", "")
        if implementation == "tensorflow" and extra:
            folders.append(extra)
        flags = FLAGS + ["-I" + each for each in folders]
        try:
            library = tf.load_op_library(building.compiled_of(tf, name, sources, flags))
        except AssertionError as error:
            found[name] = {"compiler": str(error)[-2000:]}
            continue
        found[name] = Programs(tf, folder, {name: library}).run(name)
    with open(results, "wb") as file:
        pickle.dump(found, file, 2)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:] or sorted(BUILDS))
