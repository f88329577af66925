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


def read_listen_address(default: str) -> str:
    """``STRATA_LISTEN``, on which gunicorn listens.

    Raises:
        SystemExit: it does not end with a port.
    """
    address = os.environ.get("STRATA_LISTEN", "").strip() or default
    port = address.rpartition(":")[2]
    if not address.startswith("unix:") and not (
        port.isascii() and port.isdigit() and 1 <= int(port) <= 65_535
    ):
        sys.exit(
            f"STRATA_LISTEN is {address!r}, but must be an address and a port from 1 to 65535, "
            f"such as {default}."
        )
    return address
