"""Lists tools and calls them with the Python clients of the protocol, which check every result against the tool's own output
schema.

argument: "auto" or "legacy" (mcp in that mode), "fastmcp"
in:  {url, calls: [{name, arguments}]}
out: {protocol_version, tools, results: [result | {error}]}
"""

import asyncio
import json
import sys

import fastmcp
from mcp.client import Client


def wire(model: object) -> dict:
    """A message as it came over the wire."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def attempt(call: object) -> dict:
    """The result of a call, or why the client does not give it."""
    try:
        return wire(await call)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


async def with_mcp(mode: str, order: dict) -> dict:
    """mcp: https://github.com/modelcontextprotocol/python-sdk"""
    async with Client(order["url"], mode=mode) as client:
        tools = (await client.list_tools()).tools
        results = [
            await attempt(client.call_tool(call["name"], call["arguments"]))
            for call in order["calls"]
        ]
        return {
            "protocol_version": client.protocol_version,
            "tools": [wire(tool) for tool in tools],
            "results": results,
        }


async def with_fastmcp(order: dict) -> dict:
    """fastmcp: https://github.com/PrefectHQ/fastmcp"""
    async with fastmcp.Client(order["url"]) as client:
        tools = await client.list_tools()
        results = [
            await attempt(client.call_tool_mcp(call["name"], call["arguments"]))
            for call in order["calls"]
        ]
        return {
            "protocol_version": None,
            "tools": [wire(tool) for tool in tools],
            "results": results,
        }


def main() -> None:
    """Reads the order, prints one JSON line."""
    which = sys.argv[1]
    order = json.load(sys.stdin)
    work = with_fastmcp(order) if which == "fastmcp" else with_mcp(which, order)
    print(json.dumps(asyncio.run(work)))


if __name__ == "__main__":
    main()
