"""Recognizers of every family, tiny and with random weights, saved as their libraries do it.

Each `save_...(folder)` writes one. `FAMILIES` has them by name: what the conformance suite and the table in the
documentation go through.
"""

from __future__ import annotations

import base64
import contextlib
import json

with contextlib.suppress(ImportError):
    import torch
    import transformers

TEXT_MODEL = {
    "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 2, "initializer_range": 0.9,
}  # fmt: skip
CHAT = (
    "{% for m in messages %}{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for p in m['content'] %}"
    "{% if p['type'] == 'audio' %}AUDIO{% else %}{{ p['text'] }}{% endif %}{% endfor %}{% endif %}{% endfor %}<start>"
)


def save_ctc(folder, norm, family="Wav2Vec2"):
    """Save a Wav2Vec2, or one of its family, of either kind: normalized over time without a mask, by layer with one."""
    config = getattr(transformers, f"{family}Config")(
        vocab_size=12,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        conv_dim=(16, 16, 16),
        conv_kernel=(10, 8, 4),
        conv_stride=(5, 4, 4),
        num_feat_extract_layers=3,
        num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=4,
        feat_extract_norm=norm,
        do_stable_layer_norm=norm == "layer",
        pad_token_id=0,
    )
    model = getattr(transformers, f"{family}ForCTC")(config)
    torch.nn.init.normal_(model.lm_head.weight, std=1.0)
    model.save_pretrained(folder)
    tokens = ["<pad>", "<s>", "</s>", "<unk>", "|", *"ABCDEFG"]
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(tokens)}))
    tokenizer = transformers.Wav2Vec2CTCTokenizer(str(folder / "vocab.json"))
    extractor = transformers.Wav2Vec2FeatureExtractor(return_attention_mask=norm == "layer")
    transformers.Wav2Vec2Processor(feature_extractor=extractor, tokenizer=tokenizer).save_pretrained(folder)
    return folder


def save_whisper(folder, spread=0.6):
    """Save a Whisper; where weights are as wide as they are by default, what is heard decides what is said."""
    vocabulary = {token: number for number, token in enumerate([*(chr(n) for n in range(33, 127)), "Ġ"])}
    tokenizer = transformers.WhisperTokenizer(vocab=vocabulary, merges=[])
    special = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|translate|>"]
    tokenizer.add_special_tokens({"additional_special_tokens": [*special, "<|notimestamps|>"]})
    start, end = (tokenizer.convert_tokens_to_ids(special[k]) for k in (1, 0))
    sizes = {
        f"{part}_{what}": n for part in ("encoder", "decoder") for what, n in (("layers", 1), ("ffn_dim", 48))
    }
    config = transformers.WhisperConfig(
        vocab_size=len(tokenizer),
        num_mel_bins=16,
        d_model=32,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        max_source_positions=50,
        max_target_positions=32,
        decoder_start_token_id=start,
        pad_token_id=end,
        bos_token_id=end,
        eos_token_id=end,
        suppress_tokens=None,
        begin_suppress_tokens=None,
        init_std=spread,
        **sizes,
    )
    model = transformers.WhisperForConditionalGeneration(config)
    model.generation_config.max_length = 12
    model.save_pretrained(folder)
    extractor = transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=1)
    transformers.WhisperProcessor(feature_extractor=extractor, tokenizer=tokenizer).save_pretrained(folder)
    return folder


LETTERS = "▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ<>_ ?.,"


def make_tokenizer(*special, kind=None, **named):
    from tokenizers import Tokenizer, decoders, models

    vocabulary = {token: number for number, token in enumerate([*special, *LETTERS])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token=special[0]))
    made.decoder = decoders.Metaspace()
    tokenizer = (kind or transformers.PreTrainedTokenizerFast)(
        tokenizer_object=made, unk_token=special[0], pad_token=special[1], eos_token=special[2], **named
    )
    tokenizer.add_special_tokens({"additional_special_tokens": list(special[3:])})
    return tokenizer


def make_encoder():
    return transformers.ParakeetEncoderConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        num_mel_bins=16,
        subsampling_conv_channels=8,
        conv_kernel_size=5,
        initializer_range=0.5,
    )


def save_encoder_ctc(folder, family):
    """Save a Parakeet CTC, a MedASR (Lasr) or a Granite Speech 5: an encoder and its best path."""
    tokenizer = make_tokenizer("<unk>", "<pad>", "<eos>", kind=transformers.ParakeetTokenizer)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    extractor = {"num_mel_bins" if family == "GraniteSpeech5" else "feature_size": 16}
    if family == "Parakeet":
        encoder = make_encoder()
    elif family == "Lasr":
        more = {"subsampling_conv_channels": 8, "conv_kernel_size": 4, "num_mel_bins": 16}
        encoder = transformers.LasrEncoderConfig(**sizes, **more, initializer_range=0.5)
    else:
        more = {"context_size": 20, "head_dim": 8, "num_mel_bins": 16, "vocab_size": len(tokenizer)}
        encoder = transformers.GraniteSpeech5EncoderConfig(**sizes, **more, initializer_range=0.5)
    config = getattr(transformers, f"{family}CTCConfig")(
        vocab_size=len(tokenizer), encoder_config=encoder, pad_token_id=1
    )
    model = getattr(transformers, f"{family}ForCTC")(config)
    torch.nn.init.normal_(model.ctc_head.weight, std=1.0)
    model.save_pretrained(folder)
    made = getattr(transformers, f"{family}FeatureExtractor")(**extractor)
    getattr(transformers, f"{family}Processor")(made, tokenizer).save_pretrained(folder)


def save_moonshine(folder, streaming=False):
    """Save a Moonshine of either generation."""
    tokenizer = make_tokenizer("<unk>", "<s>", "<eos>")
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2, "num_key_value_heads": 2}
    extractor = transformers.Wav2Vec2FeatureExtractor(return_attention_mask=True, do_normalize=False)
    if streaming:
        config = transformers.MoonshineStreamingConfig(
            encoder_config=transformers.MoonshineStreamingEncoderConfig(
                **sizes, num_hidden_layers=2, sliding_windows=((16, 4), (16, 0))
            ),
            **{**sizes, "vocab_size": len(tokenizer), "num_hidden_layers": 1, "decoder_start_token_id": 1},
        )
        model = transformers.MoonshineStreamingForConditionalGeneration(config)
        processor = transformers.MoonshineStreamingProcessor(extractor, tokenizer)
        widen(model, 0.5)
    else:
        parts = {f"{part}_num_{what}": n for part in ("encoder", "decoder") for what, n in HEADS.items()}
        config = transformers.MoonshineConfig(
            hidden_size=16,
            intermediate_size=32,
            vocab_size=len(tokenizer),
            pad_token_id=2,
            initializer_range=0.9,
            **parts,
        )
        model = transformers.MoonshineForConditionalGeneration(config)
        processor = transformers.Wav2Vec2Processor(extractor, tokenizer)
    model.generation_config.max_length = 12
    model.save_pretrained(folder)
    processor.save_pretrained(folder)


HEADS = {"hidden_layers": 1, "attention_heads": 2}


def widen(model, spread, but="-"):
    """Spread a model's weights, so that what is heard decides what is said."""
    for name, weight in model.named_parameters():
        if weight.ndim > 1 and not name.startswith(but):
            torch.nn.init.normal_(weight, std=spread)


COHERE = "startofcontext startoftranscript emo:undefined en de pnc nopnc noitn notimestamp nodiarize"


def save_cohere(folder):
    """Save a Cohere Transcribe, which must be told the language with the audio."""
    tokenizer = make_tokenizer("<unk>", "<pad>", "<eos>", *(f"<|{name}|>" for name in COHERE.split()))
    config = transformers.CohereAsrConfig(
        encoder_config=make_encoder(),
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        pad_token_id=1,
        eos_token_id=2,
        bos_token_id=4,
        decoder_start_token_id=4,
        initializer_range=0.9,
    )
    model = transformers.CohereAsrForConditionalGeneration(config)
    model.generation_config.max_length = 20
    model.save_pretrained(folder)
    extractor = transformers.CohereAsrFeatureExtractor(feature_size=16)
    transformers.CohereAsrProcessor(extractor, tokenizer).save_pretrained(folder)


def save_kyutai(folder):
    """Save a Kyutai STT: a codec at 24 kHz, and a text beside its tokens."""
    tokenizer = make_tokenizer("<unk>", "<pad>", "<eos>")
    heads = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2}
    codec = transformers.MimiConfig(
        **heads,
        head_dim=8,
        num_filters=4,
        intermediate_size=16,
        codebook_size=16,
        codebook_dim=8,
        vector_quantization_hidden_dimension=8,
        num_quantizers=4,
        upsample_groups=16,
    )
    config = transformers.KyutaiSpeechToTextConfig(
        codec_config=codec,
        vocab_size=len(tokenizer),
        codebook_vocab_size=17,
        num_codebooks=4,
        audio_bos_token_id=16,
        audio_pad_token_id=len(tokenizer) + 4 * 17,
        pad_token_id=1,
        bos_token_id=0,
        ffn_dim=32,
        head_dim=8,
        initializer_range=0.9,
        **heads,
    )
    model = transformers.KyutaiSpeechToTextForConditionalGeneration(config)
    for name, values in model.named_buffers():
        if name.endswith("embed_sum"):  # the codes, which are all alike at first
            torch.nn.init.normal_(values)
    model.save_pretrained(folder)
    extractor = transformers.KyutaiSpeechToTextFeatureExtractor(
        audio_delay_seconds=0.5, audio_silence_prefix_seconds=0.0
    )
    transformers.KyutaiSpeechToTextProcessor(extractor, tokenizer).save_pretrained(folder)


def save_nemotron(folder):
    """Save a Nemotron ASR Streaming: a transducer that is told how far it may look ahead."""
    tokenizer = make_tokenizer("<unk>", "<pad>", "<eos>", "<blank>", kind=transformers.ParakeetTokenizer)
    encoder = transformers.NemotronAsrStreamingEncoderConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        num_mel_bins=16,
        subsampling_conv_channels=8,
        conv_kernel_size=5,
        initializer_range=0.5,
    )
    config = transformers.NemotronAsrStreamingConfig(
        vocab_size=len(tokenizer),
        decoder_hidden_size=16,
        num_decoder_layers=1,
        encoder_config=encoder,
        pad_token_id=1,
        blank_token_id=3,
        max_symbols_per_step=2,
    )
    model = transformers.NemotronAsrStreamingForRNNT(config)
    widen(model, 1.0, but="encoder")
    model.generation_config.decoder_start_token_id = 3
    model.save_pretrained(folder)
    extractor = transformers.NemotronAsrStreamingFeatureExtractor(feature_size=16)
    transformers.NemotronAsrStreamingProcessor(extractor, tokenizer).save_pretrained(folder)


def save_chatting(folder, family):
    """Save one of those that put audio into a language model's chat, and ask for a transcript by themselves."""
    shown = {
        "AudioFlamingo3": ["<sound>"],
        "MossTranscribeDiarize": ["<|audio_pad|>", "<|audio_start|>", "<|audio_end|>"],
        "FunAsrNano": ["<|object_ref_start|>"],
        "VibeVoiceAsr": ["<|box_start|>", "<|object_ref_start|>", "<|object_ref_end|>"],
    }[family]
    tokenizer = make_tokenizer("<unk>", "<pad>", "<eos>", "<start>", *shown)
    ids = {"bos_token_id": 3, "eos_token_id": 2, "pad_token_id": 1}
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2, "num_mel_bins": 16}
    extractor, qwen, more = {"feature_size": 16}, "Qwen3", {}
    if family == "VibeVoiceAsr":
        # What it adds by chance would drown out what it heard.
        audio = {"hidden_size": 8, "num_filters": 2, "depths": (1,) * 7, "vae_std": 1e5}
        audio |= {"initializer_range": 0.5, "layer_scale_init_value": 0.5}
        encoder = transformers.VibeVoiceAcousticTokenizerEncoderConfig(**audio)
        more = {f"{part}_tokenizer_encoder_config": encoder for part in ("acoustic", "semantic")}
        extractor, qwen = {}, "Qwen2"
        more |= {"audio_bos_token_id": 5, "audio_eos_token_id": 6}
        made = transformers.VibeVoiceAcousticTokenizerFeatureExtractor()
    elif family == "FunAsrNano":
        layers = {"num_hidden_layers": 2, "num_timestamp_prediction_layers": 1}
        more = {
            "audio_config": transformers.FunAsrNanoEncoderConfig(**sizes, **layers),
            "adaptor_config": transformers.FunAsrNanoAdaptorConfig(
                hidden_size=16,
                intermediate_size=4,
                num_attention_heads=2,
                num_hidden_layers=1,
                projector_hidden_size=16,
            ),
        }
        made = transformers.FunAsrNanoFeatureExtractor(**extractor)
    else:
        flamingo = family == "AudioFlamingo3"
        encoder = f"{family}{'Encoder' if flamingo else 'Audio'}Config"
        qwen = "Qwen2" if flamingo else "Qwen3"
        audio = getattr(transformers, encoder)(**sizes, num_hidden_layers=1, initializer_range=0.5)
        made = "WhisperFeatureExtractor" if flamingo else f"{family}FeatureExtractor"
        more, made = {"audio_config": audio}, getattr(transformers, made)(**extractor)
    text = getattr(transformers, f"{qwen}Config")(vocab_size=len(tokenizer), **ids, **TEXT_MODEL, head_dim=8)
    config = getattr(transformers, f"{family}Config")(text_config=text, audio_token_id=4, **more)
    begin, end = [*shown[1:], "", ""][:2]
    save_asked(
        folder,
        getattr(transformers, f"{family}ForConditionalGeneration")(config),
        getattr(transformers, f"{family}Processor")(
            made,
            tokenizer,
            chat_template=CHAT.replace("AUDIO", f"{begin}{shown[0]}{end}"),
            audio_token=shown[0],
        ),
    )


def save_transducer(folder, kind):
    """Save a Parakeet that predicts tokens and durations (TDT), or tokens (RNNT)."""
    tokenizer = make_tokenizer("<unk>", "<pad>", "<eos>", "<blank>", kind=transformers.ParakeetTokenizer)
    config = getattr(transformers, f"Parakeet{kind}Config")(
        vocab_size=len(tokenizer),
        decoder_hidden_size=16,
        num_decoder_layers=1,
        encoder_config=make_encoder(),
        pad_token_id=1,
        blank_token_id=3,
        max_symbols_per_step=2,
    )
    model = getattr(transformers, f"ParakeetFor{kind}")(config)
    widen(model, 1.0, but="encoder")
    model.generation_config.decoder_start_token_id = 3
    model.save_pretrained(folder)
    extractor = transformers.ParakeetFeatureExtractor(feature_size=16)
    transformers.ParakeetProcessor(extractor, tokenizer, decoder_type=kind.lower()).save_pretrained(folder)


TEMPLATE = (
    "{% for part in messages[0]['content'] %}{% if part['type'] == 'text' %}<start><{{ part['source_language'] }}>"
    "{% endif %}{% endfor %}"
)


def save_canary(folder, rate):
    """Save a Canary, which is asked in words and hears `rate` samples per second."""
    tokenizer = make_tokenizer("<unk>", "<pad>", "<eos>", "<start>", "<en>", "<de>")
    decoder = transformers.CanaryDecoderConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=8,
        initializer_range=0.9,
        pad_token_id=1,
        bos_token_id=3,
        eos_token_id=2,
    )
    config = transformers.CanaryConfig(
        encoder_config=make_encoder(),
        decoder_config=decoder,
        vocab_size=len(tokenizer),
        pad_token_id=1,
        bos_token_id=3,
        eos_token_id=2,
        decoder_start_token_id=3,
        initializer_range=0.9,
    )
    model = transformers.CanaryForConditionalGeneration(config)
    model.generation_config.max_length = 12
    model.save_pretrained(folder)
    extractor = transformers.ParakeetFeatureExtractor(feature_size=16, sampling_rate=rate)
    transformers.CanaryProcessor(extractor, tokenizer, chat_template=TEMPLATE).save_pretrained(folder)


def save_qwen(folder):
    """Save a Qwen3-ASR."""
    named = {"audio_token": "<audio>", "audio_bos_token": "<ab>", "audio_eos_token": "<ae>"}
    tokenizer = make_tokenizer(
        "<unk>", "<pad>", "<eos>", "<start>", *named.values(), extra_special_tokens=named
    )
    audio = transformers.Qwen3ASREncoderConfig(
        num_mel_bins=16,
        encoder_layers=1,
        encoder_attention_heads=2,
        encoder_ffn_dim=32,
        d_model=16,
        output_dim=16,
        downsample_hidden_size=8,
        initializer_range=0.5,
    )
    text = transformers.Qwen3Config(vocab_size=len(tokenizer), head_dim=8, **TEXT_MODEL)
    config = transformers.Qwen3ASRConfig(
        audio_config=audio,
        text_config=text,
        audio_token_id=tokenizer.convert_tokens_to_ids("<audio>"),
        pad_token_id=1,
        eos_token_id=2,
    )
    save_asked(
        folder,
        transformers.Qwen3ASRForConditionalGeneration(config),
        transformers.Qwen3ASRProcessor(
            transformers.Qwen3ASRFeatureExtractor(feature_size=16),
            tokenizer,
            chat_template=CHAT.replace("AUDIO", "<ab><audio><ae>"),
        ),
    )


def save_glm(folder):
    """Save a GLM-ASR."""
    tokenizer = make_tokenizer("<unk>", "<pad>", "<eos>", "<start>", "<audio>")
    audio = {**TEXT_MODEL, "num_mel_bins": 16, "initializer_range": 0.5}
    text = {
        "model_type": "llama",
        "vocab_size": len(tokenizer),
        "bos_token_id": 3,
        "eos_token_id": 2,
        **TEXT_MODEL,
    }
    config = transformers.GlmAsrConfig(
        audio_config=audio, text_config={**text, "pad_token_id": 1, "head_dim": 8}, audio_token_id=4
    )
    save_asked(
        folder,
        transformers.GlmAsrForConditionalGeneration(config),
        transformers.GlmAsrProcessor(
            transformers.WhisperFeatureExtractor(feature_size=16),
            tokenizer,
            chat_template=CHAT.replace("AUDIO", "<audio>"),
            audio_token="<audio>",
        ),
    )


def save_granite(folder):
    """Save a Granite Speech, which has no request of its own: it is asked in a chat."""
    tokenizer = make_tokenizer("<unk>", "<pad>", "<eos>", "<start>", "<|audio|>")
    tokenizer.chat_template = CHAT
    text = {
        "model_type": "granite",
        "vocab_size": len(tokenizer),
        "bos_token_id": 3,
        "eos_token_id": 2,
        **TEXT_MODEL,
    }
    small = {"num_layers": 2, "hidden_dim": 16, "num_heads": 2, "dim_head": 8, "output_dim": 8}
    former = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.GraniteSpeechConfig(
        text_config={**text, "pad_token_id": 1},
        encoder_config={**small, "input_dim": 160, "context_size": 20, "max_pos_emb": 20},
        projector_config={
            "model_type": "blip_2_qformer",
            "encoder_hidden_size": 16,
            "vocab_size": 8,
            **former,
        },
        audio_token_index=4,
        initializer_range=0.5,
        has_lora_adapter=False,
    )
    extractor = transformers.GraniteSpeechFeatureExtractor()
    save_asked(
        folder,
        transformers.GraniteSpeechForConditionalGeneration(config),
        transformers.GraniteSpeechProcessor(extractor, tokenizer),
    )


CONTROLS = (
    "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CALLS]"
    " [IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [TOOL_CONTENT]"
    " <20> <21> <22> <23> [AUDIO] [BEGIN_AUDIO] [TRANSCRIBE]"
)


def save_voxtral(folder):
    """Save a Voxtral: its tokenizer is Mistral's own, here with single bytes for words."""
    from transformers.tokenization_mistral_common import MistralCommonBackend

    names = CONTROLS.split()
    size = 256 + len(names)
    letters = [{"rank": n, "token_bytes": base64.b64encode(bytes([n])).decode()} for n in range(256)]
    spectrogram = {"num_mel_bins": 16, "window_size": 400, "hop_length": 160}
    tekken = {
        "config": {
            "pattern": r"\S+|\s+",
            "num_vocab_tokens": 256,
            "default_vocab_size": size,
            "default_num_special_tokens": len(names),
            "version": "v7",
        },
        "vocab": [{**letter, "token_str": chr(letter["rank"])} for letter in letters],
        "special_tokens": [
            {"rank": n, "token_str": name, "is_control": True} for n, name in enumerate(names)
        ],
        "audio": {
            "sampling_rate": 16_000,
            "frame_rate": 12.5,
            "audio_encoding_config": spectrogram,
            "chunk_length_s": 30.0,
        },
        "version": 1,
        "type": "Tekken",
    }
    (folder / "tekken.json").write_text(json.dumps(tekken))
    tokenizer = MistralCommonBackend(folder / "tekken.json")
    sizes = {"hidden_size": 16, "intermediate_size": 64, "num_attention_heads": 2, "num_hidden_layers": 1}
    config = transformers.VoxtralConfig(
        audio_config=transformers.VoxtralEncoderConfig(**sizes, num_mel_bins=16, initializer_range=0.5),
        text_config=transformers.LlamaConfig(
            **sizes,
            vocab_size=size,
            head_dim=8,
            initializer_range=0.9,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=11,
        ),
        audio_token_id=24,
    )
    save_asked(
        folder,
        transformers.VoxtralForConditionalGeneration(config),
        transformers.VoxtralProcessor(transformers.WhisperFeatureExtractor(feature_size=16), tokenizer),
    )


def save_asked(folder, model, processor):
    model.generation_config.max_new_tokens = 8
    model.save_pretrained(folder)
    processor.save_pretrained(folder)


HYPERPARAMS = """
encoder: !new:speechbrain.nnet.containers.LengthsCapableSequential
  features: !new:speechbrain.lobes.features.Fbank
    n_mels: 20
  linear: !new:speechbrain.nnet.linear.Linear
    input_size: 20
    n_neurons: 8
  softmax: !new:speechbrain.nnet.activations.Softmax
    apply_log: True
tokenizer: !new:speechbrain.dataio.encoder.CTCTextEncoder
decoding_function: !name:speechbrain.decoders.ctc_greedy_decode
  blank_id: 0
modules:
  encoder: !ref <encoder>
pretrainer: !new:speechbrain.utils.parameter_transfer.Pretrainer
  loadables:
    encoder: !ref <encoder>
    tokenizer: !ref <tokenizer>
"""


def save_speechbrain(folder):
    from hyperpyyaml import load_hyperpyyaml

    torch.manual_seed(0)
    (folder / "hyperparams.yaml").write_text(HYPERPARAMS)
    parts = load_hyperpyyaml(HYPERPARAMS)
    torch.save(parts["encoder"].state_dict(), folder / "encoder.ckpt")
    parts["tokenizer"].insert_blank(index=0)
    for number, letter in enumerate("ABCDEF ", start=1):
        parts["tokenizer"].insert_label(letter, number)
    parts["tokenizer"].save(folder / "tokenizer.ckpt")


def save_nemo(folder):
    from nemo.collections.asr import models
    from omegaconf import OmegaConf

    torch.manual_seed(0)
    modules = "nemo.collections.asr.modules"
    layer = {"filters": 32, "repeat": 1, "kernel": [11], "stride": [2], "dilation": [1], "dropout": 0.0}
    config = {
        "sample_rate": 16000,
        "preprocessor": {
            "_target_": f"{modules}.AudioToMelSpectrogramPreprocessor",
            "sample_rate": 16000,
            "features": 16,
            "dither": 0.0,
            "pad_to": 0,
        },
        "encoder": {
            "_target_": f"{modules}.ConvASREncoder",
            "feat_in": 16,
            "activation": "relu",
            "conv_mask": True,
            "jasper": [{**layer, "residual": False, "separable": True}],
        },
        "decoder": {
            "_target_": f"{modules}.ConvASRDecoder",
            "feat_in": 32,
            "num_classes": 8,
            "vocabulary": list("abcdefg "),
        },
    }
    path = folder / "tiny.nemo"
    models.EncDecCTCModel(cfg=OmegaConf.create(config)).eval().save_to(str(path))


def save_nemo_onnx(folder, tokens_file):
    """Save a CTC model of NeMo's shape as ONNX: one convolution over 8 frames."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(0)
    weights = numpy_helper.from_array(random.standard_normal((9, 80, 8)).astype(np.float32), "weights")
    steps = [
        helper.make_node("Conv", ["audio_signal", "weights"], ["x"], strides=[8], pads=[0, 7]),
        helper.make_node("Transpose", ["x"], ["y"], perm=[0, 2, 1]),
        helper.make_node("LogSoftmax", ["y"], ["logprobs"], axis=-1),
    ]
    given = [
        helper.make_tensor_value_info("audio_signal", TensorProto.FLOAT, ["n", 80, "t"]),
        helper.make_tensor_value_info("length", TensorProto.INT64, ["n"]),
    ]
    made = helper.make_tensor_value_info("logprobs", TensorProto.FLOAT, ["n", "u", 9])
    graph = helper.make_graph(steps, "tiny", given, [made], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    about = {"model_type": "EncDecCTCModelBPE", "vocab_size": "8", "subsampling_factor": "8"}
    helper.set_model_props(
        model, {**about, "normalize_type": "per_feature"}
    )  # which sherpa-onnx wants to know
    onnx.save(model, folder / "model.onnx")
    tokens = ["▁a", "b", "c", "▁d", "e", "f", "▁g", "h", "<blk>"]
    (folder / tokens_file).write_text("".join(f"{token} {n}\n" for n, token in enumerate(tokens)), "utf-8")


def save_onnx_asr(folder):
    """Save a CTC model for onnx-asr."""
    save_nemo_onnx(folder, "vocab.txt")
    (folder / "config.json").write_text(json.dumps({"model_type": "nemo-conformer-ctc"}))


def save_sense_voice(folder):
    """Save a SenseVoice for FunASR, with a tokenizer of letters."""
    import sentencepiece
    from funasr import AutoModel

    (folder / "letters.txt").write_text("\n".join(["abc def ghi jkl mno pqr stu vwx yz"] * 20))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "letters.txt"),
        model_prefix=str(folder / "letters"),
        vocab_size=40,
        model_type="char",
        hard_vocab_limit=False,
        minloglevel=2,
    )
    encoder = {
        "output_size": 16, "attention_heads": 2, "linear_units": 32, "num_blocks": 1, "tp_blocks": 1,
        "dropout_rate": 0.0, "kernel_size": 3, "sanm_shfit": 0, "normalize_before": True,
    }  # fmt: skip
    frontend = {
        "fs": 16000,
        "window": "hamming",
        "n_mels": 8,
        "frame_length": 25,
        "frame_shift": 10,
        "lfr_m": 7,
        "lfr_n": 6,
    }
    config = {
        "model": "SenseVoiceSmall", "encoder": "SenseVoiceEncoderSmall", "encoder_conf": encoder, "model_conf": {},
        "frontend": "WavFrontend", "frontend_conf": {**frontend, "dither": 0.0},
        "tokenizer": "SentencepiecesTokenizer",
        "tokenizer_conf": {"bpemodel": str(folder / "letters.model"), "unk_symbol": "<unk>"},
    }  # fmt: skip
    quiet = {"device": "cpu", "disable_update": True, "disable_log": True, "disable_pbar": True}
    torch.manual_seed(0)
    model = AutoModel(**config, **quiet).model
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.7)
    torch.save({"state_dict": model.state_dict()}, folder / "model.pt")
    del config["model_conf"]
    (folder / "config.yaml").write_text(json.dumps({**config, "model_conf": {}}))


FAMILIES = {
    "wav2vec 2.0 (CTC)": ("transformers:{}", lambda folder: save_ctc(folder, "layer"), "torch"),
    "HuBERT (CTC)": ("transformers:{}", lambda folder: save_ctc(folder, "layer", "Hubert"), "torch"),
    "WavLM (CTC)": ("transformers:{}", lambda folder: save_ctc(folder, "layer", "WavLM"), "torch"),
    "Parakeet CTC": ("transformers:{}", lambda folder: save_encoder_ctc(folder, "Parakeet"), "torch"),
    "MedASR (CTC)": ("transformers:{}", lambda folder: save_encoder_ctc(folder, "Lasr"), "torch"),
    "Granite Speech 5 (CTC)": (
        "transformers:{}",
        lambda folder: save_encoder_ctc(folder, "GraniteSpeech5"),
        "torch torchaudio",
    ),
    "Parakeet TDT (transducer)": ("transformers:{}", lambda folder: save_transducer(folder, "TDT"), "torch"),
    "Parakeet RNN-T (transducer)": (
        "transformers:{}",
        lambda folder: save_transducer(folder, "RNNT"),
        "torch",
    ),
    "Nemotron ASR Streaming (transducer)": ("transformers:{}", save_nemotron, "torch"),
    "Whisper (encoder-decoder)": ("transformers:{},longest=1", save_whisper, "torch"),
    "Moonshine (encoder-decoder)": ("transformers:{}", save_moonshine, "torch"),
    "Moonshine Streaming (encoder-decoder)": (
        "transformers:{}",
        lambda folder: save_moonshine(folder, streaming=True),
        "torch",
    ),
    "Cohere Transcribe (encoder-decoder)": ("transformers:{},language=en", save_cohere, "torch"),
    "Kyutai STT (codec and language model)": ("transformers:{}", save_kyutai, "torch"),
    "Canary (asked in words)": (
        "transformers:{},language=en",
        lambda folder: save_canary(folder, 16_000),
        "torch",
    ),
    "Qwen3-ASR (asked in words)": ("transformers:{}", save_qwen, "torch"),
    "GLM-ASR (asked in words)": ("transformers:{}", save_glm, "torch"),
    "Voxtral (asked in words)": ("transformers:{},language=en", save_voxtral, "torch mistral_common"),
    "Audio Flamingo 3 (asked in words)": (
        "transformers:{},longest=2",
        lambda folder: save_chatting(folder, "AudioFlamingo3"),
        "torch",
    ),
    "MOSS Transcribe (asked in words)": (
        "transformers:{}",
        lambda folder: save_chatting(folder, "MossTranscribeDiarize"),
        "torch",
    ),
    "VibeVoice ASR (asked in words)": (
        "transformers:{}",
        lambda folder: save_chatting(folder, "VibeVoiceAsr"),
        "torch",
    ),
    "Fun-ASR Nano (asked in words)": (
        "transformers:{},prompt=what",
        lambda folder: save_chatting(folder, "FunAsrNano"),
        "torch torchaudio",
    ),
    "Granite Speech (asked in a chat)": ("transformers:{},prompt=what?", save_granite, "torch torchaudio"),
    "SpeechBrain EncoderASR": ("speechbrain:{},kind=EncoderASR", save_speechbrain, "speechbrain"),
    "NeMo CTC": ("nemo:{}", save_nemo, "nemo.collections.asr"),
    "NeMo CTC as ONNX": ("onnx_asr:{}", save_onnx_asr, "onnx_asr onnx"),
    "NeMo CTC for sherpa-onnx": (
        "sherpa_onnx:{},kind=nemo_ctc",
        lambda folder: save_nemo_onnx(folder, "tokens.txt"),
        "sherpa_onnx onnx",
    ),
    "SenseVoice": ("funasr:{}", save_sense_voice, "funasr sentencepiece"),
}
"""By name: voxaudit's line for a folder, what writes the folder, and the modules that takes."""
