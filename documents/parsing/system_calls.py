"""Keeps a process from system calls that reading a file needs none of, by a filter of seccomp.

Landlock and namespaces leave them open: Unix sockets of other programs, access rights and times of
files that may only be read, and new processes. On other architectures than x86-64 and AArch64, and
on kernels without the filter, nothing is in force."""

import ctypes
import os
import platform
import struct
from typing import Final, NamedTuple

# From <linux/prctl.h>, <linux/seccomp.h>, <linux/audit.h> and <linux/filter.h>.
_PR_SET_SECCOMP: Final = 22
_PR_SET_NO_NEW_PRIVS: Final = 38
_MODE_FILTER: Final = 2
_ALLOW: Final = 0x7FFF0000
_KILL: Final = 0x80000000
_ERROR: Final = 0x00050000  # plus the number of the error
_EPERM, _ENOSYS = 1, 38
_LOAD, _RETURN, _AND = 0x20, 0x06, 0x54  # of BPF: 32 bits of the call, a verdict, a mask
_IF_EQUAL, _IF_AT_LEAST = 0x15, 0x35
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in ``seccomp_data``; arguments of 8 bytes
_X32: Final = 0x40000000  # from here, calls of another ABI of x86-64

_CLONE_THREAD: Final = 0x10000
_SOCK_STREAM, _SOCK_TYPE = 1, 0xF
_AF_UNIX: Final = 1
_SET_FLAGS: Final = (0x40086602, 0x401C5820)  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR

# name: the numbers on x86-64 and on AArch64; -1 where a call is missing.
_REFUSED: Final = {
    # other programs
    "connect": (42, 203), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "process_madvise": (440, 440), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "kcmp": (312, 272), "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    # access rights, owners, times and attributes of files
    "chmod": (90, -1), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, -1), "fchown": (93, 55), "lchown": (94, -1), "fchownat": (260, 54),
    "utime": (132, -1), "utimes": (235, -1), "futimesat": (261, -1), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "fremovexattr": (199, 16), "setxattrat": (463, 463),
    "removexattrat": (466, 466), "file_setattr": (469, 469), "truncate": (76, 45),
    # namespaces and mounts
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fspick": (433, 433),
    "mount_setattr": (442, 442), "open_by_handle_at": (304, 265),
    # the kernel itself; io_uring also makes calls past the filter
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # new processes
    "fork": (57, -1), "vfork": (58, -1),
}  # fmt: skip
# Only to a reader: LibreOffice is a new program, and makes a socket in its folder.
_REFUSED_TO_READERS: Final = {"execve": (59, 221), "execveat": (322, 281), "socket": (41, 198)}
_CLONE, _CLONE3 = (56, 220), (435, 435)
_SOCKET, _SOCKETPAIR = (41, 198), (53, 199)
_KILL_CALL, _TGKILL, _PRLIMIT, _IOCTL = (62, 129), (234, 131), (302, 261), (16, 29)


class _Step(NamedTuple):
    code: int
    value: int
    if_true: int = 0  # steps to leave out
    if_false: int = 0


def refuse_system_calls(*, is_office: bool = False) -> bool:
    """Refuse them to this process, which must have one thread, and to what it becomes; whether the
    system can."""
    machine = platform.machine()
    if machine not in {"x86_64", "aarch64"} or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    steps = _make_steps(machine == "aarch64", is_office)
    code = b"".join(struct.pack("=HBBI", s.code, s.if_true, s.if_false, s.value) for s in steps)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(steps), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    return (
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        and libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, program, 0, 0) == 0
    )


def _make_steps(is_arm: bool, is_office: bool) -> list[_Step]:
    refused = _REFUSED if is_office else _REFUSED | _REFUSED_TO_READERS
    steps = [
        _Step(_LOAD, _ARCHITECTURE),
        _Step(_IF_EQUAL, 0xC00000B7 if is_arm else 0xC000003E, if_true=1),
        _Step(_RETURN, _KILL),
        _Step(_LOAD, _NUMBER),
    ]
    if not is_arm:
        steps += [_Step(_IF_AT_LEAST, _X32, if_false=1), _Step(_RETURN, _KILL)]
    for numbers in refused.values():
        if numbers[is_arm] >= 0:
            steps += _refuse(numbers[is_arm])
    # glibc then uses ``clone``, whose flags can be read.
    steps += _refuse(_CLONE3[is_arm], error=_ENOSYS)
    steps += _refuse_unless(_CLONE[is_arm], 0, _CLONE_THREAD, mask=_CLONE_THREAD)
    # One of datagrams could be sent to any address.
    steps += _refuse_unless(_SOCKETPAIR[is_arm], 1, _SOCK_STREAM, mask=_SOCK_TYPE)
    steps += _refuse_unless(_PRLIMIT[is_arm], 0, 0)  # of itself
    if is_office:
        steps += _refuse_unless(_SOCKET[is_arm], 0, _AF_UNIX)
        steps += _refuse_unless(_SOCKET[is_arm], 1, _SOCK_STREAM, mask=_SOCK_TYPE)
    for number in (_KILL_CALL, _TGKILL):
        steps += _refuse_unless(number[is_arm], 0, os.getpid())  # which ``exec`` keeps
    for flags in _SET_FLAGS:
        steps += _refuse_if(_IOCTL[is_arm], 1, flags)
    return [*steps, _Step(_RETURN, _ALLOW)]


def _refuse(number: int, error: int = _EPERM) -> list[_Step]:
    return [_Step(_IF_EQUAL, number, if_false=1), _Step(_RETURN, _ERROR | error)]


def _refuse_unless(number: int, argument: int, value: int, mask: int | None = None) -> list[_Step]:
    test = _Step(_IF_EQUAL, value, if_true=1)
    return _test(number, argument, [test, _Step(_RETURN, _ERROR | _EPERM)], mask)


def _refuse_if(number: int, argument: int, value: int) -> list[_Step]:
    return _test(number, argument, _refuse(value))


def _test(number: int, argument: int, test: list[_Step], mask: int | None = None) -> list[_Step]:
    """Test the lower half of an argument; the kernel reads no more of these."""
    steps = [_Step(_LOAD, _ARGUMENTS + 8 * argument)]
    if mask is not None:
        steps.append(_Step(_AND, mask))
    steps += [*test, _Step(_LOAD, _NUMBER)]
    return [_Step(_IF_EQUAL, number, if_false=len(steps)), *steps]
