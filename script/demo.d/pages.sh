# Sourced by script/demo: the pages of both programs, over what they have by now.

# Starts a page's program; its address, with the token, is in `pages` by the program's name.
declare -A pages=()
show_page() {
  local program=$1 tries address= token
  shift
  : > "$work/$program.page.log"
  LC_ALL=C.UTF-8 "$bin/$program" serve "$@" --port 0 --no-open > "$work/$program.page.log" 2>&1 &
  running[$program]=$!
  for ((tries = 0; tries < 1000 && ${#address} == 0; tries++)); do
    address=$(sed -n 's/.*\(http:[^ ]*#[0-9a-f]*\)$/\1/p' "$work/$program.page.log")
    kill -0 "${running[$program]}" 2> /dev/null \
      || { cat "$work/$program.page.log" >&2; fail "$program serve ended"; }
    sleep 0.02
  done
  [ -n "$address" ] || fail "$program serve never named its page"
  token=${address##*#} pages[$program]=$address
  curl -fsS "${address%#*}" | grep -q '<script type="module"' || fail "$program has no page"
  curl -fsS -H "Authorization: Bearer $token" "${address%/#*}/api/state" > "$work/$program.state" \
    || fail "the page of $program knows nothing"
  [ "$(curl -s -o /dev/null -w '%{http_code}' "${address%/#*}/api/state")" = 401 ] \
    || fail "the page of $program answers whoever asks"
}

step "Both programs have a page"
recognize 0
interpret 0
show_page scan --data "$work/c.sqlite" --service "$service"
translate f settings service "$interpreter"
show_page translate --data "$work/f.translate.sqlite"
books=$(scans 'SELECT count(*) FROM book')
grep -q "\"books\":$books[,}]" "$work/scan.state" || fail "the scanner's page has not $books books"
tell "the scanner, with $books books: ${pages[scan]}"
tell "the translator, with 45 questions: ${pages[translate]}"
if [ -n "$stay" ]; then
  tell "They run until Ctrl-C, with the two services of this machine."
  trap 'exit 0' INT TERM
  wait "${running[scan]}" "${running[translate]}"
else
  for program in scan translate recognizer interpreter; do
    kill -TERM "${running[$program]}"
    wait "${running[$program]}" || fail "$program did not end well"
    unset "running[$program]"
  done
  tell "Both have ended: script/demo --pages leaves them running."
fi
