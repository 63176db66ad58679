"""The Python SDK as the client of a protected server: it logs in, calls a tool, and calls a tool with another scope.

usage: login.py <2025-11-25|2026-07-28> <url>

Prints `open <url>` when its user has to open a page, and `result <text>` for the text of each tool result.
"""

import asyncio
import sys
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

NEWEST = "2026-07-28"


def show(line: str) -> None:
    print(line, flush=True)


class Storage:
    """Stores the data of the SDK in memory."""

    tokens = None
    client_info = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client_info

    async def set_client_info(self, client_info):
        self.client_info = client_info


class Callback:
    """Listens for the callback request of the login."""

    def __init__(self) -> None:
        self.callbacks: asyncio.Queue[str] = asyncio.Queue()

    async def listen(self) -> int:
        self.server = await asyncio.start_server(self.respond, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[1]

    async def respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        headers = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        await self.callbacks.put(headers.decode().split(" ")[1])

    async def next_callback(self) -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(await self.callbacks.get()).query)
        return AuthorizationCodeResult(**{name: values[0] for name, values in query.items()})


async def main(revision: str, url: str) -> None:
    callback = Callback()
    port = await callback.listen()

    async def open_page(to: str) -> None:
        show(f"open {to}")

    auth = OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata(
            client_name="toolwire-interop-python",
            redirect_uris=[f"http://127.0.0.1:{port}/callback"],
            application_type="native",
            token_endpoint_auth_method="none",
        ),
        storage=Storage(),
        redirect_handler=open_page,
        callback_handler=callback.next_callback,
    )
    async with httpx2.AsyncClient(auth=auth, timeout=httpx2.Timeout(30, read=300)) as http_client:
        transport = streamable_http_client(url, http_client=http_client)
        async with Client(transport, mode=revision if revision == NEWEST else "legacy") as client:
            for name, arguments in (("who_calls", {}), ("write", {"text": "a"})):
                result = await client.call_tool(name, arguments)
                show(f"result {result.content[0].text}")


asyncio.run(main(*sys.argv[1:]))
