"""A small server with any release of the Python SDK 1.x (`mcp`): two tools, a resource and a prompt.

    python python_sdk_server.py stdio | http <port> | sse <port>

It uses the low-level API, which is the same in all these releases.
"""

import sys

import anyio
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
MOTTO = "demo://motto"

server = Server("interop-release")


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    return [
        types.Tool(name="echo", description="Repeats a text.", inputSchema=TEXT),
        types.Tool(name="fail", description="Fails with a text.", inputSchema=TEXT),
    ]


@server.call_tool()
async def call_tool(name: str, arguments: dict | None) -> list[types.TextContent]:
    if name == "echo":
        return [types.TextContent(type="text", text=arguments["text"])]
    if name == "fail":
        raise ValueError(arguments["text"])
    raise ValueError(f"there is no tool {name}")


@server.list_resources()
async def list_resources() -> list[types.Resource]:
    return [types.Resource(uri=MOTTO, name="motto", mimeType="text/plain")]


@server.read_resource()
async def read_resource(uri) -> str:
    if str(uri) != MOTTO:
        raise ValueError(f"there is no {uri}")
    return "less is more"


@server.list_prompts()
async def list_prompts() -> list[types.Prompt]:
    return [types.Prompt(name="greet", arguments=[types.PromptArgument(name="name", required=True)])]


@server.get_prompt()
async def get_prompt(name: str, arguments: dict[str, str] | None) -> types.GetPromptResult:
    content = types.TextContent(type="text", text=f"Say hello to {arguments['name']}.")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


async def serve_stdio() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def serve_http(port: int) -> None:
    # Only newer releases have this transport.
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    sessions = StreamableHTTPSessionManager(app=server)
    async with sessions.run():
        await listen(sessions.handle_request, port)


async def serve_sse(port: int) -> None:
    from mcp.server.sse import SseServerTransport

    transport = SseServerTransport("/messages/")

    async def app(scope, receive, send) -> None:
        if scope["path"] == "/sse" and scope["method"] == "GET":
            async with transport.connect_sse(scope, receive, send) as streams:
                await server.run(streams[0], streams[1], server.create_initialization_options())
        elif scope["path"] == "/messages/":
            await transport.handle_post_message(scope, receive, send)
        else:
            status = 405 if scope["path"] == "/sse" else 404
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    await listen(app, port)


async def listen(app, port: int) -> None:
    import uvicorn

    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", lifespan="off", interface="asgi3")
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    wire = sys.argv[1] if len(sys.argv) > 1 else ""
    if wire == "stdio":
        anyio.run(serve_stdio)
    elif wire == "http":
        anyio.run(serve_http, int(sys.argv[2]))
    elif wire == "sse":
        anyio.run(serve_sse, int(sys.argv[2]))
    else:
        sys.exit(__doc__)
