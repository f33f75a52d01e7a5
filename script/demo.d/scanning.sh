# Sourced by script/demo: a device that photographs shelves, and the service that recognizes them.

# Its own few photos, and real shelves where there are some.
photos=("$root"/Examples/Scan/Photos/*.jpg)
[ ! -d "$root/../shared/data/shelves" ] || photos+=("$root"/../shared/data/shelves/*.jpg)

# What the service knows.
known=(--catalogue "$root/Examples/Library/catalogue.csv")
[ ! -r "$root/../shared/data/books.csv" ] || known+=(--catalogue "$root/../shared/data/books.csv")

scan() {
  local command=$1
  shift
  "$bin/scan" "$command" --data "$work/c.sqlite" "$@"
}

scans() { sqlite3 "$work/c.sqlite" "$1"; }

# Starts the recognizer on a port; 0 takes a free one.
recognize() {
  local tries
  "$bin/recognizer" "${known[@]}" --port "$1" "${@:2}" \
    > "$work/recognizer.log" 2>&1 &
  running[recognizer]=$!
  for ((tries = 0; tries < 1000; tries++)); do
    service=$(sed -n 's/^recognizer: listening on //p' "$work/recognizer.log")
    if [ -n "$service" ]; then return 0; fi
    kill -0 "${running[recognizer]}" 2> /dev/null \
      || { cat "$work/recognizer.log" >&2; fail "the recognizer ended"; }
    sleep 0.02
  done
  fail "the recognizer never listened"
}

# Lets the device scan until it says a line like a pattern, and kills it there.
scan_killed_at() {
  local pattern=$1 said line status=0 seen=
  shift
  exec {said}< <(exec "$bin/scan" run --data "$work/c.sqlite" "$@" 2>&1)
  running[c]=$!
  while read -r line <&"$said"; do
    echo "$line" >> "$work/c.log"
    # shellcheck disable=SC2053 # The pattern is one.
    if [[ $line == $pattern ]]; then
      seen=yes
      kill -KILL "${running[c]}" || fail "the scanning device ended before it was killed"
      break
    fi
  done
  exec {said}<&-
  wait "${running[c]}" 2> /dev/null || status=$?
  unset "running[c]"
  [ -n "$seen" ] || { tail -n 5 "$work/c.log" >&2; fail "no scan ever said: $pattern"; }
  [ $status = 137 ] || fail "the scanning device was not killed, it ended with $status"
}
