"""Where recordings are: paths checked folder by folder, files found by their names, utterance ids made from them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit import files
from voxaudit.audio import SUFFIXES
from voxaudit.corpus.folder import audio_files, is_utf8


def audio_by_name(folder: Path) -> dict[str, str]:
    """Return {file name without its ending: path relative to `folder`} of all audio below it.

    Of several files of one name, the one with the shortest path is taken, then by the alphabet.
    """
    found: dict[str, str] = {}
    for path in sorted(audio_files(folder), key=lambda path: (path.count("/"), path)):
        found.setdefault(path.rsplit("/", 1)[-1].rsplit(".", 1)[0], path)
    return found


def beside(names: Iterable[str], folder: Path) -> tuple[Path, dict[str, str]]:
    """Return where recordings of these names are: the folder itself, else the one above (`stm/` beside `wav/`)."""
    wanted = set(names)
    for place in (folder, folder.parent):
        found = {name: path for name, path in audio_by_name(place).items() if name in wanted}
        if found:
            return place, found
    return folder, {}


def with_overlap(table: pl.DataFrame, session: str) -> pl.DataFrame:
    """Add `overlap` (yes, no): whether any other segment of the same session is heard at the same time.

    `start` and `end` are columns of seconds as text.
    """
    work = table.select(
        pl.col(session).alias("session"),
        pl.col("start").cast(pl.Float64, strict=False),
        pl.col("end").cast(pl.Float64, strict=False),
    ).with_row_index("row")
    work = work.sort("session", "start", "end")
    before = pl.col("end").cum_max().shift(1).over("session")
    after = pl.col("start").shift(-1).over("session")
    both = ((pl.col("start") < before) | (pl.col("end") > after)).fill_null(False)
    answer = work.select("row", pl.when(both).then(pl.lit("yes")).otherwise(pl.lit("no")).alias("overlap"))
    return table.with_columns(answer.sort("row")["overlap"])


# Where the audio files are: paths resolved and checked folder by folder, and utterance ids made from them.

FEW = 8
"""Up to so many files of a folder are asked for one by one; more, and the folder is listed once instead."""

_IS_URL = r"^[A-Za-z][A-Za-z0-9+.-]+://"

_ENDINGS = sorted(SUFFIXES | {".m4a", ".aac", ".mp4", ".webm", ".wma", ".amr"})


def locate(values: pl.Series, root: Path, search: Sequence[str] = (), *, check: bool = True) -> pl.DataFrame:
    """Return, for each audio value, its full path (`path`) and whether a file is there (`found`).

    A relative value is looked for in `root`, then in its `search` folders, then from the working folder;
    what is found nowhere keeps its path in `root`. Without `check`, nothing is looked for.
    """
    distinct = values.unique(maintain_order=True).drop_nulls()
    full = _join(distinct, root)
    found = existing(full) if check else np.ones(len(full), dtype=bool)
    for base in [*(root / folder for folder in search), Path.cwd()] if check else []:
        if base == root or found.all():
            continue
        other = _join(distinct, base)
        open_ = np.flatnonzero(~found)
        better = np.zeros(len(found), dtype=bool)
        better[open_] = existing(other.gather(open_))
        full, found = other.zip_with(pl.Series(better), full), found | better
    places = pl.DataFrame({"value": distinct, "path": full, "found": found})
    if len(distinct) == len(values):  # as many files as rows: they are in order already
        return places.drop("value")
    located = pl.DataFrame({"value": values}).join(places, on="value", how="left", maintain_order="left")
    return located.select("path", pl.col("found").fill_null(False))


def existing(paths: pl.Series) -> NDArray[np.bool_]:
    """Return which of these paths are files. A folder with many of them is listed once, not asked per file."""
    urls = paths.str.contains(_IS_URL).to_numpy()
    if urls.any():
        found = np.zeros(len(paths), dtype=bool)
        found[urls] = files.existing(paths.filter(urls).to_list())
        found[~urls] = existing(paths.filter(~urls)) if not urls.all() else []
        return found
    frame = pl.DataFrame({"path": paths}).with_columns(
        folder=pl.col("path").str.extract(r"(?s)^(.*/)", 1).fill_null("."),
        file=pl.col("path").str.extract(r"(?s)([^/]*)$", 1),
    )
    many = frame.group_by("folder").len().filter(pl.col("len") > FEW)["folder"]
    names: list[str] = []
    sizes: list[int] = []
    unlisted: list[str] = []
    for folder in many:
        try:
            with os.scandir(folder) as entries:
                inside = [entry.name for entry in entries if entry.is_file()]
        except (FileNotFoundError, NotADirectoryError):
            inside = []
        except (OSError, ValueError):  # may be entered but not listed; hostile names: each file is asked for
            inside = []
            unlisted.append(folder)
        names += inside
        sizes.append(len(inside))
    listed = pl.DataFrame(
        {"folder": many.gather(np.repeat(np.arange(len(many)), sizes)), "file": _utf8_or_null(names)}
    )
    frame = frame.join(
        listed.with_columns(known=pl.lit(True)), on=["folder", "file"], how="left", maintain_order="left"
    )
    known: NDArray[np.bool_] = frame["known"].fill_null(False).to_numpy().copy()
    asked = frame["folder"].is_in(unlisted) | ~frame["folder"].is_in(many.implode())
    unsure = np.flatnonzero(~known & (asked | _spelled_otherwise(frame, listed)).to_numpy())
    known[unsure] = [os.path.isfile(path) for path in paths.gather(unsure)]  # noqa: PTH113
    return known


def _spelled_otherwise(frame: pl.DataFrame, listed: pl.DataFrame) -> pl.Series:
    """Return which files a listing may have in another spelling (case, Unicode form): these are asked for again."""
    if frame["known"].null_count() == 0 or listed.is_empty():
        return pl.Series([False]).new_from_index(0, frame.height)
    spelling = pl.col("file").str.normalize("NFC").str.to_lowercase().alias("file")
    unknown = frame.with_row_index("row").filter(pl.col("known").is_null()).select("row", "folder", spelling)
    near = unknown.join(listed.select("folder", spelling), on=["folder", "file"], how="semi")["row"]
    answer = np.zeros(frame.height, dtype=bool)
    answer[near.to_numpy()] = True
    return pl.Series(answer)


def default_ids(values: pl.Series, paths: pl.Series, starts: pl.Series) -> pl.Series:
    """Return ids made from audio values: the path, without its ending where that stays unique.

    `paths` are the same recordings in full, as `locate` finds them. Values that stay below the manifest count as
    written; where any leaves its folder, all ids are paths below the folder that holds every recording. So an id says
    nothing of where the manifest lies. Segments that share a file get their start in seconds behind it: `call-7@12.5`.
    """
    frame = pl.DataFrame({"value": values, "start": starts.cast(pl.Float64)})
    frame = frame.with_columns(
        id=_below_all(values, paths).str.replace_all(r"^(\./)+", "").str.replace_all(r"\p{Cc}", "_")
    )
    ending = pl.col("id").str.extract(r"[^/](\.[A-Za-z0-9]{2,4})$", 1)
    is_audio = ending.str.to_lowercase().is_in(_ENDINGS)
    stems = frame.select(pl.when(is_audio).then(pl.col("id").str.strip_suffix(ending)).otherwise("id"))["id"]
    if stems.n_unique() == frame["id"].n_unique():
        frame = frame.with_columns(id=stems)
    shared = pl.col("value").is_duplicated() & pl.col("start").is_not_null()
    return frame.select(
        pl.when(shared).then(pl.col("id") + "@" + pl.col("start").cast(pl.String)).otherwise("id")
    )["id"]


def _join(values: pl.Series, base: Path) -> pl.Series:
    values = values.str.replace_all("\\", "/", literal=True) if os.sep == "\\" else values
    prefix = (files.url_of(base) or base.as_posix()).rstrip("/") + "/"
    absolute = r"^([A-Za-z]:)?/" if os.sep == "\\" else r"^/"
    relative = ~values.str.contains(f"{absolute}|{_IS_URL}")
    return (prefix + values).zip_with(relative, values)


def _below_all(values: pl.Series, paths: pl.Series) -> pl.Series:
    """Return values as written; if one leads out of the manifest's folder, all paths below their common folder."""
    if os.sep == "\\":
        values, paths = (one.str.replace_all("\\", "/", literal=True) for one in (values, paths))
    written = values.str.extract(r"(?s)^(.*/)", 1).unique().drop_nulls()
    if not any(_leads_out(folder) for folder in written):
        return values
    split = pl.DataFrame({"value": values, "path": paths}).select(
        "value",
        folder=pl.col("path").str.extract(r"(?s)^(.*/)", 1),
        file=pl.col("path").str.extract(r"(?s)([^/]*)$", 1),
    )
    local = split.filter(~pl.col("value").str.contains(_IS_URL))["folder"].unique().drop_nulls()
    plain = [os.path.normpath(folder) for folder in local]
    try:
        common = os.path.commonpath(plain)
    except ValueError:  # several drives: no folder holds them all
        return values
    short = [os.path.relpath(folder, common).replace(os.sep, "/") + "/" for folder in plain]
    names = pl.DataFrame({"folder": local, "short": ["" if one == "./" else one for one in short]})
    split = split.join(names, on="folder", how="left", maintain_order="left")
    return split.select(pl.coalesce(pl.col("short") + pl.col("file"), "value").alias("id"))["id"]


def _leads_out(folder: str) -> bool:
    """Say whether the folder of a value lies outside of the manifest's: an absolute one, or `../audio/`."""
    if re.match(_IS_URL, folder):
        return False
    return bool(re.match(r"([A-Za-z]:)?/", folder)) or os.path.normpath(folder).startswith("..")


def _utf8_or_null(names: list[str]) -> pl.Series:
    """Return file names as a column, without those that are not valid Unicode."""
    try:
        return pl.Series(names, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series([name if is_utf8(name) else None for name in names], dtype=pl.String)
