"""Profiles of traced runs, by line, over steps; advice; where reports go."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

import stillflow as tf
from stillflow.facade import pywrap
from stillflow.protos import OpLogProto, ProfileProto, file
from stillflow.runtime.devices.devices import gpu_count

BUILDER = tf.profiler.ProfileOptionBuilder
QUIET = {"output": "none"}


@pytest.fixture
def model():
    """(graph, step, feeds) of a small net."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 20], name="x")
        weights = tf.get_variable("weights", [20, 10])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights, name="product")), name="loss")
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        yield graph, step, {x: np.ones((64, 20), np.float32)}


def traced(graph, step, feeds, runs=1):
    """Return the `RunMetadata` of some runs."""
    found = []
    with tf.Session(graph=graph) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(runs):
            found.append(tf.RunMetadata())
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run(step, feeds, options=options, run_metadata=found[-1])
    return found


def find(node, name):
    """Return the node of a name in a tree of messages."""
    if node.name == name:
        return node
    return next(filter(None, (find(child, name) for child in node.children)), None)


def test_a_run_gives_times_memory_and_shapes(model):
    (metadata,) = traced(*model)
    result = tf.profiler.profile(model[0], metadata, options={**BUILDER.time_and_memory(), **QUIET})
    product = find(result, "product")
    assert product.run_count == 1
    assert 0 < product.exec_micros <= result.total_exec_micros
    spent = product.accelerator_exec_micros if gpu_count() else product.cpu_exec_micros
    assert spent == product.exec_micros
    assert product.output_bytes == 64 * 10 * 4
    assert product.devices[0].endswith("gpu:0" if gpu_count() else "cpu:0")


def test_operations_of_unknown_shape_have_no_count_and_that_is_said(model, capsys):
    result = tf.profiler.profile(model[0], options={**BUILDER.float_operation(), **QUIET})
    assert find(result, "product") is None
    assert "ops no flops stats due to incomplete shapes." in capsys.readouterr().err


def test_lines_of_the_program_count_what_they_made(model, capsys):
    result = tf.profiler.profile(
        model[0], cmd="code", options=BUILDER.trainable_variables_parameter()
    )
    assert result.total_parameters == 200
    printed = capsys.readouterr().out
    assert "test_profiler.py:" in printed and "200 params" in printed
    assert "resource" not in printed and "stillflow/" not in printed


def test_the_time_of_a_profiler_is_the_mean_of_its_steps(model, capsys):
    profiler = tf.profiler.Profiler(model[0])
    for number, metadata in enumerate(traced(*model, runs=3)):
        profiler.add_step(number, metadata)
    options = {**BUILDER.time_and_memory(), **QUIET}
    mean = profiler.profile_name_scope(options)
    each = [profiler.profile_name_scope({**options, "step": n}) for n in range(3)]
    times = [find(one, "product").exec_micros for one in each]
    assert min(times) <= find(mean, "product").exec_micros <= max(times)
    assert find(mean, "product").run_count == 1
    assert profiler.profile_graph(options).total_exec_micros > 0
    assert profiler.profile_operations(options).total_exec_micros > 0
    assert profiler.profile_python(options).total_exec_micros > 0
    assert profiler.profile_graph({**options, "step": 9}).name == ""
    assert "-step=9 not found.\nAvailable steps: 0 1 2" in capsys.readouterr().err


def test_advice_names_the_most_expensive_type(model):
    (metadata,) = traced(*model)
    reports = tf.profiler.advise(model[0], metadata).checkers["ExpensiveOperationChecker"].reports
    assert reports[0].startswith("top 1 operation type: ")
    assert not tf.profiler.advise(model[0]).checkers["ExpensiveOperationChecker"].reports


def test_a_timeline_is_a_trace_for_each_step(model, tmp_path):
    (metadata,) = traced(*model)
    options = BUILDER(BUILDER.time_and_memory()).with_timeline_output(str(tmp_path / "t")).build()
    tf.profiler.profile(model[0], metadata, cmd="graph", options=options)
    with open(tmp_path / "t_0") as file:
        assert json.load(file)["traceEvents"]


def test_pprof_gets_a_sample_of_each_operation_with_the_lines_that_made_it(model, tmp_path, capsys):
    (metadata,) = traced(*model)
    builder = BUILDER(BUILDER.time_and_memory()).select(["output_bytes"])
    options = builder.with_pprof_output(str(tmp_path / "p")).build()
    tf.profiler.profile(model[0], metadata, cmd="code", options=options)
    assert f"Run pprof -png --nodecount=100 --sample_index=1 <{tmp_path / 'p'}>" in (
        capsys.readouterr().out
    )
    profile = file("tensorflow/core/profiler/profile.proto")["Profile"]()
    profile.ParseFromString(gzip.decompress((tmp_path / "p").read_bytes()))
    words = profile.string_table
    units = [(words[kind.type], words[kind.unit]) for kind in profile.sample_type]
    assert words[0] == "" and units == [("count", "count"), ("output_bytes", "bytes")]
    functions = {function.id: words[function.name] for function in profile.function}
    made_by = {place.id: functions[place.line[0].function_id] for place in profile.location}
    samples = {words[sample.label[0].str]: sample for sample in profile.sample}
    assert list(samples["product"].value) == [1, 64 * 10 * 4]
    assert "test_profiler:model" in [made_by[place] for place in samples["product"].location_id]


def test_graphs_may_be_deep(tmp_path):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3])
        for _ in range(1500):
            x = tf.square(x)
    path = tmp_path / "report"
    options = BUILDER(BUILDER.float_operation()).with_file_output(str(path)).build()
    assert tf.profiler.profile(graph, cmd="graph", options=options).total_float_ops == 4500
    last = path.read_text().splitlines()[-1]
    assert last == f"{'  ' * 1500}Square (3/3 flops)"


@pytest.mark.parametrize("view", ["scope", "graph", "op", "code"])
def test_what_cannot_be_put_out_is_said_and_gives_nothing(model, view, capsys):
    options = BUILDER().select(["nothing", "micros"]).with_pprof_output("x").build()
    result = tf.profiler.profile(model[0], cmd=view, options=options)
    said = capsys.readouterr().err
    if view == "code":
        assert "Can only select 1 attribute for pprof output." in said
    else:
        assert result.name == "" and "Only 'code' view supports pprof output now." in said


def test_options_of_a_wrong_type_are_refused(model):
    with pytest.raises(TypeError):
        tf.profiler.profile(model[0], options={"max_depth": "deep"})
    with pytest.raises(TypeError, match="'CheckerOption' object"):
        tf.profiler.advise(model[0], options={"OperationChecker": {"a": "b"}})


def test_a_traced_run_completes_shapes(model):
    (metadata,) = traced(*model)
    assert model[0].get_tensor_by_name("product:0").shape.as_list() == [None, 10]
    tf.profiler.profile(model[0], metadata, options={**BUILDER.float_operation(), **QUIET})
    assert model[0].get_tensor_by_name("product:0").shape.as_list() == [64, 10]


def test_a_step_is_printed_as_tensorflow_prints_it(model, capsys):
    tf.profiler.profile(model[0], options=BUILDER.trainable_variables_parameter())
    printed = capsys.readouterr().out
    assert printed.startswith("Parsing Inputs...\n\n=========================Options====")
    assert "weights (20x10, 200/200 params)" in printed
    assert printed.endswith("======================End of Report==========================\n")


def test_marks_and_counts_may_be_given(model):
    log = OpLogProto()
    log.log_entries.add(name="product", float_ops=77, types=["mine"])
    options = BUILDER(BUILDER.float_operation()).with_accounted_types(["mine"]).build()
    result = tf.profiler.profile(model[0], op_log=log, options={**options, **QUIET})
    assert result.total_float_ops == 77


def test_the_log_of_operations_is_a_file(model, tmp_path):
    tf.profiler.write_op_log(model[0], str(tmp_path))
    log = OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    entries = {entry.name: entry for entry in log.log_entries}
    assert list(entries["weights"].types) == ["_trainable_variables"]
    trace = entries["product"].code_def.traces[-1]
    assert log.id_to_string[trace.file_id].endswith("test_profiler.py")
    assert log.id_to_string[trace.function_id] == "model"


def test_a_serialized_profile_is_read_again(model, tmp_path):
    profiler = tf.profiler.Profiler(model[0])
    for step, metadata in enumerate(traced(*model, runs=2)):
        profiler.add_step(step, metadata)
    (tmp_path / "profile").write_bytes(profiler.serialize_to_string())
    pywrap.ProfilerFromFile(str(tmp_path / "profile"))
    try:
        read = tf.profiler.Profiler.__new__(tf.profiler.Profiler)
        for view in ("name_scope", "graph", "operations", "python"):
            paths = [tmp_path / f"{view} {number}" for number in range(2)]
            for who, path in zip((profiler, read), paths, strict=True):
                options = BUILDER(BUILDER.time_and_memory()).with_file_output(str(path)).build()
                getattr(who, f"profile_{view}")({**options, "step": 1})
            assert paths[0].read_text() == paths[1].read_text() != ""
        both = [ProfileProto.FromString(who.serialize_to_string()) for who in (profiler, read)]
        assert both[0] == both[1] and len(both[0].nodes[0].execs) <= 2
    finally:
        pywrap.DeleteProfiler()
    assert not hasattr(read, "_model")
    with pytest.raises(tf.errors.NotFoundError):
        pywrap.ProfilerFromFile(str(tmp_path / "none"))
