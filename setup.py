"""Which packages and files a wheel holds; everything else is in pyproject.toml.

The labelled turns live in `requests/`, which must not be a package of its own (it would shadow the
library `requests`), so in a wheel they become `eval/requests`.
"""

from setuptools import find_packages, setup

packages = find_packages(include=["roster", "roster.*", "router", "router.*", "eval", "eval.*"])
# The bundled skills are data; a folder of theirs that looks like a package is not one.
packages = [name for name in packages if not name.startswith("roster.bundled")]

setup(
    packages=[*packages, "eval.requests"],
    package_dir={"eval.requests": "requests"},
    package_data={
        "": ["py.typed"],
        "roster": ["bundled/*/*/SKILL.md"],
        "router.local": ["weights/*", "weights/*/*"],
        "router.systemone": ["questions.json"],
        "router.cascade": ["band.json"],
        "eval.agents": ["prices.toml"],
        "eval.report": ["page.html", "page.js"],
        "eval.doctor": ["map.html", "map.js"],
        "eval.requests": ["*.jsonl", "community/*", "README.md"],
    },
)
