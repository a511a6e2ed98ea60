"""Calls and methods that libraries have dropped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


def test_yaml_without_a_loader(launcher):
    pytest.importorskip("yaml")
    out, _ = launcher.program("""
        import yaml
        print(yaml.load("a: [1, 2.5]"), list(yaml.load_all("1\\n---\\n2")))
        print(yaml.load("a: 1", Loader=yaml.SafeLoader), yaml.safe_load("b: 2"))
        try:
            yaml.load("!!python/object/apply:os.system ['exit 1']")
        except yaml.YAMLError:
            print("refused")
        """)
    assert out == "{'a': [1, 2.5]} [1, 2]\n{'a': 1} {'b': 2}\nrefused\n"


def test_frames(launcher):
    pytest.importorskip("pandas")
    out, said = launcher.program("""
        import pandas as pd
        frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=["x", "y"])
        print(frame.as_matrix().tolist(), frame.as_matrix(["b"]).tolist(), frame.a.as_matrix())
        print(frame.append(frame, ignore_index=True).shape, frame.a.append(frame.b).tolist())
        print(frame.append({"a": 5, "b": 6}, ignore_index=True).values.tolist())
        print(frame.append(pd.Series({"a": 7, "b": 8}, name="z")).index.tolist())
        print(frame.get_value("x", "b"), frame.a.get_value("y"))
        print(frame.ix[0].tolist(), frame.ix["y", "a"], frame.ix[:, 0].tolist(),
              frame.ix[0:1, ["b"]].values.tolist(), frame.ix[[1, 0], "a"].tolist())
        frame.ix[1, "a"] = 9
        numbered = pd.DataFrame({"a": [1, 2, 3]}, index=[2, 1, 0])
        print(frame.a.tolist(), numbered.ix[2, "a"], numbered.ix[2:1, 0].tolist())
        """)
    assert out.splitlines() == [
        "[[1, 3], [2, 4]] [[3], [4]] [1 2]",
        "(4, 2) [1, 2, 3, 4]",
        "[[1, 3], [2, 4], [5, 6]]",
        "['x', 'y', 'z']",
        "3 2",
        "[1, 3] 2 [1, 2] [[3]] [2, 1]",
        "[1, 9] 1 [1, 2]",
    ]
    assert said.count(".ix was removed from pandas") == 1


def test_functions_of_groups_see_the_columns_of_the_groups(launcher):
    pandas = pytest.importorskip("pandas")
    out, said = launcher.program("""
        import pandas as pd
        frame = pd.DataFrame({"user": [1, 1, 2, 2], "item": [5, 6, 7, 8]})
        groups = frame.groupby("user", group_keys=False)
        rest = groups.apply(lambda group: group.iloc[:-1]).sort_values(["user", "item"])
        print(list(rest.columns), rest.values.tolist())
        print(groups.apply(lambda group, more: int(group.user.sum()) + more, 1).tolist())
        print(groups.apply(lambda group: list(group.columns), include_groups=False).tolist())
        named = pd.DataFrame({"user": ["a", "b"], "item": [1, 2]})
        print(named.groupby("user").apply(lambda group: int((group * 2 / 2).sum().sum())).tolist())
        """)
    assert out.splitlines() == [
        "['user', 'item'] [[1, 5], [2, 7]]",
        "[3, 5]",
        "[['item'], ['item']]",
        "[1, 2]",
    ]
    is_gone = not pandas.__version__.startswith("2.")
    assert said.count("see the columns of groups") == is_gone


@pytest.mark.parametrize("argument", ["'log_dir'", "flag_name='log_dir'"])
def test_a_flag_of_absl_may_be_the_programs(launcher, argument):
    """TensorFlow 1.15.5 raises an error for it, its earlier versions did not load absl.logging."""
    out, _ = launcher.program(f"""
        import tensorflow as tf
        tf.app.flags.DEFINE_string({argument}, default_value="logs", docstring="Where to log.")
        FLAGS = tf.app.flags.FLAGS
        def main(_):
            tf.logging.error("x")
            print(FLAGS.log_dir)
            try:
                tf.app.flags.DEFINE_string("log_dir", "twice", "")
            except Exception as error:
                print(type(error).__name__)
        tf.app.run()
        """)
    assert out == "logs\nDuplicateFlagError\n"


def test_samples_of_sets_and_shuffles_by_a_function(launcher):
    """The numbers are those of Python 3.7."""
    out, _ = launcher.program("""
        import random
        random.seed(3)
        print(random.sample({i: 0 for i in range(9)}.keys(), 3), random.sample({5}, 1))
        print(random.sample(range(9), k=2), random.Random(1).sample({2: 0, 1: 0}.keys(), k=2))
        numbers = list(range(6))
        random.shuffle(numbers, random.random)
        print(numbers)
        random.shuffle(numbers, lambda: 0.5)
        random.shuffle(numbers)
        print(numbers)
        """)
    assert out.splitlines() == [
        "[3, 2, 7] [5]",
        "[1, 0] [2, 1]",
        "[3, 1, 0, 4, 2, 5]",
        "[1, 3, 5, 2, 4, 0]",
    ]


def test_graphs_as_matrices(launcher):
    pytest.importorskip("networkx")
    pytest.importorskip("scipy")
    out, _ = launcher.program("""
        import networkx as nx
        import numpy as np
        graph = nx.from_numpy_matrix(np.array([[0, 1], [1, 0]]))
        dense, sparse = nx.to_numpy_matrix(graph), nx.to_scipy_sparse_matrix(graph)
        print((dense * dense).tolist(), (sparse * sparse).toarray().tolist(), sparse.format)
        print(nx.from_scipy_sparse_matrix(sparse).number_of_edges())
        """)
    assert out == "[[1.0, 0.0], [0.0, 1.0]] [[1, 0], [0, 1]] csr\n1\n"


def test_names_that_networkx_3_has_removed(launcher):
    pytest.importorskip("networkx")
    # The lines are those of networkx 2.6.3, but for the names of the ordered classes.
    out, _ = launcher.program("""
        import networkx as nx
        graph = nx.OrderedMultiDiGraph([(1, 2), (2, 3)])
        print(type(graph) is nx.MultiDiGraph, nx.info(nx.OrderedGraph(name="n")))
        print(nx.info(graph))
        print(nx.info(nx.path_graph(4), 1))
        for name in "a.gpickle", "a.gpickle.gz", "a.gpickle.bz2":
            nx.write_gpickle(nx.path_graph(3), name)
            print(open(name, "rb").read(2), list(nx.read_gpickle(name).edges))
        print(nx.find_cores(nx.path_graph(3)), nx.adj_matrix(graph).toarray().tolist())
        parts = nx.connected_component_subgraphs(nx.Graph([(1, 2), (4, 5), (5, 6)]))
        biggest = max(parts, key=len)
        biggest.node[5]["color"] = "red"
        print(sorted(biggest), biggest.nodes[5])
        """)
    assert out.splitlines() == [
        "True Graph named 'n' with 0 nodes and 0 edges",
        "MultiDiGraph with 3 nodes and 2 edges",
        "Node 1 has the following properties:",
        "Degree: 2",
        "Neighbors: 0 2",
        "b'\\x80\\x05' [(0, 1), (1, 2)]",
        "b'\\x1f\\x8b' [(0, 1), (1, 2)]",
        "b'BZ' [(0, 1), (1, 2)]",
        "{0: 1, 1: 1, 2: 1} [[0, 1, 0], [0, 0, 1], [0, 0, 0]]",
        "[4, 5, 6] {'color': 'red'}",
    ]


def test_nodes_of_syntax_trees(launcher):
    pytest.importorskip("gast")
    out, _ = launcher.program("""
        import gast
        call = gast.parse("f(1, 'a', None, ..., b'c')").body[0].value
        kinds = (gast.Num, gast.Str, gast.NameConstant, gast.Ellipsis, gast.Bytes)
        print([[isinstance(value, kind) for kind in kinds].index(True) for value in call.args])
        print(call.args[0].n, gast.Str("text").s, isinstance(call.func, kinds))
        item = gast.Subscript(call.func, gast.Index(gast.Num(3)), gast.Load())
        rows = gast.Subscript(call.func, gast.ExtSlice([gast.Index(gast.Num(1))]), gast.Load())
        print(gast.unparse(item).strip(), gast.unparse(rows).strip())
        """)
    assert out == "[0, 1, 2, 3, 4]\n1 text False\nf[3] f[1,]\n"


def test_modules_of_scikit_learn(launcher):
    pytest.importorskip("sklearn")
    out, _ = launcher.program("""
        from sklearn import cross_validation
        from sklearn.grid_search import GridSearchCV
        from sklearn.externals import joblib
        import sklearn.externals.joblib as again
        print(len(cross_validation.train_test_split([1, 2, 3])), joblib.__name__, again is joblib)
        """)
    assert out == "2 joblib True\n"


def test_arguments_by_place(launcher):
    pytest.importorskip("librosa")
    out, _ = launcher.program("""
        import librosa
        import numpy as np
        sound = np.sin(np.arange(16000) / 20)
        print(librosa.filters.mel(16000, 512, n_mels=20).shape)
        print(librosa.resample(sound, 16000, 8000, res_type="polyphase").shape)
        print(librosa.feature.melspectrogram(sound, 16000, n_fft=512, n_mels=20).shape[0])
        print(librosa.stft(sound, 512, 128).shape, librosa.stft(sound, n_fft=512).shape[0])
        try:
            librosa.filters.mel(16000, 512, sr=1)
        except TypeError:
            print("refused")
        """)
    assert out.splitlines() == ["(20, 257)", "(8000,)", "20", "(257, 126) 257", "refused"]


def test_sound_is_written(launcher):
    pytest.importorskip("librosa")
    pytest.importorskip("scipy")
    out, said = launcher.program("""
        import librosa
        import librosa.output
        import numpy as np
        from scipy.io import wavfile
        sound = np.array([0.25, -0.5, 0.0], np.float32)
        librosa.output.write_wav("a.wav", sound, 8000)
        librosa.output.write_wav("b.wav", np.stack([sound, sound]), sr=8000, norm=True)
        print(*(wavfile.read(name)[1].tolist() for name in ("a.wav", "b.wav")))
        """)
    assert out == "[0.25, -0.5, 0.0] [[0.5, 0.5], [-1.0, -1.0], [0.0, 0.0]]\n"
    assert said.count("librosa.output was removed") == 1


def test_arguments_that_have_another_name(launcher):
    pytest.importorskip("sklearn")
    out, said = launcher.program("""
        import numpy as np
        from sklearn.manifold import TSNE
        points = TSNE(n_components=2, n_iter=250, perplexity=3, init="random", random_state=0)
        print(points.fit_transform(np.arange(20.0).reshape(10, 2)).shape, points.max_iter)
        print(sorted(points.get_params())[:2])
        """)
    assert out == "(10, 2) 250\n['angle', 'early_exaggeration']\n"
    assert said.count("the argument n_iter of TSNE() was removed; it is max_iter here") == 1


def test_old_names_of_arguments():
    from stillflow.facade.revive.libraries import _with_old_names

    call = _with_old_names(lambda max_iter=1, n=2: (max_iter, n), "f()", {"n_iter": "max_iter"})
    assert call(n_iter=5) == call(5) == call(max_iter=5) == (5, 2)
    kept = _with_old_names(lambda n_iter=1: n_iter, "f()", {"n_iter": "max_iter"})
    assert kept(n_iter=5) == 5
    with pytest.raises(TypeError):
        call(other=1)


def test_minimisations_print_their_progress(launcher):
    """Beyond 13 digits, a loss depends on the order of the arithmetic in the loop.

    When the loop in C is stopped by a limit, SciPy 1.17 has not counted its last search yet.
    """
    pytest.importorskip("scipy")
    here = Path(__file__).parent
    out, _ = launcher.program((here / "minimised.py").read_text())
    cut = re.compile(r"(F = +\d\.\d{12})\d*|(?<=  3 {6}\d) {6}\d")
    assert cut.sub(r"\1", out) == cut.sub(r"\1", (here / "minimised.txt").read_text())


def test_pictures_are_rotated_by_arrays_of_one_angle(launcher):
    pytest.importorskip("scipy")
    out, _ = launcher.program("""
        import numpy as np
        from scipy import ndimage
        picture = np.arange(16.0).reshape(4, 4)
        plain = ndimage.rotate(picture, 30, reshape=False)
        print((ndimage.rotate(picture, np.array([30]), reshape=False) == plain).all())
        print(ndimage.rotate(picture, angle=np.array([[30.5]])).shape)
        """)
    assert out.splitlines() == ["True", "(5, 5)"]


def test_arguments_by_place_are_told_by_the_signature():
    from stillflow.facade.revive.libraries import _by_place

    def plain(y, *, sr=1, n_fft=2):
        return y, sr, n_fft

    call = _by_place(plain)
    assert call(0, 5, 6) == (0, 5, 6) and call(0, 5) == (0, 5, 2) and call(0, n_fft=3) == (0, 1, 3)
    for arguments, options in (((0, 1, 2, 3), {}), ((0, 5), {"sr": 5})):
        with pytest.raises(TypeError):
            call(*arguments, **options)
