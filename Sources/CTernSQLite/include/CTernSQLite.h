#ifndef C_TERN_SQLITE_H
#define C_TERN_SQLITE_H

#include <sqlite3.h>

// What Swift cannot call or spell: a variadic function and two pointers that are numbers.

/// Turns every trigger of one connection on or off.
static inline int tern_enable_triggers(sqlite3 *connection, int isEnabled) {
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, isEnabled, (int *)0);
}

/// Whether the triggers of one connection are on.
static inline int tern_triggers_are_enabled(sqlite3 *connection) {
  int isEnabled = 1;
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &isEnabled);
  return isEnabled;
}

/// Turns every view of one connection off: a statement that reads one fails.
static inline int tern_disable_views(sqlite3 *connection) {
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)0);
}

/// Turns the enforcement of foreign keys of one connection on or off; unlike the pragma, also
/// inside a transaction.
static inline int tern_enable_foreign_keys(sqlite3 *connection, int isEnabled) {
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_FKEY, isEnabled, (int *)0);
}

/// Binds bytes that stay valid until the statement is reset.
static inline int tern_bind_text(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return sqlite3_bind_text(statement, index, bytes ? (const char *)bytes : "", count, SQLITE_STATIC);
}

static inline int tern_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return bytes ? sqlite3_bind_blob(statement, index, bytes, count, SQLITE_STATIC)
               : sqlite3_bind_zeroblob(statement, index, 0);
}

/// Binds bytes that SQLite copies.
static inline int tern_bind_text_copy(sqlite3_stmt *statement, int index, const void *bytes,
                                      int count) {
  return sqlite3_bind_text(statement, index, bytes ? (const char *)bytes : "", count,
                           SQLITE_TRANSIENT);
}

static inline int tern_bind_blob_copy(sqlite3_stmt *statement, int index, const void *bytes,
                                      int count) {
  return bytes ? sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT)
               : sqlite3_bind_zeroblob(statement, index, 0);
}

#endif
