"""The checks of the Python SDK over HTTP only: streams, sessions and the origin check.

A check that breaks a connection opens its own connection with `peer.another`.
"""

import os
import sys

import anyio
import httpx2
import mcp_types as types
from mcp import MCPError

from cutting_proxy import CuttingProxy
from python_peer import Peer, equal, expect, until

SESSIONS = 6
CALLS_PER_SESSION = 10

# The number of calls in turn that succeed when a fault is over.
CALLS_AFTER_FAULT = 6

# The longest time until a change arrives: longer than any fault. The stream of the subscription may have been lost.
CHANGE_TIMEOUT_SECONDS = 30


async def progress_is_streamed(peer: Peer) -> None:
    # The countdown still runs when its first progress arrives, so the progress was not delayed until the result.
    started = anyio.Event()
    results: list[str] = []

    async def on_progress(_step: float, _total: float | None, _message: str | None) -> None:
        started.set()

    async def count() -> None:
        results.append(await peer.text("countdown", {"from": 20, "delay_ms": 100}, progress_callback=on_progress))

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        await started.wait()
        equal(await peer.active_countdowns(), 1)
        equal(results, [])
    equal(results, ["counted down from 20"])


async def calls_during_restart(peer: Peer) -> None:
    """Calls tools until the test closes standard input, because all nodes of the server have been restarted."""
    over = anyio.Event()

    async def wait_for_end() -> None:
        await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        over.set()

    async with anyio.create_task_group() as group:
        group.start_soon(wait_for_end)
        await call_until(peer, over)
        group.cancel_scope.cancel()


# Longer than the restart of all nodes of a server.
calls_during_restart.timeout_seconds = 120


async def call_until(peer: Peer, over: anyio.Event) -> None:
    session = peer.session_id
    number = 0
    while not over.is_set():
        number += 1
        equal(await peer.text("echo", {"text": f"call {number}"}), f"call {number}")
        steps: list[float] = []

        async def on_progress(step: float, _total: float | None, _message: str | None) -> None:
            steps.append(step)

        text = await peer.text("countdown", {"from": 3, "delay_ms": 20}, progress_callback=on_progress)
        equal(text, "counted down from 3")
        # Each callback runs in its own task, so the last one may run shortly after the result.
        await until(lambda: len(steps) >= 3)
        equal(sorted(steps), [1, 2, 3])
    equal(peer.session_id, session)


async def calls_during_fault(peer: Peer) -> None:
    """Calls a tool until the test closes standard input, while nodes or the store of the server fail.

    Calls may fail as often as the test permits, but each must end in time. Afterwards they succeed again, in the same
    session.
    """
    over = anyio.Event()

    async def wait_for_end() -> None:
        await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        over.set()

    async with anyio.create_task_group() as group:
        group.start_soon(wait_for_end)
        await call_through_fault(peer, over)
        group.cancel_scope.cancel()


calls_during_fault.timeout_seconds = 120


async def call_through_fault(peer: Peer, over: anyio.Event) -> None:
    session = peer.session_id
    limit = os.environ["TOOLWIRE_PERMITTED_FAILURES"]
    may_lose_session = os.environ["TOOLWIRE_SESSION_MAY_BE_LOST"] == "1"
    operations = [echoes, reports_progress, responds_to_input_request, cancels_call, sees_change]
    failures: list[str] = []
    number = successes = 0
    while successes < CALLS_AFTER_FAULT:
        number += 1
        after_fault = over.is_set()
        operation = operations[number % len(operations)]
        try:
            await operation(peer, number)
        except AssertionError:
            raise
        except Exception as error:
            if after_fault and may_lose_session and "session" in str(error).lower():
                peer.session_is_lost = True
                return
            # The state of a call in several rounds can be used once, which needs the store in every revision.
            needs_store = operation is responds_to_input_request and os.environ["TOOLWIRE_STORE_FAILS"] == "1"
            if not needs_store:
                failures.append(f"{operation.__name__}: {error!r}")
            successes = 0
        else:
            successes = successes + 1 if after_fault else 0
        await anyio.sleep(0.05)
    expect(limit == "any" or len(failures) <= int(limit), f"{len(failures)} failures: {failures}")
    equal(peer.session_id, session)


async def echoes(peer: Peer, number: int) -> None:
    equal(await peer.text("echo", {"text": f"call {number}"}), f"call {number}")


async def reports_progress(peer: Peer, _number: int) -> None:
    steps: list[float] = []

    async def on_progress(step: float, _total: float | None, _message: str | None) -> None:
        steps.append(step)

    text = await peer.text("countdown", {"from": 3, "delay_ms": 20}, progress_callback=on_progress)
    equal(text, "counted down from 3")
    # Each callback runs in its own task, so the last one may run shortly after the result.
    await until(lambda: len(steps) >= 3)
    equal(sorted(steps), [1, 2, 3])


async def responds_to_input_request(peer: Peer, _number: int) -> None:
    peer.elicitation_result = types.ElicitResult(action="accept", content={"confirmed": True})
    equal(await peer.text("approve", {"question": "Really?"}), "approved")


async def cancels_call(peer: Peer, _number: int) -> None:
    started = anyio.Event()

    async def on_progress(_step: float, _total: float | None, _message: str | None) -> None:
        started.set()

    async def count() -> None:
        await peer.call("countdown", {"from": 500, "delay_ms": 20}, progress_callback=on_progress)
        # A call that is not cancelled ends, so that this does not wait for its progress for ever.
        started.set()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(count)
            await started.wait()
            group.cancel_scope.cancel()
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def sees_change(peer: Peer, _number: int) -> None:
    # Legacy clients of this SDK open the stream of their session only a few times, and then get no changes any more.
    if not peer.modern:
        return
    async with peer.client.listen(resource_subscriptions=["demo://counter"]) as subscription:
        await peer.call("bump")
        with anyio.fail_after(CHANGE_TIMEOUT_SECONDS):
            await anext(subscription)


async def parallel_sessions(peer: Peer) -> None:
    # All sessions are open and use the same request ids at the same time.
    sessions: list[str | None] = []
    ready = anyio.Event()

    async def one(number: int) -> None:
        own = peer.another()
        async with own.client:
            sessions.append(own.session_id)
            if len(sessions) == SESSIONS:
                ready.set()
            await ready.wait()
            await use_session(own, number)

    async with anyio.create_task_group() as group:
        for number in range(SESSIONS):
            group.start_soon(one, number)
    equal(len({*sessions, peer.session_id}), 1 if peer.modern else SESSIONS + 1)


async def use_session(peer: Peer, number: int) -> None:
    texts = [f"session {number}, call {index}" for index in range(CALLS_PER_SESSION)]
    echoed: dict[str, str] = {}
    steps: list[float] = []

    async def echo(text: str) -> None:
        echoed[text] = await peer.text("echo", {"text": text})

    async def on_progress(step: float, _total: float | None, _message: str | None) -> None:
        steps.append(step)

    async def count() -> None:
        arguments = {"from": 3 + number, "delay_ms": 5}
        equal(await peer.text("countdown", arguments, progress_callback=on_progress), f"counted down from {3 + number}")

    async def confirm() -> None:
        peer.elicitation_result = types.ElicitResult(action="accept", content={"confirmed": True})
        equal(await peer.text("confirm", {"question": f"session {number}"}), "confirmed")

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        group.start_soon(confirm)
        for text in texts:
            group.start_soon(echo, text)
    equal(echoed, {text: text for text in texts})
    equal([asked.message for asked in peer.asked], [f"session {number}"])
    await until(lambda: len(steps) >= 3 + number)
    equal(sorted(steps), [step + 1 for step in range(3 + number)])


async def origin_rejected(peer: Peer) -> None:
    attacker = peer.another(headers={"Origin": "http://attacker.example"})
    accepted = False
    try:
        async with attacker.client:
            await attacker.text("echo", {"text": "let me in"})
            accepted = True
    except Exception:
        # The SDK may wrap the exception in a group. The status is checked below.
        pass
    equal(accepted, False)
    equal({request.status for request in attacker.requests}, {403})


async def released_stream(peer: Peer) -> None:
    # Only clients of 2025-11-25 can resume a released stream. For other clients, nothing is released.
    caller = peer.another()
    async with caller.client:
        equal(await caller.text("long_poll", {"delay_ms": 1000}), "stream not released" if peer.modern else "stream released")
        polls = [request for request in caller.requests if request.last_event_id]
        equal(len(polls) > 0, not peer.modern)


async def cancelled_stream_ends(peer: Peer) -> None:
    # The stream of a cancelled call ends without a response. The SDK then resumes it with the last event id, as long as
    # the server responds with a stream. After any other response it tries once more.
    caller = peer.another()
    started = anyio.Event()

    async def on_progress(_step: float, _total: float | None, _message: str | None) -> None:
        started.set()

    async with caller.client:
        async with anyio.create_task_group() as group:
            group.start_soon(count_for_long, caller, on_progress)
            await started.wait()
            group.cancel_scope.cancel()
        polls: list[int] = []
        while len(polls) < 2:
            await anyio.sleep(0.025)
            polls = [request.status for request in caller.requests if request.last_event_id]
        equal(polls, [204, 204])


async def count_for_long(peer: Peer, on_progress) -> None:
    await peer.call("countdown", {"from": 100_000, "delay_ms": 20}, progress_callback=on_progress)


async def resume_after_cut(peer: Peer) -> None:
    steps: list[float] = []

    async def on_progress(step: float, _total: float | None, _message: str | None) -> None:
        steps.append(step)

    async with CuttingProxy(peer.url, "notifications/progress") as proxy:
        caller = peer.another(url=proxy.url)
        async with caller.client:
            # The call still runs when the SDK reconnects after a second: some events are replayed, the others are new.
            text = await caller.text("countdown", {"from": 8, "delay_ms": 250}, progress_callback=on_progress)
            equal(text, "counted down from 8")
            # Events that were lost with the connection are replayed, and no event arrives twice.
            await until(lambda: len(steps) >= 8)
            equal(sorted(steps), [1, 2, 3, 4, 5, 6, 7, 8])
            equal(proxy.cuts, 1)
            resumed = [(request.method, request.status) for request in caller.requests if request.last_event_id]
            equal(resumed, [("GET", 200)])


async def listening_resumes(peer: Peer) -> None:
    uri = "demo://counter"
    async with CuttingProxy(peer.url, "notifications/resources/updated") as proxy:
        listener = peer.another(url=proxy.url)
        async with listener.client:
            await listener.client.subscribe_resource(uri)
            # Changes are sent from the moment on when the stream is open. The SDK opens it in the background.
            await until(lambda: any(request.method == "GET" and request.status == 200 for request in listener.requests))
            # Another client changes the resource. The second notification breaks the connection and is replayed.
            for expected in (1, 2):
                await peer.call("bump")
                await until(lambda: len(listener.updated) == expected)
            equal(proxy.cuts, 1)
            resumed = [(request.method, request.status) for request in listener.requests if request.last_event_id]
            equal(resumed, [("GET", 200)])


async def session_end(peer: Peer) -> None:
    # The SDK ends its session only on close, so a plain HTTP client ends the session here.
    caller = peer.another()
    async with caller.client:
        async with httpx2.AsyncClient() as http_client:
            headers = {"Mcp-Session-Id": caller.session_id, "MCP-Protocol-Version": peer.revision}
            equal((await http_client.delete(peer.url, headers=headers)).status_code, 204)
        try:
            text = await caller.text("echo", {"text": "still there?"})
        except MCPError as error:
            expect("session" in error.message.lower(), error.message)
        else:
            raise AssertionError(f"expected an error, got {text!r}")
        equal([request.status for request in caller.requests if request.method == "POST"][-1], 404)
    # The other sessions are still open.
    equal(await peer.text("echo", {"text": "here"}), "here")
