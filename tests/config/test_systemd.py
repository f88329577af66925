"""The service file for systemd."""

import shutil
import subprocess
from configparser import ConfigParser

from config import gunicorn
from tests.servers.production import missing
from tests.serving import ROOT

FILE = ROOT / "docs" / "strata.service"


def read_service() -> dict[str, str]:
    parser = ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(FILE)
    return dict(parser["Service"])


def test_lets_what_has_begun_end():
    service = read_service()

    assert service["KillMode"] == "mixed"
    assert int(service["TimeoutStopSec"]) > gunicorn.graceful_timeout


def test_has_no_secret_and_no_right_to_write_elsewhere():
    service = read_service()

    assert service["ExecStart"].split()[1:] == ["serve"]
    assert service["ProtectSystem"] == "strict"
    assert service["WorkingDirectory"] == f"/var/lib/{service['StateDirectory']}"


def test_is_understood_by_systemd(tmp_path):
    if shutil.which("systemd-analyze") is None:
        missing("systemd-analyze is not on the PATH.")
    copy = tmp_path / "strata.service"
    command = read_service()["ExecStart"].split()[0]
    text = FILE.read_text().replace(command, "/bin/true")
    copy.write_text(text.replace("=strata\n", "=root\n", 2))  # users of this machine

    checked = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False
    )

    assert (checked.returncode, checked.stderr) == (0, "")
