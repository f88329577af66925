#!/usr/bin/env python
"""Strata's command line: ``strata help`` lists the commands."""

import os
import sys
from pathlib import Path


def run_installed() -> None:
    """The command ``strata`` of the wheel, in which this file is ``strata_rag/manage.py``."""
    os.environ.setdefault("STRATA_PROJECT_DIR", str(Path.cwd()))
    sys.path.insert(0, str(Path(__file__).parent))
    main()


def main() -> None:
    from config.environment import load_environment
    from config.server_settings import use_settings_of_server

    load_environment()
    use_settings_of_server()
    from django.conf import settings
    from django.core.management import execute_from_command_line

    from core.expected_errors import is_expected
    from indexing.model_loading import waiting_for_models

    if sys.argv[1:] in (["--version"], ["version"]):  # Django would print its own
        print(settings.STRATA_RELEASE)  # noqa: T201
        return
    try:
        with waiting_for_models():
            execute_from_command_line(["strata", *sys.argv[1:]])
        sys.stdout.flush()
    except BrokenPipeError:
        # The program that reads the output has ended, such as head. Python flushes it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if not is_expected(error):
            raise
        sys.exit(f"Error: {error}. Run strata doctor for details.")  # such as a full disk


if __name__ == "__main__":
    main()
