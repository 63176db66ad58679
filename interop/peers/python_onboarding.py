"""The example `onboarding`: responds to three consecutive elicitations, with the Python SDK."""

import mcp_types as types

from python_peer import Peer, equal


async def onboarding_negotiate(peer: Peer) -> None:
    tools = (await peer.client.list_tools()).tools
    equal([tool.name for tool in tools], ["welcome"])
    equal(peer.client.protocol_version, peer.revision)


async def onboarding_welcome(peer: Peer) -> None:
    text = await call_welcome(peer, "Ada", "Platform", 1, accept(inches=16))
    equal(text, "Ada sits at desk 1 at Platform, with a laptop of 16 inches.")


async def onboarding_decline(peer: Peer) -> None:
    text = await call_welcome(peer, "Grace", "Design", 2, types.ElicitResult(action="decline"))
    equal(text, "Grace sits at desk 2 at Design, with no laptop.")


async def call_welcome(peer: Peer, name: str, team: str, desk: int, laptop: types.ElicitResult) -> str:
    responses = {
        "Who is new?": accept(name=name),
        f"Which team does {name} join?": accept(team=team),
        f"{name} has desk {desk} at {team}. Which laptop goes there?": laptop,
    }
    peer.asked.clear()
    peer.elicitation_results = responses
    text = await peer.text("welcome")
    equal([request.message for request in peer.asked], list(responses))
    return text


def accept(**content) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content=content)
