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
  : > "$work/recognizer.log"
  "$bin/recognizer" "${known[@]}" --port "$1" "${@:2}" \
    > "$work/recognizer.log" 2>&1 &
  running[recognizer]=$!
  service=$(listening recognizer "$work/recognizer.log" "${running[recognizer]}")
}

# Lets the device scan until it says a line like a pattern, and kills it there.
scan_killed_at() { killed_saying c "$1" "$bin/scan" run --data "$work/c.sqlite" "${@:2}"; }
