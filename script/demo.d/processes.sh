# Sourced by script/demo: starting, watching, killing. Device D has its database in $work/D.sqlite,
# what its programs said in D.log, and its acknowledged edits in D.edits.

# Only these are ever ended, by their ids.
declare -A running=()
server=

clean_up() {
  local status=$? pid
  for pid in ${server:+"$server"} "${running[@]}"; do kill -KILL "$pid" 2> /dev/null || true; done
  wait 2> /dev/null || true
  if [ -n "$keep" ]; then tell "kept: $work"; else rm -rf "$work"; fi
  exit $status
}
trap clean_up EXIT
trap 'exit 130' INT TERM

query() { sqlite3 "$work/$1.sqlite" "$2"; }
served() { query server 'SELECT count(*) FROM operation'; }

library() {
  local device=$1
  shift
  "$bin/library" --data "$work/$device.sqlite" "$@" >> "$work/$device.log" 2>&1 \
    || { tail -n 5 "$work/$device.log" >&2; fail "device $device: library $1"; }
}

# Runs the library on a device until it says a line like a pattern, and kills it there.
killed_at() {
  local device=$1 pattern=$2 said line status=0
  shift 2
  exec {said}< <(exec "$bin/library" --data "$work/$device.sqlite" "$@" 2>&1)
  running[$device]=$!
  # shellcheck disable=SC2053 # The pattern is one.
  while read -r line <&"$said"; do
    echo "$line" >> "$work/$device.log"
    if [[ $line == $pattern ]]; then
      kill -KILL "${running[$device]}" || fail "device $device ended before it was killed"
      break
    fi
  done
  # What it said between the line and its end was acknowledged, too.
  cat <&"$said" >> "$work/$device.log"
  exec {said}<&-
  wait "${running[$device]}" 2> /dev/null || status=$?
  unset "running[$device]"
  [ $status = 137 ] || fail "device $device was not killed in $1, it ended with $status"
}

# Edits offline; keeps what was acknowledged, as round, device, key, verb, value.
edit() {
  local device=$1 round=$2
  shift 2
  "$bin/library" --data "$work/$device.sqlite" edit "$@" > "$work/said" 2>> "$work/$device.log" \
    || { tail -n 5 "$work/$device.log" >&2; fail "device $device: library edit"; }
  acknowledge "$device" "$round" < "$work/said"
}

acknowledge() {
  awk -F '\t' -v OFS='\t' -v d="$1" -v r="$2" 'NF == 3 { print r, d, $1, $2, $3 }' \
    >> "$work/$1.edits"
}

acknowledged() { wc -l < "$work/$1.edits"; }

both_edited() {
  comm -12 <(cut -f 3 "$work/a.edits" | sort -u) <(cut -f 3 "$work/b.edits" | sort -u) | wc -l
}

# Starts a device that syncs and edits, until `stop`.
follow() {
  local device=$1
  followed=$2
  shift 2
  mv "$work/$device.log" "$work/$device.offline.log"
  "$bin/library" --data "$work/$device.sqlite" sync "$@" > "$work/$device.log" 2>&1 &
  running[$device]=$!
}

await() {
  local device=$1 pattern=$2 tries
  for ((tries = 0; tries < 3000; tries++)); do
    if grep -q -e "$pattern" "$work/$device.log"; then return 0; fi
    kill -0 "${running[$device]}" 2> /dev/null \
      || { tail -n 5 "$work/$device.log" >&2; fail "device $device ended by itself"; }
    sleep 0.02
  done
  tail -n 3 "$work/$device.log" >&2
  fail "device $device never said: $pattern"
}

# Waits until the last thing that a device said of its sync is that nothing waits.
settled() {
  local device=$1 tries
  for ((tries = 0; tries < 600; tries++)); do
    if grep '^sync:' "$work/$device.log" | tail -n 1 | grep -q 'upToDate .*waiting=0'; then
      return 0
    fi
    sleep 0.1
  done
  tail -n 3 "$work/$device.log" >&2
  fail "device $device never came up to date"
}

stop() {
  local device=$1 status=0
  kill -TERM "${running[$device]}"
  wait "${running[$device]}" || status=$?
  unset "running[$device]"
  [ $status = 0 ] || { tail -n 5 "$work/$device.log" >&2; fail "device $device: $status"; }
  acknowledge "$device" "$followed" < "$work/$device.log"
}

# Starts the server; port 0 takes a free one.
serve() {
  local tries
  : > "$work/server.log"
  "$bin/tern" serve --data "$work/server.sqlite" --port "$1" >> "$work/server.log" 2>&1 &
  server=$!
  for ((tries = 0; tries < 500; tries++)); do
    port=$(sed -n 's/^tern: listening on .*:\([0-9]*\)$/\1/p' "$work/server.log")
    if [ -n "$port" ]; then return 0; fi
    kill -0 $server 2> /dev/null || { cat "$work/server.log" >&2; fail "the server ended"; }
    sleep 0.02
  done
  fail "the server never listened"
}
