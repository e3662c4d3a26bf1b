import numpy as np
import polars as pl
import pytest
import soundfile

from voxaudit.corpus import Corpus


@pytest.fixture
def make_corpus(tmp_path):
    """Return a function that writes clips of 101, 102, ... samples and returns their corpus."""

    def make(count: int = 6, *, text: bool = True, folder: str = "audio") -> Corpus:
        home = tmp_path / folder
        home.mkdir(exist_ok=True)
        generator = np.random.default_rng(5)
        for number in range(count):
            samples = (0.1 * generator.standard_normal(101 + number)).astype(np.float32)
            soundfile.write(home / f"clip{number}.wav", samples, 16000, subtype="FLOAT")
        table = pl.DataFrame(
            {
                "id": [f"u{number}" for number in range(count)],
                "audio": [str(home / f"clip{number}.wav") for number in range(count)],
                "speaker": [f"s{number % 3}" for number in range(count)],
                "text": [f"heard {101 + number} samples" if text else None for number in range(count)],
                "start": [0.0] * count,
                "duration": [None] * count,
                "group": ["a" if number % 2 else "b" for number in range(count)],
            },
            schema_overrides={"duration": pl.Float64, "text": pl.String},
        )
        return Corpus(name="toy", format="manifest", source=str(home), table=table)

    return make
