# Sourced by script/demo: starting, watching, killing. Device D has its database in $work/D.sqlite,
# what its programs said in D.log, and its acknowledged edits in D.edits.

# Only these are ever ended, by their ids.
declare -A running=()
server=

clean_up() {
  local status=$? pid
  for pid in ${server:+"$server"} "${running[@]}"; do kill -KILL "$pid" 2> /dev/null || true; done
  wait 2> /dev/null || true
  if [ -n "$keep" ] || [ $status != 0 ]; then tell "kept: $work"; else rm -rf "$work"; fi
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

# Runs a device's program until it says a line like a pattern, and kills it there.
killed_saying() {
  local device=$1 pattern=$2 said line status=0 seen=
  shift 2
  exec {said}< <(exec "$@" 2>&1)
  running[$device]=$!
  while read -r line <&"$said"; do
    echo "$line" >> "$work/$device.log"
    # shellcheck disable=SC2053 # The pattern is one.
    if [[ $line == $pattern ]]; then
      seen=yes
      kill -KILL "${running[$device]}" || fail "device $device ended before it was killed"
      break
    fi
  done
  # What it said between the line and its end was acknowledged, too.
  cat <&"$said" >> "$work/$device.log"
  exec {said}<&-
  wait "${running[$device]}" 2> /dev/null || status=$?
  unset "running[$device]"
  [ -n "$seen" ] \
    || { tail -n 5 "$work/$device.log" >&2; fail "device $device never said: $pattern"; }
  [ $status = 137 ] || fail "device $device was not killed, it ended with $status"
}

# The same of the library.
killed_at() { killed_saying "$1" "$2" "$bin/library" --data "$work/$1.sqlite" "${@:3}"; }

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

# Prints where a program listens, once it has said so in its log.
listening() {
  local program=$1 log=$2 id=$3 url tries
  for ((tries = 0; tries < 1000; tries++)); do
    url=$(sed -n "s/^$program: listening on //p" "$log")
    if [ -n "$url" ]; then echo "$url"; return; fi
    kill -0 "$id" 2> /dev/null || { cat "$log" >&2; fail "$program ended"; }
    sleep 0.02
  done
  fail "$program never listened"
}

# Starts the server; port 0 takes a free one.
serve() {
  local url
  : > "$work/server.log"
  "$bin/tern" serve --data "$work/server.sqlite" --port "$1" >> "$work/server.log" 2>&1 &
  server=$!
  url=$(listening tern "$work/server.log" $server)
  port=${url##*:}
}
