"""The Python SDK (`mcp`) as the client of `toolwire demo`, or of the example `onboarding`.

usage: python_client.py demo|fleet|faulty-fleet|onboarding <2025-11-25|2026-07-28|auto> <url>|<server command> [arguments...]

A check is an async function that raises if it fails. Each check prints a line
`{"check":"...","ok":true|false,"detail":"..."}`. The Rust tests list the expected names. The SDK always
offers its newest legacy revision, so only the TypeScript clients check older revisions.
"""

import json
import os
import sys
import time

import anyio
from mcp import StdioServerParameters
from mcp.client.stdio import PROCESS_TERMINATION_TIMEOUT

import python_checks as everywhere
import python_http_checks as over_http
import python_onboarding as onboarding
from python_peer import CHECK_TIMEOUT_SECONDS, Peer


def checks_for_onboarding(_peer: Peer) -> list:
    return [
        onboarding.onboarding_negotiate, onboarding.onboarding_welcome, onboarding.onboarding_decline,
        everywhere.no_transport_errors,
    ]  # fmt: skip


def checks_for_demo(peer: Peer) -> list:
    checks = [
        everywhere.negotiate, everywhere.list_tools, everywhere.call_echo, everywhere.call_add,
        everywhere.parallel_calls, everywhere.tool_failure, everywhere.handler_panic, everywhere.unknown_tool,
        everywhere.invalid_arguments, everywhere.large_result, everywhere.annotated_arguments,
        everywhere.list_resources, everywhere.read_resource, everywhere.read_template, everywhere.missing_resource,
        everywhere.prompt, everywhere.unknown_prompt, everywhere.complete, everywhere.progress, everywhere.cancel,
        everywhere.sampling, everywhere.logging, everywhere.subscribe, everywhere.unsubscribe,
        everywhere.list_changed, everywhere.structured_result, everywhere.elicit_accept, everywhere.elicit_decline,
        everywhere.elicit_cancel, everywhere.approve_accept, everywhere.approve_decline, everywhere.approve_cancel,
    ]  # fmt: skip
    if not peer.modern:
        checks.append(everywhere.ping)
    if peer.url:
        checks += [
            over_http.progress_is_streamed, over_http.parallel_sessions, over_http.origin_rejected,
            over_http.released_stream,
        ]  # fmt: skip
        if not peer.modern:
            checks += [
                over_http.cancelled_stream_ends, over_http.resume_after_cut, over_http.listening_resumes,
                over_http.session_end,
            ]  # fmt: skip
    else:
        checks.append(everywhere.stray_print)
    # This runs last: no transport errors during all checks.
    checks.append(everywhere.no_transport_errors)
    return checks


def checks_for_fleet(_peer: Peer) -> list:
    """The nodes of the server are restarted in the meantime."""
    return [everywhere.negotiate, over_http.calls_during_restart]


def checks_for_faulty_fleet(_peer: Peer) -> list:
    """Nodes or the store of the server fail in the meantime."""
    return [everywhere.negotiate, over_http.calls_during_fault]


CHECKS = {
    "demo": checks_for_demo,
    "fleet": checks_for_fleet,
    "faulty-fleet": checks_for_faulty_fleet,
    "onboarding": checks_for_onboarding,
}


def report(name: str, problem: str) -> bool:
    print(json.dumps({"check": name, "ok": not problem, "detail": problem}, separators=(",", ":")), flush=True)
    return not problem


def describe(error: BaseException) -> str:
    # A task group wraps the exceptions of its tasks.
    while len(getattr(error, "exceptions", ())) == 1:
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def run(peer: Peer, check) -> bool:
    try:
        with anyio.fail_after(getattr(check, "timeout_seconds", CHECK_TIMEOUT_SECONDS)):
            await check(peer)
    except Exception as error:
        return report(check.__name__, describe(error))
    return report(check.__name__, "")


def closed(peer: Peer, elapsed: float) -> bool:
    if peer.url:
        # The SDK ends its session on close.
        last = peer.requests[-1]
        ended = peer.modern or peer.session_is_lost or (last.method, last.status) == ("DELETE", 204)
        return report("close", "" if ended else f"the last request was {last}")
    # The process must exit when its stdin closes.
    exited = elapsed < PROCESS_TERMINATION_TIMEOUT
    return report("exit_on_close", "" if exited else f"the server had to be killed after {elapsed:.1f} s")


def is_permitted(server: str, error: BaseException) -> bool:
    """A connection that breaks during a request of its own ends the client of this SDK, and a killed node breaks some."""
    permitted = os.environ.get("TOOLWIRE_PERMITTED_FAILURES", "0")
    return server == "faulty-fleet" and permitted != "0" and describe(error).startswith("RemoteProtocolError")


async def main(server: str, mode: str, target: str, args: list[str]) -> int:
    endpoint = target if target.startswith("http://") else StdioServerParameters(command=target, args=args)
    # The checks that do not apply to this server, separated by commas.
    excluded = os.environ.get("TOOLWIRE_EXCLUDED_CHECKS", "").split(",")
    outcomes: list[bool] = []
    while True:
        peer = Peer(mode, endpoint)
        try:
            async with peer.client:
                checks = [check for check in CHECKS[server](peer) if check.__name__ not in excluded]
                for check in checks[len(outcomes):]:
                    outcomes.append(await run(peer, check))
                closing = time.monotonic()
            break
        except Exception as error:
            if not is_permitted(server, error):
                report("negotiate", describe(error))
                return 1
            # The user connects again. This was the failure that the fault permits.
            if os.environ["TOOLWIRE_PERMITTED_FAILURES"] != "any":
                os.environ["TOOLWIRE_PERMITTED_FAILURES"] = "0"
    outcomes.append(closed(peer, time.monotonic() - closing))
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    sys.exit(anyio.run(main, *sys.argv[1:4], sys.argv[4:]))
