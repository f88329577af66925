"""Reads settings from the environment. A wrong value ends the process with one sentence."""

import os
import sys


def read_int(name: str, default: int) -> int:
    """
    Raises:
        SystemExit: the value is not a whole number of 0 or more.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit()):
        sys.exit(f"{name} is {text!r}, but must be a whole number of 0 or more, such as {default}.")
    return int(text)
