"""Record how TensorFlow 1.15's own message classes write, print and declare things.

python -m tests.protos.record      # under TensorFlow 1.15.5; rewrites recorded.json
"""

import hashlib
import importlib
import json
import os

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.json")

# name: (file, message, text format)
CASES = {
    "map and oneof": (
        "tensorflow/core/framework/graph.proto",
        "GraphDef",
        """
        node { name: "a" op: "Const" input: "b:1" input: "^c" device: "/cpu:0"
          attr { key: "dtype" value { type: DT_FLOAT } }
          attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } dim {
            size: -1 name: "n" } } float_val: 1.5 float_val: -0.1 float_val: 3 } } }
          attr { key: "_class" value { list { s: "loc:@\\377" s: "" } } }
          attr { key: "ok" value { b: false } }
          attr { key: "none" value { list { } } } }
        versions { producer: 134 bad_consumers: 1 bad_consumers: 300 }
        library { function { signature { name: "f" input_arg { name: "x" type: DT_RESOURCE } }
          ret { key: "y" value: "add:z:0" } } gradient { function_name: "f" gradient_func: "g" } }
        """,
    ),
    "packed": (
        "tensorflow/core/framework/attr_value.proto",
        "AttrValue",
        """list { i: 1 i: -1 i: 9007199254740993 f: 0.5 f: 1e-20 b: true b: false type: DT_INT8
        type: DT_FLOAT_REF shape { unknown_rank: true } func { name: "f" } }""",
    ),
    "scalars": (
        "tensorflow/core/framework/tensor.proto",
        "TensorProto",
        """dtype: DT_COMPLEX64 version_number: -7 tensor_content: "\\000\\001" half_val: 15360
        double_val: 0.1 int_val: -2147483648 string_val: "x" scomplex_val: 1 scomplex_val: inf
        int64_val: -9223372036854775808 bool_val: true uint32_val: 4294967295
        uint64_val: 18446744073709551615 resource_handle_val { name: "h" hash_code: 5 }""",
    ),
    "options": (
        "tensorflow/core/protobuf/config.proto",
        "ConfigProto",
        """device_count { key: "GPU" value: 0 } device_count { key: "CPU" value: 4 }
        allow_soft_placement: true gpu_options { per_process_gpu_memory_fraction: 0.3
        allow_growth: true experimental { virtual_devices { memory_limit_mb: 10 } } }
        graph_options { optimizer_options { global_jit_level: ON_1 opt_level: L0 }
        rewrite_options { constant_folding: OFF } } session_inter_op_thread_pool { num_threads: 2 }
        """,
    ),
    "example": (
        "tensorflow/core/example/example.proto",
        "SequenceExample",
        """context { feature { key: "y" value { int64_list { value: 1 value: -5 } } } }
        feature_lists { feature_list { key: "x" value { feature { float_list { value: 0.25 } }
        feature { bytes_list { value: "\\303\\244" } } } } }""",
    ),
    "event": (
        "tensorflow/core/util/event.proto",
        "Event",
        """wall_time: 1.5e9 step: 3 summary { value { tag: "loss" simple_value: 0.1 metadata {
        plugin_data { plugin_name: "scalars" } } } value { tag: "h" histo { min: -1 bucket: 2 } } }
        """,
    ),
    "any": (
        "tensorflow/core/protobuf/meta_graph.proto",
        "MetaGraphDef",
        """meta_info_def { tags: "serve" any_info { type_url: "t/x.Y" value: "z" } }
        saver_def { filename_tensor_name: "save/Const:0" max_to_keep: 5 version: V2 }
        collection_def { key: "c" value { bytes_list { value: "v" } } }
        signature_def { key: "s" value { method_name: "m" inputs { key: "x" value {
        name: "x:0" } } } }
        """,
    ),
    "foreign enum": (
        "tensorflow/core/protobuf/queue_runner.proto",
        "QueueRunnerDef",
        """queue_name: "q" queue_closed_exception_types: OUT_OF_RANGE
        queue_closed_exception_types: CANCELLED""",
    ),
    "wrapped number": (
        "tensorflow/core/protobuf/tpu/optimization_parameters.proto",
        "LearningRate",
        "constant: 0.5",
    ),
}


def declared(message):
    """Yield a line for every field of a message and of what is nested in it."""
    for field in message.fields:
        kind = field.message_type or field.enum_type
        oneof = field.containing_oneof
        yield " ".join(
            map(
                str,
                (
                    message.full_name,
                    field.name,
                    field.number,
                    field.type,
                    field.full_name,
                    kind and kind.full_name,
                    oneof and oneof.name,
                ),
            )
        )
    for nested in message.nested_types:
        yield from declared(nested)
    for enum in message.enum_types:
        yield enum_line(enum)


def enum_line(enum):
    """Return an enum's name and values."""
    return enum.full_name + " " + repr([(value.name, value.number) for value in enum.values])


def digest(descriptor):
    """Return a short hash over everything a file declares."""
    lines = [enum_line(enum) for enum in descriptor.enum_types_by_name.values()]
    for message in descriptor.message_types_by_name.values():
        lines += declared(message)
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]


def record(paths):
    """Return the recording: cases, and the hash of every file."""
    from google.protobuf import text_format

    cases = {}
    for name, (path, message, text) in CASES.items():
        made = text_format.Parse(text, getattr(load(path), message)())
        data = made.SerializeToString(deterministic=True)
        cases[name] = {"bytes": data.hex(), "text": str(made)}
    return {"cases": cases, "files": {path: digest(load(path).DESCRIPTOR) for path in paths}}


def load(path):
    """Import the generated module of a file."""
    return importlib.import_module(path[: -len(".proto")].replace("/", ".") + "_pb2")


if __name__ == "__main__":
    with open(RECORDED) as recorded:
        known = sorted(json.load(recorded)["files"])
    with open(RECORDED, "w") as recorded:
        json.dump(record(known), recorded, indent=0, sort_keys=True)
        recorded.write("\n")
