"""Readers: records, keys, states; their errors for missing or damaged files."""

from __future__ import annotations

from tests.golden.registry import Run, describe_error, program

FILES = "tests/golden/files/"
WORDS, COLUMNS, NUMBERS = FILES + "words.txt", FILES + "columns.txt", FILES + "numbers.tfrecord"


def _steps(tf, names, fill, steps):
    """Return a queue of names is filled and closed; then what each step gives, by its name."""

    def call(session):
        session.run(fill)
        session.run(names.close())
        values = {}
        for name, fetches in steps:
            try:
                value = session.run(fetches)
                values[name] = "done" if value is None else value
            except tf.errors.OpError as error:
                values[name] = describe_error(error)
        return values

    return Run(call=call)


def _queue(tf, *files):
    names = tf.FIFOQueue(10, [tf.string], shapes=[[]], shared_name="names")
    return names, names.enqueue_many([list(files)])


def _read(tf, reader, files, count):
    names, fill = _queue(tf, *files)
    record = reader.read(names)
    steps = [(f"read_{i}", record) for i in range(count)]
    steps += [
        ("records", reader.num_records_produced()),
        ("units", reader.num_work_units_completed()),
        ("reset", reader.reset()),
        ("no_records", reader.num_records_produced()),
    ]
    run = _steps(tf, names, fill, steps)
    run.facts = {"serializes": bool(reader.supports_serialize)}
    return run


@program
def lines(tf):
    return _read(tf, tf.TextLineReader(name="lines"), [WORDS, COLUMNS], 8)


@program
def lines_after_a_head(tf):
    return _read(tf, tf.TextLineReader(skip_header_lines=1), [WORDS, FILES + "empty_line.txt"], 6)


@program
def whole_files(tf):
    return _read(tf, tf.WholeFileReader(), [WORDS, FILES + "two.txt"], 3)


@program
def names_themselves(tf):
    return _read(tf, tf.IdentityReader(), ["a", "b"], 3)


@program
def records(tf):
    return _read(tf, tf.TFRecordReader(), [NUMBERS], 6)


@program
def pieces_of_fixed_length(tf):
    return _read(tf, tf.FixedLengthRecordReader(4, header_bytes=1, footer_bytes=1), [WORDS], 7)


@program
def pieces_that_overlap(tf):
    return _read(tf, tf.FixedLengthRecordReader(6, hop_bytes=3, name="hops"), [WORDS], 8)


@program
def several_records_at_once(tf):
    names, fill = _queue(tf, NUMBERS, NUMBERS)
    reader = tf.TFRecordReader()
    some = reader.read_up_to(names, 4)
    return _steps(tf, names, fill, [(str(i), some) for i in range(5)])


@program
def states_of_readers(tf):
    names, fill = _queue(tf, WORDS, COLUMNS)
    reader = tf.IdentityReader()
    record = reader.read(names)
    state = reader.serialize_state()
    bad = reader.restore_state("no state")
    again = reader.restore_state(b"\x08\x01\x10\x01\x18\x05")
    lines = tf.TextLineReader()
    return _steps(
        tf,
        names,
        fill,
        [
            ("first", record),
            ("state", state),
            ("bad", bad),
            ("again", again),
            ("records", reader.num_records_produced()),
            ("lines", lines.serialize_state()),
        ],
    )


@program
def files_that_lack(tf):
    names, fill = _queue(tf, FILES + "absent.txt")
    return _steps(
        tf,
        names,
        fill,
        [
            ("lines", tf.TextLineReader().read(names)),
            ("then", tf.WholeFileReader().read(names)),
        ],
    )


@program
def files_of_another_kind(tf):
    names, fill = _queue(tf, WORDS)
    return _steps(tf, names, fill, [("records", tf.TFRecordReader().read(names))])


@program
def batches_of_examples(tf):
    names = tf.train.string_input_producer([NUMBERS], num_epochs=2, shuffle=False, name="names")
    _, text = tf.TFRecordReader().read(names)
    features = {"number": tf.FixedLenFeature([], tf.int64), "text": tf.VarLenFeature(tf.string)}
    example = tf.parse_single_example(text, features)
    batch = tf.train.batch(example, 4, allow_smaller_final_batch=True)

    def call(session):
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        values = []
        try:
            while True:
                found = session.run(batch)
                values.append([found["number"].tolist(), found["text"].values.tolist()])
        except tf.errors.OutOfRangeError:
            coord.request_stop()
        coord.join(threads)
        return {"batches": values}

    return Run(call=call)
