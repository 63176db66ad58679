"""Any release of the Python SDK 1.x (`mcp`) as the client of `toolwire demo`.

usage: python_sdk_client.py <revision> stdio <command> [arguments...] | http <url> | sse <url>
"""

import sys
from contextlib import asynccontextmanager

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from pydantic import AnyUrl

from checks import run_checks


class Peer:
    missing_resource_code = -32002

    def __init__(self, session: ClientSession, revision: str, initialized) -> None:
        self.session = session
        self.revision = revision
        self.initialized = initialized

    async def negotiated(self) -> tuple[str, str]:
        return str(self.initialized.protocolVersion), self.initialized.serverInfo.name

    async def list_tools(self) -> list[str]:
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def call_tool(self, name: str, arguments: dict) -> tuple[bool, str]:
        result = await self.session.call_tool(name, arguments)
        return result.isError, "".join(block.text for block in result.content if block.type == "text")

    async def list_resources(self) -> list[str]:
        return [str(resource.uri) for resource in (await self.session.list_resources()).resources]

    async def read_resource(self, uri: str) -> str:
        return (await self.session.read_resource(AnyUrl(uri))).contents[0].text

    async def get_prompt(self, name: str, arguments: dict) -> str:
        return (await self.session.get_prompt(name, arguments)).messages[0].content.text

    @staticmethod
    def code_of(error: Exception) -> int | None:
        # The oldest releases have the error only as an argument of the exception.
        data = getattr(error, "error", None) or error.args[0]
        return getattr(data, "code", None)


def streams(wire: str, target: str, arguments: list[str]):
    if wire == "stdio":
        return stdio_client(StdioServerParameters(command=target, args=arguments))
    if wire == "http":
        # Only newer releases have this transport.
        from mcp.client.streamable_http import streamablehttp_client

        return streamablehttp_client(target)
    return sse_client(target)


@asynccontextmanager
async def connect(revision: str, wire: str, target: str, arguments: list[str]):
    async with streams(wire, target, arguments) as opened:
        async with ClientSession(opened[0], opened[1]) as session:
            yield Peer(session, revision, await session.initialize())


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[2] not in ("stdio", "http", "sse"):
        sys.exit(__doc__)
    sys.exit(anyio.run(run_checks, connect(*sys.argv[1:4], sys.argv[4:])))
