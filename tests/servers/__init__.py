"""What only real servers show: PostgreSQL's locks, Redis, workers in processes of their own.

Run with ``DJANGO_SETTINGS_MODULE=config.settings.test_servers``.
"""
