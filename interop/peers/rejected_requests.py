"""A plain HTTP client (httpx) of a protected server. It is rejected with 401, reads the metadata and sends a token.

usage: rejected_requests.py <url> <token> <sequences>

Prints `sequences <count>, connections <count>` at the end.
"""

import json
import sys
from urllib.parse import urlsplit

import httpx2

SIZES = [100, 1000, 9000, 300, 20_000, 3000, 100_000, 500]

HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "who_calls",
}


def size_of(sequence: int) -> int:
    """Returns a size from 100 bytes to 1 MB. The largest size is used for one of 50 sequences."""
    return 1_000_000 if sequence % 50 == 49 else SIZES[sequence % len(SIZES)]


def body_of(size: int) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "who_calls", "arguments": {"padding": "x" * size}, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


def expect(response: httpx2.Response, status: int, size: int) -> None:
    if response.status_code != status:
        raise SystemExit(f"status {response.status_code} instead of {status}, {size} bytes: {response.text}")


def main() -> None:
    url, token, sequences = sys.argv[1], sys.argv[2], int(sys.argv[3])
    parts = urlsplit(url)
    metadata = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}"
    connections = 0

    def trace(event: str, _: dict) -> None:
        nonlocal connections
        connections += event == "connection.connect_tcp.complete"

    extensions = {"trace": trace}
    with httpx2.Client(trust_env=False, timeout=30) as client:
        for sequence in range(sequences):
            size = size_of(sequence)
            body = body_of(size)
            rejected = client.post(url, content=body, headers=HEADERS, extensions=extensions)
            expect(rejected, 401, size)
            expect(client.get(metadata, extensions=extensions), 200, size)
            with_token = {**HEADERS, "authorization": f"Bearer {token}"}
            accepted = client.post(url, content=body, headers=with_token, extensions=extensions)
            expect(accepted, 200, size)
    print(f"sequences {sequences}, connections {connections}")


main()
