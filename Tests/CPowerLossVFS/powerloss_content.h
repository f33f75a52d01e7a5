#ifndef TERN_POWERLOSS_CONTENT_H
#define TERN_POWERLOSS_CONTENT_H

#include <sqlite3.h>
#include <stdbool.h>

// What the processes of a machine see of a file, beside the real file, which holds what would be
// left without power. Every function here expects `content_lock` to be held.

typedef struct Content Content;

void content_lock(void);
void content_unlock(void);

// The content of the file at `path` while it is open or has bytes that were not synced, else NULL.
Content *content_find(const char *path);

// Adds a handle to the content of `path`, which is first read from `real` unless it is known.
int content_open(const char *path, sqlite3_file *real, Content **opened);

// Takes a handle away. The content stays if some of it was not synced.
void content_close(Content *content);

// The file at `path` has no name any more: only its open handles still see the content.
void content_unlink(const char *path);

sqlite3_int64 content_size(const Content *content);
int content_read(const Content *content, void *into, int count, sqlite3_int64 offset);
int content_write(Content *content, const void *from, int count, sqlite3_int64 offset);
int content_truncate(Content *content, sqlite3_int64 size);

// Brings the real file to the content. After a failure it can be tried again.
int content_sync(Content *content, sqlite3_file *real);

sqlite3_int64 content_pending_bytes(void);
sqlite3_int64 content_sync_count(void);

#endif
