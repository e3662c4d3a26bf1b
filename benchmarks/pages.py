"""Results as files: documents a line an item, and the places in pages that are written from them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_document(path: Path, about: Mapping[str, Any], lists: Mapping[str, list[Any]]) -> None:
    """Write a JSON document of facts and lists, every item on a line of its own, so that changes can be read."""
    lines = [f' "about": {json.dumps(about)}']
    for name, items in lists.items():
        inner = ",\n".join(f"  {json.dumps(item)}" for item in items)
        lines.append(f' "{name}": [\n{inner}\n ]' if items else f' "{name}": []')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def fill(text: str, name: str, content: str) -> str:
    """Return a page with what stands between the comments `NAME` and `/NAME` replaced."""
    head, mark, rest = text.partition(f"<!-- {name} -->\n")
    _, end, tail = rest.partition(f"<!-- /{name} -->")
    if not mark or not end:
        raise SystemExit(f"the document has no place for '{name}'")
    return f"{head}{mark}{content}\n{end}{tail}"


def places(text: str, prefix: str) -> list[str]:
    """Return the names of a page's places that begin so."""
    return re.findall(rf"<!-- ({re.escape(prefix)}[^>]*?) -->\n", text)
