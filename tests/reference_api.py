"""The page `engine/memdb/README.md`, made from signatures, docstrings and examples: `python -m tests.reference`."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from memdb import async_store, async_stores, opened, store, stores
from memdb.async_groups import AsyncGroup
from memdb.errors import MemdbError
from memdb.groups.nouns import Nouns
from memdb.moving import Moving
from memdb.store import Store

PAGE = Path(store.__file__).with_name("README.md")
EXAMPLES = Path(__file__).parent / "examples"

WIDTH = 100
"""Characters of a signature on one line."""

OPENING = """# The Python API

`import memdb`: everything that the command does is a method of one object, `memdb.open(path)`, and the nouns are groups
of methods, `store.entities.merge(...)`. Every method brings the index up to the files where its answer depends on it.
All is typed (`py.typed`). What goes wrong is a [`MemdbError`](#errors) with a `hint` that says what to do. This page is
made from the code beside it by `python -m tests.reference`, and its examples are run by the tests."""

ASYNC = """## asyncio

`memdb.open_async(path)` takes what `memdb.open` takes. Every method of the store and of its groups is there under the
same name, with the same parameters, and is awaited; properties are read as they are.

{doc}"""

NOUNS = [name for name, value in vars(Nouns).items() if isinstance(value, property)]


def page() -> str:
    """The whole page as it should be."""
    parts = [OPENING, "## Opening", _entry("memdb.open", store.open), _entry("Store.init", Store.init)]
    parts += ["## The store", *_methods("store", Store, skip=("init",))]
    for noun in NOUNS:
        group = _group(noun)
        parts += [f"## store.{noun}", inspect.getdoc(group) or "", *_methods(f"store.{noun}", group)]
    several = inspect.getdoc(stores.Stores) or ""
    parts += ["## Several stores", _entry("memdb.open_all", stores.open_all), several]
    parts += [_entry(f"stores.{name}", getattr(stores.Stores, name)) for name in ("recall", "prompt_block", "use")]
    asynchronous = inspect.getdoc(async_store.AsyncStore) or ""
    parts += [ASYNC.format(doc=asynchronous), _entry("memdb.open_async", async_store.open_async)]
    parts += [_entry("memdb.open_all_async", async_stores.open_all_async)]
    parts += ["## What they return", *map(_shape, shapes()), "## Errors", _errors()]
    return "\n\n".join(parts) + "\n"


def _group(noun: str) -> type:
    return next(kind for kind in _async_groups() if kind.noun == noun)._of


def _async_groups() -> Iterator[Any]:
    for kind in AsyncGroup.__subclasses__():
        twins = [twin for twin in vars(kind).values() if hasattr(twin, "__wrapped__")]
        module = import_module(twins[0].__wrapped__.__module__)
        kind._of = getattr(module, twins[0].__wrapped__.__qualname__.partition(".")[0])  # type: ignore[attr-defined]
        yield kind


def methods(kind: type) -> dict[str, Any]:
    """The public methods and properties of a class in the order of its source, those of the class itself first."""
    found: dict[str, Any] = {}
    for one in (kind, Moving, Nouns, opened.Opened) if kind is Store else (kind,):
        for name, value in vars(one).items():
            if not name.startswith("_") and not (one is Nouns and isinstance(value, property)):
                found.setdefault(name, value)
    return {
        name: value for name, value in found.items() if callable(value) or isinstance(value, (property, staticmethod))
    }


def _methods(prefix: str, kind: type, skip: tuple[str, ...] = ()) -> Iterator[str]:
    for name, value in methods(kind).items():
        if name not in skip:
            yield _entry(f"{prefix}.{name}", value)


def _entry(title: str, value: Any) -> str:
    plain = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    text = inspect.getdoc(plain) or ""
    told = f"### {title}\n\n```python\n{signature(title, plain)}\n```\n\n{text}"
    example = EXAMPLES / (title.removeprefix("store.").removeprefix("memdb.").replace(".", "_") + ".py")
    return f"{told}\n\n{example_shown(example)}" if example.exists() else told


def signature(title: str, value: Any) -> str:
    """A call as it is written, with types and defaults; on several lines where one is too long."""
    if isinstance(value, property):
        return f"{title} -> {inspect.signature(value.fget).return_annotation}"  # type: ignore[arg-type]
    shape = inspect.signature(value)
    words = []
    star = False
    for parameter in shape.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            star = True
            words.append("*")
        default = parameter.default
        shown = getattr(default, "__name__", None) or repr(default)
        words.append(
            f"{parameter.name}: {parameter.annotation}" + ("" if default is parameter.empty else f" = {shown}")
        )
    line = f"{title}({', '.join(words)}) -> {shape.return_annotation}"
    if len(line) <= WIDTH:
        return line
    inner = "".join(f"    {word},\n" for word in words)
    return f"{title}(\n{inner}) -> {shape.return_annotation}"


def example_shown(file: Path) -> str:
    """An example with what it prints, as it stands in its file."""
    text = file.read_text(encoding="utf-8")
    told, _, code = text.partition("\n\n")
    sentence = told.strip('"')
    return f"{sentence}\n\n```python\n{code.strip()}\n```"


# What methods return


def shapes() -> list[type]:
    """The classes of memdb that methods return, and those that these are made of, by name."""
    found: dict[str, type] = {}
    for kind in (Store, *map(_group, NOUNS)):
        for value in methods(kind).values():
            plain = value.fget if isinstance(value, property) else inspect.unwrap(getattr(value, "__func__", value))
            module = sys.modules[plain.__module__]
            _collect(str(plain.__annotations__.get("return", "")), module, found)
            for name, annotation in plain.__annotations__.items():
                if name == "filters":
                    _collect(str(annotation), module, found)
    return [found[name] for name in sorted(found)]


def _collect(annotation: str, module: ModuleType, found: dict[str, type]) -> None:
    for name in re.findall(r"[A-Za-z_][A-Za-z_0-9]*", annotation):
        kind = _named(module, name)
        if not isinstance(kind, type) or not kind.__module__.startswith("memdb.") or name in found:
            continue
        if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
            found[kind.__name__] = kind
            for field, annotated in kind.__annotations__.items():
                if not field.startswith("_"):
                    _collect(str(annotated), sys.modules[kind.__module__], found)


def _named(module: ModuleType, name: str) -> Any:
    """What a name means in a module, also where only a type checker imports it."""
    if hasattr(module, name):
        return getattr(module, name)
    if name in _typed_imports(module) and not hasattr(builtins, name):
        source, original = _typed_imports(module)[name]
        return getattr(import_module(source), original, None)
    return None


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


@cache
def _typed_imports(module: ModuleType) -> dict[str, tuple[str, str]]:
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _shape(kind: type) -> str:
    module = sys.modules[kind.__module__]
    lines = inspect.getsource(module).splitlines()
    node = next(one for one in ast.walk(_tree(module)) if isinstance(one, ast.ClassDef) and one.name == kind.__name__)
    rows = []
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.target.id[0] != "_":
            comment = lines[(field.end_lineno or 0) - 1].partition("  # ")[2].removeprefix("noqa").strip()
            kind_of = ast.unparse(field.annotation).replace("|", "\\|")
            rows.append(f"| `{field.target.id}` | `{kind_of}` | {comment} |")
    table = "\n".join(["| field | type | |", "|---|---|---|", *rows])
    return f"### {kind.__name__}\n\n{inspect.getdoc(kind)}\n\n{table}"


def _errors() -> str:
    for module in ("base", "domain", "services"):
        package = import_module(f"memdb.{module}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(found.name)
    rows = [
        f"| `{kind.__name__}` | `{kind.code}` | {(inspect.getdoc(kind) or '').splitlines()[0]} |"
        for kind in sorted(all_errors(MemdbError), key=lambda kind: kind.__name__)
        if kind.__module__.startswith(("memdb.errors", "memdb.base.", "memdb.domain.", "memdb.services."))
    ]
    told = (
        "All have `message`, `hint` and `code`, and `MemdbError` is the base of them all; most are in `memdb.errors`."
    )
    return "\n".join([told, "", "| error | code | when |", "|---|---|---|", *rows])


def all_errors(kind: type[MemdbError]) -> set[type[MemdbError]]:
    """An error class and all below it."""
    return {kind}.union(*(all_errors(below) for below in kind.__subclasses__()))
