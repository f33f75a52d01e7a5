# Sourced by the scripts whose tests want a database.

# Starts PostgreSQL in a folder of its own, on a socket there and on no port, and names it in TERN_POSTGRESQL. Whoever
# asks for it ends it with stop_postgresql. Where there is none, says so: the tests that want one are left out. A PgBouncer
# before it, where there is one, gives each transaction another connection, and is named in TERN_PGBOUNCER.
start_postgresql() {
  local bin as=()
  bin=$(find /usr/lib/postgresql -name initdb 2>/dev/null | sort -V | tail -n 1)
  bin=${bin:-$(command -v initdb || true)}
  if [ -z "$bin" ]; then
    echo "script/test: no PostgreSQL is installed; what needs it is left out" >&2
    return 0
  fi
  bin=$(dirname "$bin")
  postgresql=$(mktemp -d "${1:-/tmp}/tern-postgresql-XXXXXX")
  # It runs as no root.
  if [ "$(id -u)" -eq 0 ]; then
    chown postgres "$postgresql"
    as=(setpriv --reuid postgres --regid postgres --clear-groups)
  fi
  "${as[@]}" "$bin/initdb" --pgdata "$postgresql/data" --auth trust --username tern --encoding UTF8 --no-sync \
    --locale C >"$postgresql.log" 2>&1 || { cat "$postgresql.log" >&2; return 1; }
  # Commits are synced, as the server asks for; a folder in memory takes no time for it.
  "${as[@]}" "$bin/postgres" -D "$postgresql/data" -k "$postgresql" -c listen_addresses= -c max_connections=300 \
    -c shared_buffers=64MB >>"$postgresql.log" 2>&1 &
  postgresql_process=$!
  for _ in $(seq 100); do
    if "$bin/pg_isready" --quiet --host "$postgresql" --username tern --dbname postgres; then
      export TERN_POSTGRESQL="postgresql:///postgres?host=$postgresql&user=tern"
      start_pgbouncer "${as[@]}"
      return 0
    fi
    sleep 0.1
  done
  cat "$postgresql.log" >&2
  return 1
}

# usage: start_pgbouncer [command that runs it as another user]
start_pgbouncer() {
  local bin settings=$postgresql/pgbouncer.ini
  bin=$(command -v pgbouncer || PATH=/usr/sbin:$PATH command -v pgbouncer) || return 0
  printf '%s\n' '[databases]' "* = host=$postgresql user=tern" '[pgbouncer]' 'listen_addr =' "unix_socket_dir = $postgresql" \
    'listen_port = 6432' 'auth_type = any' 'pool_mode = transaction' 'max_client_conn = 500' 'default_pool_size = 40' \
    >"$settings"
  "$@" "$bin" --quiet "$settings" >>"$postgresql.log" 2>&1 &
  pgbouncer_process=$!
  for _ in $(seq 100); do
    [ -S "$postgresql/.s.PGSQL.6432" ] && break
    sleep 0.1
  done
  export TERN_PGBOUNCER="postgresql:///postgres?host=$postgresql&port=6432&user=tern"
}

stop_postgresql() {
  [ -n "${postgresql_process-}" ] || return 0
  # At once: nobody needs what is in it.
  kill -QUIT "$postgresql_process" 2>/dev/null || true
  [ -z "${pgbouncer_process-}" ] || kill -KILL "$pgbouncer_process" 2>/dev/null || true
  wait "$postgresql_process" ${pgbouncer_process-} 2>/dev/null || true
  rm -rf "$postgresql" "$postgresql.log"
}
