"""Tests of the web server's limits for both forms, with settings that a test can exceed."""

import pytest

pytest.register_assert_rewrite("tests.limits.web_server")
