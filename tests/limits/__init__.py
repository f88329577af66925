"""What the web server grants a client, in both forms, with limits that a test can reach."""

import pytest

pytest.register_assert_rewrite("tests.limits.web_server")
