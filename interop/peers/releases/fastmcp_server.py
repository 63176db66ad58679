"""A small server with any release of FastMCP: two tools, a resource and a prompt.

    python fastmcp_server.py stdio | http <port> | sse <port>
"""

import sys

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError

server = FastMCP("interop-release")


@server.tool
def echo(text: str) -> str:
    """Repeats a text."""
    return text


@server.tool
def fail(text: str) -> str:
    """Fails with a text."""
    raise ToolError(text)


@server.resource("demo://motto", mime_type="text/plain")
def motto() -> str:
    return "less is more"


@server.prompt
def greet(name: str) -> str:
    return f"Say hello to {name}."


if __name__ == "__main__":
    wire = sys.argv[1] if len(sys.argv) > 1 else ""
    if wire == "stdio":
        server.run(transport="stdio", show_banner=False)
    elif wire in ("http", "sse"):
        server.run(transport=wire, host="127.0.0.1", port=int(sys.argv[2]), show_banner=False)
    else:
        sys.exit(__doc__)
