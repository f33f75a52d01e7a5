# Sourced by script/demo: photographs of shelves, taken with no network, become books.

step "Offline: shelves are photographed"
began=$(now)
scan add "${photos[@]}" > "$work/add.log" || { cat "$work/add.log" >&2; fail "scan add"; }
mapfile -t times < <(sed -n 's/.* in \([0-9.]*\) ms$/\1/p' "$work/add.log" | sort -n)
median=${times[${#times[@]} / 2]}
# Any one may wait for the disk behind somebody else's writes; half of them don't.
[ "${median%.*}" -lt 50 ] || fail "accepting a photo takes $median ms, and should take less than 50"
tell "${#photos[@]} photos accepted, the slowest in ${times[-1]} ms; what is checked is that half of \
them take less than 50 ms, and they took $median at most"
# Nobody listens there: the photos are made ready to send, and wait.
recognize 0
closed=$service
kill -TERM "${running[recognizer]}" && wait "${running[recognizer]}" || true
unset "running[recognizer]"
scan_killed_at 'uploading*' --service "$closed"
tell "the device was killed while it looked for the network"

step "The network comes; the service says later once, and cuts a stream"
recognize "${closed##*:}" --misbehave limit-seconds:1,cut-stream:1
tell "the recognizer listens on $service"
scan_killed_at 'analysing*' --service "$service"
tell "the device was killed while the service looked at a photo: $(scans \
  "SELECT group_concat(n || ' ' || phase, ', ') FROM
    (SELECT count(*) AS n, phase FROM scan GROUP BY phase)")"
scan run --once --service "$service" >> "$work/c.log" 2>&1 \
  || { tail -n 20 "$work/c.log" >&2; fail "scan run"; }
scan status | while read -r line; do tell "$line"; done

step "The books appear on another device"
serve 0
token=$("$bin/tern" token create --data "$work/server.sqlite" --space shelves)
for device in c d; do
  TERN_TOKEN=$token "$bin/scan" run --once --data "$work/$device.sqlite" --space shelves \
    --service "$service" --sync "http://127.0.0.1:$port" >> "$work/$device.log" 2>&1 \
    || { tail -n 5 "$work/$device.log" >&2; fail "device $device: scan run --sync"; }
done
counts=$(curl -fsS "$service/control/counts")
kill -TERM "$server" "${running[recognizer]}"
wait "$server" || fail "the server did not end well"
server=
wait "${running[recognizer]}" || fail "the recognizer did not end well"
unset "running[recognizer]"

books="SELECT * FROM book ORDER BY isbn"
"$bin/scan" library --data "$work/d.sqlite" | sed -n 1,12p \
  | while read -r line; do tell "$line"; done
counted='SELECT count(*) FROM book'
tell "C has $(scans "$counted") books, D has $(query d "$counted")"
[ "$(scans "$books")" = "$(query d "$books")" ] || fail "the devices' books differ"
[ "$(scans "$counted")" -gt 0 ] || fail "no book was recognized"
undone=$(scans "SELECT count(*) FROM scan JOIN grdb_tern_jobs AS job USING (id)
  WHERE job.state <> 'done'")
[ "$undone" = 0 ] || fail "$undone of ${#photos[@]} scans are not done"
waiting=$(scans "SELECT count(*) FROM grdb_tern_jobs WHERE state <> 'done'")
[ "$waiting" = 0 ] || fail "$waiting jobs are left"
left=$(find "$work/c.sqlite-files" -type f ! -name '*lock*' | wc -l)
[ "$left" = 0 ] || fail "$left files are left"
lost=$(scans 'SELECT sum(timesLost) FROM scan')
made=$(sed -n 's/.*"jobsCreated":\([0-9]*\).*/\1/p' <<< "$counts")
alive=$(sed -n 's/.*"jobsAlive":\([0-9]*\).*/\1/p' <<< "$counts")
tell "the service made $made jobs for ${#photos[@]} photos, $lost answers were lost, $alive remain"
tell "it refused $(sed -n 's/.*"RATE_LIMITED":\([0-9]*\).*/\1/p' <<< "$counts") requests, and \
$(sed -n 's/.*"streamsOpened":\([0-9]*\).*/\1/p' <<< "$counts") streams were opened"
[ "$made" -le $((${#photos[@]} + lost)) ] \
  || fail "photos were sent more often than answers were lost"
[ "$alive" -le "$lost" ] || fail "the service's jobs were not cleaned up"
took=$(($(now) - began))
tell "from the first photo to the last book: $((took / 1000)).$((took / 100 % 10)) s"
