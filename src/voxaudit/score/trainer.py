"""Error rates by group while a model is trained: a `compute_metrics` for `transformers.Trainer`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from voxaudit.errors import VoxauditError
from voxaudit.score.align import count_words
from voxaudit.score.counts import Counts
from voxaudit.score.normalize import normalizer

IGNORED = -100
"""The label that losses of transformers pass over."""


def trainer_metrics(
    processor: Any, groups: Mapping[str, Sequence[str | None]] | None = None, *, rules: str = "basic"
) -> Callable[[Any], dict[str, float]]:
    """Return a `compute_metrics` that gives the word error rate of all and of every group of the evaluation set.

    `processor` has `batch_decode`, and a tokenizer with a padding token, as those of transformers do. Predictions are
    token ids, or scores of which the largest counts. `groups` has for every attribute a value per example, in the
    order of the evaluation set (`eval_dataset["gender"]`). `rules` names the normalizer of both texts.

    The result has `wer`, `wer_ATTRIBUTE_GROUP`, and `ratio_ATTRIBUTE`, the largest rate of a group over the smallest:
    choose the checkpoint by `metric_for_best_model="wer_gender_female"`, or by the worst group (`worst_wer`). Rates
    are sums of errors over sums of words. Without speakers there is no interval: audit the model that you keep.
    """
    normalize = normalizer(rules)

    def decode(ids: Any, **how: bool) -> list[str]:
        tokens = getattr(processor, "tokenizer", processor)
        ids = np.where(np.asarray(ids) == IGNORED, tokens.pad_token_id, ids)
        return [normalize(text) for text in processor.batch_decode(ids, skip_special_tokens=True, **how)]

    def compute_metrics(prediction: Any) -> dict[str, float]:
        heard = prediction.predictions
        heard = np.asarray(heard[0] if isinstance(heard, tuple) else heard)
        scores = heard.ndim == 3
        texts = decode(heard.argmax(axis=-1) if scores else heard)
        # Scores of CTC: equal neighbors are one sound there, and two letters in the references.
        said = decode(prediction.label_ids, **({"group_tokens": False} if scores else {}))
        return _rates([count_words(*pair) for pair in zip(said, texts, strict=True)], groups or {})

    return compute_metrics


def _rates(counts: Sequence[Counts], groups: Mapping[str, Sequence[str | None]]) -> dict[str, float]:
    found = {"wer": _rate(counts)}
    for attribute, values in groups.items():
        if len(values) != len(counts):
            raise VoxauditError(
                f"'{attribute}' has {len(values)} values, the evaluation set {len(counts)} examples: give one for each"
            )
        names = sorted({value for value in values if value})
        rates = {
            name: _rate([one for one, value in zip(counts, values, strict=True) if value == name])
            for name in names
        }
        found |= {f"wer_{attribute}_{name}": rate for name, rate in rates.items()}
        known = [rate for rate in rates.values() if rate == rate]
        if len(known) > 1 and min(known) > 0:
            found[f"ratio_{attribute}"] = max(known) / min(known)
    shares = [rate for name, rate in found.items() if name.startswith("wer_")]
    if shares:
        found["worst_wer"] = max(shares)
    return found


def _rate(counts: Sequence[Counts]) -> float:
    rate = sum(counts, Counts.zero()).wer
    return float("nan") if rate is None else rate
