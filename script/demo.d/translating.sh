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
  : > "$work/interpreter.log"
  "$bin/interpreter" --port "$1" "${@:2}" > "$work/interpreter.log" 2>&1 &
  running[interpreter]=$!
  interpreter=$(listening interpreter "$work/interpreter.log" "${running[interpreter]}")
}

# Lets a device work until it says a line like a pattern, and kills it there.
translate_killed_at() {
  killed_saying "$1" "$2" "$bin/translate" run --data "$work/$1.translate.sqlite"
}

# Asks with no network: what is asked has to be saved.
ask_offline() {
  local device=$1 status=0
  shift
  printf '%s\n' "$@" | translate "$device" --from en --to es > "$work/asked" 2>&1 || status=$?
  [ $status = 75 ] || { cat "$work/asked" >&2; fail "a question with no network ended with $status"; }
}
