#!/usr/bin/env python
"""Strata's command line; ``manage.py help`` lists the commands."""

import os
import sys

from config.environment import load_environment
from config.server_settings import use_settings_of_server

if __name__ == "__main__":
    load_environment()
    use_settings_of_server()
    from django.core.management import execute_from_command_line

    from indexing.model_loading import waiting_for_models

    try:
        with waiting_for_models():
            execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # The program that reads the output has ended, such as head. Python flushes it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
