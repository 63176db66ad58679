"""What the Python SDK checks on HTTP only: streams, sessions and the guard at the door.

Each check that disturbs a connection opens one of its own with `peer.another`.
"""

import anyio
import httpx2
import mcp_types as types
from mcp import MCPError

from cutting_proxy import CuttingProxy
from python_peer import Peer, equal, expect, until

SESSIONS = 6
CALLS_PER_SESSION = 10


async def progress_is_streamed(peer: Peer) -> None:
    # The countdown is asked about after its first step was heard of: it still runs, so the step was not kept back.
    started = anyio.Event()
    answers: list[str] = []

    async def on_progress(_step: float, _total: float | None, _message: str | None) -> None:
        started.set()

    async def count() -> None:
        answers.append(await peer.text("countdown", {"from": 20, "delay_ms": 100}, progress_callback=on_progress))

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        await started.wait()
        equal(await peer.active_countdowns(), 1)
        equal(answers, [])
    equal(answers, ["counted down from 20"])


async def parallel_sessions(peer: Peer) -> None:
    # All of them are open and use the same request ids at the same time.
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
    answers: dict[str, str] = {}
    steps: list[float] = []

    async def echo(text: str) -> None:
        answers[text] = await peer.text("echo", {"text": text})

    async def on_progress(step: float, _total: float | None, _message: str | None) -> None:
        steps.append(step)

    async def count() -> None:
        arguments = {"from": 3 + number, "delay_ms": 5}
        equal(await peer.text("countdown", arguments, progress_callback=on_progress), f"counted down from {3 + number}")

    async def confirm() -> None:
        peer.elicitation_answer = types.ElicitResult(action="accept", content={"confirmed": True})
        equal(await peer.text("confirm", {"question": f"session {number}"}), "confirmed")

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        group.start_soon(confirm)
        for text in texts:
            group.start_soon(echo, text)
    equal(answers, {text: text for text in texts})
    equal([asked.message for asked in peer.asked], [f"session {number}"])
    await until(lambda: len(steps) >= 3 + number)
    equal(sorted(steps), [step + 1 for step in range(3 + number)])


async def origin_refused(peer: Peer) -> None:
    attacker = peer.another(headers={"Origin": "http://attacker.example"})
    let_in = False
    try:
        async with attacker.client:
            await attacker.text("echo", {"text": "let me in"})
            let_in = True
    except Exception:
        # The SDK puts it into a group of exceptions or not; the status below says what it was about.
        pass
    equal(let_in, False)
    equal({request.status for request in attacker.requests}, {403})


async def server_sent_away(peer: Peer) -> None:
    # Only 2025-11-25 knows how to come back for the answer; elsewhere the handler is told that it cannot send away.
    caller = peer.another()
    async with caller.client:
        equal(await caller.text("long_poll"), "stream not released" if peer.modern else "stream released")
        polls = [request for request in caller.requests if request.last_event_id]
        equal(len(polls) > 0, not peer.modern)


async def cancelled_stream_ends(peer: Peer) -> None:
    # Nothing more comes for a cancelled call, so its stream ends without an answer. The SDK then asks for the rest with
    # the last event id, for as long as it gets a stream; anything else it tries twice.
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
            # The call still runs when the SDK is back, a second later: some of it is replayed, the rest is new.
            text = await caller.text("countdown", {"from": 8, "delay_ms": 250}, progress_callback=on_progress)
            equal(text, "counted down from 8")
            # Whatever was on its way when the connection broke came again, and nothing came twice.
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
            # Somebody else changes it. The second time the connection breaks, and the news waits for the listener.
            for expected in (1, 2):
                await peer.call("bump")
                await until(lambda: len(listener.updated) == expected)
            equal(proxy.cuts, 1)
            resumed = [(request.method, request.status) for request in listener.requests if request.last_event_id]
            equal(resumed, [("GET", 200)])


async def session_end(peer: Peer) -> None:
    # The SDK ends its session when it leaves, and never uses it again; so somebody else ends it before.
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
            raise AssertionError(f"no error but {text!r}")
        equal([request.status for request in caller.requests if request.method == "POST"][-1], 404)
    # Nobody else's session has ended.
    equal(await peer.text("echo", {"text": "here"}), "here")
