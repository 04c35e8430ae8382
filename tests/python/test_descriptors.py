"""W30: descriptors that run out are this process's lack, and no fault of a provider."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from loopwright.testing import text
from ways import program

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.skipif(sys.platform != "linux", reason="the limit is read and set as Linux does"),
]

MANY = """
    import asyncio, json, resource, sys, time
    from loopwright import Agent, Budget, Model

    url, most, runs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    agent = Agent(Model("openai-chat:m", base_url=url, api_key="k"), budget=Budget(wall_time=50))

    async def main():
        return await asyncio.gather(*(agent.run("go") for _ in range(runs)), return_exceptions=True)

    results = asyncio.run(main())
    print(json.dumps([result.final if hasattr(result, "final") else repr(result) for result in results]))
"""

HOG = """
    import json, os, resource, sys, threading, time
    from loopwright import Agent, LoopwrightError, Model

    url, frees = sys.argv[1], sys.argv[2] == "frees"
    agent = Agent(Model("openai-chat:m", base_url=url, api_key="k", timeouts={"connect": 2}))
    agent.run_sync("warm")
    time.sleep(0.2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass

    def free():
        time.sleep(0.5)
        while held:
            os.close(held.pop())

    if frees:
        threading.Thread(target=free).start()
    # Another host, for which a connection has to be made.
    other = Agent(Model("openai-chat:m", base_url=sys.argv[3], api_key="k", timeouts={"connect": 2}))
    final = failure = None
    try:
        final = other.run_sync("go").final
    except LoopwrightError as error:
        failure = [error.code, error.message, error.hint]
    while held:
        os.close(held.pop())
    print(json.dumps([final, failure, other.run_sync("go").final]))
"""


def said(process: Any) -> Any:
    out, err = process.communicate(timeout=55)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def test_w30_many_runs_wait_for_descriptors_instead_of_failing(serve: Any) -> None:
    server = serve(text("words " * 20).slowly(0.005), repeat_last=True)
    ended = said(program(MANY, server.url, 96, 300))
    assert len(ended) == 300
    assert all(each.startswith("words") for each in ended), {each for each in ended if not each.startswith("words")}
    assert len(server.requests) == 300, "no request goes out twice"


def test_w30_a_lack_that_passes_costs_no_attempt(serve: Any) -> None:
    first, second = serve("warm", repeat_last=True), serve("there", repeat_last=True)
    final, failure, _ = said(program(HOG, first.url, "frees", second.url))
    assert (final, failure) == ("there", None)


def test_w30_a_lack_that_stays_is_named_with_the_way_out(serve: Any) -> None:
    first, second = serve("warm", repeat_last=True), serve("there", repeat_last=True)
    final, failure, again = said(program(HOG, first.url, "keeps", second.url))
    code, message, hint = failure
    assert (final, code) == (None, "too_many_open_files")
    assert "all files that this process may have open are open" in message
    assert "ulimit -n" in hint
    assert again == "there", "the host's breaker has heard nothing of it"
