"""A benchmark in a process of its own, to be killed: BASE_URL STORE."""

from __future__ import annotations

import sys

from eval.agent_bench import ORACLE, arms_told, run_agent_bench
from eval.agents.claude import ClaudeAgent, make_client
from eval.agents.store import ResultStore
from tests.eval.fakes import shop, shop_turns


def main(url: str, path: str) -> None:
    with ResultStore(path) as store:
        agent = ClaudeAgent("m", make_client(url, "sk-test"), url, workers=3)
        told = arms_told(("baseline", ORACLE), shop_turns(), None, store, "m")
        run = run_agent_bench(agent, shop(), shop_turns(), told, store)
    print(run.live, run.interrupted, sum(o.reply is None for r in run.arms.values() for o in r))


if __name__ == "__main__":
    main(*sys.argv[1:])
