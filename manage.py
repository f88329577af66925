#!/usr/bin/env python
"""Strata's command line; ``manage.py help`` lists the commands."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")
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
