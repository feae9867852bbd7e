"""Where `skill-router` starts: the hook goes its own short way, everything else to click."""

from __future__ import annotations

import contextlib
import os
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

        code = hook(arguments[1:])
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        # A router that was too slow may still be at work in native threads; a normal exit would
        # abort in them, and the agent would show a crash.
        os._exit(code)
    from router.cli import main as cli

    cli()


if __name__ == "__main__":
    main()
