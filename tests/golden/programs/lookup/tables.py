"""Lookup tables: fixed, changing and dense ones, and tables of ids with buckets."""

from __future__ import annotations

import tempfile

import numpy as np
from tests.golden.registry import InternalNames, Run, program, raised

# Names of tables have the files' names in them: tests run at the repository's root.
FILES = "tests/golden/files/"


def collected(tf):
    return [op.name for op in tf.get_collection("table_initializer")]


def sorted_entries(tf, keys, values):
    order = tf.argsort(keys)
    return tf.gather(keys, order), tf.gather(values, order)


@program
def fixed_tables(tf):
    lookup = tf.contrib.lookup
    keys = tf.constant(["a", "b", "c"])
    table = lookup.HashTable(
        lookup.KeyValueTensorInitializer(keys, tf.constant([1, 2, 3], tf.int64)), -1)
    floats = lookup.HashTable(
        lookup.KeyValueTensorInitializer([4, 5], [0.5, 1.5], tf.int64, tf.float32), 9.0,
        shared_name="shared", name="floats")
    words = lookup.HashTable(
        lookup.KeyValueTensorInitializer([4, 5], ["x", "y"], tf.int64, tf.string), "none")
    asked = tf.placeholder(tf.string, [None])
    sparse = table.lookup(tf.SparseTensor([[0, 1], [2, 0]], ["c", "z"], [3, 2]))
    exported, values = sorted_entries(tf, *floats.export())
    fetches = {
        "found": table.lookup(asked), "grid": table.lookup(tf.constant([["b"], ["q"]])),
        "size": table.size(), "floats": floats.lookup(tf.constant([5, 6, 4], tf.int64)),
        "words": words.lookup(tf.constant(5, tf.int64), name="word"), "sparse": sparse.values,
        "exported": exported, "values": values,
    }
    facts = {"type": raised(table.lookup, tf.constant([1])), "tables": collected(tf),
             "default": raised(lookup.HashTable, lookup.KeyValueTensorInitializer(
                 keys, tf.constant([1, 2, 3], tf.int64)), [1, 2]),
             "shapes": [str(t.shape) for t in (fetches["found"], fetches["grid"], exported)],
             "names": [table.name, floats.name, words.name]}
    return Run(fetches, {asked: ["b", "x"]}, setup=[tf.tables_initializer()] * 2, facts=facts)


@program
def tables_that_are_not_filled(tf):
    lookup = tf.contrib.lookup
    table = lookup.HashTable(lookup.KeyValueTensorInitializer(["a"], [1]), -1)
    return Run({"found": table.lookup(tf.constant(["a"]))}, fails=True)


@program
def two_values_of_one_key(tf):
    lookup = tf.contrib.lookup
    table = lookup.HashTable(lookup.KeyValueTensorInitializer(["a", "a"], [1, 2]), -1)
    return Run({"init": table.init}, fails=True)


@program
def changing_tables(tf):
    lookup = tf.contrib.lookup
    table = lookup.MutableHashTable(tf.string, tf.int64, -1)
    rows = lookup.MutableHashTable(tf.int64, tf.float32, [0.0, 9.0], name="rows")
    asked = tf.placeholder(tf.string, [None])
    setup = [
        table.insert(tf.constant(["a", "b", "c"]), tf.constant([1, 2, 3], tf.int64)),
        table.insert(["b", "d"], [5, 4]), table.remove(tf.constant(["a", "q"])),
        rows.insert(tf.constant([1, 2], tf.int64), [[1.0, 2.0], [3.0, 4.0]]),
    ]
    keys, values = sorted_entries(tf, *rows.export())
    fetches = {"found": table.lookup(asked), "size": table.size(), "keys": keys,
               "values": values, "rows": rows.lookup(tf.constant([[2], [7]], tf.int64))}
    facts = {"saveables": [s.name for s in tf.get_collection("saveable_objects")],
             "remove": raised(table.remove, tf.constant([1])),
             "shapes": [str(fetches[n].shape) for n in sorted(fetches)]}
    return Run(fetches, {asked: ["a", "b", "c", "d"]}, setup=setup, facts=facts)


@program
def dense_tables(tf):
    lookup = tf.contrib.lookup
    table = lookup.MutableDenseHashTable(
        tf.int64, tf.int64, -1, empty_key=0, deleted_key=-1, initial_num_buckets=4)
    pairs = lookup.MutableDenseHashTable(
        tf.int64, tf.float32, [0.0, 1.0], empty_key=tf.constant([0, 0], tf.int64),
        deleted_key=tf.constant([-1, -1], tf.int64), initial_num_buckets=8, name="pairs")
    words = lookup.MutableDenseHashTable(
        tf.string, tf.int64, -1, empty_key="", deleted_key="-", initial_num_buckets=8, name="w")
    setup = [
        table.insert(tf.constant([11, 12, 13, 19], tf.int64), tf.constant([1, 2, 3, 4], tf.int64)),
        table.remove(tf.constant([12, 99], tf.int64)),
        table.insert([14, 11], [7, 8]),
        pairs.insert(tf.constant([[1, 2], [3, 4], [5, 6]], tf.int64),
                     [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        words.insert(["brain", "salad", "surgery"], [1, 2, 3]),
        words.remove(tf.constant(["salad"])),
    ]
    fetches = {
        "found": table.lookup(tf.constant([11, 12, 14, 13], tf.int64)), "size": table.size(),
        "pairs": pairs.lookup(tf.constant([[3, 4], [4, 3]], tf.int64)),
        "words": words.lookup(tf.constant(["surgery", "salad"])),
    }
    for name, each in (("table", table), ("pairs", pairs), ("words", words)):
        fetches[name + "_keys"], fetches[name + "_values"] = each.export()
    facts = {"shapes": [f"{n} {fetches[n].shape}" for n in sorted(fetches)]}
    return Run(fetches, setup=setup, facts=facts)


@program
def the_empty_key(tf):
    table = tf.contrib.lookup.MutableDenseHashTable(
        tf.int64, tf.int64, -1, empty_key=0, deleted_key=-1)
    return Run({"found": table.lookup(tf.constant([0], tf.int64))}, fails=True)


@program
def dense_tables_take_what_comes_before_a_mark(tf):
    pairs = tf.contrib.lookup.MutableDenseHashTable(
        tf.int64, tf.float32, [0.0, 1.0], empty_key=0, deleted_key=-1, initial_num_buckets=4)
    keys = tf.placeholder(tf.int64, [None])
    values = tf.stack([tf.cast(keys, tf.float32), tf.range(tf.cast(tf.size(keys), tf.float32))], 1)
    insert, remove, found = pairs.insert(keys, values), pairs.remove(keys), pairs.lookup(keys)
    buckets, rows = pairs.export()
    return [
        Run({"insert": insert}, {keys: [5, 6, 7]}),
        Run({"insert": insert}, {keys: [8, 9, 0, 10]}, fails=True),
        Run({"found": found}, {keys: [5, 8, 9, 10]}),
        Run({"insert": insert}, {keys: [20, 21, 20, 22, 23, 24, 25]}),
        Run({"remove": remove}, {keys: [21, 99, 5]}),
        Run({"insert": insert}, {keys: [26, -1, 7]}, fails=True),
        Run({"found": found}, {keys: [3, -1]}, fails=True),
        Run({"size": pairs.size(), "keys": buckets, "values": rows}),
    ]


@program
def equal_marks(tf):
    table = tf.contrib.lookup.MutableDenseHashTable(
        tf.int64, tf.int64, -1, empty_key=1, deleted_key=1)
    return Run({"size": table.size()}, fails=True)


@program
def text_files(tf):
    lookup = tf.contrib.lookup
    path = FILES + "words.txt"
    columns = FILES + "columns.txt"
    ids = lookup.index_table_from_file(path, num_oov_buckets=2, vocab_size=3)
    plain = lookup.index_table_from_file(path, default_value=7, name="mine")
    words = lookup.index_to_string_table_from_file(path)
    floats = lookup.HashTable(lookup.TextFileInitializer(
        columns, tf.string, 1, tf.float32, 2), -1.0)
    strong = lookup.index_table_from_file(
        path, num_oov_buckets=3, hasher_spec=lookup.StrongHashSpec((1, 2)))
    asked = tf.constant(["salad", "tarkus", "brain"])
    fetches = {
        "ids": ids.lookup(asked), "plain": plain.lookup(asked), "size": ids.size(),
        "words": words.lookup(tf.constant([0, 2, 3], tf.int64)), "floats": floats.lookup(asked),
        "strong": strong.lookup(asked),
    }
    facts = {
        "tables": collected(tf), "assets": len(tf.get_collection("asset_filepaths")),
        "none": raised(lookup.index_table_from_file, ""),
        "buckets": raised(lookup.index_table_from_file, "f", -1),
        "size": raised(lookup.index_table_from_file, "f", vocab_size=0),
        "types": raised(lookup.TextFileInitializer, "f", tf.string, -1, tf.int64, -1),
        "index": raised(lookup.TextFileInitializer, "f", tf.string, -3, tf.int64, -1),
        "key": raised(lookup.StrongHashSpec, (1, 2, 3)),
        "keys": raised(lookup.index_table_from_file, path, key_dtype=tf.float32),
    }
    return Run(fetches, setup=[tf.tables_initializer()], facts=facts)


@program
def a_file_of_another_size(tf):
    path = FILES + "two.txt"
    table = tf.contrib.lookup.index_table_from_file(path, vocab_size=3)
    return Run({"init": table.initializer}, fails=True)


@program
def a_file_with_an_empty_line(tf):
    path = FILES + "empty_line.txt"
    table = tf.contrib.lookup.index_table_from_file(path)
    return Run({"init": table.initializer}, fails=True)


@program
def a_field_that_is_no_number(tf):
    path = FILES + "no_number.txt"
    lookup = tf.contrib.lookup
    table = lookup.HashTable(lookup.TextFileInitializer(path, tf.string, 0, tf.int64, 1), -1)
    return Run({"init": table.init}, fails=True)


@program
def too_few_columns(tf):
    path = FILES + "columns_lack.txt"
    lookup = tf.contrib.lookup
    table = lookup.HashTable(lookup.TextFileInitializer(path, tf.string, 0, tf.int64, 1), -1)
    return Run({"init": table.init}, fails=True)


@program
def old_forms(tf):
    raw = tf.raw_ops
    handle = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name="t")
    fill = raw.InitializeTableV2(
        table_handle=handle, keys=["a", "b"], values=np.array([1, 2], np.int64))
    found = raw.LookupTableFindV2(
        table_handle=handle, keys=["b", "c"], default_value=np.int64(-1))
    keys, values = raw.LookupTableExportV2(
        table_handle=handle, Tkeys=tf.string, Tvalues=tf.int64)
    facts = {"shapes": [str(t.shape) for t in (found, keys, values)]}
    return Run({"found": found, "count": tf.shape(keys), "values": tf.sort(values)}, setup=[fill],
               facts=facts)


@program
def dense_keys_that_are_fed(tf):
    """Return the keys of the first run make the table; later ones say nothing."""
    empty = tf.placeholder(tf.int64, [])
    table = tf.contrib.lookup.MutableDenseHashTable(
        tf.int64, tf.float32, -1.0, empty_key=empty, deleted_key=tf.constant(-1, tf.int64) - 1)
    insert = table.insert(tf.constant([1, 5], tf.int64), [2.0, 3.0])
    fetches = {"found": table.lookup(tf.constant([1, 2], tf.int64)), "size": table.size()}
    refused = table.lookup(tf.constant([0], tf.int64))

    def call(session):
        session.run(insert, {empty: 0})
        return {"first": session.run(fetches, {empty: 0}),
                "another": session.run(fetches, {empty: 5}),
                "refused": raised(session.run, refused, {empty: 7}),
                "equal": raised(session.run, other.size(), {empty: -3})}  # fmt: skip

    other = tf.contrib.lookup.MutableDenseHashTable(
        tf.int64, tf.float32, -1.0, empty_key=empty, deleted_key=-3)
    return Run(call=call)


def read_again(tf, graph):
    """Write a graph to a MetaGraph and read it; tell the entry of its saveable objects."""
    meta = tf.train.export_meta_graph(graph=graph)
    entries = list(meta.collection_def["saveable_objects"].node_list.value)
    with tf.Graph().as_default():
        return {"entries": entries, "read": raised(tf.train.import_meta_graph, meta)}


@program
def tables_in_meta_graphs(tf):
    lookup = tf.contrib.lookup
    facts = {}
    for name in (None, "words"):
        with tf.Graph().as_default() as graph:
            named = {} if name is None else {"name": name}
            lookup.MutableHashTable(tf.string, tf.int64, -1, **named)
        facts["changing " + str(name)] = read_again(tf, graph)
    with tf.Graph().as_default() as graph:
        lookup.MutableDenseHashTable(
            tf.string, tf.int64, -1, empty_key="", deleted_key="-", name="dense")
    facts["dense"] = read_again(tf, graph)
    with tf.Graph().as_default() as graph, tf.name_scope("scope"):
        lookup.MutableHashTable(tf.string, tf.int64, -1, name="inner")
    facts["in a scope"] = read_again(tf, graph)
    with tf.Graph().as_default() as graph:
        lookup.MutableHashTable(tf.string, tf.int64, -1)
        lookup.MutableHashTable(tf.string, tf.int64, -1)
        with tf.name_scope("a"):
            tf.Variable(1.0, name="v")
    facts["two of a name, and a variable"] = read_again(tf, graph)
    return Run(facts=facts)


@program
def dense_tables_of_lists(tf):
    list_ops = InternalNames(tf, "python.ops.list_ops")
    empty = list_ops.tensor_list_reserve([2], 0, tf.float32)
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.variant, empty, -1, -2, name="lists")
    keys = tf.constant([3, 4, 5], tf.int64)
    first = tf.constant(3, tf.int64)
    rows = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    pushed = list_ops.tensor_list_push_back_batch(table.lookup(keys), rows)
    added = list_ops.tensor_list_push_back(table.lookup(first), rows[2])
    found = {name: list_ops.tensor_list_stack(table.lookup(key), tf.float32)
             for name, key in (("first", first), ("none", first + 9))}
    found["size"] = table.size()
    return [
        Run(found),
        Run(setup=[table.insert(keys, pushed)]),
        Run(found, setup=[table.insert(first, added)]),
        Run(found, setup=[table.erase(keys[1:])]),
    ]


@program
def lists_in_checkpoints(tf):
    list_ops = InternalNames(tf, "python.ops.list_ops")
    rows = list_ops.tensor_list_from_tensor(tf.constant([[1.0, 2.0], [3.0, 4.0]]), [2])
    some = list_ops.tensor_list_reserve([None], 4, tf.int64)
    some = list_ops.tensor_list_set_item(some, 2, tf.constant([1, 2], tf.int64))
    few = tf.stack([rows, list_ops.empty_tensor_list(tf.constant(-1), tf.float32, 7)])
    prefix = tf.placeholder(tf.string, [])
    names, whole = ["rows", "some", "few"], [""] * 3
    save = tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=whole,
                             tensors=[rows, some, few])
    rows, some, few = tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=names,
                                           shape_and_slices=whole, dtypes=[tf.variant] * 3)
    limited = list_ops.tensor_list_push_back(few[1], tf.constant(1))
    folder = {prefix: tempfile.mkdtemp() + "/lists"}
    with tf.control_dependencies([save]):
        saved = tf.constant(True)
    return [
        Run({"saved": saved}, folder),
        Run({
            "rows": list_ops.tensor_list_stack(rows, tf.float32),
            "of several": list_ops.tensor_list_stack(few[0], tf.float32),
            "set": list_ops.tensor_list_get_item(some, 2, tf.int64),
            "length": list_ops.tensor_list_length(some),
            "empty": list_ops.tensor_list_length(few[1]),
        }, folder),
        Run({"other type": list_ops.tensor_list_length(limited)}, folder, fails=True),
    ]
