#ifndef TERN_FAULT_LOCKS_H
#define TERN_FAULT_LOCKS_H

#include <sqlite3.h>
#include <stdbool.h>

// The locks and the shared memory of one file, for connections of one process.

#define SHARED_REGIONS_MAX 64

typedef struct {
  int shared_count;
  // Handles, by their address.
  const void *reserved;
  const void *pending;
  const void *exclusive;

  int slot_shared[SQLITE_SHM_NLOCK];
  bool slot_exclusive[SQLITE_SHM_NLOCK];
  void *regions[SHARED_REGIONS_MAX];
} Locks;

// What one handle holds.
typedef struct {
  int level;
  unsigned shared_slots;
  unsigned exclusive_slots;
} Held;

int locks_raise(Locks *locks, Held *held, const void *handle, int level);
void locks_lower(Locks *locks, Held *held, const void *handle, int level);

int locks_map(Locks *locks, int region, int size, bool extend, void volatile **at);
int locks_slots(Locks *locks, Held *held, int offset, int count, int flags);
void locks_release_slots(Locks *locks, Held *held);
void locks_free_regions(Locks *locks);

#endif
