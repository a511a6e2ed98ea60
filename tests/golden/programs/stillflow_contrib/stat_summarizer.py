"""Tables of where the time of many runs went, of statistics that are made up."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised

NODES = [
    # name, type, start, time, memory
    ("m1", "Const", 1000, 3, [8]),
    ("m2", "Const", 1004, 5, [16, 64]),
    ("product", "MatMul", 1010, 1234, [1024]),
    ("sum/reduce", "Sum", 2300, 47, []),
    ("no_label", None, 2400, 11, [100000]),
]


def _step(tf, device, nodes, factor=1):
    step = tf.RunMetadata().step_stats
    devices = device if isinstance(device, list) else [device]
    for each in devices:
        stats = step.dev_stats.add(device=each)
        for name, kind, start, time, memory in nodes:
            node = stats.node_stats.add(
                node_name=name, all_start_micros=start, all_end_rel_micros=time * factor)
            if kind:
                node.timeline_label = f"{name} = {kind}(x, y)"
            for used in memory:
                node.memory.add(total_bytes=used * factor)
    return step.SerializeToString()


CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def _report(tf, *steps):
    summarizer = tf.contrib.stat_summarizer.NewStatSummarizer(b"")
    for step in steps:
        summarizer.ProcessStepStatsStr(step)
    found = summarizer.GetOutputString()
    tf.contrib.stat_summarizer.DeleteStatSummarizer(summarizer)
    return found


@program
def tables(tf):
    return Run(facts={
        "one": _report(tf, _step(tf, CPU, NODES)),
        "three": _report(tf, *[_step(tf, CPU, NODES, factor) for factor in (3, 1, 2)]),
        "same": _report(tf, *[_step(tf, CPU, NODES)] * 4),
        "others": _report(tf, _step(tf, CPU, NODES), _step(tf, CPU, NODES[2:] + NODES[2:4])),
        "none": _report(tf),
        "many": _report(tf, _step(tf, CPU, [
            (f"node_{k}", f"Type{k % 5}", 10 * k, (k * 7919) % 1009 + 1, [k * 333])
            for k in range(25)])),
    })


@program
def devices(tf):
    names = ["/host:CPU", "/device:GPU:0/stream:all", "/device:GPU:0/stream:22",
             "/device:GPU:0/memcpy", CPU]
    nodes = [("kernel:MatMul", "Ignored", 5, 40, []), ("a:b:HtoD", None, 20, 7, [4]),
             ("plain", "Add", 30, 2, [])]
    return Run(facts={"found": _report(tf, _step(tf, names, nodes))})


@program
def no_time(tf):
    nodes = [(name, kind, start, 0, memory) for name, kind, start, _, memory in NODES[:1]]
    return Run(facts={"found": _report(tf, _step(tf, CPU, nodes))})


@program
def refused(tf):
    module = tf.contrib.stat_summarizer
    return Run(facts={
        "graph": raised(module.NewStatSummarizer, "graph"),
        "step": raised(module.StatSummarizer().ProcessStepStatsStr, 3),
    })
