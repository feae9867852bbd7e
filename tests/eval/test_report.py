"""The report: figures, the page as text, and the page in a real browser."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from eval.agent_bench import ARMS, Told, arms_told, run_agent_bench
from eval.agent_summary import summarize_agent
from eval.agents.scripted import ScriptedAgent
from eval.agents.store import ResultStore
from eval.bench import run_bench, summarize
from eval.data import LabelledTurn
from eval.metrics import reliability
from eval.report.curves import curves
from eval.report.page import Report, render_page
from eval.report.table import print_agent, print_router
from eval.tune.stages import collect
from router import Router, Thresholds
from tests.eval.fakes import WordJudge, shop, shop_turns

HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    " $\\frac{1}{2}$ [bold]{{ 7*7 }} \x00\u202e\ud800"
)


def report(
    with_agent: bool = True, hostile: bool = False, turns: list[LabelledTurn] | None = None
) -> Report:
    turns = shop_turns() if turns is None else turns
    if hostile:
        turns.append(LabelledTurn(text=f"Bake bread {HOSTILE}", gold=None, kind=f'"><b>{HOSTILE}'))
        turns.append(
            LabelledTurn(text=f"Why {HOSTILE}", gold="jam-cook", recent_context=(HOSTILE,))
        )
    router = Router(shop(), WordJudge(), Thresholds(gate=0.3, fit=0.3))
    answers = run_bench(router, turns)
    run, agent = None, None
    if with_agent:
        with ResultStore(":memory:") as store:
            told = arms_told(ARMS, turns, answers, store, "scripted")
            if hostile:
                told[f"x $\\frac$ {HOSTILE}"] = [Told(block="x")] * len(turns)
            run = run_agent_bench(ScriptedAgent(), shop(), turns, told, store)
        agent = summarize_agent(run, shop())
    outputs = collect(router, turns, 3, (700,))
    return Report(
        "A test", 4, summarize(router, answers), answers, outputs, router.thresholds, run, agent
    )


def test_reliability_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    stated = rng.random(500)
    seen = rng.random(500) < stated**2
    ours = reliability(stated.tolist(), seen.tolist())
    share, mean = calibration_curve(seen, stated, n_bins=10)
    assert [b.seen.value for b in ours.bins] == pytest.approx(share)
    assert [b.stated for b in ours.bins] == pytest.approx(mean)
    assert ours.brier == pytest.approx(brier_score_loss(seen, stated))
    weights = np.array([b.count for b in ours.bins]) / 500
    assert ours.ece == pytest.approx(float(weights @ np.abs(share - mean)))
    assert reliability([1.0, 0.0], [True, False]).ece == 0.0
    assert reliability([], []).bins == ()


def test_the_curves_agree_with_the_router_itself() -> None:
    made = report(with_agent=False)
    shown = curves(made.outputs, made.thresholds)
    summary = made.summary
    assert shown.now[0] == pytest.approx(summary["needless"] / summary["uncovered"])
    assert shown.now[1] == pytest.approx(summary["right"] / summary["covered"])
    assert list(shown.needless) == sorted(set(shown.needless))
    assert list(shown.right) == sorted(set(shown.right))
    # Any other pair of thresholds lies on the front or under it.
    for gate, fit in ((0.0, 0.0), (0.2, 0.5), (0.9, 0.9)):
        router = Router(shop(), WordJudge(), Thresholds(gate=gate, fit=fit))
        other = summarize(router, run_bench(router, shop_turns()))
        cost, gain = other["needless"] / 5, other["right"] / 7
        best = max(r for n, r in zip(shown.needless, shown.right, strict=True) if n <= cost + 1e-9)
        assert gain <= best + 1e-9
    assert shown.fits.cases == 12 * 3 and shown.gate.cases == 12


class Outline(HTMLParser):
    """Elements and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def test_the_page_stands_alone_and_escapes_everything() -> None:
    page = render_page(report(hostile=True))
    page.encode("utf-8")
    outline = Outline()
    outline.feed(page)
    assert outline.tags.count("script") == 1 and "img" not in outline.tags
    assert not [name for name, _ in outline.attributes if name.startswith("on")]
    for name, value in outline.attributes:
        if name in ("src", "href", "xlink:href") and value:
            assert value.startswith("#"), "nothing is loaded from anywhere"
    assert "{{ 7*7 }}" in page and page.count("<svg") == 4
    ids = re.findall(r'\bid="([^"]+)"', re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL))
    assert len(ids) == len(set(ids))


def test_equal_results_give_equal_pages() -> None:
    def page() -> str:
        made = report()
        fixed = {**made.summary, "latency_ms": {"p50": 1.0, "p95": 2.0}}
        return render_page(Report(**{**made.__dict__, "summary": fixed}))

    assert page() == page()


def test_the_router_alone_has_a_page_too() -> None:
    page = render_page(report(with_agent=False))
    assert "The agent" not in page and page.count("<svg") == 3
    assert 'data-mistakes="router:' in page


@pytest.mark.parametrize("covered", [True, False])
@pytest.mark.parametrize("count", [1, 5])
def test_one_label_only_has_a_page_and_tables(
    covered: bool, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    made = report(turns=[turn for turn in shop_turns() if turn.covered == covered][:count])
    page = render_page(made)
    assert page.count("<svg") == 4 and not re.search(r"\bnan\b", page)
    assert made.agent is not None
    print_agent(made.agent)
    print_router(made.summary, 4)
    assert "nan" not in capsys.readouterr().out


def test_the_tables_print_names_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    made = report(hostile=True)
    assert made.agent is not None
    print_agent(made.agent)
    print_router(made.summary, 4)
    printed = capsys.readouterr().out
    assert "baseline" in printed and "wrong fixed/broke" in printed and "[bold]" in printed


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's chromium, without a window."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("needs chromium and chromium-driver (apt-get install chromium-driver)")
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1100,1400"):  # fmt: skip
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = Chrome(options=options, service=ChromeService(driver))
    yield chrome
    chrome.quit()


def _choose(browser: Any, field: str, text: str) -> None:
    from selenium.webdriver.support.select import Select

    Select(browser.find_element("id", field)).select_by_visible_text(text)


def _shown(browser: Any) -> list[Any]:
    found = browser.find_elements("css selector", ".mistake")
    return [article for article in found if article.is_displayed()]


def test_the_page_works_in_a_browser(browser: Any, tmp_path: Path) -> None:
    made = report()
    assert made.run is not None
    (tmp_path / "page.html").write_text(render_page(made), encoding="utf-8")
    browser.get((tmp_path / "page.html").as_uri())
    everything = _shown(browser)
    router_wrong = [a for a in made.answers if a.verdict in ("wrong", "silent", "needless")]
    failed = {arm: [o for o in outcomes if o.failed] for arm, outcomes in made.run.arms.items()}
    texts = {a.turn.text for a in router_wrong} | {
        o.turn.text for row in failed.values() for o in row
    }
    assert len(everything) == len(texts) > 2
    for figure in browser.find_elements("css selector", "svg"):
        assert figure.size["width"] > 200 and figure.size["height"] > 150
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 1100

    _choose(browser, "who", "the router's")
    assert {a.find_element("tag name", "h3").text for a in _shown(browser)} == {
        a.turn.text for a in router_wrong
    }
    _choose(browser, "who", "baseline's")
    assert {a.find_element("tag name", "h3").text for a in _shown(browser)} == {
        o.turn.text for o in failed["baseline"]
    }
    _choose(browser, "what", "none")
    none = [o for o in failed["baseline"] if o.verdict == "none"]
    assert len(_shown(browser)) == len(none) > 0
    shown = browser.find_element("id", "shown").text
    assert shown == f"{len(none)} of {len(everything)}"
    _choose(browser, "who", "anyone's")
    _choose(browser, "what", "any")
    _choose(browser, "kind", "near_miss")
    assert {a.get_attribute("data-kind") for a in _shown(browser)} <= {"near_miss"}
    _choose(browser, "kind", "any")
    some = sorted(texts)[0]
    browser.find_element("id", "text").send_keys(some[:20].upper())
    assert [a.find_element("tag name", "h3").text for a in _shown(browser)] == [some]
    details = _shown(browser)[0].find_element("tag name", "details")
    details.find_element("tag name", "summary").click()
    names = {c.text for c in details.find_elements("css selector", "tbody td:first-child")}
    assert names == set(shop().names)
    browser.find_element("id", "text").send_keys("nobody asked this")
    assert _shown(browser) == []
    assert browser.get_log("browser") == [], "no error, nothing blocked"


def test_a_hostile_request_runs_nothing(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(render_page(report(hostile=True)), encoding="utf-8")
    browser.get((tmp_path / "page.html").as_uri())
    assert browser.title == "A test"
    assert any("onerror" in article.text for article in _shown(browser))
    assert browser.get_log("browser") == []
