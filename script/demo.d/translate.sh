# Sourced by script/demo: what is asked with no network is answered, on two devices.

step "Offline: questions are asked on two devices"
began=$(now)
interpret 0
closed=$interpreter
kill -TERM "${running[interpreter]}" && wait "${running[interpreter]}" || true
unset "running[interpreter]"
for device in e f; do translate $device settings service "$closed"; done
mapfile -t of_e < <(for n in {1..20}; do echo "The dog sees $n cats."; done)
mapfile -t of_f < <(for n in {1..20}; do echo "The house has $n doors."; done)
ask_offline e "${of_e[@]}"
ask_offline f "${of_f[@]}"
tell "$(head -n 2 "$work/asked" | tail -n 1)"
tell "offline all the same: $(translate e "Good morning." --from en --to es --offline 2>&1 \
  | tr '\n' ' ')"

step "The network comes; the service says later once, and a device is killed"
interpret "${closed##*:}" --misbehave limit-info=1:1,delay=20
translate_killed_at e '1[0-5] waiting*'
tell "E was killed with $(phrases e 'SELECT count(*) FROM asked') questions left"
for device in e f; do
  translate $device run --once > "$work/run.log" 2>&1 \
    || { cat "$work/run.log" >&2; fail "device $device: translate run"; }
done
printf 'The house is big.\nThe dog is small.\nGood night.\n' \
  | translate e --from en --to es 2> "$work/talk.log" | while read -r line; do tell "E: $line"; done
talk=$(phrases e 'SELECT conversation FROM phrase ORDER BY askedAt DESC LIMIT 1')

step "The devices meet, and F takes over the conversation"
serve 0
token=$("$bin/tern" token create --data "$work/server.sqlite" --space words)
meet() {
  local device
  for device in "$@"; do
    TERN_TOKEN=$token translate "$device" run --once --sync "http://127.0.0.1:$port" \
      --space words > "$work/run.log" 2>&1 \
      || { cat "$work/run.log" >&2; fail "device $device: translate run --sync"; }
  done
}
meet e f
translate f 'Buenas noches.' --from es --to en --conversation "$talk" 2> "$work/talk.log" \
  | while read -r line; do tell "F: $line"; done
meet f e
counts=$(curl -fsS "$interpreter/control/counts")
kill -TERM "$server" "${running[interpreter]}"
wait "$server" || fail "the server did not end well"
server=
wait "${running[interpreter]}" || fail "the interpreter did not end well"
unset "running[interpreter]"

for device in e f; do
  translate $device history > "$work/$device.history"
  [ "$(phrases $device 'SELECT count(*) FROM asked')" = 0 ] || fail "$device has questions left"
done
cmp -s "$work/e.history" "$work/f.history" || fail "the histories differ"
tail -n 5 "$work/f.history" | while read -r line; do tell "$line"; done
[ "$(wc -l < "$work/e.history")" = 45 ] || fail "there are not 45 questions, one row each"
! grep -q -P '\t(waiting|the service)' "$work/e.history" || fail "a question has no translation"
diff <(printf '%s\n' "${of_e[@]}") <(cut -f 2 "$work/e.history" | grep '^The dog sees') \
  > /dev/null || fail "the questions are in another order"
refused=$(sed -n 's/.*"RESOURCE_EXHAUSTED":\([0-9]*\).*/\1/p' <<< "$counts")
[ "${refused:-0}" = 1 ] || fail "the service said later ${refused:-0} times"
took=$(($(now) - began))
tell "45 questions, one row each, equal on both; from the first to the last: \
$((took / 1000)).$((took / 100 % 10)) s"
