"""A TCP proxy that loses one connection, as networks do: in the middle of the second message of a kind."""

import asyncio
import contextlib
from urllib.parse import urlsplit

CUT_AT_OCCURRENCE = 2


class CuttingProxy:
    """`async with CuttingProxy(url, method) as proxy`, then use `proxy.url` instead."""

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
            asyncio.create_task(self.pass_on(client_reader, writer)),
            asyncio.create_task(self.pass_answers_on(reader, client_writer)),
        }
        # Both directions end together.
        _, pending = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        for end in (writer, client_writer):
            end.close()

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A connection that somebody else ends is not a problem of the proxy.
        with contextlib.suppress(ConnectionError):
            while received := await reader.read(65536):
                writer.write(received)
                await writer.drain()

    async def pass_answers_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
