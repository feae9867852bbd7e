"""A registry, progressive disclosure, load_skill, a budget and a folded tool result."""

from roster import Roster
from roster.budget import fit_budget
from roster.context import ContextBlock
from roster.disclosure import disclose, render
from roster.fold import ToolResultFold
from roster.load_skill import LoadSkill
from roster.loaded import LoadedSkillSet
from roster.registry import ActivationError, SkillRegistry

registry = SkillRegistry(Roster.bundled())
active = registry.resolve_active(["pptx-author", "git-bisect"], tools=["terminal"])
try:
    registry.resolve_active(["pptx-autor"], tools=[])
except ActivationError as error:
    print("refused:", error)

loaded = LoadedSkillSet()
print("\nbefore loading:")
print(render(disclose(active, loaded)))

load_skill = LoadSkill(
    registry,
    active=[skill.name for skill in active],
    tools=["terminal"],
    loaded=loaded,
    deliver="prompt",
)
print("\nthe model calls load_skill:", load_skill("git-bisect").text)
print("and again:", load_skill("git-bisect").text)
sections = disclose(active, loaded)
print("\nafter loading, bytes shown:", len(render(sections)))

project = ContextBlock(title="Project", content="A web shop.", required=True)
fitted = fit_budget([project], sections, limit=600)
print("in 600 bytes:", [(gone.kind, gone.name) for gone in fitted.omissions], "left out")

conversation = [
    {"role": "user", "content": "Run the tests."},
    {"role": "tool", "tool_call_id": "c1", "content": "test output " * 1000},
    {"role": "user", "content": "And now?"},
    {"role": "user", "content": "Still there?"},
]
fold = ToolResultFold(lambda result: "3 of 812 tests failed, all in checkout")
print("\nthe provider sees:", fold.view(conversation)[1]["content"])
print("the conversation keeps", len(conversation[1]["content"]), "characters")
