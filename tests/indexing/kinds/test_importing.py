import subprocess
import sys

from django.conf import settings


class TestDrafters:
    def test_do_not_load_llama_index_until_they_draft(self):
        code = (
            "import django, sys; django.setup(); "
            "from indexing.drafting import get_drafter; from indexing.kinds import KINDS; "
            "drafters = [get_drafter(kind) for kind in KINDS]; "
            "assert len(drafters) == len(KINDS) and 'llama_index.core' not in sys.modules"
        )

        subprocess.run(
            [sys.executable, "-c", code],
            cwd=settings.BASE_DIR, check=True,
            env={"DJANGO_SETTINGS_MODULE": "config.settings.test"},
        )  # fmt: skip
