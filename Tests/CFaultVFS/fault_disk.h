#ifndef TERN_FAULT_DISK_H
#define TERN_FAULT_DISK_H

#include <sqlite3.h>
#include <stdbool.h>

#include "fault_locks.h"
#include "fault_vfs.h"

// Files of the disks. Every function here expects `fault_lock` to be held.

typedef struct {
  unsigned char *bytes;
  sqlite3_int64 size;
  sqlite3_int64 capacity;
} Image;

// A write, or with `bytes` NULL a truncation to `offset`, that was not synced.
typedef struct {
  sqlite3_int64 offset;
  sqlite3_int64 count;
  unsigned char *bytes;
} Change;

typedef struct Node Node;
struct Node {
  Node *next;
  TernFaultDisk *disk;
  char *path;
  int handles;
  // Of a life that a crash has ended: it is on no disk any more.
  bool is_dead;
  bool is_named;
  bool is_durably_named;
  Image seen;
  Image durable;
  Change *changes;
  int change_count;
  int change_capacity;
  Locks locks;
};

void fault_lock(void);
void fault_unlock(void);

// The disk that a path is on, or NULL.
TernFaultDisk *disk_of(const char *path);

// Whether every call of its connections fails now.
bool disk_is_crashed(const TernFaultDisk *disk);

// The file with a name, or NULL.
Node *disk_find(const TernFaultDisk *disk, const char *path);

// A handle on a file, which is made if it is absent and `create` says so.
int disk_open(TernFaultDisk *disk, const char *path, bool create, Node **opened);
void node_close(Node *node);

// Whether its connection's life goes on.
bool node_is_alive(const Node *node);

int node_read(Node *node, void *into, int count, sqlite3_int64 offset);
int node_write(Node *node, const void *from, int count, sqlite3_int64 offset);
int node_truncate(Node *node, sqlite3_int64 size);
int node_sync(Node *node);
int disk_delete(TernFaultDisk *disk, const char *path, bool sync_directory);

#endif
