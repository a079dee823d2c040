# Sourced by the set-up scripts.

say() { printf 'windrow: %s\n' "$*"; }
fail() { printf 'windrow: %s\n' "$@" >&2; exit 1; }

# Runs a command as root if that needs no question to be answered; fails otherwise.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo -n "$@"
  else return 1
  fi
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$1" >/dev/null 2>&1
}

# install_system DEBIAN_PACKAGE FEDORA_PACKAGE: with the distribution's own tool, if we may.
install_system() {
  if command -v apt-get >/dev/null 2>&1; then
    as_root true || return 1
    say "installing $1 with apt-get"
    if ! apt_install "$1"; then
      # A fresh machine has no package lists; one look for them is enough.
      [ -z "${package_lists_updated:-}" ] || return 1
      package_lists_updated=yes
      as_root apt-get update -qq >/dev/null 2>&1 && apt_install "$1"
    fi
  elif command -v dnf >/dev/null 2>&1; then
    as_root true || return 1
    say "installing $2 with dnf"
    as_root dnf install -y -q "$2" >/dev/null 2>&1
  else
    return 1
  fi
}
