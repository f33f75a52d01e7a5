# Sourced by script/demo: a person with two devices who translate, and the service that does it.

# Device D has its questions in $work/D.translate.sqlite.
translate() {
  local device=$1
  shift
  LC_ALL=C.UTF-8 "$bin/translate" "$@" --data "$work/$device.translate.sqlite"
}

phrases() { sqlite3 "$work/$1.translate.sqlite" "$2"; }

# Starts the interpreter on a port; 0 takes a free one.
interpret() {
  local tries
  "$bin/interpreter" --port "$1" "${@:2}" > "$work/interpreter.log" 2>&1 &
  running[interpreter]=$!
  for ((tries = 0; tries < 500; tries++)); do
    interpreter=$(sed -n 's/^interpreter: listening on //p' "$work/interpreter.log")
    if [ -n "$interpreter" ]; then return 0; fi
    kill -0 "${running[interpreter]}" 2> /dev/null \
      || { cat "$work/interpreter.log" >&2; fail "the interpreter ended"; }
    sleep 0.02
  done
  fail "the interpreter never listened"
}

# Lets a device work until it says a line like a pattern, and kills it there.
translate_killed_at() {
  local device=$1 pattern=$2 said line status=0 seen=
  exec {said}< <(exec "$bin/translate" run --data "$work/$device.translate.sqlite" 2>&1)
  running[$device]=$!
  while read -r line <&"$said"; do
    # shellcheck disable=SC2053 # The pattern is one.
    if [[ $line == $pattern ]]; then
      seen=yes
      kill -KILL "${running[$device]}" || fail "device $device ended before it was killed"
      break
    fi
  done
  exec {said}<&-
  wait "${running[$device]}" 2> /dev/null || status=$?
  unset "running[$device]"
  [ -n "$seen" ] || fail "the translator never said: $pattern"
  [ $status = 137 ] || fail "the translator was not killed, it ended with $status"
}

# Asks with no network: what is asked has to be saved.
ask_offline() {
  local device=$1 status=0
  shift
  printf '%s\n' "$@" | translate "$device" --from en --to es > "$work/asked" 2>&1 || status=$?
  [ $status = 75 ] || { cat "$work/asked" >&2; fail "a question with no network ended with $status"; }
}
