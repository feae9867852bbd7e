"""A planted key and planted words of a user, looked for everywhere something is kept or shown."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel, SecretStr, ValidationError

from router import Router
from router.claude import ClaudeSettings
from router.cli import main
from router.judges import JudgeSetup
from router.service.config import DecisionLogConfig, ServiceConfig
from router.service.tracing import Tracing
from router.systemone import SystemOneSettings
from tests.eval.fakes import WordJudge, shop, shop_turns
from tests.eval.messages_server import MessagesServer, Say, error
from tests.router.judges.apis import ANSWERS, ROSTER
from tests.router.judges.loopback import Answer, loopback
from tests.router.service.running import running, write_skill

KEY = "sk-planted-0123456789-abcdefghij"
WORDS = "planted-words-of-the-user mend kite"
BOTH = pytest.mark.parametrize("judge", ["claude", "systemone"])


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What our loggers say at their most talkative, and all others at INFO, as with ``-v``."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    levels = {name: logging.getLogger(name).level for name in ("", "roster", "router", "eval")}
    root.addHandler(handler)
    for name in levels:
        logging.getLogger(name).setLevel(logging.DEBUG if name else logging.INFO)
    yield stream
    root.removeHandler(handler)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def shown(value: Any) -> str:
    """A value in every form that it may be printed or kept in."""
    forms = [repr(value), str(value)]
    if isinstance(value, BaseModel):
        forms += [value.model_dump_json(), repr(value.model_dump()), repr(value.model_copy())]
    return "\n".join([*forms, repr(vars(value)) if hasattr(value, "__dict__") else ""])


def files_with(folder: Path, planted: str) -> list[str]:
    """Files below a folder that hold a text."""
    return [
        str(file.relative_to(folder))
        for file in folder.rglob("*")
        if file.is_file() and planted.encode() in file.read_bytes()
    ]


@pytest.mark.parametrize(
    "record",
    [
        JudgeSetup(api_key=SecretStr(KEY)),
        ClaudeSettings(api_key=SecretStr(KEY)),
        SystemOneSettings(api_key=SecretStr(KEY)),
        ServiceConfig(port=1, token=SecretStr(KEY)),
    ],
    ids=lambda record: type(record).__name__,
)
def test_no_record_shows_its_key(record: BaseModel) -> None:
    assert KEY not in shown(record)


@pytest.mark.parametrize(
    ("model", "field"),
    [
        (JudgeSetup, "api_key"),
        (ClaudeSettings, "api_key"),
        (SystemOneSettings, "api_key"),
        (ServiceConfig, "token"),
    ],
)
@pytest.mark.parametrize("value", [[KEY], {KEY: 1}, KEY.encode(), f"{KEY} \u00fc\n", KEY * 40])
def test_no_validation_error_shows_a_key(model: type[BaseModel], field: str, value: object) -> None:
    try:
        model.model_validate(
            {field: value, "unknown": KEY, **({"port": 1} if field == "token" else {})}
        )
    except ValidationError as raised:
        assert KEY not in "".join(traceback.format_exception(raised))
    else:  # the unknown field at least is refused
        pytest.fail("was accepted")


@BOTH
@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=401, body={"error": {"message": f"the key {KEY} is not known"}}),
        Answer(status=500, body=f"{KEY}".encode()),
        Answer(status=200, body=f'{{"{KEY}": 1}}'.encode()),
        Answer(status=400, body={"detail": KEY}, headers={"X-Echo": KEY}),
        Answer(drop=True),
        Answer(cut=True, body={"key": KEY}),
    ],
)
def test_a_judge_never_shows_its_key(judge: str, answer: Answer, log: io.StringIO) -> None:
    # Even a server that repeats the key in its errors cannot bring it into a log.
    with loopback(lambda data, number: answer) as server:
        setup = JudgeSetup(base_url=server.url, api_key=SecretStr(KEY), max_retries=0)
        router = Router.load(ROSTER, judge=judge, setup=setup)  # type: ignore[arg-type]
        suggestion = router.suggest(WORDS)
        assert any(KEY in str(headers) for headers in server.headers)
    assert suggestion.reason == "router_error"
    assert KEY not in shown(suggestion)
    assert KEY not in shown(router) + shown(router.judge)
    assert KEY not in log.getvalue()


@BOTH
def test_a_good_answer_shows_no_key_either(judge: str, log: io.StringIO) -> None:
    def script(data: dict[str, Any], number: int) -> Answer:
        return Answer(ANSWERS[judge](data, ROSTER.names[0]))

    with loopback(script) as server:
        setup = JudgeSetup(base_url=server.url, api_key=SecretStr(KEY))
        suggestion = Router.load(ROSTER, judge=judge, setup=setup).suggest(WORDS)  # type: ignore[arg-type]
    assert suggestion.name == ROSTER.names[0]
    assert KEY not in shown(suggestion) + log.getvalue()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a roster and requests, the key in the environment, all caches below it."""
    monkeypatch.setattr(
        "eval.commands.bench.load_router", lambda roster, *_, **__: Router(roster, WordJudge())
    )
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SKILL_ROUTER_CACHE", str(tmp_path / "cache"))
    fields = {"name", "category", "description", "body"}
    skills = [skill.model_dump(include=fields) for skill in shop()]
    (tmp_path / "roster.json").write_text(json.dumps(skills))
    turns = "\n".join(turn.model_dump_json() for turn in shop_turns())
    (tmp_path / "turns.jsonl").write_text(turns)
    return tmp_path


@pytest.mark.parametrize("fails", [False, True])
def test_an_agent_run_keeps_no_key(bench: Path, fails: bool, log: io.StringIO) -> None:
    def plan(number: int, body: dict[str, Any]) -> Say | None:
        echo = Say(400, json.dumps({"error": {"message": f"bad key {KEY}"}}).encode())
        return echo if fails and number == 0 else error(529, "x") if number == 1 else None

    with MessagesServer(plan) as server:
        arguments = ["bench", "--roster", str(bench / "roster.json")]
        arguments += ["--requests", str(bench / "turns.jsonl"), "--agent", "claude:m"]
        arguments += ["--agent-base-url", server.url, "--store", str(bench / "results.sqlite")]
        arguments += ["--html", str(bench / "page.html"), "--out", str(bench / "out.jsonl")]
        result = CliRunner().invoke(main, [*arguments, "--json"])
        assert any(KEY in str(headers) for headers in server.headers)
    assert result.exit_code == (1 if fails else 0), result.output
    assert KEY not in result.output + log.getvalue()
    assert files_with(bench, KEY) == []
    if not fails:
        assert {"page.html", "results.sqlite", "out.jsonl"} <= {p.name for p in bench.iterdir()}


@pytest.mark.parametrize("requests", [None, "none", "hash", "text"])
def test_the_service_shows_neither_token_nor_words(
    tmp_path: Path, requests: Any, log: io.StringIO
) -> None:
    write_skill(tmp_path / "skills", "kite-repair", "Mend torn kite sails.")
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    tracing = Tracing()
    tracing._tracer = provider.get_tracer("test")
    decisions = tmp_path / "log" / "decisions.jsonl"
    decisions.parent.mkdir()
    kept = requests and DecisionLogConfig(path=decisions, requests=requests)
    answers = []
    with running(tmp_path / "skills", token=KEY, log=kept, tracing=tracing) as service:
        bearer = {"Authorization": f"Bearer {KEY}"}
        with service.client(headers=bearer) as client:
            body = {"request": WORDS, "recent_context": [WORDS], "full": True, "session": "s"}
            answers.append(client.post("/v1/suggest", json=body))
            assert answers[0].status_code == 200
            answers.append(client.post("/v1/suggest", json={**body, "request": [WORDS]}))
            answers.append(client.post("/v1/hook", json={"prompt": WORDS, "cwd": "/"}))
            answers.append(client.post("/v1/suggest", content=KEY.encode()))
            answers += [client.get(p) for p in ("/healthz", "/metrics", "/openapi.json", "/x")]
        with service.client() as client:
            wrong = {"Authorization": f"Bearer {KEY}x"}
            answers.append(client.post("/v1/suggest", json=body, headers=wrong))
            assert answers[-1].status_code == 401
        shown_config = shown(service.service.config)
    said = "\n".join(f"{answer.headers} {answer.text}" for answer in answers)
    spanned = "\n".join(span.to_json() for span in spans.get_finished_spans())
    assert spanned
    for planted in (KEY, WORDS):
        assert planted not in said + spanned + log.getvalue() + shown_config
    assert files_with(tmp_path, KEY) == []
    written = files_with(tmp_path, WORDS)
    assert written == (["log/decisions.jsonl"] if requests == "text" else [])


@pytest.mark.slow
def test_processes_leave_neither_key_nor_words_behind(tmp_path: Path) -> None:
    # The command line, the hook and the indexes of a user, all in one home.
    write_skill(tmp_path / "home/.claude/skills", "kite-repair", "Mend torn kite sails.")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
        "SKILL_ROUTER_CACHE": str(tmp_path / "cache"),
        **dict.fromkeys(("ANTHROPIC_API_KEY", "TYPESAFE_API_KEY", "SKILL_ROUTER_TOKEN"), KEY),
    }
    for name in ("tmp", "run"):
        (tmp_path / name).mkdir(mode=0o700)
    skills = str(tmp_path / "home/.claude/skills")
    payload = {"hook_event_name": "UserPromptSubmit", "prompt": WORDS, "cwd": str(tmp_path)}
    runs: list[tuple[list[str], str]] = [
        (["-v", "suggest", WORDS, "--roster", skills, "--explain"], ""),
        (["-v", "suggest", WORDS, "--roster", skills, "--json"], ""),
        (["hook", "--no-service"], json.dumps(payload)),
        (["hook", "install"], ""),
        (["roster", "check", "--roster", skills, "--json"], ""),
    ]
    said = ""
    for arguments, given in runs:
        done = subprocess.run(
            [sys.executable, "-m", "router.start", *arguments],
            input=given,
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        said += done.stdout + done.stderr
    assert KEY not in said and WORDS not in said
    assert files_with(tmp_path, KEY) == []
    assert files_with(tmp_path, WORDS) == []
    assert files_with(tmp_path / "cache", "kite") != []  # the search would find something
