"""How many tokens a text is, by tiktoken's `cl100k_base`, with no download."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import tiktoken

from proxy.errors import ConfigError

_TABLE = "cl100k_base"
_CACHE_VARIABLES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")


def count_tokens(text: str) -> int:
    """The length of `text` in cl100k_base tokens; special tokens in it count as the text that they are.

    Raises:
        ConfigError: the tokenizer's table is not on this machine and can't be fetched.
    """
    return len(_encoding().encode_ordinary(text))


@cache
def _encoding() -> tiktoken.Encoding:
    _use_bundled_tables()
    try:
        return tiktoken.get_encoding(_TABLE)
    except Exception as error:  # tiktoken lets its HTTP client's and the file system's errors through
        raise ConfigError(
            f"The tokenizer table {_TABLE} can't be loaded: {error}. "
            "Set TIKTOKEN_CACHE_DIR to a folder that holds it, or unset it to use the one litellm brings."
        ) from error


def _use_bundled_tables() -> None:
    """litellm's wheel carries the tables under the names that tiktoken's cache expects."""
    if any(variable in os.environ for variable in _CACHE_VARIABLES):
        return
    spec = find_spec("litellm")  # finds the folder without the two seconds of importing it
    if spec is None or spec.origin is None:
        return
    folder = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
    if folder.is_dir():
        os.environ[_CACHE_VARIABLES[0]] = str(folder)
