"""One connection of the Python SDK, and helpers of the checks: reading results, comparing and waiting."""

import os
import re
import warnings
from contextlib import asynccontextmanager
from typing import NamedTuple

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPDeprecationWarning

CHECK_TIMEOUT_SECONDS = 20
NEWEST = "2026-07-28"
CLOCK = "demo://clock"

# Sampling, logging and resources/subscribe are deprecated, and are checked here on purpose.
warnings.simplefilter("ignore", MCPDeprecationWarning)


class Request(NamedTuple):
    """An HTTP request: its method, its last event id, and the status of the response."""

    method: str
    last_event_id: str | None
    status: int


class Peer:
    """One connection, with the received messages and the responses to elicitations."""

    def __init__(self, mode: str, server: str | StdioServerParameters, headers: dict[str, str] | None = None) -> None:
        self.mode = mode
        self.url = server if isinstance(server, str) else None
        self.revision = NEWEST if mode == "auto" else mode
        self.modern = self.revision == NEWEST
        self.logged: list[types.LoggingMessageNotificationParams] = []
        self.updated: list[str] = []
        self.changed_lists: list[str] = []
        self.requests: list[Request] = []
        self.session_id: str | None = None
        # The server has lost the session, as the test permits.
        self.session_is_lost = False
        self.transport_errors: list[str] = []
        self.elicitation_result: types.ElicitResult | None = None
        # Responses by message. `elicitation_result` is the default.
        self.elicitation_results: dict[str, types.ElicitResult] = {}
        self.asked: list[types.ElicitRequestParams] = []
        self.sampled: list[types.CreateMessageRequestParams] = []
        self.client = Client(
            self.over_http(headers) if self.url else server,
            mode=mode if mode in ("auto", NEWEST) else "legacy",
            read_timeout_seconds=CHECK_TIMEOUT_SECONDS,
            client_info=types.Implementation(name="toolwire-interop-python", version="1.0.0"),
            elicitation_callback=self.on_elicitation,
            sampling_callback=self.on_sampling,
            logging_callback=self.on_log,
            message_handler=self.on_message,
        )

    async def on_elicitation(self, _context, params):
        self.asked.append(params)
        return self.elicitation_results.get(params.message, self.elicitation_result)

    async def on_sampling(self, _context, params):
        self.sampled.append(params)
        content = types.TextContent(type="text", text="short: the end")
        return types.CreateMessageResult(role="assistant", model="interop", content=content)

    async def on_log(self, params):
        self.logged.append(params)

    async def on_message(self, message):
        if isinstance(message, Exception):
            self.transport_errors.append(repr(message))
        elif isinstance(message, types.ResourceUpdatedNotification):
            self.updated.append(str(message.params.uri))
        elif isinstance(message, types.ToolListChangedNotification):
            self.changed_lists.append("tools")
        elif isinstance(message, types.PromptListChangedNotification):
            self.changed_lists.append("prompts")
        elif isinstance(message, types.ResourceListChangedNotification):
            self.changed_lists.append("resources")

    def another(self, url: str | None = None, headers: dict[str, str] | None = None) -> "Peer":
        """Returns another client of the same mode, for another URL or with other headers."""
        return Peer(self.mode, url or self.url, headers)

    @asynccontextmanager
    async def over_http(self, headers: dict[str, str] | None):
        async def record(response: httpx2.Response) -> None:
            request = response.request
            self.requests.append(Request(request.method, request.headers.get("last-event-id"), response.status_code))
            self.session_id = response.headers.get("mcp-session-id", self.session_id)

        # The same read timeout as the default client of the SDK. No stream of the checks is idle for longer.
        timeout = httpx2.Timeout(30, read=300)
        hooks = {"response": [record]}
        async with httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks=hooks) as http_client:
            async with streamable_http_client(self.url, http_client=http_client) as streams:
                yield streams

    async def call(self, name: str, arguments: dict | None = None, **options) -> types.CallToolResult:
        return await self.client.call_tool(name, arguments or {}, **options)

    async def text(self, name: str, arguments: dict | None = None, **options) -> str:
        return text_of(await self.call(name, arguments, **options))

    async def active_countdowns(self) -> int:
        # With several nodes, a balancer sends each request to the next node, and each node counts its own.
        active = 0
        for _ in range(int(os.environ.get("TOOLWIRE_NODES", "1"))):
            text = await self.text("active")
            number = re.search(r"\d+", text)
            expect(number is not None, f"active returned {text!r}")
            active += int(number[0])
        return active

    async def clock(self) -> str:
        result = await self.client.read_resource(CLOCK, cache_mode="bypass")
        return result.contents[0].text


def text_of(result: types.CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, types.TextContent))


def expect(condition: object, problem: str) -> None:
    if not condition:
        raise AssertionError(problem)


def equal(actual: object, expected: object) -> None:
    expect(actual == expected, f"{actual!r} is not {expected!r}")


async def rejects(code: int, call) -> None:
    try:
        result = await call
    except MCPError as error:
        equal(error.code, code)
    else:
        raise AssertionError(f"expected an error, got {result!r}")


async def until(condition) -> None:
    """Polls until the condition is true. The timeout of the check ends the loop."""
    while not condition():
        await anyio.sleep(0.025)
