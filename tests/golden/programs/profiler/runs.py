"""Profiles of traced runs: what `tf.profiler` tells of a `RunMetadata`, which is made up here."""

from __future__ import annotations

import json
import linecache
import os
import re

from tests.golden.event_files import empty_directory
from tests.golden.registry import Run, program

HOST = "/job:localhost/replica:0/task:0/device:CPU:0"
DEVICE = "/job:localhost/replica:0/task:0/device:GPU:0"
VIEWS = ("scope", "graph", "op")


def network(tf):
    x = tf.placeholder(tf.float32, [None, 6, 6, 3], name="x")
    with tf.variable_scope("net"):
        hidden = tf.layers.conv2d(x, 4, 3, name="conv", activation=tf.nn.relu)
        hidden = tf.layers.batch_normalization(hidden, training=True, fused=False, name="BatchNorm")
        hidden = tf.layers.dense(tf.layers.flatten(hidden), 10, name="fc")
    loss = tf.reduce_mean(tf.square(hidden), name="loss")
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return x


def ran(tf, step=0, device=HOST):
    """Return a `RunMetadata` in which every second operation ran, some twice.

    Each took as long as its place says; one on a GPU has a stream, whose times count.
    """
    made = tf.RunMetadata()
    main, stream = (made.step_stats.dev_stats.add() for _ in range(2))
    main.device = device
    stream.device = device + "/stream:all" if device == DEVICE else "/host:CPU"
    for place, op in enumerate(tf.get_default_graph().get_operations()):
        for repeat in range((0, 1, 0, 2, 0, 1)[(place + step) % 6]):
            stats = main.node_stats.add(
                node_name=op.name, all_start_micros=1000 + 40 * place + 15 * repeat,
                op_start_rel_micros=1, op_end_rel_micros=(place * (7 + step)) % 900,
                all_end_rel_micros=1 + place % 900,
            )  # fmt: skip
            used = stats.memory.add(allocator_name="cpu")
            used.total_bytes, used.peak_bytes, used.live_bytes = 64 * place, 48 * place, 16 * place
            stats.memory_stats.temp_memory_size = place % 5
            stats.memory_stats.persistent_memory_size = place % 3
            for slot, output in enumerate(op.outputs):
                described = stats.output.add(slot=slot).tensor_description
                described.dtype = output.dtype.base_dtype.as_datatype_enum
                described.allocation_description.requested_bytes = 4 * place
                described.allocation_description.allocated_bytes = 256
                known = output.get_shape()
                for size in known.as_list() if known.ndims is not None else []:
                    described.shape.dim.add(size=5 if size is None else size)
        if place % 3 == 0:
            stream.node_stats.add(
                node_name=op.name + ":" + op.type, all_start_micros=1010 + 40 * place,
                op_end_rel_micros=place % 70,
            )  # fmt: skip
    for name in ("_SOURCE", "RecvTensor", "MEMCPYHtoD", "_arg_x_0_0", "made/by/runs"):
        main.node_stats.add(node_name=name, all_start_micros=900, op_end_rel_micros=3)
    return made


def options(tf, *selected, **more):
    builder = tf.profiler.ProfileOptionBuilder
    made = builder(builder.time_and_memory(min_micros=0, min_bytes=0)).select(list(selected))
    return dict(made.with_max_depth(50).build(), **more)


def report(call, made):
    """Return the reports of `call` by options, and the totals of its message."""
    result = call(dict(made, output="file:outfile=report"))
    if not os.path.exists("report"):
        return [result.name]
    with open("report") as file:
        text = file.read()
    os.remove("report")
    totals = [getattr(result, "total_" + name) for name in ("exec_micros", "peak_bytes")]
    return [text, repr([int(total) for total in totals]), repr(len(result.children))]


def reports(tf, metadata, cases, views=VIEWS):
    found = {}
    with empty_directory():
        for view in views:
            for name, made in cases.items():
                found[view + " " + name] = report(
                    lambda given: tf.profiler.profile(
                        tf.get_default_graph(), metadata, cmd=view, options=given  # noqa: B023
                    ),
                    made,
                )  # fmt: skip
    return found


def various(tf):
    everything = (
        "micros", "bytes", "params", "float_ops", "occurrence", "device", "op_types", "tensor_value"
    )  # fmt: skip
    memory = ("bytes", "peak_bytes", "residual_bytes", "output_bytes")
    return {
        "everything": options(tf, *everything),
        "memory": options(tf, *memory, order_by="peak_bytes"),
        "times": options(tf, "accelerator_micros", "cpu_micros", order_by="micros"),
        "shapes": options(tf, "micros", "input_shapes", order_by="cpu_micros"),
        "long": options(tf, "micros", min_micros=300, order_by="micros"),
        "often": options(tf, "occurrence", min_occurrence=2),
        "flops": options(tf, "float_ops", min_float_ops=1, order_by="float_ops"),
        "of types": options(tf, "micros", account_type_regexes=["Mul", ".*Grad", "M.*"]),
        "of a device": options(tf, "micros", account_type_regexes=[".*gpu:0", ".*cpu:0"]),
        "displayed": options(
            tf, "micros", "occurrence", hide_name_regexes=["gradients.*", "Const"],
            account_displayed_op_only=True, order_by="micros",
        ),
        "unordered": options(tf, "params", order_by="occurrence", max_depth=4),
    }  # fmt: skip


@program
def of_a_processor(tf):
    network(tf)
    return Run({}, facts=reports(tf, ran(tf), various(tf)))


@program
def of_an_accelerator(tf):
    network(tf)
    return Run({}, facts=reports(tf, ran(tf, 1, DEVICE), various(tf)))


@program
def of_several_steps(tf):
    network(tf)
    profiler = tf.profiler.Profiler()
    for step in (0, 3, 10):
        profiler.add_step(step, ran(tf, step))
    facts = {}
    with empty_directory():
        for step in (-1, 0, 3, 10, 5):
            made = options(tf, "micros", "bytes", "occurrence", order_by="micros", step=step)
            for view in ("name_scope", "graph", "operations"):
                facts[f"{view} {step}"] = report(getattr(profiler, "profile_" + view), made)
    return Run({}, facts=facts)


@program
def timelines_of_views(tf):
    network(tf)
    facts = {}
    for view, metadata in [
        (view, made) for view in VIEWS for made in (ran(tf), ran(tf, 1, DEVICE))
    ]:
        with empty_directory():
            made = options(tf, "micros", order_by="micros", output="timeline:outfile=trace")
            tf.profiler.profile(tf.get_default_graph(), metadata, cmd=view, options=made)
            for name in sorted(os.listdir(".")):
                with open(name) as file:
                    events = json.load(file)["traceEvents"]
                device = metadata.step_stats.dev_stats[0].device
                facts[f"{view} {name} {device}"] = [
                    json.dumps(event, sort_keys=True) for event in events
                    if event["ph"] in "MX" and "mem usage" not in event["args"]["name"]
                ]  # fmt: skip
    return Run({}, facts=facts)


def lines_of(text):
    """(line, the totals) of the lines of this file in a report."""
    found = []
    for row in text.splitlines():
        match = re.match(r" *runs\.py:(\d+):(.*) \((.*)\)$", row)
        if match:
            line, function, amounts = match.groups()
            totals = [part.partition("/")[2] for part in amounts.split(", ")]
            source = linecache.getline(__file__, int(line)).strip()
            found.append(" ".join([source, function, *totals]))
    return found


@program
def by_lines(tf):
    network(tf)
    facts = {}
    with empty_directory():
        for name, made in [
            ("time", options(tf, "micros", "bytes", order_by="micros")),
            ("memory", options(tf, "peak_bytes", "output_bytes", order_by="peak_bytes")),
            ("parameters", tf.profiler.ProfileOptionBuilder.trainable_variables_parameter()),
            ("flops", tf.profiler.ProfileOptionBuilder.float_operation()),
        ]:
            text = report(
                lambda given: tf.profiler.profile(
                    tf.get_default_graph(), ran(tf), cmd="code", options=given
                ),
                made,
            )[0]  # fmt: skip
            facts[name] = [text.partition("node name")[0], *lines_of(text)]
    return Run({}, facts=facts)


@program
def advice(tf):
    network(tf)
    facts = {}
    for name, metadata in [("host", ran(tf)), ("device", ran(tf, 1, DEVICE)), ("nothing", None)]:
        given = tf.profiler.advise(tf.get_default_graph(), metadata)
        facts[name] = {
            checker: [
                line for text in found.reports for line in text.splitlines()
                if ".py" not in line and "<string>" not in line  # of the test runner's frames
            ]
            for checker, found in given.checkers.items()
        }  # fmt: skip
    facts["one"] = sorted(tf.profiler.advise(options={"OperationChecker": {}, "x": {}}).checkers)
    return Run({}, facts=facts)


@program
def outputs_and_options_that_there_are_not(tf):
    network(tf)
    cases = {
        "no such output": {"output": "printer"},
        "no path": {"output": "file"},
        "no such option of an output": {"output": "file:path=x"},
        "no folder": {"output": "file:outfile=none/such"},
        "no such step": {"step": 4},
        "no expression": {"account_type_regexes": ["["]},
        "nothing selected": {"select": []},
        "nothing there is": {"select": ["nothing"]},
        "no options": {"account_type_regexes": [], "show_name_regexes": []},
    }
    facts = {}
    with empty_directory():
        for name, more in cases.items():
            made = options(tf, "micros", **more)
            if "output" not in more:
                made["output"] = "file:outfile=report"
            for view in VIEWS:
                result = tf.profiler.profile(tf.get_default_graph(), cmd=view, options=made)
                text = ""
                if os.path.exists("report"):
                    with open("report") as file:
                        text = file.read()
                    os.remove("report")
                facts[name + " " + view] = [result.name, text]
    return Run({}, facts=facts)


@program
def options_of_contrib(tf):
    model_analyzer = tf.contrib.tfprof.model_analyzer
    network(tf)
    names = [
        "TRAINABLE_VARS_PARAMS_STAT_OPTIONS", "FLOAT_OPS_OPTIONS", "PRINT_ALL_TIMING_MEMORY"
    ]  # fmt: skip
    facts = {name: repr(sorted(getattr(model_analyzer, name).items())) for name in names}
    with empty_directory():
        for name in names:
            facts["report " + name] = report(
                lambda given: model_analyzer.print_model_analysis(
                    tf.get_default_graph(), ran(tf), tfprof_cmd="op", tfprof_options=given
                ),
                getattr(model_analyzer, name),
            )  # fmt: skip
    return Run({}, facts=facts)
