"""A preset that another distribution adds: a spec, and a Django app named in its metadata."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

COMMAND = """
from django.core.management.base import BaseCommand

from documents.services import TextContent, add_artifact


class Command(BaseCommand):
    def handle(self, **options):
        artifact, _ = add_artifact("recipes", TextContent(("Knead the dough.",)), title="Bread")
        self.stdout.write(f"Added {artifact.title}")
"""
FILES = {
    "recipes/__init__.py": "",
    "recipes/apps.py": (
        "from django.apps import AppConfig\n\n\n"
        "class RecipesConfig(AppConfig):\n    name = 'recipes'\n"
    ),
    "recipes/management/__init__.py": "",
    "recipes/management/commands/__init__.py": "",
    "recipes/management/commands/import_recipes.py": COMMAND,
    "recipes-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: recipes\nVersion: 1\n",
    "recipes-1.0.dist-info/entry_points.txt": (
        "[strata.presets]\nrecipes = recipes.apps.RecipesConfig\n"
    ),
    "specs/recipes.yaml": "title: Recipes\nchunks: {strategies: [{name: paragraph}]}\n",
}


@pytest.fixture
def manage(tmp_path):
    """Run a command in an environment with the distribution and its spec."""
    for name, content in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
        "PYTHONPATH": str(tmp_path),
        "STRATA_DATA_DIR": str(tmp_path / "data"),
        "STRATA_SPECS_DIR": str(tmp_path / "specs"),
    }

    def run(*command):
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


class TestAddedPreset:
    def test_provides_its_index_and_its_command(self, manage):
        manage("migrate", "--verbosity", "0")

        assert manage("import_recipes") == "Added Bread\n"

        assert "recipes" in manage("status")
