"""Names of files: TensorFlow cleans paths by their text, and lists directories for patterns."""

import contextlib
import os
import shutil
import tempfile

from tests.golden.registry import Run, describe_error, program

PATHS = [
    "gone/../data/t.txt", "data//t.txt", "data/t.txt/", "./data/./t.txt", "link/../t.txt",
    "link/../data/t.txt", "data/t.txt/..", "gone/..", ".", "data/", "gone/../data", "data/t.txt/x",
    "data/t.txt/../t.txt", "gone/t.txt", "data/dangling", "top/..", "link", "",
    "file://ROOT/data/t.txt", "file://ROOT/gone/../data/t.txt", "file://hostROOT/data/t.txt",
    "file://data/t.txt", "FILE://ROOT/data/t.txt", "/..ROOT/data/t.txt", "/ROOT/data/t.txt",
]  # fmt: skip

PATTERNS = [
    "data", "./data", "data/", "d*", "data/*", "data//*", "data/./*", "gone/../data/*.txt",
    "data/../data/*", "gone/*", "gone/x", "data/t.txt/*", "data/*/u.txt", "data/*/../t.txt",
    "data/*/./u.txt", "data/*//u.txt", "data/dangling", "data/dang*", "link/*", "l*/u.txt", "top",
    "top/", "data/sub/", "d//*.txt", "data//sub/*", "*", "./*", ".", "data/[st]*", "data/\\t.txt",
    "data/s*/", "*/", "data/s*b/u*", "data/{t,u}.txt", "top/x*", "file://ROOT/data/*.txt",
    "file://ROOT/data//*.txt", "file://ROOT/data/t.txt", "/..ROOT/data/*", "ROOT/data",
]  # fmt: skip

TARGETS = [
    "gone/../x", "gone/../have/x", "gone/x", "a/b/../c/x", "have//x", "have/x/", "link/../x",
    "file/../x", "file://ROOT/gone/../x", "file://ROOT/x", "have", "gone/",
]  # fmt: skip


@contextlib.contextmanager
def in_new_folder(files, links):
    before = os.getcwd()
    folder = os.path.realpath(tempfile.mkdtemp())
    os.chdir(folder)
    try:
        for name in files:
            if os.path.dirname(name):
                os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "w") as file:
                file.write("text of " + name)
        for name, target in links:
            os.symlink(target, name)
        yield folder
    finally:
        os.chdir(before)
        shutil.rmtree(folder)


def outcome(folder, function, *arguments):
    try:
        found = function(*arguments)
    except Exception as error:
        found = describe_error(error)
        return (found["class"] + ": " + found["message"]).replace(folder, "ROOT")
    if isinstance(found, list):
        texts = sorted(each if isinstance(each, str) else each.decode() for each in found)
        return ", ".join(texts).replace(folder, "ROOT")
    return str(found).replace(folder, "ROOT")


def data_folder():
    files = ["data/t.txt", "data/sub/u.txt", "top"]
    return in_new_folder(files, [("link", "data/sub"), ("data/dangling", "nowhere")])


def there(name, folder):
    return name.replace("ROOT", folder)


def outcomes(functions, names):
    found = {}
    with data_folder() as folder:
        for name in names:
            path = there(name, folder)
            found[name] = [outcome(folder, function, path) for function in functions]
    return found


@program
def paths_that_are_read(tf):
    def call(session):
        functions = [
            lambda path: tf.gfile.GFile(path).read(),
            tf.gfile.Exists,
            tf.gfile.IsDirectory,
            lambda path: tf.gfile.Stat(path).is_directory,
            tf.gfile.ListDirectory,
            lambda path: [each[0] for each in tf.gfile.Walk(path)] if path else [],
            lambda path: session.run(tf.read_file(path)),
        ]
        return outcomes(functions, PATHS)

    return Run(call=call)


@program
def patterns_that_match(tf):
    def call(session):
        functions = [
            tf.gfile.Glob,
            lambda pattern: session.run(tf.matching_files(pattern)).tolist(),
        ]
        return outcomes(functions, PATTERNS)

    return Run(call=call)


@program
def patterns_of_datasets(tf):
    def call(session):
        def listed(pattern):
            dataset = tf.data.Dataset.list_files(pattern, shuffle=False)
            element = dataset.make_one_shot_iterator().get_next()
            found = []
            while True:
                try:
                    found.append(session.run(element))
                except tf.errors.OutOfRangeError:
                    return found

        names = ["data", "d*", "data//*", "gone/../data/*.txt", "data/*/u.txt", "*/", "./*"]
        return outcomes([listed], names)

    return Run(call=call)


def write_text(tf, session, path):
    with tf.gfile.GFile(path, "w") as file:
        file.write("1")


def write_records(tf, session, path):
    with tf.python_io.TFRecordWriter(path) as writer:
        writer.write(b"one")


def write_checkpoint(tf, session, path):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", [1])
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, path, write_meta_graph=False)


def write_events(tf, session, path):
    writer = tf.summary.FileWriter(path, filename_suffix=".EVENTS")
    writer.add_summary(tf.Summary(), 1)
    writer.close()


WRITERS = {
    "GFile": write_text,
    "write_file": lambda tf, session, path: session.run(tf.write_file(path, "z")),
    "MkDir": lambda tf, session, path: tf.gfile.MkDir(path),
    "MakeDirs": lambda tf, session, path: tf.gfile.MakeDirs(path),
    "FileWriter": write_events,
    "TFRecordWriter": write_records,
    "Saver": write_checkpoint,
    "write_graph": lambda tf, session, path: tf.train.write_graph(tf.GraphDef(), path, "g.pb"),
    "Copy": lambda tf, session, path: tf.gfile.Copy("file", path, overwrite=True),
    "Remove": lambda tf, session, path: tf.gfile.Remove(path),
    "DeleteRecursively": lambda tf, session, path: tf.gfile.DeleteRecursively(path),
}


def all_paths(folder):
    for top, folders, files in os.walk(folder):
        for each in folders + files:
            yield "EVENTS" if each.endswith(".EVENTS") else os.path.join(top, each)


@program
def paths_that_are_written(tf):
    def call(session):
        found = {}
        for name in TARGETS:
            for kind in sorted(WRITERS):
                with in_new_folder(["have/one", "file"], [("link", "have")]) as folder:
                    path = there(name, folder)
                    said = outcome(folder, WRITERS[kind], tf, session, path)
                    found[kind + " " + name] = [said, ", ".join(sorted(all_paths(".")))]
        return found

    return Run(call=call)
