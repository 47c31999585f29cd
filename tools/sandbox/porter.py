"""Holds a network of its own for the programs of a run; executed by itself, without the package.

It makes a user and a network namespace, says over a socket (its argument is the descriptor) that
it stands, and
hands out a listener there, whose other end is the run's proxy. Afterwards it connects to ports
inside for whoever asks outside: a port's number as text in, a connected socket or nothing back.
It ends when the socket is closed.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys

PORT = 3128
"""Of the listener; the same in each run, since what programs print shall not differ by it."""
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_SET_FLAGS, _UP = 0x8914, 0x41


def main() -> None:
    outside = socket.socket(fileno=int(sys.argv[1]))
    try:
        enter()
        listener = socket.create_server(("127.0.0.1", PORT), backlog=128)
    except OSError as error:
        outside.send(f"no {error.strerror}".encode())
        return
    socket.send_fds(outside, [b"yes"], [listener.fileno()])
    listener.close()
    while wanted := outside.recv(64):
        serve(outside, int(wanted))


def enter() -> None:
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_USER | _NEW_NET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    with socket.socket() as some:
        fcntl.ioctl(some, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP))


def serve(outside: socket.socket, port: int) -> None:
    for host in ("127.0.0.1", "::1"):
        try:
            with socket.create_connection((host, port), timeout=5) as found:
                found.setblocking(False)
                socket.send_fds(outside, [b"yes"], [found.fileno()])
                return
        except OSError:
            continue
    outside.send(b"no")


main()
