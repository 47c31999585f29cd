"""The plain loop: the OpenAI client, a list of messages, and a tool that is called directly."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from openai import AsyncOpenAI

from benchmarks.task import SYSTEM, TOOLS, observation, request


async def run(client: AsyncOpenAI, name: str) -> str:
    """Execute one run to its end."""
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": request(name)},
    ]
    while True:
        reply = await client.chat.completions.create(model="bench", messages=messages, tools=TOOLS)
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            assert call.type == "function"
            place = json.loads(call.function.arguments)["place"]
            content = observation(place)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


async def main(base_url: str, names: list[str]) -> None:
    """Execute all runs concurrently, over one client."""
    client = AsyncOpenAI(base_url=base_url, api_key="none")
    answers = await asyncio.gather(*(run(client, name) for name in names))
    assert set(answers) == {"done"}, answers


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
