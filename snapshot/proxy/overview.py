"""The pages for people: conversations, what was saved, and the pages that were sent in place of messages.

All that is shown is escaped, and no script ever runs. They are for this machine alone, by the client's
address and by the name it asks for (so that no web site reaches them by a name of its own that leads here),
unless the settings say that they are public.
"""

from __future__ import annotations

import time
from collections.abc import MutableMapping, Sequence
from html import escape
from ipaddress import ip_address
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from snapshot import Archive, ArchiveError, Source
from snapshot.compaction.page_images import page_images
from snapshot.compaction.pagination import Pagination, set_anew
from snapshot.proxy.settings import ProxySettings
from snapshot.proxy.store import Store

__all__ = ["Overview", "page_png"]

_FOLDER = "/_snapshot/"
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}
_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #8884; vertical-align: top; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
.pages { display: flex; flex-wrap: wrap; gap: 1rem; }
img { width: 20rem; border: 1px solid #8884; background: white; }
"""


class Overview:
    """The application for `/` and the folder `/_snapshot/`.

    Args:
        settings: of the proxy.
        store: what is shown.
    """

    def __init__(self, settings: ProxySettings, store: Store) -> None:
        self._store, self._public = store, settings.public
        self._app = Starlette(
            routes=[
                Route("/", self._home),
                Route(_FOLDER + "style.css", _style),
                Route(_FOLDER + "conversations/{id}", self._conversation),
                Route(_FOLDER + "archives/{key}/{number:int}.png", self._png),
                Route(_FOLDER + "archives/{key}/{number:int}.txt", self._text),
            ]
        )

    def serves(self, scope: MutableMapping[str, Any]) -> bool:
        """Whether a request is for these pages."""
        path = scope["path"]
        return scope["method"] in ("GET", "HEAD") and (path == "/" or path.startswith(_FOLDER))

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Serve a request."""
        if self._public or _is_local(Request(scope)):
            await self._app(scope, receive, send)
            return
        told = "These pages are shown to the machine that the proxy runs on alone.\n"
        await PlainTextResponse(told, 403, headers=_HEADERS)(scope, receive, send)

    async def _home(self, _request: Request) -> Response:
        totals = await run_in_threadpool(self._store.totals)
        listed = await run_in_threadpool(self._store.conversations)
        saved = max(0, totals["before"] - totals["after"])
        rows = [
            (
                f'<a href="{_FOLDER}conversations/{escape(item["id"])}">{escape(item["id"][:8])}</a>',
                escape(item["title"] or "(nothing was to be done yet)"),
                escape(item["model"]),
                _when(item["latest"]),
                f"{item['requests']:,}",
                f"{item['compactions']:,}",
                f"{item['refusals']:,}",
                f"{max(0, item['before'] - item['after']):,}",
                _usd(item["least_usd"], item["most_usd"]),
            )
            for item in listed
        ]
        heads = (
            "id",
            "begins",
            "model",
            "latest",
            "*requests",
            "*compactions",
            "*refused",
            "*tokens",
            "*USD",
        )
        body = (
            f"<p>{totals['conversations']:,} conversations, {totals['requests']:,} requests, "
            f"{totals['compacted']:,} of them compacted: {saved:,} tokens saved, "
            f"{_usd(totals['least_usd'], totals['most_usd'])} (had the text been read from the prompt cache, "
            f"or not; estimates).</p>{_table(heads, rows)}"
        )
        return _page("snapshot proxy", body)

    async def _conversation(self, request: Request) -> Response:
        found = await run_in_threadpool(self._store.archives, request.path_params["id"])
        parts: list[str] = []
        for item in found:
            links = "".join(_page_link(item.key, number) for number in range(1, item.pages + 1))
            parts.append(
                f"<h2>{_when(item.made)}, after {item.messages:,} messages</h2>"
                f'<div class="pages">{links or "no pages"}</div>'
            )
        body = "".join(parts) or "<p>No archive: nothing was compacted.</p>"
        return _page("Conversation", f'<p><a href="/">all</a></p>{body}')

    async def _png(self, request: Request) -> Response:
        png = await run_in_threadpool(self._drawn, request)
        if png is None:
            return PlainTextResponse("no such page\n", 404, headers=_HEADERS)
        return Response(png, media_type="image/png", headers=_HEADERS)

    def _drawn(self, request: Request) -> bytes | None:
        archive = self._store.archive(request.path_params["key"])
        return None if archive is None else page_png(archive, request.path_params["number"])

    async def _text(self, request: Request) -> Response:
        archive = await run_in_threadpool(self._store.archive, request.path_params["key"])
        try:
            text = "" if archive is None else archive.page(request.path_params["number"])
        except ArchiveError:
            text = ""
        if not text:
            return PlainTextResponse("no such page\n", 404, headers=_HEADERS)
        return Response(text.encode("utf-8", "replace"), media_type="text/plain", headers=_HEADERS)


async def _style(_request: Request) -> Response:
    return Response(_STYLE, media_type="text/css", headers=_HEADERS)


def page_png(archive: Archive, number: int) -> bytes | None:
    """The PNG of page `number` of an archive, from 1, as it is sent; None where there is no such image."""
    archive = set_anew(archive)
    if 1 <= number <= len(archive.pages):
        pages = Pagination.of(archive.printed, archive.listed, archive.prices, archive.starts)
        return _drawn(archive.printed, pages, number)
    number -= len(archive.pages)
    for part in archive.parts:
        if 1 <= number <= len(part.pages):
            pages = Pagination.of(part.printed, part.listed, starts=part.starts)
            return _drawn(part.printed, pages, number)
        number -= len(part.pages) or 1
    return None


def _drawn(source: Source, pages: Pagination, number: int) -> bytes | None:
    for stretch in pages.stretches:
        if number <= len(stretch.pages):
            return next(islice(page_images(source, stretch), number - 1, None), None)
        number -= len(stretch.pages)
    return None


def _page_link(key: str, number: int) -> str:
    at = f"{_FOLDER}archives/{escape(key)}/{number}"
    return (
        f'<figure><a href="{at}.png"><img src="{at}.png" loading="lazy" alt="page {number}"></a>'
        f'<figcaption>page {number}, <a href="{at}.txt">its text</a></figcaption></figure>'
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already; a head that begins with `*` is that of a column of numbers."""
    kinds = [' class="n"' if head.startswith("*") else "" for head in heads]
    top = "".join(
        f"<th{kind}>{escape(head.lstrip('*'))}</th>" for head, kind in zip(heads, kinds, strict=True)
    )
    lines = (
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _page(title: str, body: str) -> Response:
    html = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<link rel="stylesheet" href="{_FOLDER}style.css"><h1>{escape(title)}</h1>{body}</html>'
    )
    return HTMLResponse(html, headers=_HEADERS)


def _when(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))


def _usd(least: float, most: float) -> str:
    return f"${least:,.2f}" if round(least, 2) == round(most, 2) else f"${least:,.2f} to ${most:,.2f}"


def _is_local(request: Request) -> bool:
    """Whether a request comes from this machine, and names it so."""
    named = urlsplit("//" + request.headers.get("host", "")).hostname or ""
    return _is_loopback(request.client.host if request.client else "") and _is_loopback(named)


def _is_loopback(name: str) -> bool:
    if name.lower() == "localhost":
        return True
    try:
        return ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False
