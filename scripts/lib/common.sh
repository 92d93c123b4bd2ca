# shellcheck shell=bash
# What the scripts beside this folder share: how they speak, stop, and install packages.
# Sourced, never run. Its callers are bash with `set -euo pipefail`, at the top of the repository.

# Says one line of progress, on the error stream so that a script's own output stays clean.
say() { printf '%s\n' "$*" >&2; }

# Stops with one sentence on what is wrong and what to do about it.
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# What `swift build` is called with for tests. Where they are built once, and nobody is there to debug them,
# they are built without what debuggers read. Package.swift heeds the variable as well.
# shellcheck disable=SC2034 # for those who source this
{
  build_options=()
  [ -z "${WAYSTATION_BUILD_ONCE:-}" ] \
    || build_options=(-debug-info-format none)
}

# Tells whether a command can be found.
have() { command -v "$1" >/dev/null 2>&1; }

# Runs a command as root: as it is, or through sudo. Without a terminal sudo must not ask.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif have sudo; then
    if [ -t 0 ]; then sudo "$@"; else sudo -n "$@"; fi
  else
    return 127
  fi
}

# Installs Debian packages, or stops with the sentence that names them.
install_packages() {
  local names="$*"
  have apt-get || die "these packages are missing, and this is not a Debian or Ubuntu system:" \
    "$names. Install what your system calls them, and run this again."
  if [ "$(id -u)" -ne 0 ] && ! have sudo; then
    die "these packages are missing: $names. Installing them takes root, and there is no sudo" \
      "here. As root, run: apt-get install $names"
  fi
  say "Installing $names"
  # The index may be fresh enough, and fetching it takes longer than most installations.
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
    "$@" >/dev/null 2>&1 && return
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2 \
    && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
      --no-install-recommends "$@" >&2 \
    || die "apt-get could not install $names (see above). As root, run: apt-get install $names"
}

# Makes a minimal Debian in a folder; once more from the beginning if a package could not be fetched.
# $1: the folder, $2: the file for what debootstrap prints, $3: the suite, $4: the mirror, then options.
minimal_debian() {
  local root=$1 log=$2 suite=$3 mirror=$4
  shift 4
  for _ in 1 2; do
    rm -rf --one-file-system "$root"
    # An empty mirror leaves debootstrap its own default.
    # What it mounts goes away with it, even if it is killed.
    if unshare --mount debootstrap --variant=minbase "$@" "$suite" "$root" ${mirror:+"$mirror"} \
      >"$log" 2>&1; then
      return
    fi
  done
  tail -n 20 "$log" >&2
  die "debootstrap failed twice (see above)"
}

# Makes the pinned tools of scripts/requirements.txt at hand in .venv, once per set of versions.
python_tools() {
  local stamp=.venv/installed
  if cmp -s scripts/requirements.txt "$stamp"; then return; fi
  have python3 && python3 -c 'import ensurepip, venv' 2>/dev/null \
    || install_packages python3 python3-venv
  say "Installing the tools of scripts/requirements.txt into .venv"
  rm -rf .venv
  python3 -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check \
    -r scripts/requirements.txt >&2 || die "pip could not install scripts/requirements.txt"
  cp scripts/requirements.txt "$stamp"
}

# Waits for a program's first line, `listening on http://ADDRESS`, in a file; prints the address.
# $1: the file, $2: the program's process, $3: what to call it.
bound_address() {
  local file=$1 process=$2 name=$3 line
  for _ in $(seq 1 200); do
    # A line counts once its newline is there. The file itself may be a moment behind the program.
    if { IFS= read -r line <"$file"; } 2>/dev/null; then
      case $line in
        "listening on http://"*) printf '%s\n' "${line#listening on http://}"; return ;;
        *) die "the $name's first line should be 'listening on http://…', but it is '$line'" ;;
      esac
    fi
    kill -0 "$process" 2>/dev/null || die "the $name ended before it listened"
    sleep 0.05
  done
  die "the $name did not say within 10 s where it listens"
}
