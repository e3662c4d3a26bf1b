"""Meaning: texts as vectors, and how alike two texts are.

Cosine similarity misses flips of meaning ("turn on the light", "turn off the light": 0.91). Show the words beside it.
"""

from __future__ import annotations

import json
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from voxaudit.errors import VoxauditError, missing_extra, one_line
from voxaudit.recognize.files import installed
from voxaudit.recognize.weights.fetch import fetched, known_model

FloatArray = NDArray[np.float64]
Encoder = Callable[[Sequence[str]], FloatArray]
"""Texts to vectors of length 1, one row a text."""

_ENOUGH_VARIANCE = 0.9

MINILM = "minilm"
"""all-MiniLM-L6-v2, sentence embeddings: once `voxaudit models fetch minilm` has brought its files."""
NGRAMS = "ngrams"
"""Letters of words: needs nothing, and knows forms of words but nothing of their meaning."""
DIMENSIONS = 1024
"""Places that n-grams are hashed to."""
LENGTHS = (3, 4, 5)
"""Letters in an n-gram; the ends of a word count as letters."""


def best_model() -> str:
    """Return the name of the best model that is on this machine: `minilm` if it was fetched, else `ngrams`."""
    there = installed("onnxruntime") and fetched(known_model(MINILM)) is not None
    return MINILM if there else NGRAMS


def encoder(model: str = MINILM) -> Encoder:
    """Return the encoder `minilm`, `ngrams`, or any sentence-transformers model by its name or folder."""
    if model == NGRAMS:
        return ngrams
    return minilm() if model == MINILM else _sentence_transformer(model)


def ngrams(texts: Sequence[str]) -> FloatArray:
    """Return texts as hashed n-grams of their words' letters: the same everywhere, without a model.

    A word is all runs of 3 to 5 of its letters, its two ends among them; each adds to or takes from a place that its
    checksum names. Said twice a word weighs 1.4 times, twice as long 1.2 times, and the order of words nothing: so a
    similarity of 0.8 is about where that of sentence embeddings is for what recognizers mishear.

    >>> one, same, near, other = ngrams(["the black cat", "Cat, the black", "the black cats", "we sail tomorrow"])
    >>> [round(float(one @ text), 1) for text in (same, near, other)]
    [1.0, 0.8, -0.0]
    """
    vectors = np.zeros((len(texts), DIMENSIONS))
    for vector, text in zip(vectors, texts, strict=True):
        for word, times in Counter(_words(text)).items():
            ended = f"<{word}>"
            parts = [ended[i : i + n] for n in LENGTHS for i in range(len(ended) - n + 1)]
            for part in parts:
                place = zlib.crc32(part.encode("utf-8", "surrogatepass"))
                vector[place % DIMENSIONS] += (1 if place >> 31 else -1) * times**0.5 / len(parts) ** 0.25
    lengths: FloatArray = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-12)


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "'" else " " for c in text.lower()).split()


def minilm() -> Encoder:
    """Return the encoder all-MiniLM-L6-v2 (int8, ONNX) whose files were fetched; no network is used."""
    model = known_model(MINILM)
    folder = fetched(model)
    if folder is None:
        raise VoxauditError(
            f"the sentence-embedding model {MINILM} is not on this machine. Fetch it with: voxaudit models fetch"
            f" {MINILM}, or use {NGRAMS}, which compares letters"
        )
    try:
        from onnxruntime import InferenceSession, SessionOptions
    except ImportError as error:
        raise missing_extra("onnxruntime", "embeddings") from error
    words = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    options = SessionOptions()
    options.intra_op_num_threads = 1
    session = InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])

    def encode(texts: Sequence[str]) -> FloatArray:
        # One by one: the int8 scales of a batch would make a text's vector depend on its neighbors.
        rows = []
        for text in texts:
            ids = np.array([word_pieces(text, words)], dtype=np.int64)
            feeds = {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "token_type_ids": np.zeros_like(ids),
            }
            mean = session.run(None, feeds)[0][0].mean(axis=0, dtype=np.float64)
            rows.append(mean / np.linalg.norm(mean))
        return np.array(rows)

    return encode


_MOST_PIECES = 128
_LONGEST_WORD = 100


def word_pieces(text: str, vocabulary: Mapping[str, int]) -> list[int]:
    """Return the numbers of a text's pieces as BERT (uncased) cuts it: 128 at most, its two marks included.

    Lower case, no accents, every symbol and every Chinese character a word; of a word the longest piece that is
    known, then the longest (after `##`) of what is left. A word that cannot be made of pieces is unknown as a whole.

    >>> known = {w: n for n, w in enumerate(["[CLS]", "[SEP]", "[UNK]", "play", "##ing", "cafe", "."])}
    >>> word_pieces("Playing  Caf\u00e9. Jazz", known)
    [0, 3, 4, 5, 6, 2, 1]
    """
    plain = unicodedata.normalize("NFD", "".join(" " if c in "\t\n\r" else c for c in text)).lower()
    words = "".join(
        f" {c} " if _stands_alone(c) else " " if c.isspace() else c
        for c in plain
        if unicodedata.category(c) != "Mn" and (unicodedata.category(c)[0] != "C" and c != "\ufffd")
    ).split()
    found: list[int] = []
    for word in words:
        pieces: list[int] = []
        start = 0
        while start < len(word) <= _LONGEST_WORD:
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in vocabulary), None)
            if end is None:
                break
            pieces.append(vocabulary[mark + word[start:end]])
            start = end
        found += pieces if start == len(word) else [vocabulary["[UNK]"]]
    return [vocabulary["[CLS]"], *found[: _MOST_PIECES - 2], vocabulary["[SEP]"]]


def _stands_alone(character: str) -> bool:
    code = ord(character)
    if code < 128:
        return character.isprintable() and not character.isalnum() and character != " "
    if unicodedata.category(character)[0] == "P":
        return True
    return any(
        low <= code <= high
        for low, high in (
            *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF)),
            *((0x20000, 0x2A6DF), (0x2A700, 0x2CEAF), (0x2F800, 0x2FA1F)),
        )
    )


def _sentence_transformer(model: str) -> Encoder:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise VoxauditError(
            f"embedding model '{one_line(model, 80)}': install the package sentence-transformers, or use {MINILM}"
        ) from error
    try:
        loaded = SentenceTransformer(model)
    except Exception as error:  # a hub that cannot be reached, a folder that is no model
        raise VoxauditError(
            f"embedding model '{one_line(model, 80)}' cannot be loaded ({one_line(error, 200)})"
        ) from error

    def encode(texts: Sequence[str]) -> FloatArray:
        return np.asarray(loaded.encode(list(texts), normalize_embeddings=True), dtype=np.float64)

    return encode


class Meaning:
    """Similarities of texts by their embeddings; every distinct text is embedded once."""

    def __init__(self, encode: Encoder) -> None:
        self._encode = encode
        self._vectors: dict[str, FloatArray] = {}

    def add(self, texts: Iterable[str]) -> None:
        """Embed texts that are not known yet. An empty text means nothing and has no vector."""
        new = [text for text in dict.fromkeys(texts) if text and text not in self._vectors]
        if new:
            self._vectors.update(zip(new, self._encode(new), strict=True))

    def similarity(self, one: str, other: str) -> float:
        """Return the cosine similarity of two texts, -1 to 1; two empty texts are alike (1), one is not (0)."""
        if one == other:
            return 1.0
        if not one or not other:
            return 0.0
        self.add((one, other))
        return float(self._vectors[one] @ self._vectors[other])


def principal_components(
    vectors: FloatArray, counts: NDArray[np.int64], most: int
) -> tuple[FloatArray, float]:
    """Return standardized principal components, one row per vector, and the share of variance they hold.

    `counts` says how often each vector occurs. At most `most` components are kept, and no more than hold 90 % of
    the variance. Signs are fixed: the largest loading of each is positive.
    """
    weight = counts / counts.sum()
    centered = vectors - weight @ vectors
    values, axes = np.linalg.eigh((centered * weight[:, None]).T @ centered)
    values, axes = np.maximum(values[::-1], 0.0), axes[:, ::-1]
    share = np.cumsum(values) / values.sum()
    kept = min(most, int(np.searchsorted(share, _ENOUGH_VARIANCE)) + 1)
    axes = axes[:, :kept]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(kept)])
    scores = centered @ axes
    return scores / np.sqrt(weight @ scores**2), float(share[kept - 1])
