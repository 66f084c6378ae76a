"""The page and what it is made of: files of this package, and d3, which an installed package has."""

from __future__ import annotations

import hashlib
from functools import cache
from html import escape
from importlib.util import find_spec
from pathlib import Path

STATIC = Path(__file__).parent / "static"

TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}

TOKEN_PLACE = "__MEMDB_TOKEN__"
"""Where the page carries the token."""

D3 = Path("_internal/plotting/third_party/d3/d3.v7.min.def.js")
"""d3 7 in the package gravis."""

D3_SHA256 = "3659989c4e97794f43ea723057f5f96702bdbeffd6b244dbbd436b286431d149"
"""Of the file of gravis 0.1.0: another one has not been looked at, and is not served."""


def page(token: str | None) -> bytes:
    """The explorer, with the token where it may write."""
    text = (STATIC / "explorer.html").read_text(encoding="utf-8")
    return text.replace(TOKEN_PLACE, escape(token or "", quote=True)).encode("utf-8")


def asset(name: str) -> tuple[bytes, str] | None:
    """A file of the page and its content type; None of any name that is not one of its files."""
    if name == "d3.js":
        found = d3()
        return (found, TYPES[".js"]) if found is not None else None
    # The name is only compared: no path is made of what a client says.
    file = next((one for one in STATIC.iterdir() if one.name == name and one.suffix in TYPES), None)
    return (file.read_bytes(), TYPES[file.suffix]) if file is not None else None


@cache
def d3() -> bytes | None:
    """The graph library, if the installed package has the file that is known."""
    spec = find_spec("gravis")
    if spec is None or spec.origin is None:
        return None
    try:
        data = (Path(spec.origin).parent / D3).read_bytes()
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == D3_SHA256 else None
