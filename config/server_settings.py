"""A command beside a running server works with the server's settings, not with the shell's."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from config.environment import read_data_dir
from core.running_server import read_environment

# Which service a command asks, with which key, and where settings are: never the server's.
OF_THE_COMMAND = {"STRATA_URL", "STRATA_KEY", "STRATA_DATA_DIR", "STRATA_ENV_FILE"}


def collect_settings(key_variables: Iterable[str] = ()) -> dict[str, str]:
    """The variables of this process that are settings, and those of the given names.

    ``key_variables``: the variables in which specs look for keys.
    """
    names = {name for name in os.environ if _is_setting(name)} | os.environ.keys() & {
        *key_variables
    }
    return {name: _resolve(name, os.environ[name]) for name in names}


def use_settings_of_server() -> None:
    """Replace the settings in this process's environment with those of the server that runs on the
    data folder, if one does. Says which ones the shell had set otherwise."""
    environment = read_environment(read_data_dir())
    if environment is None:
        return
    own = collect_settings()
    for name in own.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)
    differing = sorted(name for name, value in own.items() if environment.get(name, "") != value)
    if differing:
        names = ", ".join(differing)
        sys.stderr.write(f"As in the running server, not as in this shell: {names}.\n")


def _is_setting(name: str) -> bool:
    is_setting = (
        name.startswith("STRATA_")
        or name.endswith("_EMBEDDING_COLLECTION_NAME")
        or name == "ALLOWED_HOSTS"
    )
    return is_setting and name not in OF_THE_COMMAND


def _resolve(name: str, value: str) -> str:
    """A folder is relative to the process that was started with it."""
    return str(Path(value).resolve()) if value and name.endswith("_DIR") else value
