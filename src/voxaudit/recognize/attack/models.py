"""What can be attacked: a recognizer with gradients (in torch: CTC heads, saved Hugging Face models), or any engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from voxaudit.audio import Samples
from voxaudit.errors import VoxauditError, missing_extra, one_line
from voxaudit.recognize import ENGINES, Recognizer, make_recognizer, require
from voxaudit.recognize.python import resolve

Tensor = Any
"""A torch tensor. Torch is imported only when an attack runs, so its types cannot be named here."""


class AttackError(VoxauditError):
    """An attack that cannot be made: what is missing, and what to do instead."""


class Mistakes(NamedTuple):
    """What is wrong with a transcript: words and characters, and how many of each the text has."""

    words: int
    characters: int
    of_words: int
    of_characters: int


Judge = Callable[[str, str], Mistakes]
"""Says what is wrong with a transcript of a text: (text, transcript). How that is scored is for the caller to say."""


@runtime_checkable
class Differentiable(Protocol):
    """A recognizer whose loss can be differentiated with respect to the audio.

    `waveforms` are float tensors (utterances x samples), zero after each utterance's `lengths`; an answer must not
    depend on that padding, nor on the other utterances of the batch. An attribute `device` says where the tensors
    are wanted ("cpu" without one).
    """

    @property
    def rate(self) -> int:
        """The sample rate in Hz of the waveforms."""

    def loss(self, waveforms: Tensor, lengths: Tensor, texts: Sequence[str]) -> Tensor:
        """Return the training loss of each utterance against its text: one number each, with a gradient."""

    def transcribe(self, waveforms: Tensor, lengths: Tensor) -> list[str]:
        """Return what is heard in each utterance."""


def need_torch() -> Any:
    """Import torch, or raise one line that says how to install it."""
    try:
        return import_module("torch")
    except ImportError as error:
        raise missing_extra("torch", "attack") from error


def pad(clips: Sequence[Samples], device: str = "cpu") -> tuple[Tensor, Tensor]:
    """Return clips of unequal length as one float32 tensor with zeros behind them, and their lengths."""
    torch = need_torch()
    lengths = [len(clip) for clip in clips]
    batch = np.zeros((len(clips), max(lengths)), np.float32)
    for row, clip in zip(batch, clips, strict=True):
        row[: len(clip)] = clip
    return torch.from_numpy(batch).to(device), torch.tensor(lengths, device=device)


def device_of(model: Differentiable) -> str:
    """Return where a model wants its tensors."""
    return str(getattr(model, "device", "cpu"))


def hear(model: Differentiable, clips: Sequence[Samples], batch: int = 16) -> list[str]:
    """Return what a model hears in each clip, `batch` clips at a time."""
    torch = need_torch()
    texts: list[str] = []
    for first in range(0, len(clips), batch):
        some = clips[first : first + batch]
        with torch.no_grad():
            heard = list(model.transcribe(*pad(some, device_of(model))))
        if len(heard) != len(some) or not all(isinstance(text, str) for text in heard):
            raise AttackError(
                f"the recognizer's transcribe() must return {len(some)} texts for as many clips"
            )
        texts += heard
    return texts


def gradient(
    model: Differentiable, audio: Tensor, lengths: Tensor, texts: Sequence[str], wanted: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the losses of a batch and the gradient of their sum with respect to `wanted`, from which `audio` is made.

    A recognizer whose loss does not depend on the audio, or is not one number per utterance, raises one line.
    """
    torch = need_torch()
    losses = model.loss(audio, lengths, texts)
    if not isinstance(losses, torch.Tensor) or losses.shape != (len(texts),):
        shape = tuple(losses.shape) if isinstance(losses, torch.Tensor) else type(losses).__name__
        raise AttackError(f"the recognizer's loss() must return {len(texts)} numbers, not {shape}")
    if not losses.requires_grad:
        raise AttackError(NO_GRADIENT, see=("method",))
    (slope,) = torch.autograd.grad(losses.sum(), wanted, allow_unused=True)
    if slope is None:
        raise AttackError(NO_GRADIENT, see=("method",))
    return losses.detach(), slope


NO_GRADIENT = (
    "the recognizer gives no gradient with respect to the audio (features made outside torch, or under no_grad)."
    " Make them in torch, or use the method blackbox"
)


def reason(error: BaseException) -> str:
    """Return one line that says why a model could not take some audio."""
    kind = "" if isinstance(error, VoxauditError) else f"{type(error).__name__}: "
    return kind + one_line(error, 200)


BLANK = 0


@dataclass(frozen=True)
class _TokenModule:
    """A module whose classes are a blank, 0, and `tokens`: `tokens[k]` is class k + 1."""

    module: Any
    tokens: Sequence[str]
    rate: int
    words: bool = False
    device: str = "cpu"

    def encode(self, text: str) -> list[int]:
        """Return the classes of a text."""
        cased = in_case(text, self.tokens)
        known = {token: number for number, token in enumerate(self.tokens, start=1)}
        return [known[part] for part in (cased.split() if self.words else cased) if part in known]

    def spell(self, classes: Iterable[int]) -> str:
        """Return the text of classes."""
        return (" " if self.words else "").join(self.tokens[k - 1] for k in classes)


@dataclass(frozen=True)
class CtcModule(_TokenModule):
    """A module `(waveforms, lengths) -> (logits, frames)` whose class 0 is CTC's blank.

    `logits` are utterances x frames x (1 + tokens), `frames` how many of them belong to each utterance; `tokens[k]`
    is class k + 1: a character, or a word where `words` is set. Texts are lower- or upper-cased as the tokens are,
    and what has no token is left out.
    """

    def loss(self, waveforms: Tensor, lengths: Tensor, texts: Sequence[str]) -> Tensor:
        """Return the CTC loss of each utterance, -log P(text)."""
        logits, frames = self.module(waveforms, lengths)
        return ctc_losses(logits, frames, [self.encode(text) for text in texts], BLANK)

    def transcribe(self, waveforms: Tensor, lengths: Tensor) -> list[str]:
        """Return the greedy transcript of each utterance."""
        logits, frames = self.module(waveforms, lengths)
        return greedy(logits, frames, self.spell, BLANK)


MOST_SYMBOLS = 10
"""Tokens that a transducer may say in one frame."""


@dataclass(frozen=True)
class TransducerModule(_TokenModule):
    """A transducer (RNN-T): a module `(waveforms, lengths, said) -> (logits, frames)` whose class 0 is the blank.

    `said` are the tokens said so far, utterances x tokens, each row beginning with 0; `logits` are utterances x frames
    x tokens said x (1 + tokens), `frames` how many of them belong to each utterance. `tokens` and `words` are as for
    `CtcModule`. Any toolkit's encoder, prediction and joint networks fit, as long as features are made in torch.
    """

    def loss(self, waveforms: Tensor, lengths: Tensor, texts: Sequence[str]) -> Tensor:
        """Return the transducer loss of each utterance, -log P(text)."""
        torch = need_torch()
        labels = [self.encode(text) for text in texts]
        longest = max(map(len, labels))
        said = torch.tensor([[BLANK, *own, *[BLANK] * (longest - len(own))] for own in labels])
        logits, frames = self.module(waveforms, lengths, said.to(waveforms.device))
        return transducer_losses(logits, frames, labels, BLANK)

    def transcribe(self, waveforms: Tensor, lengths: Tensor) -> list[str]:
        """Return the greedy transcript of each utterance, one at a time."""
        texts = []
        for number, count in enumerate(lengths.tolist()):
            wave, length = waveforms[number : number + 1, :count], lengths[number : number + 1]
            kept = _greedy_transducer(partial(self.module, wave, length), waveforms.device)
            texts.append(self.spell(kept))
        return texts


def _greedy_transducer(step: Callable[[Tensor], tuple[Tensor, Tensor]], device: Any) -> list[int]:
    """Return the tokens that a transducer says: in each frame the best ones up to a blank."""
    torch = need_torch()
    said = [BLANK]
    logits, frames = step(torch.tensor([said], device=device))
    for frame in range(int(frames[0])):
        for _ in range(MOST_SYMBOLS):
            best = int(logits[0, frame, len(said) - 1].argmax())
            if best == BLANK:
                break
            said.append(best)
            logits, _ = step(torch.tensor([said], device=device))
    return said[1:]


def transducer_losses(logits: Tensor, frames: Tensor, labels: Sequence[Sequence[int]], blank: int) -> Tensor:
    """Return -log P(labels) of each utterance, over all paths through frames and tokens (Graves 2012, Eq. 16 to 18).

    `logits` are utterances x frames x (1 + tokens) x classes. Written out in torch, because what toolkits bring along
    needs builds of their own: a row of the lattice at a time, so that the gradient is that of autograd.
    """
    torch = need_torch()
    scores = logits.log_softmax(dim=-1)
    losses = []
    for own, count, label in zip(scores, frames.tolist(), labels, strict=True):
        rows = len(label) + 1
        stay = own[:count, :rows, blank]
        wanted = torch.tensor(list(label), dtype=torch.long, device=logits.device)
        say = own[:count, : rows - 1].gather(2, wanted[None, :, None].expand(count, -1, 1)).squeeze(2)
        # Within a frame: alpha(t, u) = logsumexp over where this frame was entered of what was said since.
        before = torch.cat([say.new_zeros(count, 1), say.cumsum(dim=1)], dim=1)
        alpha = before[0]
        for frame in range(1, count):
            entered = alpha + stay[frame - 1]
            alpha = torch.logcumsumexp(entered - before[frame], dim=0) + before[frame]
        losses.append(-(alpha[rows - 1] + stay[count - 1, rows - 1]))
    return torch.stack(losses)


def in_case(text: str, tokens: Iterable[str]) -> str:
    """Return a text in the case that all tokens have, if it is one: vocabularies of letters often have only one."""
    joined = "".join(tokens)
    if joined == joined.upper():
        return text.upper()
    return text.lower() if joined == joined.lower() else text


def ctc_losses(logits: Tensor, frames: Tensor, labels: Sequence[Sequence[int]], blank: int) -> Tensor:
    """Return the CTC loss of each utterance: infinite where its text needs more frames than it has."""
    torch = need_torch()
    scores = logits.log_softmax(dim=-1).transpose(0, 1)
    lengths = torch.tensor([len(label) for label in labels], device=logits.device)
    flat = torch.tensor(
        [token for label in labels for token in label], dtype=torch.long, device=logits.device
    )
    return torch.nn.functional.ctc_loss(scores, flat, frames, lengths, blank=blank, reduction="none")


def greedy(logits: Tensor, frames: Tensor, spell: Callable[[list[int]], str], blank: int) -> list[str]:
    """Return the text of the best class in each frame, repeats merged and blanks left out."""
    if logits.dim() != 3:
        raise AttackError(f"a CTC head gives utterances x frames x classes, not {tuple(logits.shape)}")
    texts = []
    for best, count in zip(logits.argmax(dim=-1).tolist(), frames.tolist(), strict=True):
        kept = [
            token
            for number, token in enumerate(best[:count])
            if token != blank and (number == 0 or token != best[number - 1])
        ]
        texts.append(spell(kept))
    return texts


def open_huggingface(folder: str | Path) -> Differentiable:
    """Return a model saved with `save_pretrained`, with its processor, from a folder. Nothing is downloaded.

    CTC models that take waveforms (Wav2Vec2, HuBERT, WavLM, data2vec, MMS), Whisper, other encoder-decoder models
    that take waveforms (Moonshine), and transducers (Parakeet RNN-T).
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
        if "ForRNNT" in names:
            kind = transformers.AutoModelForRNNT
        model = kind.from_pretrained(folder, local_files_only=True).eval().requires_grad_(False)
        processor = transformers.AutoProcessor.from_pretrained(folder, local_files_only=True)
        extractor, tokenizer = processor.feature_extractor, processor.tokenizer
    except (OSError, ValueError, AttributeError, KeyError, ImportError) as error:
        raise AttackError(f"hf:{folder}: cannot be loaded ({reason(error)})") from error
    return open_loaded(model, extractor, tokenizer, f"hf:{folder}")


def open_loaded(model: Any, extractor: Any, tokenizer: Any, name: str) -> Differentiable:
    """Return a Hugging Face model that was loaded already as one with gradients."""
    takes, kind = str(getattr(model, "main_input_name", "")), type(model).__name__
    if "CTC" in kind and takes == "input_values":
        return HuggingFaceCtc(model, extractor, tokenizer)
    if "ForRNNT" in kind and hasattr(extractor, "preemphasis"):
        return HuggingFaceTransducer(model, extractor, tokenizer)
    if takes == "input_values" or (hasattr(extractor, "mel_filters") and hasattr(extractor, "n_samples")):
        return HuggingFaceSeq2Seq(model, extractor, tokenizer)
    raise AttackError(
        f"{name}: {kind} takes features ({takes}) that are not made in torch here."
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


@dataclass(frozen=True)
class HuggingFaceTransducer(_Loaded):
    """A transducer whose log-mel features are made in torch (Parakeet RNN-T), one utterance at a time."""

    def loss(self, waveforms: Tensor, lengths: Tensor, texts: Sequence[str]) -> Tensor:
        """Return the transducer loss of each utterance."""
        torch = need_torch()
        blank = int(self.model.config.blank_token_id)
        losses = []
        for wave, count, text in zip(waveforms, lengths.tolist(), texts, strict=True):
            label = [token for token in self.tokenizer(text).input_ids if token != blank]
            said = torch.tensor([[blank, *label]], device=waveforms.device)
            found = self.model(**self._inputs(wave[:count]), decoder_input_ids=said)
            logits = found.logits if found.logits.dim() == 4 else found.logits[:, :, None]
            frames = torch.tensor([logits.shape[1]], device=waveforms.device)
            losses.append(transducer_losses(logits, frames, [label], blank))
        return torch.cat(losses)

    def transcribe(self, waveforms: Tensor, lengths: Tensor) -> list[str]:
        """Return what the model generates for each utterance."""
        texts = []
        for wave, count in zip(waveforms, lengths.tolist(), strict=True):
            made = self.model.generate(**self._inputs(wave[:count]))
            tokens = getattr(made, "sequences", made)
            texts += [text.strip() for text in self.tokenizer.batch_decode(tokens, skip_special_tokens=True)]
        return texts

    def _inputs(self, wave: Tensor) -> dict[str, Tensor]:
        torch = need_torch()
        features = normalized_log_mel(wave, self.extractor).to(next(self.model.parameters()).dtype)
        mask = torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)
        return {"input_features": features, "attention_mask": mask}


def normalized_log_mel(wave: Tensor, extractor: Any) -> Tensor:
    """Return Parakeet's features of one waveform, 1 x frames x mels, equal to its extractor's but differentiable."""
    torch = need_torch()
    emphasized = torch.cat([wave[:1], wave[1:] - extractor.preemphasis * wave[:-1]])
    window = torch.hann_window(extractor.win_length, periodic=False, device=wave.device)
    spectrum = torch.stft(
        emphasized[None],
        extractor.n_fft,
        extractor.hop_length,
        extractor.win_length,
        window,
        return_complex=True,
        pad_mode="constant",
    )
    power = spectrum.real**2 + spectrum.imag**2
    mel = (extractor.mel_filters.to(wave.device) @ power + 2.0**-24).log().transpose(1, 2)
    mel = mel[:, : len(wave) // extractor.hop_length]
    return (mel - mel.mean(dim=1, keepdim=True)) / (mel.std(dim=1, keepdim=True) + 1e-5)


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
    """Return normalized waveforms, the mask where the model knows one, and the lengths of some utterances."""
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


@dataclass(frozen=True)
class Victim:
    """A recognizer under attack: with gradients (`model`), or heard through worker processes (`recognizer`)."""

    name: str
    model: Differentiable | None = None
    recognizer: Recognizer | None = None

    def with_gradient(self, method: str) -> Victim:
        """Return it with its model's gradient, loaded where its engine has one (see `engine_with_gradient`).

        Any other engine raises one line.
        """
        from voxaudit.recognize.attack.engines import engine_with_gradient

        model = self.model or (None if self.recognizer is None else engine_with_gradient(self.recognizer))
        if model is None:
            raise AttackError(
                f"recognizer '{self.name}' gives no gradient, so the method {method} cannot attack it."
                " Use the method blackbox, or name a model with gradients (the engines whisper, transformers,"
                " speechbrain and nemo,"
                " file.py:object, hf:FOLDER)",
                see=("method",),
            )
        return replace(self, model=model)


_NAMED = re.compile(r"(?P<name>[^:=,]+)=(?P<spec>[^=].*)", re.DOTALL)
"""A name for what is attacked; the settings of an engine come after a colon."""


def open_victim(spec: str) -> Victim:
    """Return what a line names: `hf:FOLDER`, `file.py:object`, `module:object`, or an engine such as `moonshine`.

    `NAME=` before it gives it a name, such as the one it has in a run: `whisper=hf:models/whisper-base`.
    The object is a recognizer with gradients (see `Differentiable`), or a function without arguments, or a class,
    that makes one.
    """
    named = _NAMED.fullmatch(spec)
    if named is not None:
        return replace(open_victim(named["spec"]), name=named["name"])
    head, colon, rest = spec.partition(":")
    if head == "hf":
        need_torch()
        return Victim(spec, model=open_huggingface(rest))
    if colon and head not in ENGINES.names():
        need_torch()
        return Victim(spec, model=as_differentiable(resolve(spec), spec))
    recognizer = make_recognizer(spec)
    require(recognizer)
    return Victim(spec, recognizer=recognizer)


VictimLike = str | Victim | Differentiable | Recognizer | Callable[..., Any]


def open_victims(recognizers: Sequence[VictimLike] | Mapping[str, VictimLike]) -> list[Victim]:
    """Return what is attacked, from names (see `open_victim`) or objects; each has a name of its own."""
    if isinstance(recognizers, Mapping):
        return [replace(_victim(one), name=name) for name, one in recognizers.items()]
    victims = [_victim(one) for one in recognizers]
    names = [one.name for one in victims]
    for name in names:
        if names.count(name) > 1:
            raise AttackError(f"two recognizers are called '{name}': give them names of their own")
    return victims


def _victim(found: VictimLike) -> Victim:
    if isinstance(found, str):
        return open_victim(found)
    if isinstance(found, Victim):
        return found
    name = getattr(found, "__name__", type(found).__name__.lower())
    if isinstance(found, Differentiable):
        return Victim(name, model=as_differentiable(found, name))
    recognizer = make_recognizer(found)
    require(recognizer)
    return Victim(name, recognizer=recognizer)


def as_differentiable(found: Any, name: str) -> Differentiable:
    """Return an object as a recognizer with gradients, made first where it is a class or a function."""
    if isinstance(found, type) or (callable(found) and not isinstance(found, Differentiable)):
        try:
            found = found()
        except AttackError:
            raise
        except Exception as error:
            raise AttackError(f"{name}: cannot be made ({reason(error)})") from error
    missing = [part for part in ("rate", "loss", "transcribe") if not hasattr(found, part)]
    if missing:
        raise AttackError(
            f"{name}: {type(found).__name__} has no {', '.join(missing)}, so it cannot be attacked by its gradient."
            f" For the method blackbox write python:{name} and give a function (samples, rate) -> text"
        )
    if not isinstance(found.rate, int) or found.rate < 1:
        raise AttackError(f"{name}: rate must be a whole number of Hz, not {one_line(repr(found.rate), 40)}")
    model: Differentiable = found
    return model


def hear_each(model: Differentiable, clips: Sequence[Samples], batch: int = 16) -> list[str | None]:
    """Return what a model hears in each clip, None where it cannot take one; the others do not suffer from it."""
    texts: list[str | None] = []
    for first in range(0, len(clips), batch):
        some = clips[first : first + batch]
        try:
            texts += hear(model, some, batch)
        except AttackError:
            raise
        except Exception:
            texts += [_hear_one(model, clip) for clip in some]
    return texts


def _hear_one(model: Differentiable, clip: Samples) -> str | None:
    try:
        return hear(model, [clip])[0]
    except AttackError:
        raise
    except Exception:
        return None
