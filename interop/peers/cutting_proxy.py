"""A TCP proxy that breaks one connection, in the middle of the second message of a kind."""

import asyncio
import contextlib
from urllib.parse import urlsplit

CUT_AT_OCCURRENCE = 2


class CuttingProxy:
    """A proxy for the server at `url`. Use it with `async with`; clients connect to `proxy.url`."""

    def __init__(self, url: str, method: str) -> None:
        self.target = urlsplit(url)
        self.part = method.encode()
        self.cuts = 0

    async def __aenter__(self) -> "CuttingProxy":
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        port = self.server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}{self.target.path}"
        return self

    async def __aexit__(self, *_problem) -> None:
        self.server.close()

    async def serve(self, client_reader: asyncio.StreamReader, client_writer: asyncio.StreamWriter) -> None:
        reader, writer = await asyncio.open_connection(self.target.hostname, self.target.port)
        both = {
            asyncio.create_task(self.forward_requests(client_reader, writer)),
            asyncio.create_task(self.forward_responses(reader, client_writer)),
        }
        # Both directions end together.
        _, pending = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        for end in (writer, client_writer):
            end.close()

    async def forward_requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The client or the server may close the connection at any time.
        with contextlib.suppress(ConnectionError):
            while received := await reader.read(65536):
                writer.write(received)
                await writer.drain()

    async def forward_responses(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen = b""
        with contextlib.suppress(ConnectionError):
            while received := await reader.read(65536):
                before = len(seen)
                seen += received
                end = end_of_occurrence(seen, self.part) if self.cuts == 0 else None
                if end is not None:
                    self.cuts += 1
                    writer.write(received[: max(0, end - before)])
                    await writer.drain()
                    return
                writer.write(received)
                await writer.drain()


def end_of_occurrence(text: bytes, part: bytes) -> int | None:
    end = 0
    for _ in range(CUT_AT_OCCURRENCE):
        start = text.find(part, end)
        if start < 0:
            return None
        end = start + len(part)
    return end
