"""OpenAI's Whisper checkpoint (English only) as a folder for transformers: the same numbers under other names."""

from __future__ import annotations

import base64
import re
from pathlib import Path

RENAMED = (
    (r"^(encoder|decoder)\.", r"model.\1."),
    (r"\.blocks\.", ".layers."),
    (r"\.cross_attn\.", ".encoder_attn."),
    (r"\.cross_attn_ln\.", ".encoder_attn_layer_norm."),
    (r"\.attn\.", ".self_attn."),
    (r"\.attn_ln\.", ".self_attn_layer_norm."),
    (r"\.query\.", ".q_proj."),
    (r"\.key\.", ".k_proj."),
    (r"\.value\.", ".v_proj."),
    (r"\.out\.", ".out_proj."),
    (r"\.mlp\.0\.", ".fc1."),
    (r"\.mlp\.2\.", ".fc2."),
    (r"\.mlp_ln\.", ".final_layer_norm."),
    (r"\.(ln_post|ln)\.", ".layer_norm."),
    (r"\.token_embedding\.", ".embed_tokens."),
    (r"\.positional_embedding$", ".embed_positions.weight"),
)
END, START, NO_TIMESTAMPS = 50256, 50257, 50362


def save(checkpoint: Path, folder: Path) -> None:
    """Write model, tokenizer and feature extractor of `checkpoint` (tiny.en.pt) into `folder`."""
    import torch
    import transformers

    loaded = torch.load(checkpoint, map_location="cpu", weights_only=True)
    sizes = loaded["dims"]
    config = transformers.WhisperConfig(
        vocab_size=sizes["n_vocab"],
        num_mel_bins=sizes["n_mels"],
        d_model=sizes["n_audio_state"],
        encoder_layers=sizes["n_audio_layer"],
        decoder_layers=sizes["n_text_layer"],
        encoder_attention_heads=sizes["n_audio_head"],
        decoder_attention_heads=sizes["n_text_head"],
        encoder_ffn_dim=4 * sizes["n_audio_state"],
        decoder_ffn_dim=4 * sizes["n_text_state"],
        max_source_positions=sizes["n_audio_ctx"],
        max_target_positions=sizes["n_text_ctx"],
        decoder_start_token_id=START,
        pad_token_id=END,
        bos_token_id=END,
        eos_token_id=END,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    model = transformers.WhisperForConditionalGeneration(config)
    weights = {rename(name): value.float() for name, value in loaded["model_state_dict"].items()}
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert (missing, unexpected) == (["proj_out.weight"], [])
    model.tie_weights()
    generation = model.generation_config
    generation.is_multilingual = False
    generation.no_timestamps_token_id = NO_TIMESTAMPS
    generation.begin_suppress_tokens = [220, END]
    generation.max_length = sizes["n_text_ctx"]
    model.save_pretrained(folder)
    extractor = transformers.WhisperFeatureExtractor(feature_size=sizes["n_mels"])
    transformers.WhisperProcessor(feature_extractor=extractor, tokenizer=tokenizer()).save_pretrained(folder)


def rename(name: str) -> str:
    """Return a weight's name in transformers."""
    for pattern, replacement in RENAMED:
        name = re.sub(pattern, replacement, name)
    return name


def tokenizer():
    """Return a tokenizer that spells tokens (and cannot make them), from the vocabulary inside openai-whisper."""
    import transformers
    import whisper

    spelling = {byte: chr(byte) for byte in (*range(33, 127), *range(161, 173), *range(174, 256))}
    for byte in range(256):
        if byte not in spelling:
            spelling[byte] = chr(256 + len(spelling) - 188)
    lines = (Path(whisper.__file__).parent / "assets" / "gpt2.tiktoken").read_bytes().splitlines()
    pieces = (line.split() for line in lines)
    vocabulary = {
        "".join(spelling[byte] for byte in base64.b64decode(piece)): int(rank) for piece, rank in pieces
    }
    made = transformers.WhisperTokenizer(vocab=vocabulary, merges=[])
    names = [
        "<|endoftext|>",
        "<|startoftranscript|>",
        *(f"<|extra{n}|>" for n in range(START + 1, NO_TIMESTAMPS)),
    ]
    made.add_special_tokens({"additional_special_tokens": [*names, "<|notimestamps|>"]})
    assert made.convert_tokens_to_ids("<|notimestamps|>") == NO_TIMESTAMPS
    return made
