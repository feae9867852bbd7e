"""The doctor finds what was put wrong on purpose, says it to machines, and maps it."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.bench import Answer
from eval.data import LabelledTurn
from eval.doctor.examine import examine
from eval.doctor.labels import label_findings, label_report, missing_phrasings
from eval.doctor.machine import as_annotations, as_sarif
from eval.doctor.map import project, render_map
from eval.doctor.records import Finding, Report, Settings
from eval.doctor.wording import content_words, says_limit, says_when
from roster import Roster, Skill
from router.cli import main
from router.local.encoder import Encoded, load_encoder
from router.suggestion import Reason, Suggestion

BODY = "".join(
    f"- {text}\n"
    for text in (
        "Feed the starter flour and water the evening before",
        "Knead the dough until it stretches without tearing",
        "Proof the loaves in floured baskets overnight",
        "Score the crust with a razor blade",
        "Bake on a hot stone with plenty of steam",
        "Cool the bread on a rack before slicing",
    )
)
OTHER = (
    "Bake the sourdough loaves with steam",
    "Ask how the starter was fed before baking",
    "Sourdough bread needs a hot stone",
    "Never slice sourdough loaves while warm",
    "Keep some starter for the next bread",
    "Weigh flour and water for sourdough bread",
)
HOSTILE = "</script><script>alert(1)</script>\x1b[31m\u202e&<b>"


@pytest.fixture(scope="module")
def roster() -> Roster:
    return Roster.from_skills(
        [
            Skill(
                name="bread-bake",
                description="Bake sourdough loaves from a fed starter. Use when asked for bread.",
                body=BODY,
            ),
            Skill(name="bread-copy", description="Bake sourdough loaves from a fed starter.",
                  body=BODY + "- Wrap what is left in linen"),
            Skill(name="kite-repair", description="Mends kites.", body="Glue. " * 5_000),
            Skill(
                name="deploy-staging",
                description="Deploy the service to a cluster, watch the rollout and report; the "
                "staging cluster only. Use when a branch must be tried.",
            ),
            Skill(
                name="deploy",
                description="Deploy the service to a cluster, watch the rollout and report; "
                "production, with approval. Use when a release is due.",
            ),
            Skill(
                name="helper",
                description="Everything about offices, chairs and printers. Use when at work.",
                body="".join(f"- {text}\n" for text in OTHER),
            ),
            Skill(name="hostile", description=HOSTILE, body=HOSTILE),
        ]
    )  # fmt: skip


@pytest.fixture(scope="module")
def examined(roster: Roster) -> tuple[Report, np.ndarray]:
    return examine(roster, load_encoder(), Settings(width=60))


def of(report: Report, code: str) -> dict[str, Finding]:
    return {finding.skill: finding for finding in report.findings if finding.code == code}


def test_lines_that_cannot_be_told_apart(examined: tuple[Report, np.ndarray]) -> None:
    found = of(examined[0], "line-indistinct")
    deploy = found["deploy"]
    assert deploy.other == "deploy-staging"
    told = deploy.details["told_at"]
    assert told > 60
    text = "Deploy the service to a cluster, watch the rollout and report; production"
    assert len(text) <= told <= len(text) + 4
    assert "production" in deploy.remedy
    assert "only its name ('staging')" in found["deploy-staging"].message
    assert "kite-repair" not in found


def test_a_wide_enough_index_tells_them_apart(roster: Roster) -> None:
    report, _ = examine(roster, load_encoder(), Settings(width=120))
    assert "deploy" not in of(report, "line-indistinct")


class Hashed:
    """An encoder without a model: the vector of a text is drawn from the text."""

    name = "hashed"
    dimension = 8
    token_dimension = 2
    digest = "0" * 64

    def encode(self, texts: Sequence[str], max_tokens: int) -> Encoded:
        rows = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=8) for text in texts]
        pooled = np.array(rows, dtype=np.float32).reshape(-1, 8)
        pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
        empty = [np.zeros((0, 2), dtype=np.float32)] * len(texts)
        return Encoded(pooled, empty, [row[:, 0] for row in empty])


def _invented(count: int) -> Roster:
    """Skills whose bodies speak of their own things, and all of changing the code."""
    rng = random.Random(7)
    vocabulary = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in ("ldo", "mpi", "rnu")]
    skills = []
    for number in range(count):
        own = rng.sample(vocabulary, 8)
        lines = [f"- change the code of the {' '.join(rng.sample(own, 3))}" for _ in range(12)]
        skills.append(
            Skill(
                name=f"skill-{number}",
                description=f"Works on {' and '.join(rng.sample(vocabulary, 2))}. Use when asked.",
                body="\n".join(lines),
            )
        )
    return Roster.from_skills(skills)


def test_phrases_tried_a_few_at_a_time_find_what_all_at_once_find() -> None:
    invented = _invented(40)
    few, _ = examine(invented, Hashed(), Settings(phrases=3, more_phrases=9))
    whole, _ = examine(invented, Hashed(), Settings(phrases=12, more_phrases=0))
    unreachable = of(few, "unreachable")
    assert 5 < len(unreachable) < 40
    assert unreachable.keys() == of(whole, "unreachable").keys()
    for skill, finding in unreachable.items():
        other = of(whole, "unreachable")[skill]
        tried, all_of_them = (
            {(row["text"], row["rank"]) for row in f.details["phrases"]} for f in (finding, other)
        )
        assert tried == all_of_them
    # What every body says is no advice for one of them.
    assert any(finding.words for finding in unreachable.values())
    assert not any({"change", "code"} & set(f.words) for f in unreachable.values())


def test_a_contraction_leaves_no_half_word() -> None:
    assert content_words("Don't, doesn't, isn't, we've, they'll: sails") == ["sail"]


def test_only_plurals_lose_their_s() -> None:
    kept = "macos nodejs gitops kubernetes canvas status analysis class"
    assert content_words(kept) == kept.split()
    assert content_words("sails boxes queries matches") == ["sail", "box", "query", "match"]


def test_duplicates_silence_budget_and_phrases(examined: tuple[Report, np.ndarray]) -> None:
    report = examined[0]
    twin = of(report, "near-duplicate")["bread-bake"]
    assert twin.other == "bread-copy" and twin.details["bodies"] > 0.8
    assert set(of(report, "no-when")) >= {"kite-repair", "bread-copy"}
    assert "bread-bake" not in of(report, "no-when")
    assert of(report, "body-over-budget")["kite-repair"].details["tokens"] > 5_000
    lost = of(report, "unreachable")["helper"]
    assert lost.other in ("bread-bake", "bread-copy")
    assert all(phrase["rank"] > 1 for phrase in lost.details["phrases"])
    assert report.cost["index"] < report.cost["full"]


def test_findings_name_what_to_do(examined: tuple[Report, np.ndarray]) -> None:
    for finding in examined[0].findings:
        assert finding.message and finding.remedy
        assert finding.other != finding.skill


@pytest.mark.parametrize(
    ("text", "when", "limit"),
    [
        ("Waters plants.", False, False),
        ("Waters plants. Use when asked about watering.", True, False),
        ("Waters plants, not trees.", False, True),
        ('Waters plants: "my fern is dry", "water the roses".', True, False),
        ("给植物浇水。当用户提到浇水时使用。", True, False),
        ("يسقي النباتات في البيت والحديقة كل يوم", None, None),
    ],
)
def test_when_and_when_not(text: str, when: bool | None, limit: bool | None) -> None:
    assert says_when(text) is when
    assert says_limit(text) is limit


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_text_has_content_words(text: str) -> None:
    words = content_words(text)
    assert all(words) and content_words(text.upper()) is not None
    assert says_when(text) in (True, False, None)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 12])
def test_any_number_of_skills_is_examined_and_mapped(count: int) -> None:
    skills = [Skill(name=f"s{i}", description=f"Does thing {i}.") for i in range(count)]
    roster = Roster.from_skills(skills)
    report, vectors = examine(roster, load_encoder())
    places = project(vectors)
    assert places.shape == (count, 2)
    assert np.isfinite(places).all() and ((places >= 0) & (places <= 1)).all()
    page = render_map(roster, report, vectors)
    assert page.count('<circle class="dot"') == count


def _answer(text: str, gold: str | None, name: str | None) -> Answer:
    suggestion = Suggestion(
        name=name, reason=Reason.SUGGESTED if name else Reason.GATE, thresholds_gate=0.3,
        thresholds_fit=0.3, roster_digest="r", thresholds_digest="t", weights_digest="w",
    )  # fmt: skip
    return Answer(turn=LabelledTurn(text=text, gold=gold), suggestion=suggestion)


def test_labels_give_rates_confusions_and_phrasings(roster: Roster) -> None:
    answers = [
        _answer("bake me a baguette", "bread-bake", None),
        _answer("my focaccia, crispy please", "bread-bake", "kite-repair"),
        _answer("a focaccia for four", "bread-bake", "kite-repair"),
        _answer("bake sourdough", "bread-bake", "bread-bake"),
        _answer("hello", None, "kite-repair"),
        _answer("mend it", "kite-repair", "kite-repair"),
    ]
    report = label_report(answers)
    bread, kite = report["skills"]["bread-bake"], report["skills"]["kite-repair"]
    assert (bread["requests"], bread["missed"], bread["false_loads"]) == (4, 3, 0)
    assert (kite["missed"], kite["false_loads"]) == (0, 3)
    assert bread["miss_rate"]["value"] == 0.75
    assert kite["false_load_rate"]["value"] == pytest.approx(3 / 5)
    assert report["confusions"][0] == {
        "gold": "bread-bake", "suggested": "kite-repair", "count": 2,
    }  # fmt: skip
    codes = {(f.code, f.skill, f.other) for f in label_findings(roster, answers)}
    assert codes == {
        ("misses", "bread-bake", None),
        ("false-loads", "kite-repair", "bread-bake"),
        ("confused", "bread-bake", "kite-repair"),
    }
    texts = [text for text, _ in missing_phrasings(roster, answers, "bread-bake")]
    assert "my focaccia, crispy please" in texts and "bake me a baguette" in texts
    assert "focaccia" in dict(missing_phrasings(roster, answers, "bread-bake"))[texts[0]]


def _folder(tmp_path: Path) -> Path:
    for name, text in (("kite", "Mends kites."), ("a,b: c%", "Bakes."), ("kite-two", HOSTILE)):
        folder = tmp_path / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(
            f"---\nname: {re.sub('[^a-z-]', '', name)}\nlicense: MIT\ndescription: "
            f"{json.dumps(text)}\n---\nGlue.\n"
        )
    return tmp_path / "skills"


# SARIF 2.1.0 (OASIS 2020): of each object written here, its properties, those it must have first.
# The bar parts required from allowed ones.
SARIF = {
    "log": "version:2.1.0 runs:run* | $schema:uri",
    "run": "tool:tool | results:result* columnKind:unicodeCodePoints properties:bag",
    "tool": "driver:driver |",
    "driver": "name:text | version:text rules:rule*",
    "rule": "id:text | shortDescription:message defaultConfiguration:configuration",
    "configuration": "| level:level",
    "message": "text:text |",
    "result": "message:message | ruleId:text ruleIndex:count level:level locations:location* "
    "partialFingerprints:texts properties:bag",
    "location": "| physicalLocation:physical",
    "physical": "artifactLocation:artifact | region:region",
    "artifact": "uri:uri |",
    "region": "| startLine:line",
}
PLAIN = {
    "text": lambda value: isinstance(value, str) and value != "",
    "texts": lambda value: (
        isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
    ),
    "uri": lambda value: (
        isinstance(value, str)
        and re.fullmatch(r"[\w\-.~:/?#\[\]@!$&'()*+,;=%]+", value, re.ASCII) is not None
    ),
    "bag": lambda value: isinstance(value, dict),
    "level": lambda value: value in ("none", "note", "warning", "error"),
    "count": lambda value: type(value) is int and value >= 0,
    "line": lambda value: type(value) is int and value >= 1,
}


def _obeys(value: Any, kind: str) -> None:
    """Fail unless a value is the SARIF object, or the plain value, of that kind."""
    if kind.endswith("*"):
        assert isinstance(value, list), kind
        for item in value:
            _obeys(item, kind[:-1])
    elif kind in PLAIN:
        assert PLAIN[kind](value), (kind, value)
    elif kind in SARIF:
        required, allowed = (
            dict(item.split(":", 1) for item in part.split()) for part in SARIF[kind].split("|")
        )
        assert required.keys() <= value.keys() <= required.keys() | allowed.keys(), kind
        for name, item in value.items():
            _obeys(item, (required | allowed)[name])
    else:
        assert value == kind


def test_sarif_and_annotations_point_at_lines(tmp_path: Path) -> None:
    loaded = Roster.from_directory(_folder(tmp_path))
    report, _ = examine(loaded, load_encoder())
    log = as_sarif(report, "1.0")
    assert log["version"] == "2.1.0"
    run = log["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(run["results"]) == len(report.findings) > 0
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note") and result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].startswith("file:///")
        assert " " not in place["artifactLocation"]["uri"]
        expected = {"no-when": 4, "name-not-folder": 2}.get(result["ruleId"])
        assert expected in (None, place["region"]["startLine"])
    _obeys(json.loads(json.dumps(log)), "log")
    for line in as_annotations(report.findings):
        assert re.fullmatch(r"::(error|warning|notice) file=[^\n]*?::[^\n\x1b]*", line)
    odd = [line for line in as_annotations(report.findings) if "c%25" in line]
    assert odd and all("a%2Cb%3A c%25" in line for line in odd)


def test_commands_and_fail_on(tmp_path: Path) -> None:
    folder = str(_folder(tmp_path))
    runner = CliRunner()

    def run(*arguments: str) -> tuple[int, str]:
        result = runner.invoke(main, ["roster", "doctor", "--roster", folder, *arguments])
        assert "Traceback" not in result.output
        return result.exit_code, result.output

    code, text = run()
    assert code == 0 and "no-when" in text and "\x1b" not in text and "\u202e" not in text
    assert run("--fail-on", "warning")[0] == 1
    assert run("--fail-on", "error")[0] == 0
    assert run("--fail-on", "near-duplicate")[0] == 0
    assert run("--fail-on", "no-when")[0] == 1
    assert run("--fail-on", "typo")[0] == 2
    code, text = run("--json", "--skill", "kite")
    found = json.loads(text)["findings"]
    assert code == 0 and found and all("kite" in (f["skill"], f["other"]) for f in found)
    code, text = run("--skill", "kit")
    assert code == 1 and "did you mean" in text
    code, text = run("--out", str(tmp_path / "gone" / "x.json"))
    assert code == 1 and "cannot be written" in text
    out = tmp_path / "x.sarif"
    assert run("--format", "sarif", "--out", str(out), "--html", str(tmp_path / "m.html"))[0] == 0
    assert json.loads(out.read_text())["runs"]
    assert runner.invoke(main, ["roster", "list", "--roster", folder]).exit_code == 0


def test_labelled_requests_through_the_command(tmp_path: Path, pair: Roster) -> None:
    records = [skill.model_dump(include={"name", "description", "body"}) for skill in pair]
    (tmp_path / "r.json").write_text(json.dumps(records))
    (tmp_path / "q.jsonl").write_text(
        '{"text": "who won the football match last night?", "gold": "bread-bake"}\n'
        '{"text": "mend the torn kite sail", "gold": "kite-repair"}\n'
    )
    arguments = ["roster", "doctor", "--roster", str(tmp_path / "r.json"), "--requests",
                 str(tmp_path / "q.jsonl"), "--skill", "bread-bake"]  # fmt: skip
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "2 labelled requests" in result.output
    assert "who won the football match" in result.output and "football" in result.output
    labels = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).output)["labels"]
    assert labels["skills"]["bread-bake"]["requests"] == 1


def test_the_map_in_a_browser(
    roster: Roster, examined: tuple[Report, np.ndarray], tmp_path: Path
) -> None:
    page = render_map(roster, *examined)
    assert "http://" not in page and "https://" not in page
    assert "<script>alert" not in page
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("needs chromium")
    path = tmp_path / "map.html"
    path.write_text(page, encoding="utf-8")
    run = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/c",
         "--virtual-time-budget=2000", "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert run.stdout.count('class="dot"') == len(roster)
    assert run.stdout.count('class="finding"') == len(examined[0].findings)
    assert "alert(1)" not in re.sub(r"&lt;/?script&gt;", "", run.stdout.split("<body>")[0])
