"""A small server with FastMCP. It has some features of `features.mjs`.

    python fastmcp_server.py stdio | http PORT
"""

import sys

import anyio
from fastmcp import Context, FastMCP

server = FastMCP("interop-fastmcp", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool
def echo(text: str) -> str:
    """Returns the text."""
    return text


@server.tool
async def count(to: int, delay_ms: int, ctx: Context) -> str:
    """Counts up, and reports each step."""
    for step in range(1, to + 1):
        await anyio.sleep(delay_ms / 1000)
        await ctx.report_progress(progress=step, total=to)
    return f"counted to {to}"


@server.tool
def fail(message: str) -> str:
    """Fails with the message."""
    raise ValueError(message)


@server.resource("demo://motto")
def motto() -> str:
    """A motto."""
    return "less is more"


@server.resource("demo://notes/{name}")
def note(name: str) -> str:
    """A note."""
    return f"a note of {name}"


@server.prompt
def greet(name: str) -> str:
    """Greets a person."""
    return f"Say hello to {name}."


match sys.argv[1:]:
    case ["stdio"]:
        server.run(transport="stdio", show_banner=False)
    case ["http", port]:
        server.run(transport="http", host="127.0.0.1", port=int(port), path="/mcp", show_banner=False)
    case _:
        sys.exit("usage: fastmcp_server.py stdio | http PORT")
