#!/bin/sh
# Prepare .venv at the repository's root for `run` or for `dev` (`run` plus the development tools).
#
#   scripts/setup.sh run|dev      returns at once if nothing has changed since the last time
#   scripts/setup.sh browser      for the tests: finds or installs a Chromium, and adds test packages
#   scripts/setup.sh extras A,B   adds extras of the project, as named in pyproject.toml
#   scripts/setup.sh uv ARGS...   runs the uv that the setup uses
#   scripts/setup.sh pythons      lists the supported Pythons that are installed, oldest first
#
# `--python 3.13` before the command selects another environment, .venv-3.13, with that Python.
#
# PINS=none in the environment installs the newest published versions that pyproject.toml allows.
#
# Needs only a POSIX shell and Python >= 3.11; see README.md for the commands that call it.
set -eu
cd "$(dirname "$0")/.."

PYTHON=
if [ "${1:-}" = --python ]; then PYTHON=$2; shift 2; fi
VENV=.venv${PYTHON:+-$PYTHON}
STAMP=$VENV/.setup
# Companies and mirrors have their own certificates: use the machine's list, not a bundled one.
# (The second name is the one that uv used before 0.10.)
export UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1
export PIP_DISABLE_PIP_VERSION_CHECK=1
# Ignore an environment that is active in the caller's shell.
unset VIRTUAL_ENV CONDA_PREFIX PYTHONHOME PYTHONPATH

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

is_recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# "3.13 PATH" for each supported Python that is installed: on the PATH, by pyenv, or by uv.
list_pythons() {
    supported=$(sed -n 's/^ *"Programming Language :: Python :: \(3\.[0-9]*\)",$/\1/p' pyproject.toml)
    for version in $supported; do
        if path=$(python_of "$version"); then echo "$version $path"; fi
    done
}

python_of() { # python_of 3.13: the path of an interpreter that starts
    by_uv=${UV_PYTHON_INSTALL_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/uv/python}
    for path in "$(command -v "python$1")" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python \
        "$by_uv/cpython-$1".*/bin/python; do
        # Started, not only found: version managers leave shims that answer with an error.
        if is_release "$path" "$1"; then echo "$path"; return; fi
    done
    return 1
}

is_release() { # is_release PATH 3.13: not a prerelease, and not a free-threaded build
    "$1" -c "import sys, sysconfig as s; sys.exit(
        sys.version_info[:2] != tuple(map(int, '$2'.split('.')))
        or sys.version_info.releaselevel != 'final' or bool(s.get_config_var('Py_GIL_DISABLED')))" \
        2>/dev/null
}

find_python() {
    for python in python3.13 python3.12 python3.11 python3 python3.14; do
        # Started, not only found: version managers leave shims that answer with an error.
        if is_recent "$python"; then echo "$python"; return; fi
    done
    return 1
}

as_root_with_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

quietly() { # print a command's output only if it fails
    log=$(mktemp)
    code=0
    "$@" >"$log" 2>&1 || { code=$?; cat "$log" >&2; }
    rm -f "$log"
    return $code
}

apt_install() {
    say "Installing $* ..."
    export DEBIAN_FRONTEND=noninteractive
    set -- apt-get install -y --no-install-recommends "$@"
    "$@" >/dev/null 2>&1 || { quietly apt-get update && quietly "$@"; }
}

# --- the environment -----------------------------------------------------------------------------

make_venv() {
    rm -rf "$VENV"
    if [ -n "$PYTHON" ]; then
        python=$(list_pythons | sed -n "s/^$PYTHON //p")
        [ -n "$python" ] || die "Python $PYTHON is not installed or does not start; installed:" \
            "$(list_pythons | cut -d ' ' -f 1 | xargs)."
    elif command -v uv >/dev/null; then
        # uv downloads a Python if the machine has none that is recent enough.
        uv venv --quiet --python '>=3.11' "$VENV" >&2 || die 'uv could not create .venv: see above.'
        return
    else
        python=$(find_python) || die 'Python 3.11 or newer is needed and none was found:' \
            'install one (apt install python3 python3-venv, brew install python) and try again.'
    fi
    "$python" -m venv "$VENV" >/dev/null 2>&1 && return
    rm -rf "$VENV"
    # Debian and Ubuntu package the module that installs pip into an environment separately.
    package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    if as_root_with_apt; then
        apt_install "$package" || die "$package could not be installed: see above."
        "$python" -m venv "$VENV" >&2 || die "$python -m venv failed: see above."
    else
        die "$python cannot create an environment: run 'sudo apt install $package' and try again."
    fi
}

run_uv() {
    if command -v uv >/dev/null; then uv "$@"; return; fi
    [ -x "$VENV/bin/uv" ] || "$VENV/bin/python" -m pip install --quiet 'uv>=0.9' >&2 || return
    "$VENV/bin/uv" "$@"
}

install_with_uv() { # install_with_uv run|dev
    if [ "${PINS:-}" = none ]; then
        run_uv pip install --quiet --python "$VENV" --compile-bytecode --upgrade --group dev --editable .
        return
    fi
    run_uv pip install --quiet --python "$VENV" --compile-bytecode -r "requirements/$1.txt" &&
        run_uv pip install --quiet --python "$VENV" --no-deps --editable .
}

# Ten times slower, but it uses the mirror and proxy that the machine's pip is configured for.
install_with_pip() { # install_with_pip run|dev
    "$VENV/bin/python" -m pip --version >/dev/null 2>&1 || return
    say 'uv could not install the packages; trying with pip ...'
    "$VENV/bin/python" -m pip install --quiet -r "requirements/$1.txt" >&2 &&
        "$VENV/bin/python" -m pip install --quiet --no-deps --editable . >&2
}

# Everything that an environment depends on, including the folder, which scripts and the .pth file name.
fingerprint() {
    { pwd; echo "${PINS:-}"; "$VENV/bin/python" -VV; cat pyproject.toml requirements/run.txt requirements/dev.txt; } |
        cksum
}

is_ready() { # is_ready run|dev: an environment for dev also serves run
    [ -f "$STAMP" ] && is_recent "$VENV/bin/python" || return 1
    read -r level sum <"$STAMP"
    [ "$sum" = "$(fingerprint)" ] && { [ "$level" = dev ] || [ "$level" = "$1" ]; }
}

# Return whether a setup was completed, its Python still works, and the folder was not moved.
is_whole() {
    [ -f "$STAMP" ] && is_recent "$VENV/bin/python" && grep -qxF "$PWD" "$VENV/.place"
}

take_lock() { # one setup at a time: another one waits, and then usually has nothing left to do
    lock=$VENV.lock
    until mkdir "$lock" 2>/dev/null; do
        owner=$(cat "$lock/pid" 2>/dev/null || :)
        if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then rm -rf "$lock"; continue; fi
        [ -n "${told:-}" ] || say 'Another setup is in progress: waiting for it ...'
        told=1
        sleep 1
    done
    echo $$ >"$lock/pid"
    trap 'rm -rf "$lock"' EXIT
    trap 'exit 130' INT TERM HUP
}

set_up() { # set_up run|dev
    is_ready "$1" && return
    [ -n "${lock:-}" ] || take_lock
    is_ready "$1" && return
    say "Setting up $VENV for '$1' (once; a minute or less) ..."
    level=$1
    if [ -f "$STAMP" ] && grep -q '^dev ' "$STAMP"; then level=dev; fi
    # Keep it if possible, so that packages that the user added survive new pins.
    is_whole || make_venv
    rm -f "$STAMP"
    pwd >"$VENV/.place"
    install_with_uv "$level" || { [ "${PINS:-}" != none ] && install_with_pip "$level"; } ||
        die 'The packages could not be installed: see above (is there a network?).'
    # Written last, so that an interrupted setup does not count as a finished one.
    echo "$level $(fingerprint)" >"$STAMP"
}

# --- a browser, and other requirements of the tests ----------------------------------------------

browser_by_name() {
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" >/dev/null && return
    done
    [ -x '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome' ]
}

# A minimal Debian lacks a library that Playwright's driver needs.
driver_starts() { "$VENV/bin/playwright" --version >/dev/null 2>&1; }

browser_of_playwright() {
    "$VENV/bin/python" - <<'PYTHON'
import os, sys
from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    sys.exit(not os.path.exists(playwright.chromium.executable_path))
PYTHON
}

browser() {
    driver_starts || { as_root_with_apt && apt_install libatomic1 && driver_starts; } || {
        say "Playwright does not start, and the tests that need it will say so:" \
            "try 'sudo apt install libatomic1'."
        return 0
    }
    if browser_by_name || browser_of_playwright; then return; fi
    say 'No Chromium found: installing one (once) ...'
    if "$VENV/bin/playwright" install chromium >/dev/null 2>&1; then
        # The download contains only the browser, without the libraries that a server may lack.
        if as_root_with_apt; then quietly "$VENV/bin/playwright" install-deps chromium || :; fi
        return
    fi
    if as_root_with_apt && apt_install chromium; then return; fi
    say "No browser could be installed, and the tests that need one will say so:" \
        "install Chromium or Google Chrome, or see" \
        "the output of '.venv/bin/playwright install chromium'."
}

# Install packages without their dependencies, which the tests do not need.
without_dependencies() { # without_dependencies MODULE FILE WHAT
    "$VENV/bin/python" -c 'import sys, importlib.util as u; sys.exit(not u.find_spec(sys.argv[1]))' "$1" && return
    run_uv pip install --quiet --python "$VENV" --no-deps -r "$2" 2>/dev/null ||
        quietly "$VENV/bin/python" -m pip install --quiet --no-deps -r "$2" ||
        say "$3 could not be installed, and the tests that need it are skipped."
}

test_packages() {
    without_dependencies miniwob requirements/pages.txt 'MiniWoB++'
    without_dependencies deepagents requirements/peers.txt 'deepagents'
}

# Only in CI: a test command should not install a database. It installs no sandbox, either: the tests
# must pass with those that the machine has, and report the missing ones.
services() {
    [ "${CI:-}" = true ] && as_root_with_apt || return 0
    ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 && return
    apt_install postgresql || say "Could not install: postgresql."
}

case ${1:-} in
run | dev) set_up "$1" ;;
browser) set_up dev; browser; test_packages; services ;;
extras)
    take_lock
    set_up run
    run_uv pip install --python "$VENV" --compile-bytecode -c requirements/all.txt --editable ".[$2]"
    ;;
uv)
    shift
    [ -x "$VENV/bin/python" ] || make_venv
    run_uv "$@"
    ;;
pythons) list_pythons ;;
*) die "usage: $0 [--python 3.N] pythons|run|dev|browser|extras A,B|uv ARGS..." ;;
esac
