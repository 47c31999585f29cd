"""Hold the network namespace of a run's programs; executed as a script, without the package.

The script creates a user and a network namespace, and sends a listener in it over a socket, whose
descriptor is its argument; the run's proxy accepts connections there. Then it connects to ports in
the namespace on request: it receives a port number as text, and returns a connected socket, or
nothing. It exits when the socket is closed.
"""

import ctypes
import fcntl
import os
import sys

# importing `socket`, which wraps it, takes as long as starting Python
from _socket import AF_INET, AF_INET6, SCM_RIGHTS, SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, socket
from struct import pack

PORT = 3128
"""Port of the listener, the same in every run, so that the output of programs is reproducible."""
_NEW_USER = 0x10000000
_NEW_NET = 0x40000000
_SET_FLAGS = 0x8914
_UP = 0x41


def main() -> None:
    outside = socket(fileno=int(sys.argv[1]))
    try:
        enter_namespaces()
        listener = socket(AF_INET, SOCK_STREAM)
        listener.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", PORT))
        listener.listen(128)
    except OSError as error:
        outside.send(f"no {error.strerror}".encode())
        return
    send_socket(outside, listener)
    while port_text := outside.recv(64):
        serve(outside, int(port_text))


def enter_namespaces() -> None:
    user = os.getuid()
    group = os.getgid()
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
    probe = socket(AF_INET, SOCK_STREAM)
    fcntl.ioctl(probe.fileno(), _SET_FLAGS, pack("16sH14x", b"lo", _UP))
    probe.close()


def serve(outside: socket, port: int) -> None:
    for family, host in ((AF_INET, "127.0.0.1"), (AF_INET6, "::1")):
        try:
            connection = socket(family, SOCK_STREAM)
            connection.settimeout(5)
            connection.connect((host, port))
            connection.setblocking(False)
            send_socket(outside, connection)
            return
        except OSError:
            continue
    outside.send(b"no")


def send_socket(outside: socket, inside: socket) -> None:
    outside.sendmsg([b"yes"], [(SOL_SOCKET, SCM_RIGHTS, pack("i", inside.fileno()))])
    inside.close()


if __name__ == "__main__":
    main()
