"""The checks of the Python SDK on every transport: one function per check, which raises if the check fails."""

import json
import re

import anyio
import mcp_types as types

from python_peer import CLOCK, Peer, equal, expect, rejects, text_of, until

TOOLS = {
    "active", "echo", "add", "countdown", "confirm", "approve", "summarise", "fail", "crash", "blob", "log", "print",
    "route", "bump", "change_list", "long_poll", "bake",
}  # fmt: skip


async def negotiate(peer: Peer) -> None:
    client = peer.client
    if peer.modern and client.mode != "auto":
        # A pinned client sends no request on connect, so the first request is an ordinary one. The data that `auto`
        # requests on connect is requested after it.
        equal(await peer.text("echo", {"text": "first"}), "first")
        description = await client.session.send_discover(peer.revision)
        client.session.adopt(types.DiscoverResult.model_validate(description))
    equal(client.protocol_version, peer.revision)
    expect(client.server_info is not None and client.server_info.name, "the server has no name")
    capabilities = client.server_capabilities
    expect(capabilities.tools and capabilities.resources and capabilities.prompts, f"missing in {capabilities}")
    equal(capabilities.resources.subscribe, True)
    if peer.url:
        equal(peer.session_id is None, peer.modern)


async def list_tools(peer: Peer) -> None:
    tools = (await peer.client.list_tools()).tools
    names = [tool.name for tool in tools]
    equal(names[0], "active")
    equal(TOOLS - set(names), set())
    for tool in tools:
        equal(tool.input_schema["type"], "object")


async def call_echo(peer: Peer) -> None:
    text = 'grüß dich, 世界\n"two" lines \u2028 and a tab\t'
    equal(await peer.text("echo", {"text": text}), text)


async def call_add(peer: Peer) -> None:
    expect("42" in await peer.text("add", {"a": 2, "b": 40}), "the text does not contain 42")


async def structured_result(peer: Peer) -> None:
    tools = (await peer.client.list_tools()).tools
    schema = next(tool for tool in tools if tool.name == "add").output_schema
    expect(schema and "sum" in schema["properties"], f"output schema of add: {schema}")
    # The SDK itself validates the structured content against the listed schema.
    equal((await peer.call("add", {"a": -2, "b": 5})).structured_content, {"sum": 3})


async def parallel_calls(peer: Peer) -> None:
    texts = [f"call {index}" for index in range(32)]
    echoed: dict[str, str] = {}

    async def one(text: str) -> None:
        echoed[text] = await peer.text("echo", {"text": text})

    async with anyio.create_task_group() as group:
        for text in texts:
            group.start_soon(one, text)
    equal(echoed, {text: text for text in texts})


async def tool_failure(peer: Peer) -> None:
    result = await peer.call("fail", {"message": "out of paper"})
    equal(result.is_error, True)
    expect("out of paper" in text_of(result), text_of(result))


async def handler_panic(peer: Peer) -> None:
    await rejects(-32603, peer.call("crash"))
    equal(await peer.text("echo", {"text": "still here"}), "still here")


async def unknown_tool(peer: Peer) -> None:
    await rejects(-32602, peer.call("no-such-tool"))


async def invalid_arguments(peer: Peer) -> None:
    # The model reads this error and tries again, so it is a result in every revision.
    result = await peer.call("add", {"a": "two", "b": 40})
    equal(result.is_error, True)
    expect(re.search(r"\ba\b", text_of(result)), text_of(result))


async def stray_print(peer: Peer) -> None:
    before = len(peer.transport_errors)
    await peer.call("print", {"text": 'not json\n{"jsonrpc":"2.0"\n'})
    equal(await peer.text("echo", {"text": "after"}), "after")
    equal(peer.transport_errors[before:], [])


async def large_result(peer: Peer) -> None:
    result = await peer.call("blob", {"bytes": 300_000})
    expect(not result.is_error, "an error result")
    expect(len(result.model_dump_json()) >= 300_000, "the result is too short")


async def annotated_arguments(peer: Peer) -> None:
    result = await peer.call("route", {"region": "eu-west", "count": 3})
    expect(not result.is_error, "an error result")
    expect("eu-west" in result.model_dump_json(), result.model_dump_json())


async def list_resources(peer: Peer) -> None:
    resources = (await peer.client.list_resources()).resources
    expect(CLOCK in [str(resource.uri) for resource in resources], "demo://clock is not listed")
    templates = (await peer.client.list_resource_templates()).resource_templates
    expect("demo://notes/{name}" in [template.uri_template for template in templates], "no notes template")


async def read_resource(peer: Peer) -> None:
    contents = (await peer.client.read_resource(CLOCK)).contents
    equal(str(contents[0].uri), CLOCK)
    expect(contents[0].text, "no text")


async def read_template(peer: Peer) -> None:
    contents = (await peer.client.read_resource("demo://notes/first")).contents
    equal(str(contents[0].uri), "demo://notes/first")
    expect(isinstance(contents[0], types.TextResourceContents), "not a text")


async def missing_resource(peer: Peer) -> None:
    await rejects(-32602 if peer.modern else -32002, peer.client.read_resource("demo://nowhere"))


async def prompt(peer: Peer) -> None:
    prompts = (await peer.client.list_prompts()).prompts
    greet = next(candidate for candidate in prompts if candidate.name == "greet")
    equal([argument.name for argument in greet.arguments or []], ["name"])
    messages = (await peer.client.get_prompt("greet", {"name": "Ada"})).messages
    expect("Ada" in messages[0].content.text, f"{messages}")


async def unknown_prompt(peer: Peer) -> None:
    await rejects(-32602, peer.client.get_prompt("no-such-prompt", {}))
    await rejects(-32602, peer.client.get_prompt("greet", {}))


async def complete(peer: Peer) -> None:
    async def values_for(value: str) -> list[str]:
        reference = types.PromptReference(type="ref/prompt", name="greet")
        return (await peer.client.complete(reference, {"name": "name", "value": value})).completion.values

    everything = await values_for("")
    expect(everything, "there are no completions")
    prefix = everything[0][:1]
    narrowed = await values_for(prefix)
    expect(everything[0] in narrowed, "a matching value is missing")
    equal([value for value in narrowed if not value.lower().startswith(prefix.lower())], [])


async def progress(peer: Peer) -> None:
    seen: list[float] = []

    async def on_progress(step: float, _total: float | None, _message: str | None) -> None:
        seen.append(step)

    text = await peer.text("countdown", {"from": 4, "delay_ms": 5}, progress_callback=on_progress)
    expect(text, "no final text")
    # Each callback runs in its own task, so the last one may run shortly after the result.
    await until(lambda: len(seen) >= 4)
    expect(all(one < next_one for one, next_one in zip(seen, seen[1:])), f"{seen} do not increase")


async def cancel(peer: Peer) -> None:
    equal(await peer.active_countdowns(), 0)
    started = anyio.Event()
    completed = False

    async def on_progress(_step: float, _total: float | None, _message: str | None) -> None:
        started.set()

    async def count() -> None:
        nonlocal completed
        await peer.call("countdown", {"from": 100_000, "delay_ms": 20}, progress_callback=on_progress)
        completed = True

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        await started.wait()
        equal(await peer.active_countdowns(), 1)
        group.cancel_scope.cancel()
    equal(completed, False)
    while await peer.active_countdowns() != 0:
        await anyio.sleep(0.025)


async def sampling(peer: Peer) -> None:
    result = await peer.call("summarise", {"text": "a very long story"})
    expect(not result.is_error, text_of(result))
    expect("short: the end" in text_of(result), text_of(result))
    equal(len(peer.sampled), 1)
    expect("a very long story" in peer.sampled[0].model_dump_json(), "the request does not contain the text")


async def logging(peer: Peer) -> None:
    async def log(message: str, **options) -> None:
        await peer.call("log", {"level": "warning", "message": message}, **options)

    if peer.modern:
        # Spec 2026-07-28, server/utilities/logging: without a level in the request nothing is logged.
        await log("too quiet")
        await log("loud enough", meta={"io.modelcontextprotocol/logLevel": "info"})
    else:
        await peer.client.set_logging_level("error")
        await log("too quiet")
        await peer.client.set_logging_level("info")
        await log("loud enough")
    await until(lambda: any("loud enough" in json.dumps(entry.data) for entry in peer.logged))
    equal([entry.level for entry in peer.logged], ["warning"])


async def subscribe(peer: Peer) -> None:
    if peer.modern:
        async with peer.client.listen(resource_subscriptions=[CLOCK]) as subscription:
            equal(subscription.honored.resource_subscriptions, [CLOCK])
            event = await anext(subscription)
            equal(str(event.uri), CLOCK)
        return
    await peer.client.subscribe_resource(CLOCK)
    await until(lambda: CLOCK in peer.updated)
    await peer.client.unsubscribe_resource(CLOCK)


async def unsubscribe(peer: Peer) -> None:
    if peer.modern:
        async with peer.client.listen(resource_subscriptions=[CLOCK]):
            pass
    else:
        await peer.client.subscribe_resource(CLOCK)
        await peer.client.unsubscribe_resource(CLOCK)
    # A response to a later request proves that the server has processed the end of the subscription. No notification
    # may arrive after it.
    await peer.clock()
    peer.updated.clear()
    for _ in range(2):
        before = await peer.clock()
        while await peer.clock() == before:
            await anyio.sleep(0.025)
    equal(peer.updated, [])


async def list_changed(peer: Peer) -> None:
    lists = ["tools", "prompts", "resources"]
    if peer.modern:
        wanted = {f"{name}_list_changed": True for name in lists}
        async with peer.client.listen(**wanted) as subscription:
            for name in lists:
                # Added, then removed again.
                for _ in range(2):
                    await peer.call("change_list", {"list": name})
                    event = await anext(subscription)
                    equal(type(event).__name__.lower(), f"{name}listchanged")
        return
    peer.changed_lists.clear()
    for name in lists:
        for _ in range(2):
            before = len(peer.changed_lists)
            await peer.call("change_list", {"list": name})
            await until(lambda: len(peer.changed_lists) > before)
    equal(peer.changed_lists, [name for name in lists for _ in range(2)])


async def elicit_accept(peer: Peer) -> None:
    equal(await ask(peer, "confirm", accepted(True)), "confirmed")


async def elicit_decline(peer: Peer) -> None:
    equal(await ask(peer, "confirm", accepted(False)), "not confirmed")
    equal(await ask(peer, "confirm", types.ElicitResult(action="decline")), "not confirmed")


async def elicit_cancel(peer: Peer) -> None:
    equal(await ask(peer, "confirm", types.ElicitResult(action="cancel")), "cancelled")


async def approve_accept(peer: Peer) -> None:
    equal(await ask(peer, "approve", accepted(True)), "approved")


async def approve_decline(peer: Peer) -> None:
    equal(await ask(peer, "approve", accepted(False)), "not approved")
    equal(await ask(peer, "approve", types.ElicitResult(action="decline")), "not approved")


async def approve_cancel(peer: Peer) -> None:
    equal(await ask(peer, "approve", types.ElicitResult(action="cancel")), "cancelled")


def accepted(confirmed: bool) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"confirmed": confirmed})


async def ask(peer: Peer, tool: str, response: types.ElicitResult) -> str:
    peer.asked.clear()
    peer.elicitation_result = response
    text = await peer.text(tool, {"question": "Really deploy?"})
    equal(len(peer.asked), 1)
    expect("Really deploy?" in peer.asked[0].message, peer.asked[0].message)
    equal(peer.asked[0].requested_schema["properties"]["confirmed"]["type"], "boolean")
    return text


async def ping(peer: Peer) -> None:
    await peer.client.send_ping()


async def no_transport_errors(peer: Peer) -> None:
    equal(peer.transport_errors, [])
