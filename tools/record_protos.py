"""Record protobuf files of a real TensorFlow 1.15 as JSON, in the form ``make_protos.py`` reads.

Run under a TensorFlow 1.15 interpreter::

    python tools/record_protos.py OUT.json tensorflow/core/lib/core/error_codes.proto ...

The package has no modules of some files, including those of its masters and workers. They are
recorded, under any interpreter, from descriptors that protoc (of PyPI's ``grpcio-tools``) writes::

    cd TENSORFLOW && python -m grpc_tools.protoc -I. --descriptor_set_out=SET.pb FILE.proto ...
    python tools/record_protos.py OUT.json SET.pb
"""

import importlib
import json
import sys

from google.protobuf import descriptor_pb2

_FIELD = descriptor_pb2.FieldDescriptorProto


def field_facts(field):
    """Return one field as a dictionary of its name, number, type, label, oneof and packing."""
    facts = {"name": field.name, "number": field.number}
    facts["type"] = field.type_name or _FIELD.Type.Name(field.type)[len("TYPE_") :].lower()
    if field.label == _FIELD.LABEL_REPEATED:
        facts["label"] = "repeated"
    if field.HasField("oneof_index"):
        facts["oneof"] = field.oneof_index
    return facts


def enum_facts(enum):
    """Return one enum as ``{"values": {name: number}}``."""
    return {"values": {value.name: value.number for value in enum.value}}


def message_facts(message):
    """Return one message, with its nested ones."""
    facts = {"fields": [field_facts(field) for field in message.field]}
    if message.oneof_decl:
        facts["oneofs"] = [oneof.name for oneof in message.oneof_decl]
    if message.options.map_entry:
        facts["map_entry"] = True
    if message.nested_type:
        facts["messages"] = {nested.name: message_facts(nested) for nested in message.nested_type}
    if message.enum_type:
        facts["enums"] = {enum.name: enum_facts(enum) for enum in message.enum_type}
    return facts


def service_facts(service):
    """Return one service as the types of its methods; those of a stream end in a star."""
    return {
        method.name: [
            method.input_type + "*" * method.client_streaming,
            method.output_type + "*" * method.server_streaming,
        ]
        for method in service.method
    }


def file_facts(proto):
    """Return one ``.proto`` file, from its descriptor."""
    facts = {
        "package": proto.package,
        "syntax": proto.syntax or "proto2",
        "imports": list(proto.dependency),
        "messages": {message.name: message_facts(message) for message in proto.message_type},
        "enums": {enum.name: enum_facts(enum) for enum in proto.enum_type},
    }
    if proto.service:
        facts["services"] = {service.name: service_facts(service) for service in proto.service}
    return facts


def descriptors(path):
    """Return the descriptors of a ``.proto`` file, by its generated module, or of a set."""
    if not path.endswith(".proto"):
        with open(path, "rb") as data:
            return descriptor_pb2.FileDescriptorSet.FromString(data.read()).file
    module = importlib.import_module(path[: -len(".proto")].replace("/", ".") + "_pb2")
    proto = descriptor_pb2.FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(proto)
    return [proto]


def main(argv):
    """Write the facts of the named files."""
    with open(argv[1], "w") as out:
        protos = [proto for path in argv[2:] for proto in descriptors(path)]
        json.dump({proto.name: file_facts(proto) for proto in protos}, out)


if __name__ == "__main__":
    main(sys.argv)
