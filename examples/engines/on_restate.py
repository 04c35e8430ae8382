"""An agent within a workflow of Restate, which asks a person before it pays.

pip install 'loopwright[restate]' hypercorn; npm i @restatedev/restate-server
npx restate-server &
python examples/engines/on_restate.py &
curl localhost:9070/deployments -H 'content-type: application/json' -d '{"uri": "http://localhost:9080"}'
curl localhost:8080/Payroll/payroll-1/main/send -H 'content-type: application/json' -d '"Pay Ann 50."'
curl -X POST localhost:8080/Payroll/payroll-1/question        # the call that waits, with its id and its hash
curl localhost:8080/Payroll/payroll-1/answer -H 'content-type: application/json' \
    -d '{"id": 5, "hash": "…", "decision": "allow", "reason": null, "arguments": null}'
curl localhost:8080/restate/workflow/Payroll/payroll-1/attach
"""

# Type checkers look at this where Restate is not installed, too.
# mypy: disable-error-code="import-not-found,untyped-decorator,misc"

from __future__ import annotations

import asyncio
import sys

import hypercorn.asyncio
import hypercorn.config
import restate
from loopwright import Agent, RunContext, tool
from loopwright.durable.restate import people, run
from loopwright.testing import ScriptedModel, call


@tool(risk="confirm")
async def pay(context: RunContext[None], name: str, amount: int) -> str:
    """Pay somebody."""
    return f"{amount} paid to {name} under {context.idempotency_key}"


agent = Agent(ScriptedModel([call("pay", name="Ann", amount=50), "Done."], by_turn=True), tools=[pay])
payroll = restate.Workflow("Payroll")


@payroll.main()
async def main(context: restate.WorkflowContext, prompt: str) -> str:
    """The workflow: its key is the name of the run."""
    result = await run(context, agent, prompt)
    return result.final or ""


people(payroll)

if __name__ == "__main__":
    config = hypercorn.config.Config()
    config.bind = [sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9080"]
    asyncio.run(hypercorn.asyncio.serve(restate.app(services=[payroll]), config))
