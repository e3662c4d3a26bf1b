"""Saved Hugging Face models as recognizers that can be attacked: the features are made in torch, so gradients flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from voxaudit.audits.attack.base import AttackError, Differentiable, Tensor, need_torch, reason
from voxaudit.audits.attack.ctc import ctc_losses, in_case


def open_huggingface(folder: str | Path) -> Differentiable:
    """Return a model saved with `save_pretrained`, with its processor, from a folder. Nothing is downloaded.

    CTC models that take waveforms (Wav2Vec2, HuBERT, WavLM, data2vec, MMS), Whisper, and other encoder-decoder
    models that take waveforms (Moonshine).
    """
    need_torch()
    folder = Path(folder)
    if not (folder / "config.json").is_file():
        raise AttackError(f"hf:{folder}: no config.json in this folder. Save model and processor there first")
    try:
        transformers: Any = import_module("transformers")
    except ImportError as error:
        raise AttackError(
            "transformers is not installed. Install it with: pip install transformers"
        ) from error
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        names = " ".join(getattr(config, "architectures", None) or ())
        kind = transformers.AutoModelForCTC if "CTC" in names else transformers.AutoModelForSpeechSeq2Seq
        model = kind.from_pretrained(folder, local_files_only=True).eval().requires_grad_(False)
        processor = transformers.AutoProcessor.from_pretrained(folder, local_files_only=True)
        extractor, tokenizer = processor.feature_extractor, processor.tokenizer
    except (OSError, ValueError, AttributeError, KeyError, ImportError) as error:
        raise AttackError(f"hf:{folder}: cannot be loaded ({reason(error)})") from error
    takes = str(getattr(model, "main_input_name", ""))
    if "CTC" in names and takes == "input_values":
        return HuggingFaceCtc(model, extractor, tokenizer)
    if takes == "input_values" or hasattr(extractor, "mel_filters"):
        return HuggingFaceSeq2Seq(model, extractor, tokenizer)
    raise AttackError(
        f"hf:{folder}: {names or type(model).__name__} takes features ({takes}) that are not made in torch here."
        " Wrap it yourself as file.py:object with rate, loss and transcribe"
    )


@dataclass(frozen=True)
class _Loaded:
    model: Any
    extractor: Any
    tokenizer: Any

    @property
    def rate(self) -> int:
        """The sample rate in Hz."""
        return int(self.extractor.sampling_rate)

    @property
    def device(self) -> str:
        """Where the model is."""
        return str(self.model.device)


@dataclass(frozen=True)
class HuggingFaceCtc(_Loaded):
    """A CTC model that takes waveforms."""

    def loss(self, waveforms: Tensor, lengths: Tensor, texts: Sequence[str]) -> Tensor:
        """Return the CTC loss of each utterance."""
        labels = [self._encode(text) for text in texts]
        return _in_parts(
            self._alone(lengths),
            lambda k: ctc_losses(*self._logits(waveforms, lengths, k), [labels[n] for n in k], self._blank),
            len(texts),
        )

    def transcribe(self, waveforms: Tensor, lengths: Tensor) -> list[str]:
        """Return the greedy transcript of each utterance."""
        texts: list[str] = []
        for part in _parts(self._alone(lengths), len(lengths)):
            logits, frames = self._logits(waveforms, lengths, part)
            best = logits.argmax(dim=-1)
            texts += [
                self.tokenizer.decode(row[:count]) for row, count in zip(best, frames.tolist(), strict=True)
            ]
        return texts

    @property
    def _blank(self) -> int:
        return int(self.model.config.pad_token_id)

    def _alone(self, lengths: Tensor) -> bool:
        """Say whether utterances must be taken one by one: some models hear the padding.

        Those without a mask, and data2vec, whose stacked positional convolutions reach into it in spite of the mask.
        """
        heard = not self.extractor.return_attention_mask or self.model.config.model_type.startswith(
            "data2vec"
        )
        return heard and bool((lengths != lengths.max()).any())

    def _encode(self, text: str) -> list[int]:
        letters = [token for token in self.tokenizer.get_vocab() if len(token) == 1]
        ids = self.tokenizer(in_case(text, letters)).input_ids
        unknown = self.tokenizer.unk_token_id
        return [token for token in ids if token != unknown]

    def _logits(self, waveforms: Tensor, lengths: Tensor, chosen: list[int]) -> tuple[Tensor, Tensor]:
        values, mask, lengths = _inputs(self.model, self.extractor, waveforms, lengths, chosen)
        logits = self.model(values, attention_mask=mask).logits
        frames = self.model._get_feat_extract_output_lengths(lengths).clamp(max=logits.shape[1])
        return logits, frames


@dataclass(frozen=True)
class HuggingFaceSeq2Seq(_Loaded):
    """An encoder-decoder model: Whisper, whose log-mel features are made in torch, or one that takes waveforms."""

    def loss(self, waveforms: Tensor, lengths: Tensor, texts: Sequence[str]) -> Tensor:
        """Return the mean cross-entropy of each utterance's tokens."""
        torch = need_torch()
        labels = [self._encode(text) for text in texts]
        longest = max(map(len, labels))
        padded = torch.tensor(
            [one + [-100] * (longest - len(one)) for one in labels], device=waveforms.device
        )

        def part(chosen: list[int]) -> Tensor:
            some = padded[chosen]
            logits = self.model(**self._inputs(waveforms, lengths, chosen), labels=some).logits
            losses = torch.nn.functional.cross_entropy(
                logits.transpose(1, 2), some, ignore_index=-100, reduction="none"
            )
            return losses.sum(dim=1) / (some != -100).sum(dim=1)

        return _in_parts(self._alone(lengths), part, len(texts))

    def transcribe(self, waveforms: Tensor, lengths: Tensor) -> list[str]:
        """Return what the model generates for each utterance."""
        texts: list[str] = []
        for part in _parts(self._alone(lengths), len(lengths)):
            tokens = self.model.generate(**self._inputs(waveforms, lengths, part))
            texts += [text.strip() for text in self.tokenizer.batch_decode(tokens, skip_special_tokens=True)]
        return texts

    def _alone(self, lengths: Tensor) -> bool:
        """Say whether utterances must be taken one by one: models that take waveforms hear the padding."""
        return not self._mel and bool((lengths != lengths.max()).any())

    @property
    def _mel(self) -> bool:
        return hasattr(self.extractor, "mel_filters")

    def _encode(self, text: str) -> list[int]:
        ids = list(self.tokenizer(text).input_ids)
        end, start = self.tokenizer.eos_token_id, self.model.config.decoder_start_token_id
        if ids and ids[0] == start:  # the model puts it there itself
            ids = ids[1:]
        return ids if ids and ids[-1] == end else [*ids, end]

    def _inputs(self, waveforms: Tensor, lengths: Tensor, chosen: list[int]) -> dict[str, Tensor]:
        if self._mel:
            dtype = next(self.model.parameters()).dtype
            return {"input_features": log_mel(waveforms[chosen].to(dtype), lengths[chosen], self.extractor)}
        values, mask, _ = _inputs(self.model, self.extractor, waveforms, lengths, chosen)
        return {"input_values": values} if mask is None else {"input_values": values, "attention_mask": mask}


def log_mel(waveforms: Tensor, lengths: Tensor, extractor: Any) -> Tensor:
    """Return Whisper's log-mel features, utterances x mels x frames, equal to its extractor's but differentiable.

    Audio longer than the model's window (30 s) raises one line.
    """
    torch = need_torch()
    window = int(extractor.n_samples)
    if int(lengths.max()) > window:
        raise AttackError(
            f"audio of {int(lengths.max()) / extractor.sampling_rate:.1f} s is longer than this model's window of"
            f" {window / extractor.sampling_rate:g} s: cut it first"
        )
    short = waveforms[:, :window]
    padded = torch.nn.functional.pad(short, (0, window - short.shape[1]))
    if getattr(extractor, "do_normalize", False):
        padded = _normalize(padded, lengths)
    size, hop = int(extractor.n_fft), int(extractor.hop_length)
    shape = torch.hann_window(size, dtype=padded.dtype, device=padded.device)
    spectrum = torch.stft(padded, size, hop, window=shape, return_complex=True)[..., :-1]
    power = spectrum.real**2 + spectrum.imag**2
    filters = torch.as_tensor(extractor.mel_filters, dtype=padded.dtype, device=padded.device)
    mel = (filters.T @ power).clamp(min=1e-10).log10()
    mel = torch.maximum(mel, mel.amax(dim=(1, 2), keepdim=True) - 8.0)
    return (mel + 4.0) / 4.0


def _inputs(
    model: Any, extractor: Any, waveforms: Tensor, lengths: Tensor, chosen: list[int]
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Return normalised waveforms, the mask where the model knows one, and the lengths of some utterances."""
    torch = need_torch()
    lengths = lengths[chosen]
    longest = int(lengths.max())
    values = waveforms[chosen][:, :longest].to(next(model.parameters()).dtype)
    if getattr(extractor, "do_normalize", False):
        values = _normalize(values, lengths)
    if not extractor.return_attention_mask:
        return values, None, lengths
    mask = (torch.arange(longest, device=values.device)[None] < lengths[:, None]).long()
    return values, mask, lengths


def _normalize(values: Tensor, lengths: Tensor) -> Tensor:
    """Return each utterance with mean 0 and variance 1 over its own samples, zeros behind it."""
    torch = need_torch()
    mask = torch.arange(values.shape[1], device=values.device)[None] < lengths[:, None]
    count = lengths[:, None].to(values.dtype)
    mean = (values * mask).sum(dim=1, keepdim=True) / count
    variance = (((values - mean) * mask) ** 2).sum(dim=1, keepdim=True) / count
    return (values - mean) / (variance + 1e-7).sqrt() * mask


def _parts(alone: bool, count: int) -> list[list[int]]:
    return [[number] for number in range(count)] if alone else [list(range(count))]


def _in_parts(alone: bool, loss: Any, count: int) -> Tensor:
    return need_torch().cat([loss(part) for part in _parts(alone, count)])
