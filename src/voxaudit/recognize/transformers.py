"""Recognizers of the Hugging Face library transformers.

They are of four kinds: CTC (wav2vec 2.0, Parakeet CTC), transducers (Parakeet TDT and RNN-T), encoder-decoders
(Whisper, Moonshine), and those that are asked in words (Voxtral, Qwen3-ASR, Canary), by a request that they make
themselves.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voxaudit.audio import Audio, Samples
from voxaudit.errors import VoxauditError, one_line
from voxaudit.recognize.base import RecognizerError, Transcriber, Transcript
from voxaudit.recognize.files import package_version
from voxaudit.recognize.local import LocalModel, join
from voxaudit.recognize.settings import batch_seconds, longest, revision, setting, threads

RATE = 16_000
DTYPES = ("float32", "float16", "bfloat16")


@dataclass(frozen=True)
class Transformers(LocalModel):
    description = (
        "Hugging Face transformers: every kind of recognizer it has, from a folder or the hub's cache."
    )
    engine = "transformers"
    requires = ("transformers", "torch")
    versions = ("transformers", "torch")
    decoding = 2

    model: str = setting(help="a saved model's folder, or hf:ORG/NAME", path=True)
    revision: str = revision()
    language: str = setting("", help="language of the speech, such as en; empty: the model decides")
    task: str = setting("", help="Whisper: transcribe or translate")
    prompt: str = setting("", help="models asked in words: the question, if it is not to be the model's own")
    beams: int = setting(1, help="all but CTC: hypotheses searched at a time; 1 is greedy", at_least=1)
    max_new_tokens: int = setting(
        0, help="all but CTC: tokens of the longest answer; 0: the model's own limit", at_least=0
    )
    longest: float = longest()
    batch: int = setting(
        1, help="utterances per call; more is faster on a GPU, and rounding may change a text", at_least=1
    )
    batch_seconds: float = batch_seconds()
    device: str = setting("cpu", help="cpu, cuda, cuda:1, mps; or auto: spread over what is there")
    dtype: str = setting("float32", help=", ".join(DTYPES), choices=DTYPES)
    threads: int = threads()

    @property
    def rate(self) -> int:  # type: ignore[override]
        """Samples per second that the model hears: 16,000 unless its files say otherwise."""
        try:
            folder = self.source()[0]
        except VoxauditError:  # said when it is needed
            return RATE
        documents = (
            _document(folder / name) for name in ("processor_config.json", "preprocessor_config.json")
        )
        parts = [part for one in documents for part in (one, one.get("feature_extractor"))]
        found = [
            part["sampling_rate"] for part in parts if isinstance(part, dict) and "sampling_rate" in part
        ]
        return int(found[0]) if found else RATE

    @property
    def takes_language(self) -> bool:
        """Whether the model has several languages and can be told which one is spoken."""
        return _document(self.source()[0] / "generation_config.json").get("is_multilingual") is True

    def open(self, path: Path) -> Transcriber:
        """Load model and processor."""
        return _Model(self, path)


class _Model:
    def __init__(self, settings: Transformers, folder: Path) -> None:
        import torch
        import transformers

        torch.set_num_threads(settings.threads)
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        name = architecture(folder)
        kind: Any = getattr(transformers, name, None)
        if kind is None:
            version = package_version("transformers")
            raise RecognizerError(
                f"recognizer 'transformers': {settings.model} is a {one_line(name, 80)}, which transformers {version}"
                " does not have"
            )
        placed = {"device_map": settings.device} if settings.device == "auto" else {}
        self.processor: Any = transformers.AutoProcessor.from_pretrained(folder, local_files_only=True)
        model: Any = kind.from_pretrained(
            folder, local_files_only=True, dtype=getattr(torch, settings.dtype), **placed
        )
        self.model = model.eval() if placed else model.eval().to(settings.device)
        extractor = getattr(self.processor, "feature_extractor", self.processor)
        self._rate = int(getattr(extractor, "sampling_rate", RATE))
        self._torch, self._settings = torch, settings
        self._ctc = "ForCTC" in name
        self._request: Any = getattr(self.processor, "apply_transcription_request", None)
        tokenizer = getattr(self.processor, "tokenizer", None)
        chats = (getattr(part, "chat_template", None) for part in (self.processor, tokenizer))
        if self._request is None and hasattr(self.processor, "audio_token") and any(chats):
            self._request = self._in_chat  # Granite Speech and others that have no request of their own
        # Models normalized over time (wav2vec2-base) were trained without a mask: padding would change their answer.
        # A path is cut where padding begins, for which the model must tell its frames. Transducers go on in it, and
        # requests of unlike length would have to be padded in front, which not every model bears.
        masked = bool(getattr(extractor, "return_attention_mask", False))
        if self._ctc:
            self._masks = masked and hasattr(model, "_get_feat_extract_output_lengths")
        else:
            takes = "return_attention_mask" in inspect.signature(extractor.__call__).parameters
            self._masks = takes and self._request is None and not name.endswith(("ForTDT", "ForRNNT"))

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript]:
        pieces = [
            (number, piece)
            for number, audio in enumerate(batch)
            for piece in self._settings.pieces(audio, self._settings.longest)
        ]
        texts: list[list[str]] = [[] for _ in batch]
        for group in self._groups(pieces):
            with self._torch.inference_mode():
                heard = self._hear([samples for _, samples in group])
            for (number, _), text in zip(group, heard, strict=True):
                texts[number].append(text.strip())
        return [join(parts) for parts in texts]

    def _groups(self, pieces: list[tuple[int, Samples]]) -> Iterator[list[tuple[int, Samples]]]:
        """Yield what may be heard together, in order: of a model that knows no mask, only equal lengths."""
        group: list[tuple[int, Samples]] = []
        for piece in pieces:
            alike = self._masks or not group or (self._request is None and len(piece[1]) == len(group[0][1]))
            if group and (len(group) == self._settings.batch or not alike):
                yield group
                group = []
            group.append(piece)
        yield group

    def _hear(self, samples: list[Samples]) -> list[str]:
        whisper = self.model.config.model_type == "whisper"
        options: dict[str, Any] = {
            "sampling_rate": self._rate,
            "return_tensors": "pt",
            "padding": "max_length" if whisper else True,  # Whisper hears 30 s, always
            **({"return_attention_mask": True} if self._masks else {}),
        }
        inputs = (
            self._asked(samples)
            if self._request is not None
            else self.processor(audio=samples, **options, **self._told())
            if hasattr(self.processor, "feature_extractor")
            else self.processor(samples, **options)
        ).to(self.model.device)
        # A few are no tensors, such as how far Nemotron looks ahead.
        floating = (name for name, value in inputs.items() if getattr(value, "is_floating_point", bool)())
        inputs = {**inputs, **{name: inputs[name].to(self.model.dtype) for name in floating}}
        return self._spell_ctc(inputs, samples) if self._ctc else self._spell(inputs)

    def _told(self) -> dict[str, str]:
        """Return the language where the model hears it with the audio (Cohere's, Nemotron's), not while it answers."""
        language = inspect.signature(self.processor.__call__).parameters.get("language")
        if language is None:
            return {}
        if not self._settings.language and language.default is language.empty:
            raise RecognizerError(
                f"recognizer 'transformers': {self._settings.model} must be told the language: set `language`"
            )
        return {"language": self._settings.language} if self._settings.language else {}

    def _asked(self, samples: list[Samples]) -> Any:
        """Return the model's own request for a transcript, in the words it was trained with."""
        language = self._settings.language
        known: dict[str, Any] = {
            "audio": samples,
            "sampling_rate": self._rate,
            "model_id": self._settings.model,
            "format": ["wav"] * len(samples),
            **({"prompt": self._settings.prompt} if self._settings.prompt else {}),
        }
        known |= {name: language for name in ("language", "source_language") if language}
        taken = inspect.signature(self._request).parameters
        for told, names in (("language", {"language", "source_language"}), ("prompt", {"prompt"})):
            if getattr(self._settings, told) and not names & set(taken):
                raise RecognizerError(
                    f"recognizer 'transformers': {self._settings.model} cannot be told the {told}"
                )
        known = {name: value for name, value in known.items() if name in taken}
        more = any(one.kind is one.VAR_KEYWORD for one in taken.values())
        return self._request(**known, **({"return_tensors": "pt"} if more else {}))

    def _in_chat(self, audio: list[Samples], prompt: str = "") -> Any:
        """Return the inputs of a model that answers whatever it is asked."""
        if not prompt:
            raise RecognizerError(
                f"recognizer 'transformers': {self._settings.model} answers what it is asked, and has no request of its"
                " own for a transcript: give the question of its model card as `prompt`"
            )
        turn = [{"role": "user", "content": f"{self.processor.audio_token}{prompt}"}]
        text = self.processor.tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
        return self.processor(text=[text] * len(audio), audio=audio, return_tensors="pt")

    def _spell_ctc(self, inputs: dict[str, Any], samples: list[Samples]) -> list[str]:
        best = self.model(**inputs).logits.argmax(-1)
        counts = [best.shape[1]] * len(samples)
        if len(samples) > 1 and self._masks:
            lengths = inputs["attention_mask"].sum(-1)
            counts = self.model._get_feat_extract_output_lengths(lengths).tolist()
        # MedASR ends with </s>, which is no word; wav2vec 2.0 is read as the library's own pipeline reads it.
        tokenizer = self.processor.tokenizer
        skip = {} if hasattr(tokenizer, "word_delimiter_token") else {"skip_special_tokens": True}
        return [str(tokenizer.decode(row[:count], **skip)) for row, count in zip(best, counts, strict=True)]

    def _spell(self, inputs: dict[str, Any]) -> list[str]:
        chosen = self._settings
        options: dict[str, Any] = {"num_beams": chosen.beams, "do_sample": False}
        if self._request is None:
            told = ("task",) if self._told() else ("language", "task")
            options |= {name: value for name in told if (value := getattr(chosen, name))}
        if chosen.max_new_tokens:
            options["max_new_tokens"] = chosen.max_new_tokens
        # VibeVoice adds noise to what it heard: its answer would depend on chance.
        if "sample" in inspect.signature(self.model.forward).parameters:
            options["sample"] = False
        try:
            tokens = self.model.generate(**inputs, **options)
        except ValueError as error:  # such as a language for a model that has only one
            raise RecognizerError(f"recognizer 'transformers': {one_line(error, 200)}") from error
        tokens = getattr(tokens, "sequences", tokens)
        if "input_ids" in inputs:  # the request comes first
            tokens = tokens[:, inputs["input_ids"].shape[1] :]
        # Some answer with more than the words (the language, who speaks when, "The spoken content is ..."), and have
        # their own way to read them out of it.
        taken = inspect.signature(self.processor.decode).parameters
        plain = {"return_format": "transcription_only", "strip_prefix": True}
        options = {name: value for name, value in plain.items() if name in taken}
        decode = self.processor.decode if options else self.processor.batch_decode
        return [str(text) for text in decode(tokens, skip_special_tokens=True, **options)]


def _document(path: Path) -> dict[str, Any]:
    """Return a JSON object of a saved model; an empty one where there is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def architecture(folder: Path) -> str:
    """Return the name of a saved model's class, such as `Wav2Vec2ForCTC`, from its `config.json`."""
    names = _document(folder / "config.json").get("architectures")
    if not (folder / "config.json").is_file():
        raise RecognizerError(f"{folder}: no config.json; not a transformers model")
    if not isinstance(names, list) or not names:
        raise RecognizerError(f"{folder}: config.json names no architecture; not a saved recognizer")
    return str(names[0])
