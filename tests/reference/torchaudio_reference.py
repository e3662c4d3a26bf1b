"""Runs torchaudio's own transforms for test_torchaudio.py: `python torchaudio_reference.py JOBS.npz OUT.npz`.

A program of its own, so that torch need not be installed beside voxaudit. JOBS holds `samples` and `rate`; OUT gets
one array per transform and the CPU seconds of its second call (`seconds:NAME`).
"""

from __future__ import annotations

import sys
import time
import types

import numpy as np


def load_transforms() -> types.ModuleType:
    """Return `torchaudio.transforms` without its compiled part, which the wheel links against CUDA."""
    extension = types.ModuleType("torchaudio._extension")
    extension._IS_TORCHAUDIO_EXT_AVAILABLE = False
    extension.fail_if_no_align = lambda function: function
    sys.modules["torchaudio._extension"] = extension
    import torchaudio.transforms

    return torchaudio.transforms


def main(jobs: str, out: str) -> None:
    import torch

    transforms = load_transforms()
    torch.set_num_threads(1)
    with np.load(jobs) as arrays:
        samples = torch.from_numpy(arrays["samples"])[None]
        rate = int(arrays["rate"])
    results = {}

    def keep(name: str, call) -> None:
        with torch.no_grad():
            # The first call builds the filters, as the first call of ours does.
            call()
            start = time.process_time()
            results[name] = np.asarray(call()[0])
            results[f"seconds:{name}"] = time.process_time() - start

    for factor in (1.25, 1.5, 1.75, 2.0, 0.875, 0.75, 0.625, 0.5):
        speed = transforms.Speed(rate, factor)
        keep(f"speed:{factor:g}", lambda speed=speed: speed(samples)[0])
    for factor in (0.75, 0.5, 0.25, 0.125):
        down = transforms.Resample(rate, int(factor * rate))
        up = transforms.Resample(int(factor * rate), rate)
        keep(f"resample:{factor:g}", lambda down=down, up=up: up(down(samples)))
    # The other steps are compared before they are resampled: their filters take gigabytes in torchaudio.
    for steps in (9, 12, -12):
        shift = transforms.PitchShift(rate, steps)
        keep(f"pitch:{steps}", lambda shift=shift: shift(samples))
    # Single precision loses the phases that the vocoder adds up: its definition is compared in double.
    from torchaudio.functional.functional import _stretch_waveform

    window = torch.hann_window(512, dtype=torch.float64)
    for steps in (3, 6, 9, 12, -3, -6, -9, -12):
        stretched = _stretch_waveform(samples.double(), steps, 12, 512, 512, 128, window)
        results[f"stretch:{steps}"] = np.asarray(stretched[0])
    np.savez(out, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
