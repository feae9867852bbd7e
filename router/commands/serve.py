"""`skill-router serve`: a router that stays loaded and answers over HTTP."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from pydantic import SecretStr, ValidationError

from router.errors import RouterError


@click.command()
@click.option("--port", type=click.IntRange(0, 65_535), help="Listen on TCP; 0 takes a free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address for --port.")
@click.option(
    "--socket",
    "socket_file",
    metavar="PATH",
    help="Listen on this Unix socket.  [default without --port: the one the hook asks]",
)
@click.option(
    "--token-file",
    metavar="FILE",
    help="File with the token that TCP clients send.  [default: SKILL_ROUTER_TOKEN]",
)
@click.option("--roster", metavar="PATH", help="Roster of requests that name none.")
@click.option("--thresholds", metavar="FILE", help="A TOML file.  [default: those shipped]")
@click.option("--encoder", metavar="NAME", help='"minilm", a folder, or a model\'s name.')
@click.option("--heads", metavar="FILE", help="Heads learned for that encoder.")
@click.option("--reranker", metavar="NAME", help='A pair scorer; "none" for none.')
@click.option("--cache", metavar="DIR", help="Folder of the index cache.")
@click.option(
    "--quarantine",
    metavar="WHAT",
    help="Skills that are never suggested: a suspicion level, a TOML file, or off.  [default: 0.8]",
)
@click.option(
    "--allow-roster",
    "allowed_roots",
    multiple=True,
    metavar="DIR",
    help="Folder below which TCP clients may name rosters; repeat it.  [default: your home on a "
    "loopback address, none on others]",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Another name of this machine in the header Host; repeat it.",
)
@click.option(
    "--idle", type=click.FloatRange(0), default=0.0, help="Leave after SECONDS without a request."
)
@click.option("--workers", type=click.IntRange(1, 64), help="Threads that route.  [default: 2]")
@click.option("--max-inflight", type=click.IntRange(1, 10_000), help="Then 429.  [default: 64]")
@click.option("--max-body", type=click.IntRange(1_024), help="Bytes; then 413.  [default: 1 MiB]")
@click.option("--answer-within", type=click.FloatRange(0.01), help="Seconds.  [default: 10]")
@click.option("--max-rosters", type=click.IntRange(1), help="Rosters kept ready.  [default: 8]")
@click.option("--watch", type=click.FloatRange(0), help="Seconds between looks.  [default: 1]")
@click.option("--decision-log", metavar="FILE", help="Write every decision as a line of JSON.")
@click.option(
    "--log-requests",
    type=click.Choice(["text", "hash", "none"]),
    default="hash",
    show_default=True,
    help="How the decision log keeps the user's words.",
)
@click.option("--log-max-bytes", type=click.IntRange(1_024), help="Then rotate.  [default: 10 MiB]")
@click.option("--log-keep", type=click.IntRange(1), help="Rotated files kept.  [default: 5]")
@click.option("--spans", is_flag=True, help="Report every decision as OpenTelemetry spans.")
@click.option("--inherited-lock", type=int, hidden=True)
@click.option("--warm", metavar="JSON", hidden=True, help="Folders to index first, as `roster`.")
def serve(**options: Any) -> None:
    """Stay loaded and answer over a Unix socket of your own, or over HTTP with --port."""
    try:
        _serve(options)
    except ValidationError as error:
        reasons = "; ".join(item["msg"].removeprefix("Value error, ") for item in error.errors())
        raise click.ClickException(reasons) from None
    except ValueError as error:
        # Also when it runs as a module of its own, a wrong setup is one line.
        if type(error).__module__.split(".")[0] in ("roster", "router"):
            raise click.ClickException(str(error)) from error
        raise


def _serve(options: dict[str, Any]) -> None:
    from router.service.place import lock_path, runtime_folder, socket_path
    from router.service.sockets import OnlyOne

    only_one = None
    if options["socket_file"] is None and options["port"] is None:
        try:
            folder = runtime_folder(create=True)
        except OSError as error:
            raise RouterError(str(error)) from error
        options["socket_file"] = socket_path(folder)
        only_one = OnlyOne(lock_path(folder), options["inherited_lock"])
    _run(options)
    if only_one is not None:
        only_one.left_in_order()


def _run(options: dict[str, Any]) -> None:
    from threadpoolctl import threadpool_limits

    from router.service.app import Service
    from router.service.decisions import DecisionLog
    from router.service.making import RouterMaker
    from router.service.metrics import Metrics
    from router.service.server import ServiceServer
    from router.service.source import default_source
    from router.service.tracing import Tracing

    config = _config(options)
    log_config = _log_config(options)
    maker = RouterMaker(
        options["thresholds"],
        options["encoder"],
        options["heads"],
        options["cache"],
        options["reranker"],
        options["quarantine"],
    )
    source = default_source(options["roster"])
    if options["roster"] is not None:
        source.load()  # what cannot be read is said now, not at the first request
    tracing = Tracing() if options["spans"] else None
    metrics = Metrics()
    log = DecisionLog(log_config, metrics.unlogged) if log_config else None
    service = Service(
        config, maker, source, log, tracing, metrics, maker.system_one(), _warm(options)
    )
    server = ServiceServer(service)
    # Each routing thread does its own matrix products: pools of helpers would fight over the cores.
    with threadpool_limits(limits=1), closing(maker):
        server.run(lambda: click.echo(f"listening on {', '.join(server.addresses)}"))


def _config(options: dict[str, Any]) -> Any:
    from router.service.config import ServiceConfig, is_loopback

    roots = options["allowed_roots"]
    if not roots and is_loopback(options["host"]):
        roots = (Path.home(),)
    given = {
        "workers": options["workers"],
        "max_inflight": options["max_inflight"],
        "max_body": options["max_body"],
        "answer_s": options["answer_within"],
        "max_rosters": options["max_rosters"],
        "watch_s": options["watch"],
        "socket": options["socket_file"],
    }
    return ServiceConfig(
        host=options["host"],
        port=options["port"],
        token=_token(options["token_file"]),
        allowed_roots=tuple(Path(root).expanduser() for root in roots),
        hosts=tuple(name.lower() for name in options["hosts"]),
        idle_s=options["idle"],
        **{name: value for name, value in given.items() if value is not None},
    )


def _warm(options: dict[str, Any]) -> Any:
    from router.service.problems import Refusal
    from router.service.strict_json import parse_object
    from router.service.wire import parse_request

    if options["warm"] is None:
        return None
    try:
        return parse_request({"request": "", **parse_object(options["warm"].encode())}).layers()
    except (Refusal, UnicodeEncodeError) as error:
        raise RouterError(f"--warm: {error}") from error


def _log_config(options: dict[str, Any]) -> Any:
    from router.service.config import DecisionLogConfig

    if options["decision_log"] is None:
        return None
    given = {"max_bytes": options["log_max_bytes"], "keep": options["log_keep"]}
    return DecisionLogConfig(
        path=Path(options["decision_log"]).expanduser().absolute(),
        requests=options["log_requests"],
        **{name: value for name, value in given.items() if value is not None},
    )


def _token(path: str | None) -> SecretStr | None:
    """The token: never an argument, which everybody on the machine could read."""
    if path is None:
        given = os.environ.get("SKILL_ROUTER_TOKEN")
        return SecretStr(given) if given else None
    try:
        return SecretStr(Path(path).expanduser().read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError) as error:
        raise RouterError(f"{path}: the token cannot be read ({error})") from error
