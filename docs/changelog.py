"""Move the fragments of `changelog.d` to the top of the newest section of the changelog: ``make changelog``."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def fragments(folder: Path) -> dict[Path, str]:
    """The entries that wait, by file; an empty one, or one with a dash of its own, is refused."""
    found = {path: path.read_text(encoding="utf-8").strip() for path in sorted(folder.glob("*.md"))}
    found = {path: text for path, text in found.items() if path.name != "README.md"}
    for path, text in found.items():
        if not text or text.startswith("-"):
            raise SystemExit(f"{path}: a fragment is an entry's text, without its dash")
    return found


def collected(changelog: str, entries: list[str]) -> str:
    """The changelog with the entries at the top of its first section."""
    head = re.search(r"^## .*\n\n", changelog, re.MULTILINE)
    if head is None:
        raise SystemExit("CHANGELOG.md has no section")
    bullets = "".join("- " + text.replace("\n", "\n  ") + "\n" for text in entries)
    return changelog[: head.end()] + bullets + changelog[head.end() :]


if __name__ == "__main__":
    waiting, file = fragments(ROOT / "changelog.d"), ROOT / "CHANGELOG.md"
    file.write_text(collected(file.read_text(encoding="utf-8"), list(waiting.values())), encoding="utf-8")
    for path in waiting:
        path.unlink()
