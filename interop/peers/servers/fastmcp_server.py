"""A small server with FastMCP.

    python fastmcp_server.py stdio | http PORT
"""

import sys

from fastmcp import Context, FastMCP

server = FastMCP("interop-fastmcp", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool
async def count(steps: int, ctx: Context) -> str:
    """Reports its progress."""
    for step in range(steps):
        await ctx.report_progress(progress=step + 1, total=steps)
    return f"counted to {steps}"


@server.tool
def fail() -> str:
    """Fails."""
    raise ValueError("out of paper")


@server.resource("demo://greeting")
def greeting() -> str:
    """A greeting."""
    return "hello"


@server.resource("demo://notes/{name}")
def note(name: str) -> str:
    """A note."""
    return f"note of {name}"


@server.prompt
def review(subject: str) -> str:
    """Asks for a review."""
    return f"Review {subject}."


match sys.argv[1:]:
    case ["stdio"]:
        server.run(transport="stdio", show_banner=False)
    case ["http", port]:
        server.run(transport="http", host="127.0.0.1", port=int(port), path="/mcp", show_banner=False)
    case _:
        sys.exit("usage: fastmcp_server.py stdio | http PORT")
