"""Where `skill-router` starts: the hook goes its own short way, everything else to click."""

from __future__ import annotations

import sys

_HOOK_COMMANDS = {"install", "uninstall", "status", "-h", "--help"}


def main() -> None:
    """Run `skill-router`.

    ``skill-router hook`` runs once a turn in a process of its own: it reads its few options itself
    and imports neither click nor the router while the service answers.
    """
    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"] and not _HOOK_COMMANDS.intersection(arguments[1:]):
        from router.hook.run import main as hook

        sys.exit(hook(arguments[1:]))
    from router.cli import main as cli

    cli()


if __name__ == "__main__":
    main()
