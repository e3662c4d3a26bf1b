"""The review app: routes to the cases, recordings and labels of one folder."""

from __future__ import annotations

import struct
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Audio, Samples, resample
from voxaudit.audits.stutter.folder import LABELS, QUEUE
from voxaudit.errors import VoxauditError
from voxaudit.recognize.pcm import wav_bytes
from voxaudit.render.escape import themes
from voxaudit.review.cases import PAGE, SIDES, Filters, Sound, Source, Suspects, Trials, is_reviewable
from voxaudit.review.labels import decide, exported, read_review, summary
from voxaudit.review.store import LONGEST_COMMENT, STUTTER, TRIALS, Given, LabelStore, reviewer_name
from voxaudit.review.web import (
    CONTENT_TYPES,
    Handler,
    HttpError,
    Request,
    Response,
    asset,
    json_response,
)
from voxaudit.run.folder import open_run
from voxaudit.score.faults import KINDS

BINS = 800
"""Points of a waveform's envelope."""
COLUMNS, ROWS = 800, 128
"""The largest spectrogram, in pixels."""
RANGE_DB = 60.0
"""From the loudest point of a spectrogram down to its darkest."""
TOP_HZ = 8000
"""Where a spectrogram ends, or at half the rate of the recording."""


@dataclass(frozen=True)
class Shown:
    """A recording, ready for the page."""

    wav: bytes
    wave: dict[str, Any]
    spectrogram: bytes

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return len(self.wav) + len(self.spectrogram) + 20 * BINS


def show(sound: Sound) -> Shown:
    """Return a recording as WAV (16 bit), as the data of its waveform, and as a picture."""
    audio = sound.audio
    low, high = envelope(audio.samples)
    wave_data = {
        "duration": audio.duration,
        "rate": audio.rate,
        "peak": float(np.abs(audio.samples).max(initial=0.0)),
        "low": low,
        "high": high,
        "edits": [list(edit) for edit in sound.edits],
        "top": min(TOP_HZ, audio.rate / 2),
    }
    return Shown(wav_bytes(audio), wave_data, spectrogram(audio))


def envelope(samples: Samples, bins: int = BINS) -> tuple[list[float], list[float]]:
    """Return the lowest and the highest sample of each of at most `bins` equal stretches."""
    bins = min(bins, len(samples))
    if not bins:
        return [], []
    edges = np.linspace(0, len(samples), bins + 1)[:-1].astype(np.int64)
    low, high = np.minimum.reduceat(samples, edges), np.maximum.reduceat(samples, edges)
    return [round(float(x), 4) for x in low], [round(float(x), 4) for x in high]


def spectrogram(audio: Audio) -> bytes:
    """Return a PNG of the magnitudes up to 8 kHz on a logarithmic scale, low frequencies at the bottom."""
    audio = resample(audio, 2 * TOP_HZ) if audio.rate > 2 * TOP_HZ else audio
    window = 1 << max(round(audio.rate * 0.02) - 1, 15).bit_length()
    samples = audio.samples
    if len(samples) < window:
        samples = np.pad(samples, (0, window - len(samples)))
    starts = np.linspace(0, len(samples) - window, min(COLUMNS, max(1, len(samples) // (window // 4))))
    shape = np.hanning(window).astype(np.float32)
    frames = samples[starts.astype(np.int64)[:, None] + np.arange(window)[None, :]] * shape
    power = np.abs(np.fft.rfft(frames, axis=1)).astype(np.float32)[:, 1:]
    rows = min(ROWS, power.shape[1])
    power = power[:, : rows * (power.shape[1] // rows)].reshape(len(power), rows, -1).max(axis=2)
    level = 20.0 * np.log10(np.maximum(power, 1e-9))
    scaled = np.clip((level - level.max() + RANGE_DB) / RANGE_DB, 0.0, 1.0)
    return png((scaled.T[::-1] * 255.0).astype(np.uint8))


# From dark to light through blue and amber; lightness rises throughout, so that it reads without color too.
_STOPS = np.array(
    [[9, 14, 30], [26, 50, 105], [48, 104, 166], [120, 160, 170], [226, 180, 90], [255, 246, 214]]
)


def png(values: NDArray[np.uint8]) -> bytes:
    """Return a picture of values 0 to 255 (rows x columns) as PNG with a palette."""
    height, width = values.shape
    place = np.linspace(0, len(_STOPS) - 1, 256)
    palette = np.stack([np.interp(place, range(len(_STOPS)), _STOPS[:, c]) for c in range(3)], axis=1)
    lines = np.concatenate([np.zeros((height, 1), np.uint8), values], axis=1)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            chunk(b"PLTE", palette.round().astype(np.uint8).tobytes()),
            chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)),
            chunk(b"IEND", b""),
        )
    )


class Recent:
    """Keeps the recordings that were shown last, up to a number of bytes; each is made once, one at a time."""

    def __init__(self, limit: int = 64_000_000) -> None:
        self._limit = limit
        self._kept: OrderedDict[tuple[str, ...], Shown | None] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, ...], make: Callable[[], Sound | None]) -> Shown | None:
        """Return what is kept under `key`, or make it."""
        with self._lock:
            if key not in self._kept:
                sound = make()
                self._kept[key] = None if sound is None else show(sound)
            self._kept.move_to_end(key)
            found = self._kept[key]
            while (
                len(self._kept) > 1
                and sum(shown.size if shown else 100 for shown in self._kept.values()) > self._limit
            ):
                self._kept.popitem(last=False)
            return found


ASSETS = {
    "/": "index.html",
    **{
        f"/{name}": name
        for name in (
            *("review.css", "main.js", "dom.js", "api.js", "list.js", "case.js", "player.js", "agreement.js"),
            "icon.svg",
        )
    },
}
"""The only files that are served, by the address that asks for them."""

STATUSES = ("", "unlabeled", "labeled", "disputed")
LONGEST_ID = 2000


def queue_folder(folder: str | Path) -> Path | None:
    """Return the folder of the stutter audit that belongs to a folder: itself, or `stutter` in it."""
    folder = Path(folder)
    return next((place for place in (folder, folder / "stutter") if (place / QUEUE).is_file()), None)


def open_sources(folder: str | Path) -> dict[str, Source]:
    """Return where the cases of a folder come from; a folder without any raises one line."""
    folder = Path(folder)
    sources: dict[str, Source] = {}
    if is_reviewable(folder):
        sources[TRIALS] = Trials(open_run(folder))
    if (queue := queue_folder(folder)) is not None:
        sources[STUTTER] = Suspects(queue)
    if not sources:
        raise VoxauditError(
            f"{folder}: nothing to review here; give the folder of a finished run or of a stutter audit"
        )
    return sources


def review_app(folder: str | Path, *, reviewer: str = "") -> Handler:
    """Return the app over a run's folder, or a stutter audit's. `reviewer` is the name the page starts with."""
    return ReviewApp(Path(folder), reviewer).handle


class ReviewApp:
    """Answers requests from what is on disk; the only state is in the store of labels."""

    def __init__(self, folder: Path, reviewer: str = "") -> None:
        self._folder = folder
        self._reviewer = reviewer
        self._sources = open_sources(folder)
        self._store = LabelStore(folder)
        self._recent = Recent()
        self._get: Mapping[str, Callable[[Request], Response]] = {
            "/api/about": self._about,
            "/api/cases": self._cases,
            "/api/case": self._case,
            "/api/audio": lambda request: Response(200, self._side(request).wav, "audio/wav", ranges=True),
            "/api/wave": lambda request: json_response(self._side(request).wave),
            "/api/spectrogram": lambda request: Response(200, self._side(request).spectrogram, "image/png"),
            "/api/progress": self._progress,
            "/api/agreement": self._agreement,
            "/api/export": self._export,
        }

    def handle(self, request: Request) -> Response:
        """Answer one request."""
        if request.method == "POST":
            if request.path != "/api/label":
                raise HttpError(404, "nothing here")
            return self._label(request)
        if request.path == "/theme.css":
            return Response(200, themes().encode(), CONTENT_TYPES["css"])
        if request.path in ASSETS:
            return asset("voxaudit.review", ASSETS[request.path])
        if request.path not in self._get:
            raise HttpError(404, "nothing here")
        return self._get[request.path](request)

    def _about(self, request: Request) -> Response:
        sources = {
            name: {"total": source.total, **asdict(source.facets())} for name, source in self._sources.items()
        }
        return json_response(
            {
                "name": self._folder.resolve().name,
                "reviewer": self._reviewer,
                "reviewers": sorted({one.reviewer for one in self._store.history()}),
                "labels": LABELS,
                "kinds": KINDS,
                "page": PAGE,
                "comment": LONGEST_COMMENT,
                "sources": sources,
            }
        )

    def _source(self, name: object) -> tuple[str, Source]:
        if not isinstance(name, str) or name not in self._sources:
            raise HttpError(404, "no such source of cases")
        return name, self._sources[name]

    def _cases(self, request: Request) -> Response:
        name, source = self._source(request.query.get("source"))
        reviewer = request.query.get("reviewer", "")
        given = self._store.current(name)
        mine = {one.case: one for one in given if one.reviewer == reviewer}
        first = _number(request.query.get("first", "0"), "first", 100_000_000)
        size = _number(request.query.get("size", str(PAGE)), "size", 200)
        filters = self._filters(request.query, given, mine)
        page = source.page(filters, first, size)
        for case in page.cases:
            case["label"] = mine[case["id"]].label if case["id"] in mine else ""
        return json_response({"total": page.total, "first": first, "cases": page.cases})

    def _filters(self, query: Mapping[str, str], given: list[Given], mine: Mapping[str, Given]) -> Filters:
        only: set[str] | None = None
        without: set[str] = set()
        status = query.get("status", "")
        if status not in STATUSES:
            raise HttpError(400, "unknown status")
        if status == "unlabeled":
            without = set(mine)
        elif status == "labeled":
            only = set(mine)
        elif status == "disputed":
            # Of cases that this reviewer has judged already: before, the others' labels stay unseen.
            labels: dict[str, set[str]] = {}
            for one in given:
                labels.setdefault(one.case, set()).add(one.label)
            only = {case for case in mine if len(labels[case]) > 1}
        names = ("scenario", "recognizer", "group", "error", "text", "kind")
        wanted = {name: query.get(name, "") for name in names}
        return Filters(**wanted, sort=query.get("sort", ""), only=only, without=without)

    def _found(self, request: Request) -> tuple[str, Source, str, dict[str, Any]]:
        name, source = self._source(request.query.get("source"))
        id_ = request.query.get("id", "")
        case = source.case(id_) if len(id_) <= LONGEST_ID else None
        if case is None:
            raise HttpError(404, "no such case")
        return name, source, id_, case

    def _case(self, request: Request) -> Response:
        name, _, id_, case = self._found(request)
        return json_response({**case, **self._judged(name, id_, request.query.get("reviewer", ""))})

    def _judged(self, source: str, id_: str, reviewer: str) -> dict[str, Any]:
        """Return what was said of a case; of others' labels nothing before the reviewer has given one."""
        given = [one for one in self._store.current(source) if one.case == id_]
        mine = next((one for one in given if one.reviewer == reviewer), None)
        others = [one for one in given if one.reviewer != reviewer] if mine else []
        decision = decide(given)
        return {
            "mine": asdict(mine) if mine else None,
            "others": [asdict(one) for one in others],
            "disputed": mine is not None and len({one.label for one in given}) > 1,
            "decision": asdict(decision) if mine else None,
        }

    def _side(self, request: Request) -> Shown:
        name, source = self._source(request.query.get("source"))
        id_, side = request.query.get("id", ""), request.query.get("side", "")
        if side not in SIDES or len(id_) > LONGEST_ID:
            raise HttpError(404, "no such recording")
        shown = self._recent.get((name, id_, side), lambda: source.sound(id_, side))
        if shown is None:
            raise HttpError(404, "no such recording")
        return shown

    def _progress(self, request: Request) -> Response:
        name, source = self._source(request.query.get("source"))
        reviewer = request.query.get("reviewer", "")
        given = self._store.current(name)
        return json_response(
            {
                "total": source.total,
                "mine": sum(one.reviewer == reviewer for one in given),
                "cases": len({one.case for one in given}),
                "reviewers": sorted({one.reviewer for one in given}),
            }
        )

    def _agreement(self, request: Request) -> Response:
        name, _ = self._source(request.query.get("source"))
        found = summary(self._folder)[name]
        return json_response(found)

    def _export(self, request: Request) -> Response:
        ending = request.query.get("format", "csv")
        if ending not in ("csv", "jsonl"):
            raise HttpError(404, "labels are exported as csv or jsonl")
        content = exported(read_review(self._folder), ending)
        kind = "text/csv; charset=utf-8" if ending == "csv" else "application/x-ndjson; charset=utf-8"
        headers = {"Content-Disposition": f'attachment; filename="labels.{ending}"'}
        return Response(200, content, kind, headers)

    def _label(self, request: Request) -> Response:
        body = request.json()
        name, source = self._source(body.get("source"))
        texts = {key: _text(body.get(key, ""), key) for key in ("reviewer", "id", "label", "kind", "comment")}
        id_ = texts["id"]
        if len(id_) > LONGEST_ID or source.case(id_) is None:
            raise HttpError(404, "no such case")
        given = Given(
            reviewer_name(texts["reviewer"]),
            name,
            id_,
            texts["label"],
            texts["kind"],
            texts["comment"],
            body.get("final") is True,
        )
        kept = self._store.add(given)
        return json_response({"saved": asdict(kept), **self._judged(name, id_, kept.reviewer)})


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise HttpError(400, f"{name} must be text")
    return value


def _number(text: str, name: str, most: int) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 12 or int(text) > most:
        raise HttpError(400, f"{name} must be a number from 0 to {most}")
    return int(text)
