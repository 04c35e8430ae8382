"""An agent of ours as the client that the official conformance suite of MCP looks at.

Each scenario is a run of an `Agent` with a scripted model: all that reaches the suite's server goes through the agent.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from urllib.parse import parse_qs, urlparse

import httpx2
from loopwright import Agent, Budget, mcp
from loopwright._approval import Edit
from loopwright.models import Call, Response
from loopwright.testing import ScriptedModel
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
VERSION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION")
ERA = "2025-11-25" if VERSION and VERSION < "2026" else None
STUBS = {"string": "x", "integer": 0, "number": 0, "boolean": False, "object": {}, "array": [], "null": None}
CALLS = {
    "tools_call": [("add_numbers", {"a": 5, "b": 3})],
    "request-metadata": [("add_numbers", {"a": 5, "b": 3})],
    "sse-retry": [("test_reconnection", {})],
    "elicitation-sep1034-client-defaults": [("test_client_elicitation_defaults", {})],
    "sep-2322-client-request-state": [
        ("test_mrtr_echo_state", {}),
        ("test_mrtr_unrelated", {}),
        ("test_mrtr_no_state", {}),
        ("test_mrtr_no_result_type", {}),
    ],
    "http-custom-headers": [(each["name"], each.get("arguments") or {}) for each in CONTEXT.get("toolCalls", ())],
    "initialize": [],
    "json-schema-ref-no-deref": [],
}


class Tokens:
    """Tokens in memory."""

    tokens = info = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.info

    async def set_client_info(self, info):
        self.info = info


class Browser:
    """Whoever would sign in: follows the one redirect and reads the code from it."""

    def __init__(self):
        self.query = {}

    async def go(self, url):
        async with httpx2.AsyncClient() as client:
            answer = await client.get(url, follow_redirects=False)
        self.query = parse_qs(urlparse(answer.headers["location"]).query)

    async def back(self):
        first = {name: values[0] for name, values in self.query.items()}
        return AuthorizationCodeResult(code=first["code"], state=first.get("state"), iss=first.get("iss"))


def signing_in(url):
    store, browser = Tokens(), Browser()
    there = [AnyUrl("http://localhost:3000/callback")]
    if CONTEXT.get("client_id"):
        secret = CONTEXT.get("client_secret")
        store.info = OAuthClientInformationFull(
            client_id=CONTEXT["client_id"],
            client_secret=secret,
            redirect_uris=there,
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
        )
    return OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata(
            client_name="loopwright",
            redirect_uris=there,
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
        ),
        storage=store,
        redirect_handler=browser.go,
        callback_handler=browser.back,
        client_metadata_url="https://conformance-test.local/client-metadata.json",
    )


def answer(approval):
    """A yes; what is asked for beyond defaults is a yes, too."""
    if not approval.name.endswith(" asks"):
        return True
    return Edit({name: True if value is None else value for name, value in approval.arguments.items()})


def stubs(schema):
    fields = schema.get("properties", {})
    return {name: STUBS.get(fields.get(name, {}).get("type"), "x") for name in schema.get("required", ())}


def first_step(request):
    """The calls of the scenario; where it names none, one of the first tool, or of all."""
    offered = [each["function"] for each in request.tools]
    if SCENARIO in CALLS:
        names = {each["name"] for each in offered}
        wanted = [(name, given) for name, given in CALLS[SCENARIO] if name in names]
    else:
        few = offered[:1] if SCENARIO.startswith("auth/") or SCENARIO == "http-standard-headers" else offered
        wanted = [(each["name"], stubs(each["schema"])) for each in few]
    return Response("", [Call(name, given) for name, given in wanted]) if wanted else "done"


async def round_trips(server):
    """Resources and prompts, for the headers of their requests."""
    for uri in (await server.resources())[:1]:
        await server.read(uri)
    for name in (await server.prompts())[:1]:
        await server.prompt(name)


def main():
    url = sys.argv[-1]
    # The mock of this one speaks the older era, whatever is asked for; the suite's own reference pins it, too.
    era = "2025-11-25" if SCENARIO == "json-schema-ref-no-deref" else ERA
    auth = signing_in(url) if SCENARIO.startswith("auth/") else None
    server = mcp.http(url, name="peer", auth=auth, era=era, timeout=25, required=True)
    try:
        model = ScriptedModel([first_step, "done"])
        agent = Agent(model, tools=[server], guard=answer, budget=Budget(rounds=4))
        result = agent.run_sync("Call the tools: " + json.dumps(CALLS.get(SCENARIO, "all")))
        print("\n".join(message.to_json() for message in result.messages))
        if SCENARIO == "http-standard-headers":
            asyncio.run(round_trips(server))
    finally:
        server.close()


if __name__ == "__main__":
    main()
