"""What fuzzing found once, tested for its whole kind."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from eval.agents.prices import price_of
from eval.agents.protocol import AgentError
from eval.agents.store import ResultStore
from eval.cost.reading import CostError, read_procedures
from eval.fuzz.light import light_heads, small_roster
from eval.sensitivity import SensitivityError, read_variants
from roster.store import Store, StoreError, TransferError, read_source
from router import RouterError, Thresholds
from router.hook.settings import install, installed, uninstall
from router.local.heads import Heads
from router.local.trees import Trees
from router.profile import Profile, load_profile, make_profile
from router.service.problems import Refusal as ServiceRefusal
from router.service.wire import parse_request
from router.systemone.protocol import MAX_FAULTS, Refusal, read_request

ROSTER = small_roster()
READERS: list[tuple[Callable[[Path], object], type[Exception]]] = [
    (Thresholds.from_toml, RouterError),
    (lambda file: price_of("m", file), AgentError),
    (read_procedures, CostError),
    (lambda file: read_variants(file, ROSTER), SensitivityError),
    (read_source, StoreError),
]
TOML = {
    "digits": "gate = " + "9" * 5_000,
    "depth": "gate = " + "[" * 5_000,
    "bytes": b"gate = '\xff'",
    "date": "gate = 1979-99-99",
}


@pytest.mark.parametrize("name", TOML)
@pytest.mark.parametrize(("read", "error"), READERS)
def test_every_toml_reader_refuses_what_the_parser_chokes_on(
    read: Callable[[Path], object], error: type[Exception], name: str, tmp_path: Path
) -> None:
    file = tmp_path / "hostile.toml"
    content = TOML[name]
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(error, match=r"hostile\.toml") as caught:
        read(file)
    assert len(str(caught.value)) < 1_000


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with an active skill and an active profile."""
    source = tmp_path / "opening.toml"
    source.write_text('name = "opening"\nversion = "1"\ninstructions = "Read."\n')
    path = tmp_path / "store.sqlite"
    heads = light_heads().model_dump_json(exclude={"digest"}).encode()
    with Store(path) as opened:
        opened.skills.stage(read_source(source))
        opened.skills.activate("opening", "1", evaluate=lambda *_: {"a": True}, required={"a"})
        shelf = opened.shelf(Profile)
        shelf.stage(make_profile("p", "1", roster=ROSTER, requests_digest="r", heads=heads))
        shelf.activate("p", "1", evaluate=lambda *_: {"a": True}, required={"a"})
    return path


def spoil(store: Path, statement: str, *values: object) -> None:
    """Change a row as only a damaged disk, or somebody with the file, can."""
    with sqlite3.connect(store) as connection:
        for name in ("versions_immutable", "files_immutable", "events_immutable"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement, values)
    connection.close()


@pytest.mark.parametrize(
    "content",
    ["{}", "[]", "not JSON", '{"name": "opening", "version": "1", "instructions": "Evil."}', "["],
)
@pytest.mark.parametrize("kind", ["skill", "profile"])
def test_a_changed_content_is_never_used(store: Path, content: str, kind: str) -> None:
    spoil(store, "UPDATE versions SET content = ? WHERE kind = ?", content, kind)
    with Store(store) as opened:
        assert opened.check()
        if kind == "skill":
            for ask in (
                lambda: opened.skills.get("opening", "1"),
                lambda: opened.snapshot().roster(),
                lambda: opened.skills.activate(
                    "opening", "1", evaluate=lambda *_: {"a": True}, required={"a"}
                ),
            ):
                with pytest.raises(StoreError, match=r"opening.*changed.*restore a copy"):
                    ask()
    if kind == "profile":
        with pytest.raises(RouterError, match="changed in the store"):
            load_profile("p", ROSTER, store)


def test_a_content_that_is_no_record_is_refused_even_with_its_digest(store: Path) -> None:
    content = '{"name":"opening","version":"1"}'
    digest = sha256(content.encode()).hexdigest()
    statement = "UPDATE versions SET content = ?, content_sha256 = ? WHERE kind = 'skill'"
    spoil(store, statement, content, digest)
    with Store(store) as opened:
        assert opened.check()
        with pytest.raises(StoreError, match="no such record"):
            opened.snapshot().roster()


def test_changed_weights_are_never_loaded(store: Path) -> None:
    heads = light_heads().model_copy(update={"encoder": "other"})
    spoil(store, "UPDATE files SET data = ?", heads.model_dump_json(exclude={"digest"}).encode())
    with pytest.raises(RouterError, match="was changed in the store"):
        load_profile("p", ROSTER, store)


def test_a_damaged_file_is_not_exported(store: Path, tmp_path: Path) -> None:
    spoil(store, "UPDATE files SET data = x'00'")
    with Store(store) as opened:
        with pytest.raises(TransferError, match="was changed in the store"):
            opened.export(tmp_path / "export.jsonl")
        assert {problem.code for problem in opened.check()} >= {"file-changed"}
    assert not (tmp_path / "export.jsonl").exists()


def test_a_label_of_a_damaged_store_is_quoted_visibly(store: Path, tmp_path: Path) -> None:
    digest = "\x00\x1b[2J" + "0" * 58
    spoil(
        store, "UPDATE versions SET content = 'x', content_sha256 = ? WHERE kind = 'skill'", digest
    )
    with Store(store) as opened, pytest.raises(StoreError) as raised:
        opened.skills.stage(read_source(tmp_path / "opening.toml"))
    assert "\\x00" in str(raised.value) and "\x1b" not in str(raised.value)


@pytest.mark.parametrize("store_class", [Store, ResultStore])
def test_a_damaged_schema_is_quoted_visibly(store_class: type, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with store_class(path):
        pass
    data = path.read_bytes()
    assert data.count(b"CREATE TABLE") > 1
    path.write_bytes(data.replace(b"CREATE TABLE", b"CREATE \x07ABLE"))
    with pytest.raises(ValueError, match=r"s\.sqlite: .*\\x07"), store_class(path):
        pass


@pytest.mark.parametrize("value", [b"\xff\xfe", b"{\x01}", b"[" * 50_000])
def test_a_row_that_cannot_be_read_is_a_clean_error(store: Path, value: bytes) -> None:
    spoil(store, "UPDATE events SET evidence = CAST(? AS TEXT)", value)
    with Store(store) as opened:
        for ask in (opened.skills.log, opened.check):
            with pytest.raises(StoreError, match=r"store\.sqlite: .*(cannot be read|refused)"):
                ask()


@pytest.mark.parametrize("decision", ["retired", "staged", "rolled_back", "nonsense"])
def test_an_export_whose_log_leads_elsewhere_is_refused(
    store: Path, tmp_path: Path, decision: str
) -> None:
    export = tmp_path / "export.jsonl"
    with Store(store) as opened:
        opened.export(export)
    lines = export.read_text().splitlines()[:-1]
    changed = [line.replace('"decision":"activated"', f'"decision":"{decision}"') for line in lines]
    assert changed != lines
    text = "\n".join(changed) + "\n"
    export.write_text(text + json.dumps({"end": sha256(text.encode()).hexdigest()}) + "\n")
    with Store(tmp_path / "new.sqlite") as fresh:
        with pytest.raises(TransferError, match=r"export\.jsonl: does not make a whole store"):
            fresh.import_(export)
        assert fresh.skills.versions() == [] and fresh.skills.log() == []


@pytest.mark.parametrize("half", ["\\ud800", "\\udfff", "\\ude00\\ud83d"])
def test_half_characters_in_settings_stay_escapes(tmp_path: Path, half: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"model": "caf\\u00e9 ' + half + '"}')
    before = json.loads(file.read_text())
    assert install(file, "skill-router hook") == "added"
    after = json.loads(file.read_bytes().decode("utf-8"))
    assert after["model"] == before["model"]
    assert installed(file) == "skill-router hook"


@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("apart", [False, True])
def test_equal_entries_of_the_hook_become_one(tmp_path: Path, times: int, apart: bool) -> None:
    file = tmp_path / "settings.json"
    ours = {"type": "command", "command": "/old/skill-router hook"}
    others = {"type": "command", "command": "echo"}
    groups = [{"hooks": [others, *[ours] * times]}]
    if apart:
        groups = [{"hooks": [ours]} for _ in range(times)] + [{"hooks": [others]}]
    file.write_text(json.dumps({"hooks": {"UserPromptSubmit": groups}}))
    assert install(file, "/new/skill-router hook") == "updated"
    assert installed(file) == "/new/skill-router hook"
    assert file.read_text().count("skill-router hook") == 1
    assert install(file, "/new/skill-router hook") == "unchanged"
    uninstall(file)
    left = json.loads(file.read_text())["hooks"]["UserPromptSubmit"]
    assert [handler for group in left for handler in group["hooks"]] == [others]


def test_a_system_one_refusal_stays_short() -> None:
    long = "q" * 5_000
    questions = {f"{long}{n}": {"type": 5} for n in range(300)}
    body = json.dumps({"model": "m", "state": "s", "questions": questions})
    with pytest.raises(Refusal) as caught:
        read_request(body.encode())
    answer = caught.value.body()
    assert len(json.loads(answer)["detail"]) <= MAX_FAULTS
    assert len(answer) < 20_000


def test_trees_deeper_than_their_nodes_are_refused() -> None:
    node = {"roots": (0,), "feature": (0,), "threshold": (0.0,), "left": (0,), "right": (0,)}
    assert Trees.model_validate({**node, "value": (1.0,), "base": 0.0, "depth": 1})
    for depth in (-1, 2, 10**12):
        with pytest.raises(ValueError, match="deeper"):
            Trees.model_validate({**node, "value": (1.0,), "base": 0.0, "depth": depth})


@pytest.mark.parametrize("content", [b"[]", b"5", b'"text"', b"null"])
def test_a_heads_file_that_is_no_object_is_a_clean_error(content: bytes) -> None:
    with pytest.raises(RouterError, match="heads file"):
        Heads.from_bytes(content, "heads.json")


@pytest.mark.parametrize("char", ["\x00", "\x7f", "\u202e", "\x1b[2J", "\U000e0041"])
def test_a_strangers_key_reaches_no_error_as_it_is(char: str, tmp_path: Path) -> None:
    with pytest.raises(ServiceRefusal) as refused:
        parse_request({"request": "a", f"x{char}": 1})
    file = tmp_path / "t.toml"
    escaped = "".join(f"\\U{ord(one):08x}" for one in char)
    file.write_text(f'"x{escaped}" = 1\n')
    with pytest.raises(RouterError) as raised:
        Thresholds.from_toml(file)
    for message in (refused.value.detail, str(refused.value.errors), str(raised.value)):
        assert char not in message and "x\\" in message
