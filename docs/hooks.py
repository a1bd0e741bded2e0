"""Lets the site show pages and docstrings from outside docs/, with links that work on GitHub too.

A page whose front matter names a `source`, a path from the repository's root, shows that file. Links are written as
GitHub needs them, relative to the file they are in. The site keeps links to its own pages and pictures, turns those to other
files of the repository into links to `repo_url` (or plain text without one), and fails on a link to nothing.
"""

import importlib
import inspect
import operator
import posixpath
import re
import tempfile
from pathlib import Path
from typing import Any, Final

import griffe
import yaml
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority

ROOT: Final = Path(__file__).resolve().parents[1]

_FRONT_MATTER: Final = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_FENCED: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")

_shown: dict[str, str] = {}
"""File of the repository -> the site's file that shows it."""


_sources = tempfile.TemporaryDirectory(prefix="retvec-lite-docs-")


@event_priority(100)  # before mkdocstrings reads its options
def on_config(config: Any) -> Any:
    """Give mkdocstrings the package as it is installed, made of links: converters/ is retvec_lite.converters."""
    package = Path(_sources.name) / "retvec_lite"
    if not package.exists():
        package.mkdir()
        for entry in (ROOT / "retvec_lite").iterdir():
            (package / entry.name).symlink_to(entry)
        (package / "converters").symlink_to(ROOT / "converters")
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [_sources.name]
    return config


class Docstrings(griffe.Extension):  # type: ignore[misc]
    """Shows options that decorators fill in as Python runs, and `Example:` as code; griffe knows `Examples:` only."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Take arguments and docstring of a function with such a decorator from Python, and rename the section."""
        if obj.is_function and any(str(each.value).startswith(("spread(", "takes(")) for each in obj.decorators):
            module = importlib.import_module(obj.module.path)
            function = operator.attrgetter(obj.path.removeprefix(f"{obj.module.path}."))(module)
            obj.docstring.value = inspect.getdoc(function)
            obj.parameters = griffe.Parameters(
                *(
                    griffe.Parameter(
                        name,
                        annotation=inspect.formatannotation(each.annotation),
                        kind=getattr(griffe.ParameterKind, each.kind.name.lower()),
                        default=None if each.default is each.empty else repr(each.default),
                    )
                    for name, each in inspect.signature(function).parameters.items()
                )
            )
        if obj.docstring and not obj.is_alias:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)


def on_files(files: Any, **_: Any) -> Any:
    """Learn which file of the repository each file of the site shows."""
    _shown.clear()
    for file in files:
        _shown[f"docs/{file.src_uri}"] = file.src_uri
    for page in files.documentation_pages():
        if source := _source(page.content_string):
            _shown[source] = page.src_uri
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Show the page's source and mend its links."""
    here = page.file.src_uri
    path = page.meta.get("source", f"docs/{here}")
    if "source" in page.meta:
        markdown = (ROOT / path).read_text(encoding="utf-8")

    def mended(link: re.Match[str]) -> str:
        picture, text, address, anchor = link[1], link[2], link[3], link[4] or ""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), address))
        if target in _shown:
            return f"{picture}[{text}]({posixpath.relpath(_shown[target], posixpath.dirname(here) or '.')}{anchor})"
        if target.startswith("..") or not (ROOT / target).exists():
            raise PluginError(f"{path} links to {address}, which does not exist.")
        return f"[{text}]({config.repo_url}/blob/main/{target}{anchor})" if config.repo_url else text

    # Code blocks are no place for links.
    parts, end = [], 0
    for code in _FENCED.finditer(markdown):
        parts += [_LINK.sub(mended, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(mended, markdown[end:])])


def _source(page: str) -> str | None:
    found = _FRONT_MATTER.match(page)
    return (yaml.safe_load(found[1]) or {}).get("source") if found else None
