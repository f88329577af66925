"""The settings of a spec that need an app which can be left out of ``INSTALLED_APPS``."""

from core.apps import list_apps

APP_BY_SECTION = {
    "compounds": "spaces", "concepts": "concepts", "evidence": "evidence", "images": "spaces",
}  # fmt: skip
APP_BY_PROVIDER = {"clip": "spaces", "rdkit": "spaces"}


def describe_missing_app(app: str) -> str:
    """Say that an app is not installed; empty if it is, and for no app."""
    if not app or app in {installed.name for installed in list_apps()}:
        return ""
    return f"the app {app} is not installed: it is missing in INSTALLED_APPS"
