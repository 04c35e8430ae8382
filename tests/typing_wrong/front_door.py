# Every line that is marked must be refused by both checkers.
from dataclasses import dataclass

import loopwright.guard
import loopwright.hooks
import loopwright.mcp
import loopwright.testing
import loopwright.tools
from loopwright import Agent, Budget, Grounded, Output, Research, RunContext, Toolset, tool


@dataclass
class Db:
    dsn: str


@tool
def query(context: RunContext[Db], sql: str) -> str:
    return context.deps.dsn + sql


agent = Agent("m", deps_type=Db, tools=[query], output_type=int)
agent.run_sync("x")  # E deps forgotten
agent.run_sync("x", deps=3)  # E deps of another type
Agent("m", deps_type=int, tools=[query])  # E a tool of other deps
Agent("m", tools=[3])  # E no tool
Agent("m", settings={"temprature": 0})  # E a key that there is not
Agent("m", budget=Budget(max_turns=3))  # E a limit that there is not
Agent("m", system="Be brief.")  # E the old name
agent.run_sync("x", deps=Db("d"), message_history=[])  # E a peer's name
agent.run_sync("x", deps=Db("d")).output.upper()  # E an int has no upper
Agent(3)  # E no model
Agent("m", deps_type=Db, tools=[query], max_tokens=3)  # E that is a setting of the model
Agent("m", output_type=3)  # E no type
Agent("m", tools=[query])  # pyright refuses it (deps_type is missing); mypy infers Db, and asks for deps below
Agent("m", tools=[query]).run_sync("x")  # E deps forgotten
agent.stream("x", deps=Db("d"), budgets={})  # E a name that there is not


def who(context: RunContext[Db]) -> str:
    return context.deps.dsn


@tool
def counts(context: RunContext[int], x: str) -> str:
    return x * context.deps


Agent("m", deps_type=int, instructions=who)  # E instructions of other deps
Agent("m", deps_type=int, instructions=["Hi", who])  # E the same in a list
agent.run_sync("x", deps=Db("d"), tools=[counts])  # E a tool of other deps, for one run
Agent("m", deps_type=Db, tools=[Toolset[int]([counts])])  # E a toolset of other deps
Agent("m", budget=Budget(cost="5"))  # E money is a number
agent.stream("x", deps=Db("d")).items()  # E the output is no list
print(loopwright.Agnet)  # E a misspelt name
print(loopwright.guard.Guart)  # E likewise
print(loopwright.hooks.Hoks)  # E likewise
print(loopwright.mcp.serv)  # E likewise
print(loopwright.testing.Casette)  # E likewise
print(loopwright.tools.Tol)  # E likewise
agent.iter("x")  # E deps forgotten
agent.iter("x", deps=Db("d")).send(3)  # E that is no message
agent.iter("x", deps=Db("d")).result.output.upper()  # E an int has no upper
Output(mode="call")  # E no such way
Output(call="query")  # E no function

grounded = Grounded("m", sources=["docs"])
Grounded("m", system_prompt="Be brief.")  # E a peer's name
Grounded("m", settings={"temprature": 0})  # E a key that there is not
Grounded("m", output_type=int)  # E an agent's alone
grounded.run_sync("x", max_turns=3)  # E a peer's name
grounded.clone().run_sync("x", budget=3)  # E no budget
Research("m", memory="m.db")  # E an agent's alone
Research("m").run_sync("x", usage_limits=3)  # E a peer's name
Research("m").override(modle="m")  # E a misspelt name
