# Sourced by the other scripts, which say what they need.

# What every build links with.
libraries=(libsqlite3-dev zlib1g-dev libcurl4-openssl-dev libssl-dev libpq-dev)

# Installs the Debian packages that are missing, by sudo where that is needed; says which they are and fails
# where that is impossible. On other systems, what is needed is there or the build says what is not.
install_packages() {
  local package status missing=() as=()
  command -v apt-get >/dev/null || return 0
  for package in "$@"; do
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$status" = 'install ok installed' ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "run this first, as root: apt-get install ${missing[*]}" >&2
      return 1
    fi
    as=(sudo)
  fi
  echo "installing ${missing[*]}" >&2
  # Without lists there is nothing to install from; with old ones there may be.
  "${as[@]}" apt-get update -qq >&2 || true
  if ! "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null; then
    echo "apt-get could not install ${missing[*]}" >&2
    return 1
  fi
}
