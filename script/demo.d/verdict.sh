# Sourced by script/demo at its end: what came out, and whether it is right.

step "What came out, by sqlite3 and the acknowledged edits alone"
# An order over everything that was acknowledged: by round, and in a round A before B.
cat "$work/a.edits" "$work/b.edits" | sort -s -t $'\t' -k 1,1n -k 2,2 \
  | awk -v OFS='\t' '{ print NR, $0 }' > "$work/done"

synced="SELECT quote(id), quote(name) FROM shelf ORDER BY id;
  SELECT quote(isbn), quote(isbn13), quote(authors), quote(year), quote(title), quote(language),
    quote(averageRating), quote(imageURL), quote(rating), quote(shelf), quote(timesScanned),
    quote(confidence) FROM book ORDER BY isbn;"

wrong=0
for device in a b; do
  sqlite3 -bail :memory: > "$work/answers" <<SQL || fail "sqlite3 could not check device $device"
ATTACH '$work/$device.sqlite' AS final;
ATTACH '$work/server.sqlite' AS server;
.import --csv '$work/catalogue.csv' csv
CREATE TABLE done (n INTEGER PRIMARY KEY, round INTEGER, device, key, verb, value);
.mode tabs
.import '$work/done' done
.param set :device '$device'
.read script/demo.d/expected.sql
.read script/demo.d/check.sql
SELECT 'expect', count(*), sum(scans) FROM expected;
SELECT 'deleted', count(DISTINCT key) FROM done WHERE verb = 'delete';
SQL
  while IFS=$'\t' read -r count question; do
    case $count in
      expect) read -r expected_books expected_scans <<< "$question" ;;
      deleted) deleted=$question ;;
      0) ;;
      *) wrong=$((wrong + 1)); printf '   device %s: %s %s\n' $device "$count" "$question" ;;
    esac
  done < "$work/answers"
  query $device "INSERT INTO bookText (bookText, rank) VALUES ('integrity-check', 1)" \
    || { wrong=$((wrong + 1)); tell "device $device: the full-text index is not the table's"; }
  "$bin/library" --data "$work/$device.sqlite" stats > "$work/$device.stats"
done

row() { printf '   %-34s %20s %20s\n' "$@"; }
of_both() { row "$1" "$(query a "$2")" "$(query b "$2")"; }
hash_of() { query "$1" "$synced" | sha256sum | cut -c 1-20; }
stat_of() { sed -n "s/^$2\t//p" "$work/$1.stats"; }
# The last word of every process on the bytes that it sent or received.
bytes_of() {
  cat "$work/$1.offline.log" "$work/$1.log" \
    | awk -v name="$2=" '
      /^sync/ {
        for (i = 2; i <= NF; i++) if (index($i, name) == 1) value = substr($i, length(name) + 1)
        if (value + 0 < last) total += last
        last = value + 0
      }
      END { print total + last }'
}

row "" "device A" "device B"
of_both "books" "SELECT count(*) FROM book"
of_both "shelves" "SELECT count(*) FROM shelf"
of_both "sum of the scan counters" "SELECT sum(timesScanned) FROM book"
of_both "rated books" "SELECT count(rating) FROM book"
of_both "thumbnails (local, not synced)" "SELECT count(thumbnailPath) FROM book"
row "acknowledged edits" "$(acknowledged a)" "$(acknowledged b)"
of_both "operations in the log" "SELECT count(*) FROM grdb_tern_main_log"
of_both "bytes of the log" "SELECT sum(length(bytes)) FROM grdb_tern_main_log"
row "bytes of the database" "$(stat -c %s "$work/a.sqlite")" "$(stat -c %s "$work/b.sqlite")"
row "bytes sent" "$(bytes_of a sent)" "$(bytes_of b sent)"
row "bytes received" "$(bytes_of a received)" "$(bytes_of b received)"
hashes=("$(hash_of a)" "$(hash_of b)")
row "hash by sqlite3 (sha256)" "${hashes[@]}"
hashes+=("$("$bin/library" --data "$work/a.sqlite" hash)")
hashes+=("$("$bin/library" --data "$work/b.sqlite" hash)")
row "hash by the app (fnv-1a)" "${hashes[2]}" "${hashes[3]}"

printf '\n   %-34s %20s %20s   %s\n' "concurrent writes that met" "on A" "on B" "resolved by"
while IFS=: read -r kind title rule; do
  printf '   %-34s %20s %20s   %s\n' \
    "$title" "$(stat_of a conflict.$kind)" "$(stat_of b conflict.$kind)" "$rule"
done <<'RULES'
sameKey:both inserted one key:one row, the later insert's columns
lastWriter:both wrote one column:the later write stays
counter:both changed one counter:the sum of both changes
extreme:both wrote one maximum:the greater value stays
deleteWins:one deleted what the other changed:the row stays deleted
RULES

printf '\n'
tell "expected: $expected_books books, $expected_scans scans; $deleted books were deleted"
tell "the server: $(served) operations, $(stat -c %s "$work/server.sqlite") bytes"
tell "from the first import to the last meeting: $((took / 1000)).$((took / 100 % 10)) s"

[ "${hashes[0]}" = "${hashes[1]}" ] || { wrong=$((wrong + 1)); tell "the hashes differ"; }
[ "${hashes[2]}" = "${hashes[3]}" ] || { wrong=$((wrong + 1)); tell "the app's hashes differ"; }
[ $wrong = 0 ] || fail "$wrong answers are wrong"
tell "equal, and nothing was lost"
