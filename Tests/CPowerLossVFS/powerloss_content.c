#include "powerloss_content.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// A file has at most this many bytes: larger writes get SQLITE_FULL.
#define CONTENT_BYTES_MAX ((sqlite3_int64)1 << 30)

// The unix VFS takes no more than 128 KiB less one byte at once, and cuts off the rest in silence.
#define CHUNK_BYTES_MAX ((sqlite3_int64)1 << 16)

typedef struct {
  sqlite3_int64 start;
  sqlite3_int64 end;
} Range;

struct Content {
  Content *next;
  char *path;
  int handles;
  bool unlinked;

  unsigned char *bytes;
  sqlite3_int64 size;
  sqlite3_int64 capacity;

  // The real file's size, and the smallest size since the last sync: whatever the real file holds
  // beyond that was cut off, even if the content has grown again.
  sqlite3_int64 synced_size;
  sqlite3_int64 cut_size;

  // What differs from the real file: sorted, not empty, not touching each other.
  Range *dirty;
  int dirty_count;
  int dirty_capacity;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Content *contents;
static sqlite3_int64 sync_count;

void content_lock(void) { pthread_mutex_lock(&lock); }
void content_unlock(void) { pthread_mutex_unlock(&lock); }

static sqlite3_int64 smaller(sqlite3_int64 a, sqlite3_int64 b) { return a < b ? a : b; }
static sqlite3_int64 larger(sqlite3_int64 a, sqlite3_int64 b) { return a > b ? a : b; }

static bool is_pending(const Content *content) {
  return content->dirty_count > 0 || content->cut_size < content->synced_size;
}

static void content_free(Content *content) {
  free(content->path);
  free(content->bytes);
  free(content->dirty);
  free(content);
}

static void registry_remove(Content *content) {
  Content **link = &contents;
  while (*link != content) {
    assert(*link != NULL && "a content is registered until its file loses its name");
    link = &(*link)->next;
  }
  *link = content->next;
  content->next = NULL;
}

Content *content_find(const char *path) {
  for (Content *content = contents; content != NULL; content = content->next) {
    if (strcmp(content->path, path) == 0) return content;
  }
  return NULL;
}

// Makes room for `size` bytes and for one more range, so that what follows cannot fail halfway.
static int reserve(Content *content, sqlite3_int64 size) {
  if (size > CONTENT_BYTES_MAX) return SQLITE_FULL;
  if (size > content->capacity) {
    sqlite3_int64 capacity = larger(size, larger(4096, content->capacity * 2));
    unsigned char *bytes = realloc(content->bytes, (size_t)capacity);
    if (bytes == NULL) return SQLITE_NOMEM;
    content->bytes = bytes;
    content->capacity = capacity;
  }
  if (content->dirty_count == content->dirty_capacity) {
    int capacity = content->dirty_capacity == 0 ? 16 : content->dirty_capacity * 2;
    Range *dirty = realloc(content->dirty, (size_t)capacity * sizeof(Range));
    if (dirty == NULL) return SQLITE_NOMEM;
    content->dirty = dirty;
    content->dirty_capacity = capacity;
  }
  return SQLITE_OK;
}

// Adds a range, joined with all that it overlaps or touches. There must be room for one more.
static void mark_dirty(Content *content, sqlite3_int64 start, sqlite3_int64 end) {
  if (start == end) return;
  assert(start < end && content->dirty_count < content->dirty_capacity);
  int first = 0;
  while (first < content->dirty_count && content->dirty[first].end < start) first++;
  int after = first;
  while (after < content->dirty_count && content->dirty[after].start <= end) {
    start = smaller(start, content->dirty[after].start);
    end = larger(end, content->dirty[after].end);
    after++;
  }
  memmove(
      &content->dirty[first + 1], &content->dirty[after],
      (size_t)(content->dirty_count - after) * sizeof(Range));
  content->dirty[first] = (Range){start, end};
  content->dirty_count += 1 - (after - first);
}

static int load(Content *content, sqlite3_file *real) {
  sqlite3_int64 size = 0;
  int code = real->pMethods->xFileSize(real, &size);
  if (code == SQLITE_OK) code = reserve(content, size);
  for (sqlite3_int64 at = 0; code == SQLITE_OK && at < size; at += CHUNK_BYTES_MAX) {
    int count = (int)smaller(CHUNK_BYTES_MAX, size - at);
    code = real->pMethods->xRead(real, content->bytes + at, count, at);
  }
  content->size = content->synced_size = content->cut_size = size;
  return code;
}

int content_open(const char *path, sqlite3_file *real, Content **opened) {
  Content *content = content_find(path);
  if (content == NULL) {
    content = calloc(1, sizeof(Content));
    if (content == NULL) return SQLITE_NOMEM;
    content->path = strdup(path);
    int code = content->path == NULL ? SQLITE_NOMEM : load(content, real);
    if (code != SQLITE_OK) {
      content_free(content);
      return code;
    }
    content->next = contents;
    contents = content;
  }
  content->handles++;
  *opened = content;
  return SQLITE_OK;
}

void content_close(Content *content) {
  assert(content->handles > 0);
  content->handles--;
  if (content->handles > 0) return;
  if (content->unlinked) {
    content_free(content);
  } else if (!is_pending(content)) {
    registry_remove(content);
    content_free(content);
  }
}

void content_unlink(const char *path) {
  Content *content = content_find(path);
  if (content == NULL) return;
  registry_remove(content);
  content->unlinked = true;
  if (content->handles == 0) content_free(content);
}

sqlite3_int64 content_size(const Content *content) { return content->size; }

int content_read(const Content *content, void *into, int count, sqlite3_int64 offset) {
  sqlite3_int64 available = smaller(count, larger(0, content->size - offset));
  if (available > 0) memcpy(into, content->bytes + offset, (size_t)available);
  if (available == count) return SQLITE_OK;
  memset((unsigned char *)into + available, 0, (size_t)(count - available));
  return SQLITE_IOERR_SHORT_READ;
}

// Fills the gap to `size` with zeros, as a file system does.
static void grow(Content *content, sqlite3_int64 size) {
  if (size <= content->size) return;
  memset(content->bytes + content->size, 0, (size_t)(size - content->size));
  content->size = size;
}

int content_write(Content *content, const void *from, int count, sqlite3_int64 offset) {
  int code = reserve(content, offset + count);
  if (code != SQLITE_OK) return code;
  mark_dirty(content, smaller(offset, content->size), offset + count);
  grow(content, offset);
  memcpy(content->bytes + offset, from, (size_t)count);
  content->size = larger(content->size, offset + count);
  return SQLITE_OK;
}

int content_truncate(Content *content, sqlite3_int64 size) {
  if (size >= content->size) {
    int code = reserve(content, size);
    if (code != SQLITE_OK) return code;
    mark_dirty(content, content->size, size);
    grow(content, size);
    return SQLITE_OK;
  }
  content->size = size;
  content->cut_size = smaller(content->cut_size, size);
  while (content->dirty_count > 0) {
    Range *last = &content->dirty[content->dirty_count - 1];
    last->end = smaller(last->end, size);
    if (last->start < last->end) break;
    content->dirty_count--;
  }
  return SQLITE_OK;
}

static int write_through(const Content *content, sqlite3_file *real, Range range) {
  int code = SQLITE_OK;
  for (sqlite3_int64 at = range.start; code == SQLITE_OK && at < range.end; at += CHUNK_BYTES_MAX) {
    int count = (int)smaller(CHUNK_BYTES_MAX, range.end - at);
    code = real->pMethods->xWrite(real, content->bytes + at, count, at);
  }
  return code;
}

int content_sync(Content *content, sqlite3_file *real) {
  sync_count++;
  // The real file is not synced: a kill spares the system's page cache, and only kills are tested.
  if (content->cut_size < content->synced_size) {
    int code = real->pMethods->xTruncate(real, content->cut_size);
    if (code != SQLITE_OK) return code;
    content->synced_size = content->cut_size;
  }
  for (int i = 0; i < content->dirty_count; i++) {
    Range range = content->dirty[i];
    int code = write_through(content, real, range);
    if (code != SQLITE_OK) return code;
    content->synced_size = larger(content->synced_size, range.end);
  }
  assert(content->synced_size == content->size && "growth is always in a dirty range");
  content->cut_size = content->size;
  content->dirty_count = 0;
  return SQLITE_OK;
}

sqlite3_int64 content_pending_bytes(void) {
  sqlite3_int64 bytes = 0;
  for (const Content *content = contents; content != NULL; content = content->next) {
    for (int i = 0; i < content->dirty_count; i++) {
      bytes += content->dirty[i].end - content->dirty[i].start;
    }
  }
  return bytes;
}

sqlite3_int64 content_sync_count(void) { return sync_count; }
