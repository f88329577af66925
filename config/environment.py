"""Reads settings from the environment. A wrong value ends the process with one sentence."""

import os
import re
import sys
from collections.abc import Collection
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from dotenv import load_dotenv

BASE_DIR = Path(__file__).resolve().parents[1]  # the code, and the files it comes with
MAX_URL_CHARS = 2_000  # the length of a receiver's address in the table of deliveries
# Unreserved characters only, so that it is the same in an address and decoded.
BASE_PATH = re.compile(r"(/[\w~-][\w.~-]*)+", re.ASCII)
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def load_environment() -> None:
    """Set the variables of ``.env`` that the environment lacks. Every process calls this first.

    ``STRATA_ENV_FILE`` names another file. The embedded form is the default.
    """
    load_dotenv(os.environ.get("STRATA_ENV_FILE") or read_project_dir() / ".env")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")


def read_folder(name: str, default: Path) -> Path:
    return Path(os.environ.get(name, "").strip() or default).resolve()


def read_project_dir() -> Path:
    """The folder with what people write, such as specs and ``.env``. A clone is one; the command
    ``strata`` sets it to the current folder."""
    return read_folder("STRATA_PROJECT_DIR", BASE_DIR)


def read_data_dir() -> Path:
    """Everything the service writes is below it."""
    return read_folder("STRATA_DATA_DIR", read_project_dir() / "var")


def read_int(name: str, default: int) -> int:
    """Read a whole number from the environment.

    Raises:
        SystemExit: the value is not a whole number of 0 or more.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit()):
        sys.exit(f"{name} is {text!r}, but must be a whole number of 0 or more, such as {default}.")
    return int(text)


def read_number(name: str, default: float, at_most: float) -> float:
    """Read a number from the environment.

    Raises:
        SystemExit: the value is not a number above 0 and at most ``at_most``.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= at_most:  # NaN fails, too
        sys.exit(
            f"{name} is {text!r}, but must be a number above 0 and at most {at_most:g}, such as "
            f"{default:g}."
        )
    return number


def read_list(name: str) -> list[str]:
    """The values between commas."""
    return [value.strip() for value in os.environ.get(name, "").split(",") if value.strip()]


def read_base_path(name: str) -> str:
    """Read the path of an address, without a slash at its end.

    Raises:
        SystemExit: it is no such path.
    """
    path = os.environ.get(name, "").strip().rstrip("/")
    if path and not BASE_PATH.fullmatch(path):
        sys.exit(
            f"{name} is {path!r}, but must be a path of ASCII letters, digits and - _ . ~, such as "
            "/strata."
        )
    return path


def read_networks(name: str, default: str) -> list[IPv4Network | IPv6Network]:
    """Read addresses and networks, separated by commas.

    Raises:
        SystemExit: one is neither.
    """
    try:
        return [ip_network(each) for each in read_list(name) or default.split(",")]
    except ValueError as error:
        sys.exit(f"{name}: {error}. Write addresses and networks, such as 10.0.0.0/8,192.0.2.1.")


def read_url(name: str, default: str = "") -> str:
    """Read the URL of a web server from the environment.

    Raises:
        SystemExit: the value is not the URL of a web server.
    """
    return require_url(name, os.environ.get(name, "").strip() or default)


def require_url(name: str, url: str) -> str:
    """Check that a setting is empty or the URL of a web server.

    Raises:
        SystemExit: ``url`` is neither empty nor the URL of a web server, or it is too long.
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises if it is none
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname)
        is_valid = not url or (is_web and len(url) <= MAX_URL_CHARS)
    except ValueError:
        is_valid = False
    if not is_valid:
        # The value is not shown: it may contain a password.
        sys.exit(f"{name} must be a URL, such as https://models.example.org/v1.")
    return url


def read_choice(name: str, default: str, allowed: Collection[str]) -> str:
    """One of the allowed values; the case of what is given does not matter.

    Raises:
        SystemExit: it is none of them.
    """
    given = os.environ.get(name, "").strip() or default
    found = next((value for value in allowed if value.lower() == given.lower()), None)
    if found is None:
        sys.exit(f"{name} is {given!r}, but must be one of {', '.join(allowed)}.")
    return found


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
