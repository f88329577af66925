"""The apps that can be left out of ``INSTALLED_APPS``, by what of a spec needs them."""

from core.apps import list_apps

APP_BY_SECTION = {
    "compounds": "spaces", "concepts": "concepts", "evidence": "evidence", "images": "spaces",
    "sources": "feeds",
}  # fmt: skip
APP_BY_PROVIDER = {"clip": "spaces", "rdkit": "spaces"}
APP_BY_SETTING = {"identifiers": "answers", "search.pipeline": "answers"}  # of the core's sections


def require_app(app: str | None, setting: str = "") -> None:
    """Raises ``ValueError``: the app that the setting needs is not installed."""
    if app and app not in {installed.name for installed in list_apps()}:
        name = f"{setting}: " if setting else ""
        raise ValueError(f"{name}the app {app} is not installed: it is missing in INSTALLED_APPS")
