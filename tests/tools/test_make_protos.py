"""Tables of messages are written from facts as they stand in the package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from google.protobuf import descriptor_pb2

from stillflow.protos.schema import Table

TOOLS = Path(__file__).parents[2] / "tools"


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["schema.txt", "distributed.txt"])
def test_a_table_is_what_is_written_from_its_descriptors(name: str) -> None:
    make, record = tool("make_protos"), tool("record_protos")
    table = Table((name,))
    facts = {path: record.file_facts(table.descriptor(path)) for path in table.sections}
    written = make.HEADS[name] + "\n".join(make.table_lines(facts)) + "\n"
    text = (make.FOLDER / name).read_text(encoding="utf-8")
    # An enum that a message has inside may stand before it or behind it.
    assert sorted(written.splitlines()) == sorted(text.splitlines())


def test_facts_are_recorded_from_a_set_of_descriptors(tmp_path: Path) -> None:
    record = tool("record_protos")
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", package="a", syntax="proto3")
    service = file.service.add(name="S")
    service.method.add(name="One", input_type=".a.M", output_type=".a.N", server_streaming=True)
    path = tmp_path / "set.pb"
    path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    (found,) = record.descriptors(str(path))
    facts = record.file_facts(found)
    assert facts["services"] == {"S": {"One": [".a.M", ".a.N*"]}}
    assert tool("make_protos").service_line("S", facts["services"]["S"], "a") == (
        "service S One:.M>.N*"
    )
