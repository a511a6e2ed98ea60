"""Docstrings of messages that programs use most."""

from __future__ import annotations

# By the name in the package `tensorflow`.
DOCSTRINGS = {
    "ConfigProto": """Settings of a session.

    Attributes:
      intra_op_parallelism_threads, inter_op_parallelism_threads: int32; 0 leaves the choice to the
        runtime.
      device_count: map of device types to the number of devices.
      allow_soft_placement: bool; place operations on the CPU where a device cannot run them.
      log_device_placement: bool; log the device of each operation.
      gpu_options: a `GPUOptions`.
      graph_options: a `GraphOptions`.
      operation_timeout_in_ms: int64; the longest time of a run; 0 for any.

    Example:
      >>> config = tf.ConfigProto(intra_op_parallelism_threads=2, log_device_placement=False)
      >>> config.gpu_options.allow_growth = True
      >>> print(tf.Session(config=config).run(tf.constant([1, 2])))
      [1 2]
    """,
    "GPUOptions": """Settings of GPUs in a `ConfigProto`.

    Attributes:
      allow_growth: bool; allocate memory when it is needed.
      per_process_gpu_memory_fraction: double; the share of a GPU's memory for this process.
      visible_device_list: string; the GPUs to use, "0,2".

    Example:
      >>> options = tf.GPUOptions(per_process_gpu_memory_fraction=0.5, allow_growth=True)
      >>> tf.ConfigProto(gpu_options=options).gpu_options.per_process_gpu_memory_fraction
      0.5
    """,
    "GraphDef": """A serialized graph: nodes, versions and functions.

    Attributes:
      node: repeated `NodeDef`.
      versions: a `VersionDef`.
      library: a `FunctionDefLibrary`.

    Example:
      >>> one = tf.constant(1.0, name="one")
      >>> data = tf.get_default_graph().as_graph_def().SerializeToString()
      >>> [(node.name, node.op) for node in tf.GraphDef.FromString(data).node]
      [('one', 'Const')]
    """,
    "RunMetadata": """Measurements of a run of a session.

    Attributes:
      step_stats: a `StepStats`: start and duration of each operation, by device.
      partition_graphs: repeated `GraphDef`: the graphs that ran.

    Example:
      >>> options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
      >>> _ = tf.Session().run(tf.add(1, 2), options=options, run_metadata=metadata)
      >>> len(metadata.step_stats.dev_stats) > 0
      True
    """,
    "RunOptions": """Settings of one run of a session.

    Attributes:
      trace_level: NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE or FULL_TRACE.
      timeout_in_ms: int64; the longest time of the run; 0 for any.
      output_partition_graphs: bool; put the graphs that run into the `RunMetadata`.
      report_tensor_allocations_upon_oom: bool; list the live tensors when memory runs out.

    Example:
      >>> options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=1000)
      >>> tf.RunOptions.TraceLevel.Name(options.trace_level), options.timeout_in_ms
      ('FULL_TRACE', 1000)
    """,
    "Summary": """Values for TensorBoard.

    Attributes:
      value: repeated `Summary.Value`: `tag` and one of `simple_value`, `histo`, `image`, `audio`,
        `tensor`.

    Example:
      >>> summary = tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.5)])
      >>> with tf.summary.FileWriter("logs") as writer: writer.add_summary(summary, global_step=1)
      >>> summary.value[0].tag, summary.value[0].simple_value
      ('loss', 0.5)
    """,
    "BytesList": """Byte strings of a `Feature`.

    Attributes:
      value: repeated bytes.

    Example:
      >>> words = tf.train.BytesList(value=[b"cat", b"dog"])
      >>> tf.train.BytesList.FromString(words.SerializeToString()).value
      [b'cat', b'dog']
    """,
    "Example": """A record of named features.

    Attributes:
      features: a `Features`.

    Example:
      >>> example = tf.train.Example()
      >>> example.features.feature["label"].int64_list.value.append(7)
      >>> list(tf.train.Example.FromString(example.SerializeToString()).features.feature)
      ['label']
    """,
    "Feature": """A list of values of one kind.

    Attributes:
      bytes_list, float_list, int64_list: one of a `BytesList`, a `FloatList` and an `Int64List`.

    Example:
      >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[28, 28]))
      >>> feature.WhichOneof("kind"), list(feature.int64_list.value)
      ('int64_list', [28, 28])
    """,
    "Features": """Features by name.

    Attributes:
      feature: map of strings to `Feature`.

    Example:
      >>> label = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
      >>> example = tf.train.Example(features=tf.train.Features(feature={"label": label}))
      >>> list(example.features.feature)
      ['label']
    """,
    "FloatList": """Numbers of a `Feature`.

    Attributes:
      value: repeated float.

    Example:
      >>> list(tf.train.FloatList(value=[0.5, 2]).value)
      [0.5, 2.0]
    """,
    "Int64List": """Integers of a `Feature`.

    Attributes:
      value: repeated int64; bools count as 0 and 1.

    Example:
      >>> list(tf.train.Int64List(value=[28, 28]).value)
      [28, 28]
    """,
}
