#!/bin/bash
# Brings a fresh Debian 12 to the point where everything runs: packages, Python environment, build.
# Usage: scripts/setup.sh [--no-build] [--cuda]. Doing it twice costs a second; every step looks before it acts.
# --cuda: ptxas and NCCL from PyPI besides (200 MB), for the tests that want them; no GPU, no driver.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

packages=(
  # compiler
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools lld-22 g++ cmake ninja-build ccache git
  zlib1g-dev libzstd-dev
  # runtime
  libdnnl-dev libopenmpi-dev openmpi-bin iproute2 nlohmann-json3-dev libcli11-dev
  # tests
  libgtest-dev clang-format python3 python3-venv python3-torch python3-torchaudio python3-psutil
  # speech: text, alignment, audio
  flite pocketsphinx pocketsphinx-en-us asterisk-core-sounds-en-g722 asterisk-core-sounds-en ffmpeg
  ca-certificates
)

fail() {
  echo "error: setup: $1; $2" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "packages are missing and this is not root" "run scripts/setup.sh once as root, or install sudo"
  fi
}

missing_packages() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
    sed -n 's/^installed //p' || true)
  printf '%s\n' "${packages[@]}" | grep -vxF -f <(printf '%s\n' "$installed") || true
}

# Not grep -q: it ends at the first match, apt-cache dies of the closed pipe, and pipefail takes that for "none".
has_candidate() { apt-cache policy "$1" | grep 'Candidate: [0-9]' >/dev/null; }

# LLVM 22 came to Debian 12 as a security update. A root made by debootstrap knows the main archive only: its
# security suite is on the same mirror, beside it.
add_security_suite() {
  local mirror
  mirror=$(sed -n 's|^deb \(\[[^]]*\] \)\?\(http[^ ]*\)/debian/\? bookworm .*|\2|p' /etc/apt/sources.list \
    /etc/apt/sources.list.d/*.list 2>/dev/null | head -1 || true)
  [ -n "$mirror" ] || return 0
  echo "deb $mirror/debian-security bookworm-security main" |
    as_root tee /etc/apt/sources.list.d/tts-security.list >/dev/null
  as_root apt-get update -qq
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  grep -q '^VERSION_ID="12"' /etc/os-release ||
    fail "this is not Debian 12" "install the packages listed in scripts/setup.sh by hand"
  echo "setup: installing ${missing[*]}"
  as_root apt-get update -qq
  has_candidate libmlir-22-dev || add_security_suite
  has_candidate libmlir-22-dev ||
    fail "no package source offers libmlir-22-dev" "add the bookworm-security suite to /etc/apt/sources.list"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Debian's own Python, for python3-torch is built for it; another python3 may come first on PATH.
make_environment() {
  local stamp=.venv/requirements.sha256 want
  want=$(cat python/requirements.txt python/requirements-no-deps.txt | sha256sum)
  if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$want" ]; then
    echo "setup: Python environment in .venv"
    [ -x .venv/bin/python ] || /usr/bin/python3 -m venv --system-site-packages .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r python/requirements.txt
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r python/requirements-no-deps.txt
    echo "$want" >"$stamp"
  fi
}

add_cuda() {
  local stamp=.venv/requirements-cuda.sha256 want
  want=$(sha256sum <python/requirements-cuda.txt)
  [ "$(cat "$stamp" 2>/dev/null)" != "$want" ] || return 0
  echo "setup: ptxas and NCCL in .venv"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r python/requirements-cuda.txt
  echo "$want" >"$stamp"
}

build() {
  local log=build/configure.log
  mkdir -p build
  cmake --preset release >"$log" 2>&1 || {
    cat "$log" >&2
    fail "configuring failed" "read the lines above"
  }
  # A quiet ninja, but every message of the compiler.
  ninja -C build --quiet
}

install_packages
make_environment
[[ " $* " != *" --cuda "* ]] || add_cuda
[[ " $* " == *" --no-build "* ]] || build
