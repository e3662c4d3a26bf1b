"""Engines with gradients: the loss of the model inside, and the transcripts of the engine itself.

What is judged under attack is then what a run judges: the same decoding, the same settings, the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from voxaudit.audio import Audio
from voxaudit.recognize import Recognizer
from voxaudit.recognize.attack.models import (
    AttackError,
    Differentiable,
    Tensor,
    ctc_losses,
    in_case,
    log_mel,
    need_torch,
    open_loaded,
    transducer_losses,
)
from voxaudit.recognize.base import Transcriber, as_transcripts

Losses = Callable[[Tensor, Tensor, Sequence[str]], Tensor]
"""(waveforms, lengths, texts) to one loss per utterance."""


@dataclass(frozen=True)
class EngineWithGradient:
    """A loaded engine (`hear`) and the losses of the model inside it."""

    rate: int
    hear: Transcriber
    losses: Losses
    device: str = "cpu"

    def loss(self, waveforms: Tensor, lengths: Tensor, texts: Sequence[str]) -> Tensor:
        """Return the loss of each utterance against its text."""
        return self.losses(waveforms, lengths, texts)

    def transcribe(self, waveforms: Tensor, lengths: Tensor) -> list[str]:
        """Return what the engine hears in each utterance, one at a time, as in a run."""
        clips = [
            Audio(one[:count].detach().cpu().numpy(), self.rate)
            for one, count in zip(waveforms, lengths.tolist(), strict=True)
        ]
        return [as_transcripts(self.hear([clip]), 1)[0].text for clip in clips]


def engine_with_gradient(recognizer: Recognizer) -> Differentiable | None:
    """Return a recognizer's model with its gradient, loaded; None where the engine has none.

    Those are `whisper` (OpenAI's, in torch), `transformers` (the models that `hf:FOLDER` takes), `speechbrain` (CTC,
    attention and transducers) and `nemo` (CTC and transducers).
    """
    make = _LOSSES.get(f"{type(recognizer).__module__}:{type(recognizer).__name__}")
    if make is None:
        return None
    need_torch()
    loaded: Any = recognizer.load()
    device = str(getattr(recognizer, "device", "cpu"))
    return EngineWithGradient(int(recognizer.rate or 16_000), loaded, make(loaded, recognizer), device)


def _whisper(loaded: Any, settings: Any) -> Losses:
    """Return the losses of OpenAI's Whisper: of the text's tokens and the end, after the start and the language."""
    audio, tokenizers = (import_module(f"whisper.{name}") for name in ("audio", "tokenizer"))
    model = loaded.model.requires_grad_(False)
    tokenizer: Any = tokenizers.get_tokenizer(
        model.is_multilingual,
        num_languages=model.num_languages,
        language=settings.language or "en",
        task=settings.task,
    )
    shape = SimpleNamespace(
        n_samples=audio.N_SAMPLES,
        sampling_rate=audio.SAMPLE_RATE,
        n_fft=audio.N_FFT,
        hop_length=audio.HOP_LENGTH,
        mel_filters=audio.mel_filters(model.device, model.dims.n_mels).T,
    )
    start = list(tokenizer.sot_sequence_including_notimestamps)

    def losses(waveforms: Tensor, lengths: Tensor, texts: Sequence[str]) -> Tensor:
        heard = model.encoder(log_mel(waveforms, lengths, shape))
        said = [[*tokenizer.encode(f" {text.strip()}"), tokenizer.eot] for text in texts]
        return token_losses(start, said, lambda given: model.decoder(given, heard), heard.device)

    return losses


def _transformers(loaded: Any, settings: Any) -> Losses:
    model, processor = loaded.model.requires_grad_(False), loaded.processor
    extractor, tokenizer = getattr(processor, "feature_extractor", processor), processor.tokenizer
    return open_loaded(model, extractor, tokenizer, f"transformers:{settings.model}").loss


Encode = Callable[[Tensor, int], tuple[Tensor, Tensor]]
"""One waveform (1 x samples) and its length to what the encoder makes of it, and how many frames that has."""


def _one_by_one(encode: Encode, loss: Callable[[Tensor, Tensor, str], Tensor]) -> Losses:
    """Return the losses of a model that hears the padding: each utterance is taken alone."""

    def losses(waveforms: Tensor, lengths: Tensor, texts: Sequence[str]) -> Tensor:
        each = zip(waveforms, lengths.tolist(), texts, strict=True)
        return need_torch().cat(
            [loss(*encode(wave[None, :count], count), text) for wave, count, text in each]
        )

    return losses


def _speechbrain(loaded: Any, settings: Any) -> Losses:
    """Return the losses of a SpeechBrain model: CTC, or those of what its beam search decodes with."""
    torch = need_torch()
    model: Any = loaded.model
    model.mods.requires_grad_(False)
    whole = torch.ones(1, device=model.device)
    search = model.mods["decoder"] if "decoder" in model.mods else None  # noqa: SIM401 (it has no get)

    def label(text: str) -> list[int]:
        if hasattr(model.tokenizer, "lab2ind"):
            known = model.tokenizer.lab2ind
            cased = in_case(text, (token for token in known if len(token) == 1))
            return [known[letter] for letter in cased if letter in known]
        return list(model.tokenizer.encode_as_ids(text))

    def encode(wave: Tensor, count: int) -> tuple[Tensor, Tensor]:
        heard = model.encode_batch(wave, whole)
        return heard, torch.tensor([heard.shape[1]], device=heard.device)

    def loss(heard: Tensor, frames: Tensor, text: str) -> Tensor:
        own = label(text)
        if search is None:
            blank = int(getattr(model.hparams, "blank_index", 0))
            return ctc_losses(heard, frames, [own], blank)
        if hasattr(search, "tjoint"):
            said = torch.tensor([[search.blank_id, *own]], device=heard.device)
            predicted, _ = search._forward_PN(said, search.decode_network_lst)
            logits = search.tjoint(heard[:, :, None], predicted[:, None])
            logits = search._forward_after_joint(logits, search.classifier_network)
            return transducer_losses(logits, frames, [own], int(search.blank_id))

        def logits_of(given: Tensor) -> Tensor:
            if hasattr(search, "dec"):
                return search.fc(search.dec(search.emb(given), heard, whole)[0])
            return search.fc(search.model.decode(given, heard, whole)[0])

        return token_losses([int(search.bos_index)], [[*own, int(search.eos_index)]], logits_of, heard.device)

    return _one_by_one(encode, loss)


def _nemo(loaded: Any, settings: Any) -> Losses:
    """Return the losses of a NeMo model: CTC, or a transducer without durations."""
    torch = need_torch()
    model: Any = loaded.model.requires_grad_(False)
    # The preprocessor itself never has a gradient; what it calls has one unless it was switched off, as it usually is.
    features: Any = model.preprocessor.featurizer
    features.use_grads = True
    features.__dict__.pop("forward", None)
    joint: Any = getattr(model, "joint", None)
    if not hasattr(model, "decoder") or (joint is not None and joint.num_extra_outputs):
        raise AttackError(
            f"nemo: {type(model).__name__} has a loss that is not made here (CTC and RNN-T are)."
            " Wrap it yourself as file.py:object with rate, loss and transcribe"
        )

    def encode(wave: Tensor, count: int) -> tuple[Tensor, Tensor]:
        mel, frames = features(wave, torch.tensor([count], device=wave.device))
        heard, frames, *_ = model(processed_signal=mel, processed_signal_length=frames)
        return heard, frames

    def label(text: str) -> list[int]:
        if hasattr(model, "tokenizer"):
            return list(model.tokenizer.text_to_ids(text))
        known = {token: number for number, token in enumerate((joint or model.decoder).vocabulary)}
        return [known[letter] for letter in in_case(text, known) if letter in known]

    def loss(heard: Tensor, frames: Tensor, text: str) -> Tensor:
        own = label(text)
        if joint is None:
            return ctc_losses(heard, frames, [own], len(model.decoder.vocabulary))
        said = torch.tensor([own], device=heard.device)
        predicted, *_ = model.decoder(targets=said, target_length=torch.tensor([len(own)]))
        logits = joint.joint(heard.transpose(1, 2), predicted.transpose(1, 2))
        return transducer_losses(logits, frames, [own], logits.shape[-1] - 1)

    return _one_by_one(encode, loss)


def token_losses(
    start: Sequence[int], said: Sequence[Sequence[int]], logits_of: Callable[[Tensor], Tensor], device: Any
) -> Tensor:
    """Return the mean cross-entropy of each utterance's tokens, `said`, each given those before it.

    `logits_of` maps tokens (utterances x tokens, beginning with `start`) to logits of the ones that follow.
    """
    torch = need_torch()
    longest = max(map(len, said))
    # What fills up a short text is never looked at: a decoder sees only what came before.
    filled = [[*start, *own, *[own[-1]] * (longest - len(own))] for own in said]
    given = torch.tensor(filled, device=device)
    wanted = given[:, 1:].clone()
    wanted[:, : len(start) - 1] = -100
    for row, own in zip(wanted, said, strict=True):
        row[len(start) - 1 + len(own) :] = -100
    losses = torch.nn.functional.cross_entropy(
        logits_of(given[:, :-1]).transpose(1, 2), wanted, ignore_index=-100, reduction="none"
    )
    return losses.sum(dim=1) / (wanted != -100).sum(dim=1)


_LOSSES: dict[str, Callable[[Any, Any], Losses]] = {
    "voxaudit.recognize.whisper:Whisper": _whisper,
    "voxaudit.recognize.transformers:Transformers": _transformers,
    "voxaudit.recognize.speechbrain:SpeechBrain": _speechbrain,
    "voxaudit.recognize.nemo:Nemo": _nemo,
}
"""By the class of the settings: (loaded engine, settings) to losses."""
