"""torchaudio where its compiled library fits no installed torch: what SpeechBrain uses of it to hear is Python."""

from __future__ import annotations

from unittest.mock import MagicMock


def import_torchaudio() -> None:
    """Import torchaudio, without its library where that does not load."""
    import torch

    try:
        import torchaudio  # noqa: F401
    except OSError:
        torch.ops.load_library = lambda path: None
        torch.ops._torchaudio = torch.ops.torchaudio = MagicMock()
        torch.ops._torchaudio.cuda_version = lambda: None
        import torchaudio  # noqa: F401
