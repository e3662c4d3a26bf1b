"""Parts that models of the tests name in their settings."""

from __future__ import annotations


class Letters:
    """A tokenizer of six letters, as SentencePiece's: ids from 2 on."""

    def encode_as_ids(self, text):
        return ["abcdef".index(letter) + 2 for letter in text if letter in "abcdef"]

    def decode_ids(self, ids):
        return "".join("abcdef"[int(number) - 2] for number in ids if 2 <= int(number) < 8)
