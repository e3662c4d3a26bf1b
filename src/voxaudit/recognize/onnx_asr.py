"""onnx-asr: Parakeet, Canary, GigaAM, T-one, Vosk and Whisper as ONNX files, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voxaudit.recognize.base import Transcriber
from voxaudit.recognize.local import LocalModel
from voxaudit.recognize.settings import longest, revision, setting, threads


@dataclass(frozen=True)
class OnnxAsr(LocalModel):
    description = "onnx-asr: Parakeet, Canary, GigaAM, T-one, Vosk and Whisper as ONNX files."
    engine = "onnx_asr"
    requires = ("onnx_asr", "onnxruntime")
    versions = ("onnx-asr", "onnxruntime")

    model: str = setting(
        help="a name of the package's (nemo-parakeet-tdt-0.6b-v2), a folder or hf:ORG/NAME", path=True
    )
    revision: str = revision()
    kind: str = setting(
        "", help="type of a folder's model, such as nemo-conformer-tdt, if config.json has none"
    )
    quantization: str = setting("", help="int8 takes the quantized files")
    language: str = setting("", help="language of the speech, such as en: Whisper and Canary")
    longest: float = longest()
    threads: int = threads()

    def names(self) -> Mapping[str, str]:
        """Return the package's own table."""
        from onnx_asr.resolver import model_repos

        return dict(model_repos)

    def open(self, path: Path) -> Transcriber:
        """Load the model; without a kind, its own config.json says what it is."""
        import onnx_asr
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        kind = self.kind or (self.model if self.model in self.names() else "local/model")
        model: Any = onnx_asr.load_model(
            kind,
            path,
            quantization=self.quantization or None,
            sess_options=options,
            providers=["CPUExecutionProvider"],
        )
        told = {"sample_rate": self.rate, **({"language": self.language} if self.language else {})}
        return self.one_by_one(lambda samples: str(model.recognize(samples, **told)))
