# Sourced by script/demo: what has to be there.

step() { printf '\n== %s\n' "$*"; }
tell() { printf '   %s\n' "$*"; }
fail() {
  printf '\nFAILED: %s\n' "$*" >&2
  keep=yes
  exit 1
}
# Milliseconds.
now() { date +%s%3N; }

install_missing() {
  command -v swift > /dev/null || fail "there is no swift; see https://www.swift.org/install"
  local package missing=()
  for package in libsqlite3-dev zlib1g-dev libcurl4-openssl-dev sqlite3 \
    tesseract-ocr zbar-tools graphicsmagick curl apertium apertium-eng-spa apertium-fr-es; do
    dpkg-query -W -f '${Status}' $package 2> /dev/null | grep -q '^install ok installed$' \
      || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  step "Installing ${missing[*]}"
  local as=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo > /dev/null || fail "as root: apt-get install ${missing[*]}"
    as=(sudo)
  fi
  # Without lists there is nothing to install from; with old ones there may be.
  "${as[@]}" apt-get -q update > /dev/null || tell "apt-get could not update its lists"
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y install "${missing[@]}" > /dev/null \
    || fail "apt-get could not install ${missing[*]}; do it as root"
}

# The flags of script/test, so that what one has built the other need not.
build() {
  local began product flags=(--traits Server,Rehearsal)
  began=$(now)
  for product in tern library scan recognizer translate interpreter; do
    swift build "${flags[@]}" --product $product > "$work/build.log" 2>&1 \
      || { tail -n 40 "$work/build.log" >&2; fail "the build, above"; }
  done
  bin=$(swift build "${flags[@]}" --show-bin-path)
  tell "took $((($(now) - began) / 1000)) s"
}

catalogue=${TERN_CATALOGUE:-$root/../shared/data/books.csv}
[ -n "${TERN_CATALOGUE-}" ] || [ -e "$catalogue" ] \
  || catalogue=$root/Examples/Library/catalogue.csv
[ -r "$catalogue" ] || fail "there is no catalogue $catalogue"
work=$(mktemp -d)
