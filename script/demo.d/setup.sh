# Sourced by script/demo: what has to be there.

# Says which part begins, of how many, and how long the last one took.
steps=$(grep -h '^step "' script/demo script/demo.d/*.sh | wc -l) done_steps=0 step_began=
step() {
  [ -z "$step_began" ] || printf '   (%s s)\n' $((SECONDS - step_began))
  step_began=$SECONDS done_steps=$((done_steps + 1))
  printf '\n== %s of %s: %s\n' $done_steps "$steps" "$*"
}
tell() { printf '   %s\n' "$*"; }
fail() {
  printf '\nFAILED: %s\n' "$*" >&2
  exit 1
}
# Milliseconds.
now() { date +%s%3N; }

install_missing() {
  command -v swift > /dev/null || fail "there is no swift; see https://www.swift.org/install"
  . script/packages.sh
  install_packages "${libraries[@]}" sqlite3 curl tesseract-ocr zbar-tools graphicsmagick \
    apertium apertium-eng-spa apertium-fr-es || fail "packages are missing, above"
}

# In the build that script/test uses, which finds it done.
build() {
  local product
  . script/configuration.sh
  configuration=("${debugging[@]}")
  bin=$(build_package Examples --show-bin-path)
  # SwiftPM takes twenty seconds to see that six programs are up to date.
  if [ -e "$bin/demo.stamp" ] && [ -z "$(find Package.swift Sources Examples -newer "$bin/demo.stamp" \
    -not -path '*/.build*' -print -quit)" ]; then
    return
  fi
  touch "$work/stamp"
  for product in tern library scan recognizer translate interpreter; do
    tell "$product, after $SECONDS s"
    build_package Examples --product $product > "$work/build.log" 2>&1 \
      || { tail -n 40 "$work/build.log" >&2; fail "the build, above"; }
  done
  mv "$work/stamp" "$bin/demo.stamp"
}

catalogue=${TERN_CATALOGUE:-$root/../shared/data/books.csv}
[ -n "${TERN_CATALOGUE-}" ] || [ -e "$catalogue" ] \
  || catalogue=$root/Examples/Library/catalogue.csv
[ -r "$catalogue" ] || fail "there is no catalogue $catalogue"
work=$(mktemp -d)
# By a name without quotes, which sqlite3 would take for an end.
ln -s "$catalogue" "$work/catalogue.csv"
