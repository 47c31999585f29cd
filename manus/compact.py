"""Checkpoints in a third of the room: LangGraph's own encoding, compressed.

A checkpoint is small and much like the one before it (channel names and versions mostly), so a
dictionary of what recurs does more than the compression itself.
"""

from __future__ import annotations

import zlib
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

_SUFFIX = "+zlib"
_SMALL = 96
"""Bytes below which compressing is not worth it."""
# What recurs in messages and checkpoints; the most frequent last, where it costs the fewest bits.
# It belongs to the format: a file written with one dictionary cannot be read with another.
_RECURRING = (
    b"langchain_core.messages.humanHumanMessage langchain_core.messages.toolToolMessage"
    b"langchain_core.messages.aiAIMessage model_validate additional_kwargs response_metadata"
    b"finish_reason tool_calls stop model_name invalid_tool_calls usage_metadata input_tokens"
    b"output_tokens total_tokens input_token_details cache_read output_token_details reasoning"
    b"tool_call_id status success error artifact content name args id type tool_call human ai tool"
    b"finished executing thinking request_id guidance_id max_steps workspace profile manus"
    b"cached_tokens model_calls tool_calls seconds steps circle stop_reason output results usage"
    b"__pregel_tasks branch:to:act branch:to:stuck_check branch:to:think __start__ __input__"
    b"updated_channels channel_values channel_versions versions_seen pending_sends"
    b"v\x04ts2026-+00:00id channel_versions"
    b"00000000000000000000000000000000.0.00000000000000000000000000000000.0."
)


class CompactSerializer(JsonPlusSerializer):
    """`JsonPlusSerializer` that compresses what is large enough, and reads both forms."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """As the base; the type of what was compressed ends in `+zlib`."""
        kind, data = super().dumps_typed(obj)
        if len(data) < _SMALL:
            return kind, data
        packer = zlib.compressobj(6, zdict=_RECURRING)
        return kind + _SUFFIX, packer.compress(data) + packer.flush()

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """As the base, for compressed and plain values."""
        kind, packed = data
        if kind.endswith(_SUFFIX):
            packed = zlib.decompressobj(zdict=_RECURRING).decompress(packed)
        return super().loads_typed((kind.removesuffix(_SUFFIX), packed))
