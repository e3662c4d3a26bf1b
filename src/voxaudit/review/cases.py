"""What a reviewer asks for and gets: filters, pages of cases, and one case in full."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from voxaudit.audio import Audio, read
from voxaudit.audits.heard import ASKED
from voxaudit.audits.references.audit import FEWEST, doubted_utterances
from voxaudit.audits.scores import Transcripts
from voxaudit.audits.stutter.folder import QUEUE, read_queue
from voxaudit.corpus import Utterance
from voxaudit.corpus.base import Corpus
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb import CLEAN, parse_scenario
from voxaudit.perturb.sources import reopen_sources
from voxaudit.perturb.stutter.recordings import Replay, read_recordings
from voxaudit.run.folder import Run, clean_corpus
from voxaudit.score.align import align_words, word_counts
from voxaudit.score.faults import KINDS, SEVERITIES
from voxaudit.score.normalize import normalize_column, normalizer
from voxaudit.tables import collect

DOUBT = "reference"
"""The kind of error that is perhaps the reference's: most recognizers agree against it."""
ERRORS = ("any", "substitutions", "deletions", "insertions", "empty", "failed", DOUBT)
SORTS = ("wer", "excess", "disagreement", "order")
"""Orders of the trials of a run: those that it has numbers for are offered, the first unless another is asked for."""
PAGE = 25

ORIGINAL, CHANGED = "original", "changed"
SIDES = (ORIGINAL, CHANGED)
"""The two recordings of a case: as it was, and as the recognizer heard it."""


@dataclass(frozen=True)
class Filters:
    """Which cases are wanted; empty means all. `group` is `attribute=level`; `only` and `without` are case ids."""

    scenario: str = ""
    recognizer: str = ""
    group: str = ""
    error: str = ""
    text: str = ""
    kind: str = ""
    sort: str = ""
    only: Collection[str] | None = None
    without: Collection[str] = ()


@dataclass(frozen=True)
class Sound:
    """A recording to listen to, and where it was changed: (first second, last second, what) of each edit."""

    audio: Audio
    edits: tuple[tuple[float, float, str], ...] = ()


@dataclass(frozen=True)
class Page:
    """Some of the cases that match, and how many match in all."""

    total: int
    cases: list[dict[str, Any]]


@dataclass(frozen=True)
class Facets:
    """What can be filtered by: the values there are, in order."""

    scenarios: list[str] = field(default_factory=list)
    recognizers: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    sorts: list[str] = field(default_factory=list)


class Source(Protocol):
    """Where cases come from."""

    @property
    def total(self) -> int:
        """How many cases there are."""
        ...

    def facets(self) -> Facets:
        """Return what can be filtered by."""
        ...

    def page(self, filters: Filters, first: int, size: int) -> Page:
        """Return `size` of the cases that match, from the `first` on: id, texts and numbers for a list."""
        ...

    def case(self, id_: str) -> dict[str, Any] | None:
        """Return one case in full, None where there is no such case."""
        ...

    def sound(self, id_: str, side: str) -> Sound | None:
        """Return one of the two recordings of a case, None where it has none."""
        ...


def word_diff(said: str, heard: str) -> list[tuple[str, str, str]]:
    """Return an alignment word by word: (equal, substitute, delete or insert, word said, word heard)."""
    return [(edit.kind, *pair) for edit in align_words(said, heard) for pair in edit.pairs]


KEYS = ("recognizer", "scenario", "utterance")
COUNTS = ("substitutions", "deletions", "insertions", "words")
MOST_LEVELS = 60
"""An attribute with more levels (an id, a birth date) is no group to filter by."""


def trial_id(recognizer: str, scenario: str, utterance: str) -> str:
    """Return the id of a trial as a case."""
    return json.dumps([recognizer, scenario, utterance], ensure_ascii=False, separators=(",", ":"))


def trial_keys(id_: str) -> tuple[str, str, str] | None:
    """Return the recognizer, scenario and utterance of an id; None where it is none."""
    try:
        keys = json.loads(id_)
    except (ValueError, RecursionError):
        return None
    if isinstance(keys, list) and len(keys) == 3 and all(isinstance(key, str) for key in keys):
        return keys[0], keys[1], keys[2]
    return None


class Trials:
    """The cases of a finished run. Numbers are kept in memory, texts stay in the run's tables."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._normalize = normalizer(run.config.get("normalizer", "basic"))

    @property
    def total(self) -> int:
        """How many trials the run has."""
        return self._index.height

    @property
    def _texts(self) -> pl.LazyFrame:
        return self._run.scan("transcripts").with_row_index("row")

    def _read(self, lazy: pl.LazyFrame) -> pl.DataFrame:
        return collect(lazy, self._run.folder)

    @cached_property
    def _table(self) -> pl.DataFrame:
        trials = self._texts.select(
            "row",
            *(pl.col(key).cast(pl.String) for key in KEYS),
            failed=pl.col("failure").cast(pl.String).fill_null("") != "",
            empty=pl.col("text").cast(pl.String).fill_null("").str.strip_chars() == "",
        )
        path = self._run.folder / "scores.parquet"
        if path.exists():
            scores = self._run.scan("scores").select(*KEYS, *COUNTS)
            trials = trials.join(scores, on=KEYS, how="left", maintain_order="left")
        else:
            trials = trials.with_columns(pl.lit(None, pl.Int64).alias(name) for name in COUNTS)
        errors = pl.sum_horizontal("substitutions", "deletions", "insertions", ignore_nulls=False)
        table = trials.with_columns(errors=errors).with_columns(
            wer=pl.when(pl.col("words") > 0).then(pl.col("errors") / pl.col("words"))
        )
        clean = (
            table.filter(pl.col("scenario") == CLEAN)
            .select("recognizer", "utterance", clean="wer")
            .unique(["recognizer", "utterance"])
        )
        numbers = self._read(
            table.join(clean, on=("recognizer", "utterance"), how="left", maintain_order="left")
            .with_columns(excess=pl.col("wer") - pl.col("clean"))
            .drop("clean")
        )
        # Places in each order, once: a page then sorts one column of integers.
        return numbers.with_columns(self._disagreement(numbers)).with_columns(
            (-pl.col(name)).fill_null(float("inf")).rank("ordinal").alias(f"by_{name}")
            for name in ("wer", "excess", "disagreement")
        )

    def _disagreement(self, index: pl.DataFrame) -> pl.Series:
        """Return, for trials without a reference, the share of words that others heard differently.

        The others are the other recognizers that heard the same audio, on average; of a run with one recognizer, it is
        what it heard itself in clean speech. Null where there is nobody to disagree with.
        """
        name = "disagreement"
        own = index.filter(pl.col("words").is_null() & ~pl.col("failed")).select("row", *KEYS)
        if own.is_empty():
            return pl.Series(name, [None], dtype=pl.Float64).new_from_index(0, index.height)
        texts = self._read(self._texts.select("row", pl.col("text").cast(pl.String)))
        own = own.join(texts, on="row", how="left", maintain_order="left")
        own = own.with_columns(normalize_column(own["text"].fill_null(""), self._normalize).alias("text"))
        if own["recognizer"].n_unique() > 1:
            pairs = own.join(own, on=("scenario", "utterance"), suffix="_other")
            pairs = pairs.filter(pl.col("recognizer") != pl.col("recognizer_other"))
        else:
            pairs = own.filter(pl.col("scenario") != CLEAN).join(
                own.filter(pl.col("scenario") == CLEAN), on=("recognizer", "utterance"), suffix="_other"
            )
        counts = word_counts(pairs["text"], pairs["text_other"])
        edits = counts["substitutions"] + counts["deletions"] + counts["insertions"]
        # Of two texts neither is right: what differs is a share of the longer one, so that it ends at 1.
        longer = (
            counts["hits"]
            + counts["substitutions"]
            + counts.select(pl.max_horizontal("deletions", "insertions")).to_series()
        )
        share = (
            pl.DataFrame({"row": pairs["row"], name: edits / longer.clip(1)})
            .group_by("row")
            .agg(pl.mean(name))
        )
        return index.select("row").join(share, on="row", how="left", maintain_order="left")[name]

    @property
    def _index(self) -> pl.DataFrame:
        with self._lock:  # two tabs open at once: build it once
            return self._table

    @cached_property
    def _corpus(self) -> dict[str, Utterance]:
        return {one.id: one for one in Corpus("run", "run", self._run.corpus)}

    @cached_property
    def _doubted(self) -> list[str]:
        """The utterances whose reference most recognizers contradict; none where fewer than three heard them."""
        if len(self._run.config.get("recognizers", ())) < FEWEST:
            return []
        return doubted_utterances(Transcripts.of(self._run, scenario=[CLEAN], more=ASKED))

    @cached_property
    def _levels(self) -> dict[str, tuple[str, str]]:
        corpus = Corpus("run", "run", self._run.corpus)
        levels: dict[str, tuple[str, str]] = {}
        for attribute in corpus.attributes:
            values = corpus.table[attribute].cast(pl.String).drop_nulls().unique().sort().to_list()
            if len(values) <= MOST_LEVELS:
                levels |= {f"{attribute}={value}": (attribute, value) for value in values}
        return levels

    def facets(self) -> Facets:
        """Return the run's scenarios, recognizers and groups."""
        index = self._index
        found = set(index["scenario"].unique().to_list())
        known = [scenario for scenario in self._run.config.get("scenarios", []) if scenario in found]
        return Facets(
            scenarios=known + sorted(found - set(known)),
            recognizers=sorted(index["recognizer"].unique().to_list()),
            groups=list(self._levels),
            errors=[kind for kind in ERRORS if kind != DOUBT or self._doubted],
            sorts=self._sorts,
        )

    def page(self, filters: Filters, first: int, size: int) -> Page:
        """Return one page of the trials that match."""
        found = self._matching(filters)
        order = filters.sort or self._sorts[0]
        place = f"by_{order}" if f"by_{order}" in found.columns else "row"
        rows = found[found[place].arg_sort().slice(first, size)]
        texts = self._read(
            self._texts.filter(pl.col("row").is_in(rows["row"].implode())).select("row", "text")
        )
        cases = rows.join(texts, on="row", how="left", maintain_order="left")
        return Page(found.height, [self._line(row) for row in cases.iter_rows(named=True)])

    @property
    def _sorts(self) -> list[str]:
        index = self._index
        return [name for name in SORTS if name == "order" or index[name].count()]

    def _line(self, row: dict[str, Any]) -> dict[str, Any]:
        about = self._corpus.get(row["utterance"])
        return {
            "id": trial_id(*(row[key] for key in KEYS)),
            **{key: row[key] for key in KEYS},
            "said": about.text if about else None,
            "heard": row["text"],
            "failed": row["failed"],
            "wer": row["wer"],
            "excess": row["excess"],
            "disagreement": row["disagreement"],
        }

    def _matching(self, filters: Filters) -> pl.DataFrame:
        index = self._index
        for name in ("scenario", "recognizer"):
            if value := getattr(filters, name):
                index = index.filter(pl.col(name) == value)
        if filters.group:
            index = index.filter(pl.col("utterance").is_in(self._members(filters.group)))
        if filters.error == DOUBT:
            index = index.filter(pl.col("utterance").is_in(self._doubted), pl.col("scenario") == CLEAN)
        elif filters.error:
            index = index.filter(_error(filters.error))
        if filters.text:
            index = self._saying(index, filters.text)
        if filters.only is not None:
            index = index.join(_keys(filters.only), on=KEYS, how="semi", maintain_order="left")
        if filters.without:
            index = index.join(_keys(filters.without), on=KEYS, how="anti", maintain_order="left")
        return index

    def _members(self, group: str) -> list[str]:
        if group not in self._levels:
            return []
        attribute, level = self._levels[group]
        table = self._run.corpus
        return table.filter(pl.col(attribute).cast(pl.String) == level)["id"].cast(pl.String).to_list()

    def _saying(self, index: pl.DataFrame, text: str) -> pl.DataFrame:
        wanted = text.lower()
        said = [
            id_
            for id_, one in self._corpus.items()
            if wanted in (one.text or "").lower() or wanted in id_.lower()
        ]
        heard = pl.col("text").cast(pl.String).str.to_lowercase().str.contains(wanted, literal=True)
        rows = self._read(self._texts.filter(heard).select("row"))["row"]
        return index.filter(pl.col("row").is_in(rows.implode()) | pl.col("utterance").is_in(said))

    def case(self, id_: str) -> dict[str, Any] | None:
        """Return one trial in full."""
        found = self._find(id_)
        if found is None:
            return None
        text, failure = self._heard(found["row"])
        about = self._corpus.get(found["utterance"])
        reference = about.text if about else None
        clean = None
        if found["scenario"] != CLEAN:
            same = self._find(trial_id(found["recognizer"], CLEAN, found["utterance"]))
            clean = None if same is None else self._heard(same["row"])[0]
        said = reference if reference is not None else clean
        return {
            **self._line({**found, "text": text}),
            "failure": failure,
            "speaker": about.speaker if about else None,
            "attributes": {k: v for k, v in (about.attributes if about else {}).items() if v is not None},
            "clean": clean,
            "heard_by_others": (
                self._others(found) if reference is None or found["utterance"] in self._doubted else []
            ),
            "against": None if said is None else "reference" if reference is not None else "clean",
            "diff": self._diff(said, text),
            "clean_diff": self._diff(reference, clean) if reference is not None else None,
            "counts": {name: found[name] for name in COUNTS},
            "sides": self._sides(found["scenario"]),
        }

    def _others(self, found: dict[str, Any]) -> list[dict[str, str | None]]:
        """Return what other recognizers heard in the same audio."""
        index = self._index.filter(
            *(pl.col(key) == found[key] for key in ("scenario", "utterance")),
            pl.col("recognizer") != found["recognizer"],
        )
        pairs = index.sort("recognizer").select("recognizer", "row").iter_rows()
        return [{"recognizer": name, "heard": self._heard(row)[0]} for name, row in pairs]

    def _sides(self, scenario: str) -> list[str]:
        natural = scenario in self._run.config.get("corpora", {})
        return [ORIGINAL] if natural or scenario == CLEAN else [ORIGINAL, CHANGED]

    def _diff(self, said: str | None, heard: str | None) -> list[tuple[str, str, str]] | None:
        if said is None or heard is None:
            return None
        return word_diff(self._normalize(said), self._normalize(heard))

    def _find(self, id_: str) -> dict[str, Any] | None:
        keys = trial_keys(id_)
        if keys is None:
            return None
        index = self._index
        for key, value in zip(KEYS, keys, strict=True):
            index = index.filter(pl.col(key) == value)
        return index.row(0, named=True) if index.height else None

    def _heard(self, row: int) -> tuple[str | None, str | None]:
        columns = pl.col("text", "failure").cast(pl.String)
        text, failure = self._read(self._texts.slice(row, 1).select(columns)).row(0)
        return (None, failure) if failure else (text, None)

    def sound(self, id_: str, side: str) -> Sound | None:
        """Return the recording, or what the scenario made of it: the samples that the recognizer was given."""
        found = self._find(id_)
        if found is None or side not in self._sides(found["scenario"]):
            return None
        about = self._corpus.get(found["utterance"])
        if about is None:
            raise VoxauditError("this utterance is not in the run's corpus")
        audio = read(about.audio, start=about.start, duration=about.duration)
        if side == ORIGINAL:
            return Sound(audio)
        config = self._run.config
        name = found["scenario"].partition(":")[0]
        wanted = (name, found["scenario"])  # audio made elsewhere stands under the id of its scenario
        recorded = {key: entry for key, entry in config.get("sources", {}).items() if key in wanted}
        scenario = parse_scenario(found["scenario"], reopen_sources(recorded, clean_corpus(self._run)))
        return Sound(scenario.apply(audio, seed=int(config["seed"]), utterance=about.id))


def _error(kind: str) -> pl.Expr:
    if kind in ("failed", "empty"):
        return pl.col("failed") if kind == "failed" else pl.col("empty") & ~pl.col("failed")
    if kind == "any":
        return (pl.col("errors") > 0) | pl.col("failed")
    if kind in COUNTS[:3]:
        return pl.col(kind) > 0
    return pl.lit(False)


def _keys(ids: Collection[str]) -> pl.DataFrame:
    rows = [keys for id_ in ids if (keys := trial_keys(id_)) is not None]
    return pl.DataFrame(rows, schema=dict.fromkeys(KEYS, pl.String), orient="row")


def is_reviewable(folder: Path) -> bool:
    """Say whether a folder holds the trials of a finished run."""
    return (folder / "run.json").is_file() and (folder / "transcripts.parquet").is_file()


TEXTS = ("id", "utterance", "recognizer", "chain", "intended", "surface", "original", "transcript")


class Suspects:
    """The suspicious cases of a stutter audit's folder, least similar first. A queue written anew is read again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._read: tuple[tuple[int, int], dict[str, dict[str, Any]]] | None = None

    @property
    def _cases(self) -> dict[str, dict[str, Any]]:
        path = self.folder / QUEUE
        with self._lock:
            try:
                status = path.stat()
                mark = (status.st_mtime_ns, status.st_size)
                if self._read is None or self._read[0] != mark:
                    self._read = (mark, queued_cases(path))
            except OSError as error:
                raise VoxauditError(f"{path}: cannot read this review queue ({one_line(error)})") from error
            return self._read[1]

    @cached_property
    def _replay(self) -> Replay | None:
        return read_recordings(self.folder)

    @property
    def total(self) -> int:
        """How many suspicious cases there are."""
        return len(self._cases)

    def facets(self) -> Facets:
        """Return the recognizers and kinds of fault."""
        cases = self._cases.values()
        kinds = {case["kind"] for case in cases}
        return Facets(
            recognizers=sorted({case["recognizer"] for case in cases}),
            kinds=[kind for kind in KINDS if kind in kinds],
        )

    def page(self, filters: Filters, first: int, size: int) -> Page:
        """Return one page of the cases that match, in the order of the queue."""
        found = [case for case in self._cases.values() if _matches(case, filters)]
        return Page(len(found), [_line(case) for case in found[first : first + size]])

    def case(self, id_: str) -> dict[str, Any] | None:
        """Return one case in full."""
        case = self._cases.get(id_)
        if case is None:
            return None
        replay = self._replay
        there = replay is not None and case["utterance"] in replay.recordings
        return {
            **_line(case),
            "failure": None,
            "speaker": replay.recordings[case["utterance"]].utterance.speaker if replay and there else None,
            "attributes": {},
            "clean": case["original"],
            "against": "reference",
            "surface": case["surface"],
            "severity": case["severity"].replace("_", " "),
            "diff": word_diff(case["intended"], case["transcript"]),
            "clean_diff": word_diff(case["intended"], case["original"]),
            "sides": [ORIGINAL, CHANGED] if there else [],
            "silent": ""
            if there
            else "run the stutter audit again with this version of voxaudit to listen (nothing is heard twice)",
        }

    def sound(self, id_: str, side: str) -> Sound | None:
        """Return the recording, or the recording after the chain, with the places where it was edited."""
        case, replay = self._cases.get(id_), self._replay
        if case is None or replay is None or case["utterance"] not in replay.recordings:
            return None
        if side == ORIGINAL:
            return Sound(replay.original(case["utterance"]))
        return Sound(*replay.stuttered(case["utterance"], case["chain"]))


def queued_cases(path: Path) -> dict[str, dict[str, Any]]:
    """Return {id: case} of a review queue; a line that is no case raises one line."""
    cases: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(read_queue(path), start=1):
        try:
            case: dict[str, Any] = {name: str(row[name]) for name in (*TEXTS, "label")}
            case["similarity"] = float(row["similarity"])
            case["kind"] = row["fault"] if row.get("fault") in KINDS else ""
            case["severity"] = row["severity"] if row.get("severity") in SEVERITIES else ""
        except (ValueError, TypeError, KeyError) as error:
            raise VoxauditError(f"{path}: line {number} is not a case of a review queue") from error
        cases[case["id"]] = case
    return cases


def _line(case: dict[str, Any]) -> dict[str, Any]:
    similarity = case["similarity"]
    return {
        "id": case["id"],
        "recognizer": case["recognizer"],
        "scenario": case["chain"],
        "utterance": case["utterance"],
        "said": case["intended"],
        "heard": case["transcript"],
        "failed": False,
        "similarity": similarity if abs(similarity) < float("inf") else None,
        "kind": case["kind"],
    }


def _matches(case: dict[str, Any], filters: Filters) -> bool:
    if filters.recognizer and case["recognizer"] != filters.recognizer:
        return False
    if filters.kind and case["kind"] != filters.kind:
        return False
    if filters.only is not None and case["id"] not in filters.only:
        return False
    if case["id"] in filters.without:
        return False
    wanted = filters.text.lower()
    return not wanted or any(
        wanted in case[name].lower() for name in ("intended", "surface", "transcript", "utterance")
    )
