"""`snapshot proxy`: a local server in front of any provider, which makes requests fit."""

from __future__ import annotations

import argparse
import socket
from pathlib import Path

from snapshot.commands._arguments import positive, size_or_share
from snapshot.commands._console import DONE, UNUSABLE, say, tell
from snapshot.errors import SnapshotError

__all__ = ["fill"]

_PORT = 8484


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "A local server between a client and its provider. Requests go on as they came; one that would not "
        "fit the model's window, or is refused for its size, is compacted and sent again once."
    )
    parser.epilog = "example: snapshot proxy & ANTHROPIC_BASE_URL=http://127.0.0.1:8484 claude"
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen at (default: this machine only)"
    )
    parser.add_argument("--port", type=int, default=_PORT, help=f"port to listen at (default: {_PORT})")
    parser.add_argument(
        "--upstream",
        metavar="[API=]URL",
        action="append",
        default=[],
        help="where requests go: for all, or for one of anthropic, openai, gemini; repeatable",
    )
    parser.add_argument(
        "--window", type=positive, default=0, metavar="N", help="tokens of the model's window"
    )
    parser.add_argument(
        "--threshold",
        type=size_or_share,
        default=1.0,
        metavar="X",
        help="compact from here on: a share of what is safe, or tokens (default: 1)",
    )
    parser.add_argument(
        "--target", type=size_or_share, default=0.5, metavar="X", help="come down to this (default: 0.5)"
    )
    parser.add_argument(
        "--like",
        metavar="[NAME=]MODEL",
        action="append",
        default=[],
        help="the model behind a deployment's name, or behind every unknown one; repeatable",
    )
    parser.add_argument("--store", metavar="FILE", type=Path, help="SQLite file for archives")
    parser.add_argument("--keep-days", type=positive, default=30, metavar="N", help="keep archives so long")
    parser.add_argument(
        "--max-body", type=positive, default=64, metavar="MB", help="largest request that is taken (64)"
    )
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="processes")
    parser.add_argument(
        "--public-pages", action="store_true", help="show conversations and pages to other machines, too"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    try:
        import uvicorn

        from snapshot.proxy.app import create_app
        from snapshot.proxy.log import quiet_log
    except ImportError as error:
        say(f"snapshot: the proxy needs a package ({error.name}): pip install 'snapshot-pages[proxy]'")
        return UNUSABLE
    from snapshot.proxy.settings import UPSTREAMS, ProxySettings, default_store

    single, upstreams = "", dict(UPSTREAMS)
    for given in arguments.upstream:
        name, sign, url = given.partition("=")
        if sign and name in UPSTREAMS:
            upstreams[name] = url
        elif given.startswith(("http://", "https://")):
            single = given
        else:
            raise SnapshotError(
                f"--upstream {given!r}: give a URL, or one of {', '.join(UPSTREAMS)}, = and it"
            )
    settings = ProxySettings(
        store=str(arguments.store or default_store()),
        upstreams=upstreams,
        upstream=single,
        window=arguments.window,
        threshold=arguments.threshold,
        target=arguments.target,
        like=_like(arguments.like),
        max_body=arguments.max_body << 20,
        keep_days=arguments.keep_days,
        public=arguments.public_pages,
    )
    app = create_app(settings)  # what is wrong with the settings shows here, in one line
    quiet_log()
    if arguments.host not in ("127.0.0.1", "::1", "localhost"):
        say("note: other machines can reach the proxy; whoever does needs a key of the provider's, no more")
    port = _free(arguments.host, arguments.port)
    shown = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
    tell(f"http://{shown}:{port}/ shows conversations; a client's base URL is the same")
    options = {
        "host": arguments.host,
        "port": port,
        "access_log": False,  # its lines hold queries, and a query may hold a key
        "log_config": None,
        "server_header": False,
        "date_header": False,
        "ws": "none",
        "timeout_graceful_shutdown": 10,
        "backlog": 1024,
    }
    if arguments.workers > 1:
        settings.export()
        uvicorn.run("snapshot.proxy.app:create_app", factory=True, workers=arguments.workers, **options)
    else:
        uvicorn.run(app, **options)
    return DONE


def _free(host: str, port: int) -> int:
    """The port, if nobody listens there; any free one for 0.

    Raises:
        SnapshotError: it is taken, or there is no such address here.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family) as found:
            return found.getsockname()[1]
    except (OSError, OverflowError) as error:
        raise SnapshotError(f"cannot listen at {host}, port {port}: {error}") from error


def _like(given: list[str]) -> dict[str, str]:
    """Model by name; "" for every unknown one.

    Raises:
        SnapshotError: a model that is not known.
    """
    from snapshot.models.ids import profile_for

    found: dict[str, str] = {}
    for item in given:
        name, sign, model = item.rpartition("=")
        found[name if sign else ""] = model
        profile_for(model)
    return found
