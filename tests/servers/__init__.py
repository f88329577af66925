"""Tests that need real servers: PostgreSQL's locks, Redis, workers in separate processes.

Run with ``DJANGO_SETTINGS_MODULE=config.settings.test_servers``.
"""
