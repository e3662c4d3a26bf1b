"""How well `references` finds wrong references: words changed in references that nobody doubted.

python -m benchmarks.studies.references [--reference ../shared/reference] [--docs docs]

What most services hear is taken as it is (mu-bench); in every reference that is not in doubt one word becomes another
that somebody else said.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import polars as pl
from benchmarks.pages import fill

from voxaudit.audits.references.audit import references

PAGE = "references.md"


def planted(calls: pl.DataFrame, generator: random.Random) -> tuple[pl.DataFrame, dict[str, tuple[str, str]]]:
    """Return the calls with one word changed in every reference, and what became of it, by utterance."""
    said = dict(calls.unique("utterance", maintain_order=True).select("utterance", "reference").iter_rows())
    others = [word for text in said.values() for word in text.split()]
    changed, texts = {}, {}
    for utterance, text in said.items():
        words = text.split()
        place = generator.randrange(len(words))
        old, words[place] = words[place], generator.choice(others)
        if old.lower() != words[place].lower():
            changed[utterance], texts[utterance] = (old, words[place]), " ".join(words)
    new = pl.col("utterance").replace_strict(texts, default=pl.col("reference"), return_dtype=pl.String)
    return calls.with_columns(reference=new), changed


def measure(calls: pl.DataFrame, generator: random.Random) -> list[str]:
    """Return a row: utterances, with a reference in doubt, words changed in the others, and found."""
    before = references(calls).detail["utterance"].unique()
    sure = calls.filter(~pl.col("utterance").is_in(before.implode()) & pl.col("reference").str.contains(" "))
    wrong, changed = planted(sure, generator)
    doubted = set(references(wrong).detail["utterance"])
    found = len(doubted & changed.keys())
    return [
        f"{calls['utterance'].n_unique():,}",
        f"{len(before):,}",
        f"{len(changed):,}",
        f"{100 * found / len(changed):.1f} %",
    ]


def main() -> None:
    """Measure it and print it as a table; `--docs` writes it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", type=Path, default=Path("../shared/reference"))
    parser.add_argument("--docs", type=Path)
    args = parser.parse_args()
    calls = pl.read_csv(args.reference / "mu_bench" / "transcripts.csv.gz")
    calls = calls.with_columns(pl.col("text", "reference").fill_null(""))
    rows = [
        "| language | utterances | in doubt | words changed in the others | found |",
        "|---" * 5 + "|",
    ]
    for code in ("en-US", "es-MX", "tr-TR", "vi-VN"):
        own = calls.filter(pl.col("locale") == code)
        rows.append(f"| {' | '.join([code, *measure(own, random.Random(0))])} |")
    table = "\n".join(rows)
    print(table)
    if args.docs is not None:
        page = args.docs / PAGE
        page.write_text(fill(page.read_text(encoding="utf-8"), "planted", table), encoding="utf-8")


if __name__ == "__main__":
    main()
