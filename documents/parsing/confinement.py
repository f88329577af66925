"""Confines the child process that parses files to what reading one file needs.

On Linux it uses what the kernel supports: user, network and IPC namespaces of its own (no
network), Landlock (no file but the program's and the documents', no writing except to a private
/tmp, no signals and no memory of other processes), and a filter of system calls (no connections to
sockets of other programs, no new processes, no changed access rights). A file that takes over the
reader then finds no secret and no way to send one. On other systems, only the limits of
``child_process`` apply.
"""

import ctypes
import os
import struct
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from documents.parsing.system_calls import refuse_system_calls

NO_NETWORK: Final = "no network"
NO_OTHER_FILES: Final = "no other files"
NO_OTHER_CALLS: Final = "no sockets, processes or access rights of others"
TMP: Final = "/tmp"  # noqa: S108

# From <linux/sched.h>, <linux/mount.h>, <linux/prctl.h> and <linux/landlock.h>.
_CLONE_NEWNS: Final = 0x20000
_MS_BIND: Final = 4096
_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWNET: Final = 0x40000000
_CLONE_NEWIPC: Final = 0x08000000
_PR_SET_NO_NEW_PRIVS: Final = 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls, on every architecture
_CREATE_RULESET_VERSION: Final = 1
_RULE_PATH_BENEATH: Final = 1
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
# The rights on files that each version of Landlock can handle, as the number of the highest bit.
_LAST_RIGHT_BY_VERSION: Final = {1: 12, 2: 13, 3: 14, 4: 14, 5: 15}
_NET_VERSION, _SCOPE_VERSION = 4, 6
_ALL_NET: Final = 0b11  # to bind and to connect TCP sockets
_ALL_SCOPES: Final = 0b11  # abstract Unix sockets and signals


def confine(folders: Iterable[str], private_tmp: str | None = None) -> list[str]:
    """Confine this process, which must have one thread, for the rest of its life; return what is
    in force. ``folders`` hold the documents that it may read; one may be a file. ``private_tmp``:
    the folder that LibreOffice sees as ``TMP``, where alone it may write; a reader writes nowhere.
    """
    if not sys.platform.startswith("linux"):
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    in_force = []
    flags, mount, writable = _CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC, None, []
    if private_tmp is not None:
        flags, mount, writable = flags | _CLONE_NEWNS, private_tmp.encode(), [TMP]
    if libc.unshare(flags) == 0 and (
        mount is None or libc.mount(mount, TMP.encode(), None, _MS_BIND, None) == 0
    ):
        in_force.append(NO_NETWORK)
    if _restrict_files(libc, [*_program_folders(), *folders], writable):
        in_force.append(NO_OTHER_FILES)
    if refuse_system_calls(is_office=private_tmp is not None):  # last: it refuses some of the above
        in_force.append(NO_OTHER_CALLS)
    return in_force


def _program_folders() -> list[str]:
    """Where the interpreter, its libraries and this program are."""
    root = Path(__file__).resolve().parents[2]
    return [
        *sysconfig.get_paths().values(),
        *(path for path in sys.path if path and Path(path).resolve() != root),  # it holds the data
        sys.base_prefix,
        *(str(root / name) for name in ("documents", "core", "text", ".venv")),
        *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo"),
        *("/etc/ld.so.cache", "/etc/mime.types", "/dev/null", "/dev/urandom"),
    ]


def _restrict_files(libc: ctypes.CDLL, readable: Iterable[str], writable: Iterable[str]) -> bool:
    version = libc.syscall(_CREATE_RULESET, None, 0, _CREATE_RULESET_VERSION)
    if version < 1:
        return False
    last_right = _LAST_RIGHT_BY_VERSION[min(version, max(_LAST_RIGHT_BY_VERSION))]
    all_rights = (1 << last_right + 1) - 1
    attributes = struct.pack(
        "QQQ",
        all_rights,
        _ALL_NET if version >= _NET_VERSION else 0,
        _ALL_SCOPES if version >= _SCOPE_VERSION else 0,
    )
    # An older kernel takes the structure it knows; the fields that it does not know are zero.
    ruleset = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        return False
    try:
        for path in {*map(os.path.realpath, readable)}:
            _allow(libc, ruleset, path, _READ_FILE | _EXECUTE | _READ_DIR)
        for path in writable:
            _allow(libc, ruleset, path, all_rights)
        return (
            libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            and libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
        )
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not on this machine
        return
    try:
        rights &= -1 if Path(path).is_dir() else ~_READ_DIR
        rule = struct.pack("=Qi", rights, descriptor)
        if libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0):
            raise OSError(ctypes.get_errno(), "Landlock refuses a rule", path)
    finally:
        os.close(descriptor)
