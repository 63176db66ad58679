"""The tools of `bench-server`, served by the Python SDK, for comparison.

    python bench_python.py http PORT N | stdio 0 N
"""

import socket
import sys

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer


def echo(text: str) -> str:
    """Repeats a text."""
    return text


def big(n: int) -> str:
    """Gives as many bytes as asked for."""
    return "x" * n


async def progress(n: int, ctx: Context) -> str:
    """Reports progress as often as asked for."""
    for step in range(1, n + 1):
        await ctx.report_progress(step, n)
    return "done"


def new_server(tools: int) -> MCPServer:
    server = MCPServer("bench", version="1.0.0", log_level="WARNING")
    # Text only, like the results of the other servers.
    server.add_tool(echo, structured_output=False)
    if tools >= 3:
        server.add_tool(big, structured_output=False)
        server.add_tool(progress, structured_output=False)
    for number in range(3 if tools >= 3 else 1, tools):
        server.add_tool(echo, name=f"tool_{number:04}", description="One of many.", structured_output=False)
    return server


def serve_http(server: MCPServer, port: int) -> None:
    # asyncio sets TCP_NODELAY only if the protocol of the socket is TCP.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", port))
    listener.listen(1024)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    # The load generator opens all its connections before it starts.
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning", timeout_keep_alive=60)
    anyio.run(uvicorn.Server(config).serve, [listener])


def main() -> None:
    wire, port, tools = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    server = new_server(tools)
    if wire == "stdio":
        server.run("stdio")
    elif wire == "http":
        serve_http(server, port)
    else:
        sys.exit("usage: python bench_python.py http PORT N | stdio 0 N")


main()
