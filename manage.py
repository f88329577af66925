#!/usr/bin/env python
"""Strata's command line; ``manage.py help`` lists the commands."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")
    from django.core.management import execute_from_command_line

    from indexing.model_loading import waiting_for_models

    with waiting_for_models():
        execute_from_command_line(sys.argv)
