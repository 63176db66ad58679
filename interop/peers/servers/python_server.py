"""The server of the checks with the Python SDK, for clients of both eras. It has the features of `features.mjs`.

    python python_server.py stdio | http [port] | sse [port]
"""

import socket
import sys
import warnings
from typing import Annotated, Literal

import anyio
import mcp_types as types
import uvicorn
from mcp.server.caching import CacheHint
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, Elicit, ListRoots, MCPServer, Resolve, Sample
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.shared.exceptions import MCPDeprecationWarning
from pydantic import BaseModel, Field

COUNTER = "demo://counter"
NAMES = ["Ada", "Alan", "Grace"]
RESOURCES_PER_PAGE = 2
NEWEST = "2026-07-28"

# Sampling, logging and roots are deprecated, and are served here on purpose.
warnings.simplefilter("ignore", MCPDeprecationWarning)

# Clients may cache these results. The server notifies them of changes.
ONE_HOUR = CacheHint(ttl_ms=3_600_000, scope="private")

server = MCPServer(
    "interop-python",
    version="1.0.0",
    log_level="WARNING",
    cache_hints={"tools/list": ONE_HOUR, "resources/read": ONE_HOUR},
)


class State:
    """The state that all sessions of the process share. A check may read it in another session."""

    counter = 0
    almanac_reads = 0
    cancelled = 0
    added_tools = 0
    subscribers: dict[str, set] = {}


class Sum(BaseModel):
    sum: float


class Confirmation(BaseModel):
    confirmed: bool
    note: str = "none"


class Value(BaseModel):
    value: str


class Colour(BaseModel):
    value: Literal["red", "green"]


@server.tool()
def echo(text: str) -> types.CallToolResult:
    return text_result(text)


@server.tool()
def add(a: float, b: float) -> Sum:
    return Sum(sum=a + b)


@server.tool()
def fail(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=message)], is_error=True)


@server.tool()
def route(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})], count: int) -> types.CallToolResult:
    return text_result(f"{count} to {region}")


@server.tool()
async def count(to: int, delay_ms: int, ctx: Context) -> types.CallToolResult:
    for step in range(1, to + 1):
        await anyio.sleep(delay_ms / 1000)
        await ctx.report_progress(step, to, f"step {step}")
    return text_result(f"counted to {to}")


@server.tool()
async def wait(ctx: Context) -> types.CallToolResult:
    try:
        await ctx.report_progress(1)
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        State.cancelled += 1
        raise
    return text_result("cancelled")


@server.tool()
def cancelled() -> types.CallToolResult:
    return text_result(str(State.cancelled))


@server.tool()
async def log(text: str, ctx: Context) -> types.CallToolResult:
    await ctx.log("warning", text, logger_name="demo")
    return text_result("logged")


@server.tool()
async def release_stream(ctx: Context) -> types.CallToolResult:
    close = ctx.request_context.close_sse_stream
    await ctx.close_sse_stream()
    await anyio.sleep(0.1)
    return text_result("stream released" if close else "stream not released")


def ask_confirmation(question: str) -> Elicit[Confirmation]:
    return Elicit(question, Confirmation)


@server.tool()
def confirm(
    question: str, response: Annotated[ElicitationResult[Confirmation], Resolve(ask_confirmation)]
) -> types.CallToolResult:
    if isinstance(response, AcceptedElicitation):
        return text_result(f"accept: {str(response.data.confirmed).lower()}, note: {response.data.note}")
    return text_result(response.action)


def ask_name() -> Elicit[Value]:
    return Elicit("Your name?", Value)


# The colour depends on the name, so it is requested in a second round.
def ask_colour(name: Annotated[Value, Resolve(ask_name)]) -> Elicit[Colour]:
    return Elicit("Your colour?", Colour)


@server.tool()
def interview(
    name: Annotated[Value, Resolve(ask_name)], colour: Annotated[Colour, Resolve(ask_colour)]
) -> types.CallToolResult:
    return text_result(f"{name.value} likes {colour.value}")


def sample_summary(text: str) -> Sample:
    content = types.TextContent(type="text", text=text)
    return Sample([types.SamplingMessage(role="user", content=content)], max_tokens=50)


@server.tool()
def summarise(text: str, summary: Annotated[types.CreateMessageResult, Resolve(sample_summary)]) -> types.CallToolResult:
    return text_result(f"{summary.model}: {summary.content.text}")


def list_roots() -> ListRoots:
    return ListRoots()


@server.tool()
def roots(listed: Annotated[types.ListRootsResult, Resolve(list_roots)]) -> types.CallToolResult:
    return text_result(" ".join(str(root.uri) for root in listed.roots))


@server.tool()
async def bump(ctx: Context) -> types.CallToolResult:
    State.counter += 1
    await ctx.notify_resource_updated(COUNTER)
    for session in State.subscribers.get(COUNTER, set()):
        await session.send_resource_updated(COUNTER)
    return text_result(str(State.counter))


@server.tool()
async def add_tool(ctx: Context) -> types.CallToolResult:
    State.added_tools += 1
    name = f"added_{State.added_tools}"
    server.add_tool(lambda: text_result(name), name=name, structured_output=False)
    await ctx.notify_tools_changed()
    if ctx.protocol_version != NEWEST:
        await ctx.session.send_tool_list_changed()
    return text_result(name)


@server.resource("demo://motto", name="motto", mime_type="text/plain")
def motto() -> str:
    return "less is more"


@server.resource(COUNTER, name="counter", mime_type="text/plain")
def counter() -> str:
    return str(State.counter)


@server.resource("demo://pixel", name="pixel", mime_type="image/png")
def pixel() -> bytes:
    return b"\x89PNG\r\n\x1a\n"


@server.resource("demo://almanac", name="almanac", mime_type="text/plain")
def almanac() -> str:
    State.almanac_reads += 1
    return f"read {State.almanac_reads}"


@server.resource("demo://notes/{name}", name="notes", mime_type="text/plain")
def note(name: str) -> str:
    return f"a note of {name}"


@server.resource("demo://secrets/{name}", name="secrets", mime_type="text/plain")
async def secret(name: str, ctx: Context) -> str | types.InputRequiredResult:
    response = await ask(ctx, "password", "Password?")
    if isinstance(response, types.InputRequiredResult):
        return response
    return f"opened with {response.content['value']}" if response.action == "accept" else "closed"


@server.prompt()
def greet(name: str) -> str:
    return f"Say hello to {name}."


@server.prompt()
async def signed(ctx: Context) -> str | types.InputRequiredResult:
    response = await ask(ctx, "signature", "Who signs?")
    return response if isinstance(response, types.InputRequiredResult) else f"Signed by {response.content['value']}."


async def ask(ctx: Context, key: str, message: str) -> types.ElicitResult | types.InputRequiredResult:
    """Sends an elicitation in legacy revisions. In the modern revision, returns an input request or its response."""
    schema = {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}
    if ctx.protocol_version != NEWEST:
        return await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_context.request_id)
    responses = ctx.input_responses or {}
    if key in responses and ctx.request_state == "asked":
        return responses[key]
    params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    return types.InputRequiredResult(input_requests={key: types.ElicitRequest(params=params)}, request_state="asked")


@server.completion()
async def complete(ref, argument, context) -> types.Completion:
    values = [name for name in NAMES if name.startswith(argument.value)]
    return types.Completion(values=values, total=len(values), has_more=False)


async def subscribe(ctx, params: types.SubscribeRequestParams) -> types.EmptyResult:
    State.subscribers.setdefault(str(params.uri), set()).add(ctx.session)
    return types.EmptyResult()


async def unsubscribe(ctx, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    State.subscribers.get(str(params.uri), set()).discard(ctx.session)
    return types.EmptyResult()


async def set_level(ctx, params: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def list_resources(ctx, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    listed = await server.list_resources()
    start = int(params.cursor or 0) if params else 0
    end = start + RESOURCES_PER_PAGE
    return types.ListResourcesResult(resources=listed[start:end], next_cursor=str(end) if end < len(listed) else None)


def text_result(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


class StoredEvents(EventStore):
    """Stores all events, so that a broken stream can be resumed."""

    def __init__(self) -> None:
        self.events: list[tuple[str, types.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id, message):
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id, send_callback):
        stream_id, _ = self.events[int(last_event_id) - 1]
        for number, (other, message) in enumerate(self.events, start=1):
            # An event without a message is the priming event of the stream.
            if number > int(last_event_id) and other == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


def listen(app, port: int) -> None:
    """Listens on the port, or on a free port, and prints the address in one line."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen()
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    anyio.run(uvicorn.Server(config).serve, [listener])


def main() -> None:
    # The high-level API of the SDK has no legacy subscriptions and no pages.
    lowlevel = server._lowlevel_server
    lowlevel.add_request_handler("resources/subscribe", types.SubscribeRequestParams, subscribe)
    lowlevel.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, unsubscribe)
    lowlevel.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
    lowlevel.add_request_handler("resources/list", types.PaginatedRequestParams, list_resources)
    wire = sys.argv[1] if len(sys.argv) > 1 else ""
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    if wire == "stdio":
        server.run("stdio")
    elif wire == "http":
        listen(server.streamable_http_app(event_store=StoredEvents(), retry_interval=50), port)
    elif wire == "sse":
        listen(server.sse_app(), port)
    else:
        sys.exit("usage: python python_server.py stdio | http [port] | sse [port]")


main()
