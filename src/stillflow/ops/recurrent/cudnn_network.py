"""Recurrent networks of several layers, run by PyTorch layer by layer."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.recurrent.cudnn_layout import Layout

# A TensorFlow program cuts the weights out of one vector, in an order that is not torch's.
warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous")


class Network:
    """A network with weights in one vector.

    Args:
      layout: its sizes.
      dropout: which share of each layer's output is dropped before the next.
      time_major: whether sequences are [time, batch, ...] and states [parts, batch, ...]; else the
        batch comes first in both.
    """

    def __init__(self, layout: Layout, dropout: float, time_major: bool) -> None:
        self._layout, self._dropout, self._time_major = layout, dropout, time_major

    def masks(self, x: Any, generator: Any) -> torch.Tensor:
        """Return the factors of outputs between layers, in one vector; empty without dropout."""
        layout = self._layout
        between = layout.layers - 1
        if not self._dropout or not between:
            return x.new_zeros((0,))
        size = between * x.shape[0] * x.shape[1] * layout.state * layout.directions
        kept = torch.rand(size, generator=generator) >= self._dropout
        return (kept / max(1.0 - self._dropout, 1e-30)).to(x)

    def run(
        self, x: Any, h: Any, c: Any, params: Any, masks: Any, lengths: Any
    ) -> tuple[Any, Any, Any]:
        """Return the outputs, and the last states h and c; c is a zero unless it is an LSTM."""
        kind = x.dtype
        is_lstm = self._layout.mode == "lstm"
        x, h, c, params, masks = (self._wide(part) for part in (x, h, c, params, masks))
        x, h = self._turned(x), self._turned(h)
        c = self._turned(c) if is_lstm else c
        packing = None if lengths is None else _Packing(lengths, x.shape[0])
        data = x if packing is None else packing.pack(x)
        last_h: list[Any] = []
        last_c: list[Any] = []
        weights = self._layout.of_torch(params)
        per_layer = masks.numel() // max(self._layout.layers - 1, 1)
        for layer in range(self._layout.layers):
            if layer and per_layer:
                mask = masks[(layer - 1) * per_layer : layer * per_layer].reshape(
                    x.shape[0], x.shape[1], -1
                )
                data = data * (mask if packing is None else packing.pack(mask))
            data, states = self._layer(layer, data, h, c, weights, packing)
            last_h.append(states[0])
            last_c.extend(states[1:])
        output = data if packing is None else packing.unpack(data)
        final_h = self._turned(torch.cat(last_h)).to(kind)
        final_c = self._turned(torch.cat(last_c)).to(kind) if is_lstm else x.new_zeros(()).to(kind)
        return self._turned(output).to(kind), final_h, final_c

    def gradients(
        self, x: Any, h: Any, c: Any, params: Any, masks: Any, lengths: Any, grads: Sequence[Any]
    ) -> list[Any]:
        """Return the gradients by `x`, `h`, `c` and `params`, given those of the results."""
        with torch.inference_mode(False), torch.enable_grad():
            given = [part.clone().requires_grad_() for part in (x, h, c, params)]
            lengths = None if lengths is None else lengths.clone()
            own_x, own_h, own_c, own_params = given
            results = self.run(own_x, own_h, own_c, own_params, masks.clone(), lengths)
            count = 3 if self._layout.mode == "lstm" else 2
            found = torch.autograd.grad(
                results[:count], given, [grad.clone() for grad in grads[:count]], allow_unused=True
            )
        return [
            torch.zeros_like(part) if grad is None else grad.detach()
            for grad, part in zip(found, (x, h, c, params), strict=True)
        ]

    def _layer(
        self, layer: int, data: Any, h: Any, c: Any, weights: list[list[Any]], packing: Any
    ) -> tuple[Any, Sequence[Any]]:
        layout = self._layout
        mine = slice(layer * layout.directions, (layer + 1) * layout.directions)
        flat = [part for direction in weights[mine] for part in direction]
        if packing is not None:
            h, c = packing.ordered(h), packing.ordered(c) if layout.mode == "lstm" else c
        is_lstm = layout.mode == "lstm"
        start: Any = (
            (h[mine].contiguous(), c[mine].contiguous()) if is_lstm else h[mine].contiguous()
        )
        function = getattr(torch._VF, layout.mode)
        # Gradients on a GPU need the state that only training keeps; nothing is dropped here either
        # way.
        how = (flat, True, 1, 0.0, torch.is_grad_enabled(), layout.directions == 2)
        if packing is None:
            output, *states = function(data, start, *how, False)
        else:
            output, *states = function(data, packing.batch_sizes, start, *how)
            states = [packing.restored(state) for state in states]
        return output, states

    def _wide(self, value: Any) -> torch.Tensor:
        """float16 as float32: CPUs have no such networks."""
        return value.float() if value.dtype == torch.float16 and value.is_cpu else value

    def _turned(self, value: Any) -> torch.Tensor:
        return value if self._time_major else value.transpose(0, 1).contiguous()


class _Packing:
    """Sequences of different lengths without padding, the longest first."""

    def __init__(self, lengths: Any, longest: int) -> None:
        counts = lengths.to("cpu", torch.int64)
        if counts.numel() and not 0 < int(counts.min()) <= int(counts.max()) <= longest:
            raise ValueError(
                f"Sequence lengths must be between 1 and the time axis's {longest}, got "
                f"{counts.tolist()}"
            )
        sorted_counts, self._order = torch.sort(counts, descending=True, stable=True)
        self._back = torch.argsort(self._order)
        steps = torch.arange(longest)[:, None]
        self._within = steps < sorted_counts[None]
        self.batch_sizes = self._within.sum(1)
        self.batch_sizes = self.batch_sizes[self.batch_sizes > 0]

    def pack(self, value: Any) -> torch.Tensor:
        """[time, batch, ...] as the rows of all steps, one step after the other."""
        return value[:, self._order][self._within]

    def unpack(self, rows: Any) -> torch.Tensor:
        """Return the inverse of `pack`, with zeros behind the ends."""
        whole = rows.new_zeros((*self._within.shape, *rows.shape[1:]))
        where = self._within.nonzero(as_tuple=True)
        return whole.index_put(where, rows)[:, self._back]

    def ordered(self, state: Any) -> torch.Tensor:
        """Return a state's batch, the longest sequence first."""
        return state[:, self._order]

    def restored(self, state: Any) -> torch.Tensor:
        """Return the inverse of `ordered`."""
        return state[:, self._back]
