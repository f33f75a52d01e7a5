#ifndef TERN_POWERLOSS_VFS_H
#define TERN_POWERLOSS_VFS_H

#include <stdbool.h>
#include <stdint.h>

// A SQLite VFS for tests in which killing the process is losing power: databases, logs and journals
// live in memory until SQLite syncs them, and only what it synced is in the real file.
//
// One process at a time: what it has not synced, other processes do not see. Creating and removing
// a file is immediate, so it says nothing about syncing directories. Temporary files are the real
// VFS's own. Content that was not synced outlives the last handle, as in a page cache.

// The name to open a connection with.
#define TERN_POWERLOSS_VFS_NAME "tern-powerloss"

// Registers the VFS over the one that is the default now. Calling it again changes only whether it
// is the default. Returns a SQLite result code.
int tern_powerloss_vfs_register(bool make_default);

// The bytes that a kill would lose now, over all files of this process.
int64_t tern_powerloss_pending_bytes(void);

// How many times SQLite has synced a file through this VFS.
int64_t tern_powerloss_sync_count(void);

#endif
