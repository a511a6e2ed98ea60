"""The parts of `model.py` that are the same in all models."""

HEADER = '''\
"""A TensorFlow 1 model as a PyTorch module, written by Stillflow. It needs PyTorch alone.

    model = load()
    outputs = model(*inputs)

`INPUTS` and `OUTPUTS` are the names of the tensors in TensorFlow, in the order of `forward`'s
arguments and results. {layout}. Keys of the state dict are the names of
TensorFlow's variables with dots instead of slashes.
"""

import json
import struct
from pathlib import Path

import torch
{imports}from torch import nn

INPUTS = {inputs}
OUTPUTS = {outputs}'''

LAYERS = """
# Weights of layers: TensorFlow's variable, and the order in which its axes stand here; of recurrent
# layers also the rows that they are there, the gate there that each gate here is, and their shape.
LAYERS = {{
{rows}}}"""

SCOPE = '''\
class Scope(nn.Module):
    """The parameters of a name scope."""'''

BLOCK = '''\
class {name}(nn.Module):
    """The {scopes}."""

    def __init__(self):
        super().__init__(){members}

    def forward({arguments}):
{lines}'''

MODEL = '''\
class Model(nn.Module):
    """The function from {inputs} to {outputs}."""

    def __init__(self):
        super().__init__(){members}

    @property
    def device(self):
        for tensor in (*self.parameters(), *self.buffers()):
            return tensor.device
        return torch.device("cpu")

    def forward({arguments}):
{lines}'''

CHANNELS_LAST = [
    "        for layer in self.modules():  # as images have their channels last in memory",
    "            if isinstance(layer, nn.Conv2d):",
    "                layer.to(memory_format=torch.channels_last)",
]

LOADING = '''\
def read_tensors(path):
    """The tensors of a safetensors file, by name."""
    types = {
        "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
        "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
        "U64": torch.uint64, "U32": torch.uint32, "U16": torch.uint16, "U8": torch.uint8,
        "BOOL": torch.bool, "C64": torch.complex64,
    }
    content = bytearray(Path(path).read_bytes())
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        dtype = types[entry["dtype"]]
        if first == last:
            tensors[name] = torch.empty(entry["shape"], dtype=dtype)
            continue
        count = (last - first) // dtype.itemsize
        flat = torch.frombuffer(content, dtype=dtype, count=count, offset=8 + length + first)
        tensors[name] = flat.reshape(entry["shape"])
    for name, facts in json.loads(metadata.get("stillflow", "{}")).items():
        if facts["type"].startswith("complex"):
            tensors[name] = torch.view_as_complex(tensors[name])
    return tensors


def load(device="cpu"):
    """The model with its weights, for inference; `model.train()` makes it one for training."""
    model = Model()
    weights = Path(__file__).with_name("model.safetensors")
    model.load_state_dict(read_tensors(weights))
    return model.to(device).eval()
'''
