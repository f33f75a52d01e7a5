#include "fault_disk.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// A file has at most this many bytes: larger writes get SQLITE_FULL.
#define FILE_BYTES_MAX ((sqlite3_int64)1 << 28)
#define SECTOR_BYTES 512

struct TernFaultDisk {
  TernFaultDisk *next;
  char *folder;
  // The newest first, those without a name included while power could bring them back.
  Node *nodes;
  bool is_armed;
  TernFault fault;
  int64_t count;
  bool was_hit;
  bool is_crashed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static TernFaultDisk *disks;

void fault_lock(void) { pthread_mutex_lock(&lock); }
void fault_unlock(void) { pthread_mutex_unlock(&lock); }

static sqlite3_int64 smaller(sqlite3_int64 a, sqlite3_int64 b) { return a < b ? a : b; }
static sqlite3_int64 larger(sqlite3_int64 a, sqlite3_int64 b) { return a > b ? a : b; }

// Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (2014).
static uint64_t draw(uint64_t *seed) {
  *seed += 0x9E3779B97F4A7C15u;
  uint64_t mixed = *seed;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return mixed ^ (mixed >> 31);
}

// MARK: Images

// Makes room, and fills what lies between the end and `size` with zeros, as a file system does.
static int image_grow(Image *image, sqlite3_int64 size) {
  if (size > FILE_BYTES_MAX) return SQLITE_FULL;
  if (size > image->capacity) {
    sqlite3_int64 capacity = larger(size, larger(4096, image->capacity * 2));
    unsigned char *bytes = realloc(image->bytes, (size_t)capacity);
    if (bytes == NULL) return SQLITE_NOMEM;
    image->bytes = bytes;
    image->capacity = capacity;
  }
  if (size > image->size) {
    memset(image->bytes + image->size, 0, (size_t)(size - image->size));
    image->size = size;
  }
  return SQLITE_OK;
}

static int image_write(
    Image *image, const unsigned char *from, sqlite3_int64 count, sqlite3_int64 offset) {
  if (count == 0) return SQLITE_OK;
  int code = image_grow(image, offset + count);
  if (code == SQLITE_OK) memcpy(image->bytes + offset, from, (size_t)count);
  return code;
}

static int image_resize(Image *image, sqlite3_int64 size) {
  int code = image_grow(image, size);
  if (code == SQLITE_OK) image->size = size;
  return code;
}

static int image_copy(Image *image, const Image *other) {
  image->size = 0;
  return image_write(image, other->bytes, other->size, 0);
}

// MARK: Nodes

static void forget_changes(Node *node) {
  for (int i = 0; i < node->change_count; i++) free(node->changes[i].bytes);
  node->change_count = 0;
}

static void node_free(Node *node) {
  forget_changes(node);
  locks_free_regions(&node->locks);
  free(node->changes);
  free(node->seen.bytes);
  free(node->durable.bytes);
  free(node->path);
  free(node);
}

static Node *node_make(TernFaultDisk *disk, const char *path) {
  Node *node = calloc(1, sizeof(Node));
  if (node == NULL) return NULL;
  node->path = strdup(path);
  if (node->path == NULL) {
    free(node);
    return NULL;
  }
  node->disk = disk;
  node->is_named = true;
  return node;
}

// Takes a node off its disk; its handles go on seeing it.
static void node_unlist(Node *node) {
  Node **link = &node->disk->nodes;
  while (*link != node) link = &(*link)->next;
  *link = node->next;
  node->next = NULL;
  node->is_dead = true;
  if (node->handles == 0) node_free(node);
}

bool node_is_alive(const Node *node) { return !node->is_dead && !node->disk->is_crashed; }

void node_close(Node *node) {
  assert(node->handles > 0);
  node->handles--;
  if (node->handles > 0) return;
  // The first connection builds the shared memory anew.
  locks_free_regions(&node->locks);
  if (node->is_dead) node_free(node);
}

Node *disk_find(const TernFaultDisk *disk, const char *path) {
  for (Node *node = disk->nodes; node != NULL; node = node->next) {
    if (node->is_named && strcmp(node->path, path) == 0) return node;
  }
  return NULL;
}

int disk_open(TernFaultDisk *disk, const char *path, bool create, Node **opened) {
  Node *node = disk_find(disk, path);
  if (node == NULL) {
    if (!create) return SQLITE_CANTOPEN;
    node = node_make(disk, path);
    if (node == NULL) return SQLITE_NOMEM;
    node->next = disk->nodes;
    disk->nodes = node;
  }
  node->handles++;
  *opened = node;
  return SQLITE_OK;
}

// What is named now keeps its name without power, and what is not is gone.
static void sync_directory_of(TernFaultDisk *disk) {
  Node *next;
  for (Node *node = disk->nodes; node != NULL; node = next) {
    next = node->next;
    node->is_durably_named = node->is_named;
    // Handles of a file that lost its name go on seeing it, so it stays until they are closed.
    if (!node->is_named && node->handles == 0) node_unlist(node);
  }
}

// MARK: Faults

// Whether this operation is hit, and how.
static bool is_hit(TernFaultDisk *disk, int operation) {
  if (!disk->is_armed || !(disk->fault.operations & operation)) return false;
  disk->count++;
  if (disk->count < disk->fault.at) return false;
  if (disk->count > disk->fault.at && !disk->fault.is_lasting) return false;
  disk->was_hit = true;
  if (disk->fault.action >= TERN_FAULT_CRASH) disk->is_crashed = true;
  return true;
}

// MARK: Operations

int node_read(Node *node, void *into, int count, sqlite3_int64 offset) {
  if (!node_is_alive(node)) return SQLITE_IOERR_READ;
  if (is_hit(node->disk, TERN_FAULT_READ)) {
    return node->disk->is_crashed ? SQLITE_IOERR_READ : node->disk->fault.code;
  }
  sqlite3_int64 available = smaller(count, larger(0, node->seen.size - offset));
  if (available > 0) memcpy(into, node->seen.bytes + offset, (size_t)available);
  if (available == count) return SQLITE_OK;
  memset((unsigned char *)into + available, 0, (size_t)(count - available));
  return SQLITE_IOERR_SHORT_READ;
}

static int add_change(
    Node *node, const unsigned char *bytes, sqlite3_int64 count, sqlite3_int64 offset) {
  if (node->change_count == node->change_capacity) {
    int capacity = larger(16, node->change_capacity * 2);
    Change *changes = realloc(node->changes, (size_t)capacity * sizeof(Change));
    if (changes == NULL) return SQLITE_NOMEM;
    node->changes = changes;
    node->change_capacity = capacity;
  }
  Change change = {.offset = offset, .count = count};
  if (bytes != NULL) {
    change.bytes = malloc((size_t)larger(count, 1));
    if (change.bytes == NULL) return SQLITE_NOMEM;
    memcpy(change.bytes, bytes, (size_t)count);
  }
  node->changes[node->change_count++] = change;
  return SQLITE_OK;
}

static int make_write(
    Node *node, const unsigned char *from, sqlite3_int64 count, sqlite3_int64 offset) {
  if (count == 0) return SQLITE_OK;
  int code = image_write(&node->seen, from, count, offset);
  return code == SQLITE_OK ? add_change(node, from, count, offset) : code;
}

int node_write(Node *node, const void *from, int count, sqlite3_int64 offset) {
  if (!node_is_alive(node)) return SQLITE_IOERR_WRITE;
  if (!is_hit(node->disk, TERN_FAULT_WRITE)) return make_write(node, from, count, offset);
  TernFault *fault = &node->disk->fault;
  int code = fault->action < TERN_FAULT_CRASH ? fault->code : SQLITE_IOERR_WRITE;
  sqlite3_int64 made = 0;
  if (fault->action == TERN_FAULT_TEAR) {
    made = (sqlite3_int64)(draw(&fault->seed) % (uint64_t)count);
  }
  if (code == SQLITE_FULL) made = count / 2;
  int made_code = make_write(node, from, made, offset);
  return made_code == SQLITE_OK ? code : made_code;
}

static int make_truncate(Node *node, sqlite3_int64 size) {
  int code = image_resize(&node->seen, size);
  return code == SQLITE_OK ? add_change(node, NULL, 0, size) : code;
}

int node_truncate(Node *node, sqlite3_int64 size) {
  if (!node_is_alive(node)) return SQLITE_IOERR_TRUNCATE;
  if (!is_hit(node->disk, TERN_FAULT_TRUNCATE)) return make_truncate(node, size);
  TernFault *fault = &node->disk->fault;
  if (fault->action < TERN_FAULT_CRASH) return fault->code;
  int code = fault->action == TERN_FAULT_TEAR ? make_truncate(node, size) : SQLITE_OK;
  return code == SQLITE_OK ? SQLITE_IOERR_TRUNCATE : code;
}

static int apply(Image *image, const Change *change) {
  if (change->bytes == NULL) return image_resize(image, change->offset);
  return image_write(image, change->bytes, change->count, change->offset);
}

static int make_sync(Node *node) {
  for (int i = 0; i < node->change_count; i++) {
    int code = apply(&node->durable, &node->changes[i]);
    if (code != SQLITE_OK) return code;
  }
  forget_changes(node);
  if (node->is_named && !node->is_durably_named) sync_directory_of(node->disk);
  return SQLITE_OK;
}

int node_sync(Node *node) {
  if (!node_is_alive(node)) return SQLITE_IOERR_FSYNC;
  if (!is_hit(node->disk, TERN_FAULT_SYNC)) return make_sync(node);
  TernFault *fault = &node->disk->fault;
  if (fault->action == TERN_FAULT_FAIL_AND_FORGET) forget_changes(node);
  if (fault->action < TERN_FAULT_CRASH) return fault->code;
  int code = fault->action == TERN_FAULT_TEAR ? make_sync(node) : SQLITE_OK;
  return code == SQLITE_OK ? SQLITE_IOERR_FSYNC : code;
}

static void make_delete(Node *node, bool sync_directory) {
  node->is_named = false;
  if (sync_directory) sync_directory_of(node->disk);
}

int disk_delete(TernFaultDisk *disk, const char *path, bool sync_directory) {
  if (disk->is_crashed) return SQLITE_IOERR_DELETE;
  Node *node = disk_find(disk, path);
  if (node == NULL) return SQLITE_IOERR_DELETE_NOENT;
  bool hit = is_hit(disk, TERN_FAULT_DELETE);
  if (!hit || disk->fault.action == TERN_FAULT_TEAR) make_delete(node, sync_directory);
  if (!hit) return SQLITE_OK;
  return disk->fault.action < TERN_FAULT_CRASH ? disk->fault.code : SQLITE_IOERR_DELETE;
}

// MARK: Power

// Brings a write's sectors, or a truncation, to the image where the seed says so.
static int apply_some(Image *image, const Change *change, uint64_t *seed) {
  if (change->bytes == NULL) return draw(seed) & 1 ? apply(image, change) : SQLITE_OK;
  sqlite3_int64 at = 0;
  int code = SQLITE_OK;
  while (code == SQLITE_OK && at < change->count) {
    sqlite3_int64 left_in_sector = SECTOR_BYTES - (change->offset + at) % SECTOR_BYTES;
    sqlite3_int64 count = smaller(change->count - at, left_in_sector);
    if (draw(seed) & 1) code = image_write(image, change->bytes + at, count, change->offset + at);
    at += count;
  }
  return code;
}

static int remaining(Node *node, int keep, uint64_t *seed, Image *image) {
  int code = image_copy(image, keep == TERN_FAULT_KEEP_ALL ? &node->seen : &node->durable);
  if (keep != TERN_FAULT_KEEP_SOME) return code;
  for (int i = 0; code == SQLITE_OK && i < node->change_count; i++) {
    code = apply_some(image, &node->changes[i], seed);
  }
  return code;
}

static bool is_left(const Node *node, int keep, uint64_t *seed) {
  if (node->is_named == node->is_durably_named) return node->is_named;
  switch (keep) {
    case TERN_FAULT_KEEP_ALL: return node->is_named;
    case TERN_FAULT_KEEP_NONE: return node->is_durably_named;
    default: return draw(seed) & 1;
  }
}

// Adds what is left of a node to the list, unless a newer one has its name already.
static int add_remaining(Node **list, Node *node, int keep, uint64_t *seed) {
  if (!is_left(node, keep, seed)) return SQLITE_OK;
  Node **link = list;
  while (*link != NULL) {
    if (strcmp((*link)->path, node->path) == 0) return SQLITE_OK;
    link = &(*link)->next;
  }
  Node *left = node_make(node->disk, node->path);
  if (left == NULL) return SQLITE_NOMEM;
  *link = left;
  left->is_durably_named = true;
  int code = remaining(node, keep, seed, &left->seen);
  return code == SQLITE_OK ? image_copy(&left->durable, &left->seen) : code;
}

int tern_fault_disk_cycle_power(TernFaultDisk *disk, int keep, uint64_t seed) {
  fault_lock();
  Node *left = NULL;
  int code = SQLITE_OK;
  for (Node *node = disk->nodes; code == SQLITE_OK && node != NULL; node = node->next) {
    code = add_remaining(&left, node, keep, &seed);
  }
  while (disk->nodes != NULL) node_unlist(disk->nodes);
  disk->nodes = left;
  disk->is_armed = disk->is_crashed = false;
  fault_unlock();
  return code;
}

// MARK: Disks

bool disk_is_crashed(const TernFaultDisk *disk) { return disk->is_crashed; }

TernFaultDisk *disk_of(const char *path) {
  for (TernFaultDisk *disk = disks; disk != NULL; disk = disk->next) {
    size_t length = strlen(disk->folder);
    if (strncmp(path, disk->folder, length) == 0 && path[length] == '/') return disk;
  }
  return NULL;
}

static int copy_nodes(TernFaultDisk *disk, const TernFaultDisk *copied) {
  uint64_t seed = 0;
  size_t length = strlen(copied->folder);
  for (Node *node = copied->nodes; node != NULL; node = node->next) {
    int code = add_remaining(&disk->nodes, node, TERN_FAULT_KEEP_NONE, &seed);
    if (code != SQLITE_OK) return code;
  }
  for (Node *node = disk->nodes; node != NULL; node = node->next) {
    char *path = sqlite3_mprintf("%s%s", disk->folder, node->path + length);
    if (path == NULL) return SQLITE_NOMEM;
    free(node->path);
    node->path = strdup(path);
    sqlite3_free(path);
    if (node->path == NULL) return SQLITE_NOMEM;
    node->disk = disk;
  }
  return SQLITE_OK;
}

TernFaultDisk *tern_fault_disk_make(const char *folder, const TernFaultDisk *copied) {
  TernFaultDisk *disk = calloc(1, sizeof(TernFaultDisk));
  if (disk == NULL) return NULL;
  disk->folder = strdup(folder);
  fault_lock();
  int code = disk->folder == NULL ? SQLITE_NOMEM : SQLITE_OK;
  if (code == SQLITE_OK && copied != NULL) code = copy_nodes(disk, copied);
  if (code == SQLITE_OK) {
    disk->next = disks;
    disks = disk;
  }
  fault_unlock();
  // What was made so far is lost with the process, which is out of memory.
  return code == SQLITE_OK ? disk : NULL;
}

void tern_fault_disk_free(TernFaultDisk *disk) {
  fault_lock();
  TernFaultDisk **link = &disks;
  while (*link != disk) link = &(*link)->next;
  *link = disk->next;
  while (disk->nodes != NULL) node_unlist(disk->nodes);
  fault_unlock();
  free(disk->folder);
  free(disk);
}

void tern_fault_disk_arm(TernFaultDisk *disk, TernFault fault) {
  fault_lock();
  disk->fault = fault;
  disk->count = 0;
  disk->was_hit = false;
  disk->is_armed = true;
  fault_unlock();
}

void tern_fault_disk_disarm(TernFaultDisk *disk) {
  fault_lock();
  disk->is_armed = false;
  fault_unlock();
}

bool tern_fault_disk_was_hit(const TernFaultDisk *disk) {
  fault_lock();
  bool was_hit = disk->was_hit;
  fault_unlock();
  return was_hit;
}

bool tern_fault_disk_is_crashed(const TernFaultDisk *disk) {
  fault_lock();
  bool is_crashed = disk_is_crashed(disk);
  fault_unlock();
  return is_crashed;
}

int64_t tern_fault_disk_count(const TernFaultDisk *disk) {
  fault_lock();
  int64_t count = disk->count;
  fault_unlock();
  return count;
}

int64_t tern_fault_disk_read(
    const TernFaultDisk *disk, const char *path, void *into, int64_t count) {
  fault_lock();
  Node *node = disk_find(disk, path);
  int64_t size = node == NULL ? -1 : node->seen.size;
  if (size > 0) memcpy(into, node->seen.bytes, (size_t)smaller(size, count));
  fault_unlock();
  return size;
}
