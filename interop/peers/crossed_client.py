"""A client in Python with a server of another SDK, behind `toolwire proxy` or `toolwire gateway`. The checks are those of
`crossed.mjs`.

usage: crossed_client.py python|fastmcp <2025-11-25|2026-07-28> <url>|<command> [arguments...]

Each SDK has its own environment, so its module is imported when it is selected. `TOOLWIRE_SERVER_NAME` is the name of the
server that the client must see, and `TOOLWIRE_EXCLUDED_CHECKS` names checks that do not apply, separated by commas.
"""

import json
import os
import sys
from contextlib import asynccontextmanager

import anyio

CHECK_TIMEOUT_SECONDS = 60
NEWEST = "2026-07-28"
CONFIRMATION = {"confirmed": True, "note": "now"}


class PythonPeer:
    """A client of the Python SDK."""

    def __init__(self, peer) -> None:
        self.peer = peer

    @classmethod
    @asynccontextmanager
    async def connect(cls, revision: str, target: str, arguments: list[str]):
        import mcp_types as types
        from mcp import StdioServerParameters

        from python_peer import Peer

        is_url = target.startswith("http://")
        endpoint = target if is_url else StdioServerParameters(command=target, args=arguments)
        peer = Peer("auto" if revision == NEWEST else revision, endpoint)
        peer.elicitation_result = types.ElicitResult(action="accept", content=CONFIRMATION)
        async with peer.client:
            yield cls(peer)

    def negotiated(self) -> tuple[str, str]:
        return self.peer.client.protocol_version, self.peer.client.server_info.name

    async def list_tools(self) -> list[str]:
        return [tool.name for tool in (await self.peer.client.list_tools()).tools]

    async def call(self, name: str, arguments: dict, on_progress=None) -> tuple[bool, str]:
        result = await self.peer.call(name, arguments, progress_callback=on_progress)
        return bool(result.is_error), text_of(result)

    async def read_resource(self, uri: str) -> str:
        return (await self.peer.client.read_resource(uri)).contents[0].text

    async def get_prompt(self, name: str, arguments: dict) -> str:
        return (await self.peer.client.get_prompt(name, arguments)).messages[0].content.text

    def asked(self) -> list[str]:
        return [params.message for params in self.peer.asked]


class FastMcpPeer:
    """A client of FastMCP."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.client = None

    @classmethod
    @asynccontextmanager
    async def connect(cls, revision: str, target: str, arguments: list[str]):
        from fastmcp import Client
        from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

        is_url = target.startswith("http://")
        transport = StreamableHttpTransport(target) if is_url else StdioTransport(command=target, args=arguments)
        peer = cls()
        mode = "auto" if revision == NEWEST else "legacy"
        peer.client = Client(transport, mode=mode, elicitation_handler=peer.on_elicitation)
        async with peer.client:
            yield peer
        # By default, the process of the server runs on.
        await peer.client.close()

    async def on_elicitation(self, message, response_type, _params, _context):
        self.messages.append(message)
        return response_type(**CONFIRMATION)

    def negotiated(self) -> tuple[str, str]:
        initialized = self.client.initialize_result
        if initialized is None:
            # A modern connection has no such result.
            return self.client.protocol_version, self.client.server_info.name
        return initialized.protocol_version, initialized.server_info.name

    async def list_tools(self) -> list[str]:
        return [tool.name for tool in await self.client.list_tools()]

    async def call(self, name: str, arguments: dict, on_progress=None) -> tuple[bool, str]:
        result = await self.client.call_tool(name, arguments, raise_on_error=False, progress_handler=on_progress)
        return result.is_error, text_of(result)

    async def read_resource(self, uri: str) -> str:
        return (await self.client.read_resource(uri))[0].text

    async def get_prompt(self, name: str, arguments: dict) -> str:
        return (await self.client.get_prompt(name, arguments)).messages[0].content.text

    def asked(self) -> list[str]:
        return self.messages


async def negotiate(peer, revision: str) -> None:
    equal(peer.negotiated(), (revision, os.environ["TOOLWIRE_SERVER_NAME"]))


async def list_tools(peer, _revision: str) -> None:
    missing = {"echo", "count", "fail"} - set(await peer.list_tools())
    equal(missing, set())


async def call_echo(peer, _revision: str) -> None:
    text = 'grüß dich, 世界\n"two" lines \u2028 and a tab\t'
    equal(await peer.call("echo", {"text": text}), (False, text))


async def tool_failure(peer, _revision: str) -> None:
    is_error, text = await peer.call("fail", {"message": "out of paper"})
    equal((is_error, "out of paper" in text), (True, True))


async def progress(peer, _revision: str) -> None:
    steps: list[float] = []

    async def on_progress(step: float, _total: float | None, _message: str | None) -> None:
        steps.append(step)

    called = await peer.call("count", {"to": 3, "delay_ms": 20}, on_progress)
    equal(called, (False, "counted to 3"))
    # Each callback runs in its own task, so the last one may run shortly after the result.
    while len(steps) < 3:
        await anyio.sleep(0.025)
    equal(sorted(steps), [1, 2, 3])


async def read_resource(peer, _revision: str) -> None:
    equal(await peer.read_resource("demo://motto"), "less is more")


async def prompt(peer, _revision: str) -> None:
    equal(await peer.get_prompt("greet", {"name": "Ada"}), "Say hello to Ada.")


async def elicit(peer, _revision: str) -> None:
    called = await peer.call("confirm", {"question": "Really deploy?"})
    equal(called, (False, "accept: true, note: now"))
    equal(len(peer.asked()), 1)


CHECKS = [negotiate, list_tools, call_echo, tool_failure, progress, read_resource, prompt, elicit]
PEERS = {"python": PythonPeer, "fastmcp": FastMcpPeer}


def text_of(result) -> str:
    return "".join(block.text for block in result.content if block.type == "text")


def equal(actual: object, expected: object) -> None:
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


def report(name: str, problem: str) -> bool:
    print(json.dumps({"check": name, "ok": not problem, "detail": problem}, separators=(",", ":")), flush=True)
    return not problem


def describe(error: BaseException) -> str:
    # A task group wraps the exceptions of its tasks.
    while len(getattr(error, "exceptions", ())) == 1:
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def run(peer, check, revision: str) -> bool:
    try:
        with anyio.fail_after(CHECK_TIMEOUT_SECONDS):
            await check(peer, revision)
    except Exception as error:
        return report(check.__name__, describe(error))
    return report(check.__name__, "")


async def main(sdk: str, revision: str, target: str, arguments: list[str]) -> int:
    excluded = os.environ.get("TOOLWIRE_EXCLUDED_CHECKS", "").split(",")
    checks = [check for check in CHECKS if check.__name__ not in excluded]
    outcomes = []
    try:
        async with PEERS[sdk].connect(revision, target, arguments) as peer:
            outcomes = [await run(peer, check, revision) for check in checks]
    except Exception as error:
        report("close" if outcomes else "negotiate", describe(error))
        return 1
    outcomes.append(report("close", ""))
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in PEERS:
        sys.exit(__doc__)
    sys.exit(anyio.run(main, *sys.argv[1:4], sys.argv[4:]))
