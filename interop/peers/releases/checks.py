"""The checks of a client with `toolwire demo`, for every release with a script in Python.

A check is an async function that raises if it fails. Each check prints a line
`{"check":"...","ok":true|false,"detail":"..."}`. The Rust tests list the expected names.

A peer has these async functions: `negotiated` returns the revision and the name of the server, `list_tools` and
`list_resources` return names and URIs, `call_tool` returns `(is_error, text)`, `read_resource` and `get_prompt` return
a text. The function `code_of` returns the code of an error.
"""

import json

import anyio

CHECK_TIMEOUT_SECONDS = 20


async def negotiate(peer) -> None:
    equal(await peer.negotiated(), (peer.revision, "toolwire-demo"))


async def list_tools(peer) -> None:
    contains(await peer.list_tools(), "echo", "add", "fail")


async def call_tool(peer) -> None:
    text = "grüß dich, 世界"
    equal(await peer.call_tool("echo", {"text": text}), (False, text))


async def tool_error(peer) -> None:
    is_error, text = await peer.call_tool("fail", {"message": "out of paper"})
    equal(is_error, True)
    contains(text, "out of paper")


async def unknown_tool(peer) -> None:
    await rejects(peer, -32602, peer.call_tool("no-such-tool", {}))


async def list_resources(peer) -> None:
    contains(await peer.list_resources(), "demo://clock")


async def read_resource(peer) -> None:
    equal(await peer.read_resource("demo://notes/first"), "This is the first note.")


async def missing_resource(peer) -> None:
    await rejects(peer, peer.missing_resource_code, peer.read_resource("demo://nowhere"))


async def get_prompt(peer) -> None:
    contains(await peer.get_prompt("greet", {"name": "Ada"}), "Ada")


CHECKS = [
    negotiate, list_tools, call_tool, tool_error, unknown_tool, list_resources, read_resource, missing_resource,
    get_prompt,
]  # fmt: skip


async def run_checks(connect) -> int:
    """Connects with an async context manager of a peer, runs all checks and closes the connection."""
    outcomes = []
    try:
        async with connect as peer:
            outcomes = [await run(peer, check) for check in CHECKS]
    except Exception as error:
        report("close" if outcomes else "negotiate", describe(error))
        return 1
    outcomes.append(report("close", ""))
    return 0 if all(outcomes) else 1


async def run(peer, check) -> bool:
    try:
        with anyio.fail_after(CHECK_TIMEOUT_SECONDS):
            await check(peer)
    except Exception as error:
        return report(check.__name__, describe(error))
    return report(check.__name__, "")


def report(name: str, problem: str) -> bool:
    print(json.dumps({"check": name, "ok": not problem, "detail": problem}, separators=(",", ":")), flush=True)
    return not problem


def describe(error: BaseException) -> str:
    # A task group wraps the exceptions of its tasks.
    while len(getattr(error, "exceptions", ())) == 1:
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def equal(actual: object, expected: object) -> None:
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


def contains(texts: list[str] | str, *expected: str) -> None:
    for text in expected:
        if text not in texts:
            raise AssertionError(f"{text!r} is not in {texts!r}")


async def rejects(peer, code: int, call) -> None:
    try:
        result = await call
    except Exception as error:
        equal(peer.code_of(error), code)
    else:
        raise AssertionError(f"expected an error, got {result!r}")
