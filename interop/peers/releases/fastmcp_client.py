"""Any release of FastMCP as the client of `toolwire demo`.

usage: fastmcp_client.py <revision> stdio <command> [arguments...] | http <url> | sse <url>
"""

import sys
from contextlib import asynccontextmanager

import anyio
from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport

from checks import run_checks


class Peer:
    def __init__(self, client: Client, revision: str) -> None:
        self.client = client
        self.revision = revision
        self.missing_resource_code = -32602 if revision >= "2026" else -32002

    async def negotiated(self) -> tuple[str, str]:
        initialized = self.client.initialize_result
        if initialized is None:
            # Since 4.0, a modern connection has no such result.
            return self.client.protocol_version, self.client.server_info.name
        return str(initialized.protocolVersion), initialized.serverInfo.name

    async def list_tools(self) -> list[str]:
        return [tool.name for tool in await self.client.list_tools()]

    async def call_tool(self, name: str, arguments: dict) -> tuple[bool, str]:
        result = await self.client.call_tool(name, arguments, raise_on_error=False)
        return result.is_error, "".join(block.text for block in result.content if block.type == "text")

    async def list_resources(self) -> list[str]:
        return [str(resource.uri) for resource in await self.client.list_resources()]

    async def read_resource(self, uri: str) -> str:
        return (await self.client.read_resource(uri))[0].text

    async def get_prompt(self, name: str, arguments: dict) -> str:
        return (await self.client.get_prompt(name, arguments)).messages[0].content.text

    @staticmethod
    def code_of(error: Exception) -> int | None:
        return getattr(getattr(error, "error", error), "code", None)


def transport(wire: str, target: str, arguments: list[str]):
    if wire == "stdio":
        return StdioTransport(command=target, args=arguments)
    return StreamableHttpTransport(target) if wire == "http" else SSETransport(target)


@asynccontextmanager
async def connect(revision: str, wire: str, target: str, arguments: list[str]):
    client = Client(transport(wire, target, arguments))
    # By default, the process runs on at the end of the block, and the next block initializes it again.
    async with client:
        await client.list_tools()
    async with client:
        yield Peer(client, revision)
    await client.close()


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[2] not in ("stdio", "http", "sse"):
        sys.exit(__doc__)
    sys.exit(anyio.run(run_checks, connect(*sys.argv[1:4], sys.argv[4:])))
