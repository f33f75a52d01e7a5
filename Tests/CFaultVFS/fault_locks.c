#include "fault_locks.h"

#include <stdlib.h>

// MARK: The file's lock: https://www.sqlite.org/lockingv3.html

static int raise_to_exclusive(Locks *locks, Held *held, const void *handle) {
  if (locks->exclusive != NULL && locks->exclusive != handle) return SQLITE_BUSY;
  if (locks->pending != NULL && locks->pending != handle) return SQLITE_BUSY;
  if (locks->reserved != NULL && locks->reserved != handle) return SQLITE_BUSY;
  locks->pending = handle;
  held->level = SQLITE_LOCK_PENDING;
  if (locks->shared_count > 1) return SQLITE_BUSY;
  locks->exclusive = handle;
  held->level = SQLITE_LOCK_EXCLUSIVE;
  return SQLITE_OK;
}

int locks_raise(Locks *locks, Held *held, const void *handle, int level) {
  if (held->level >= level) return SQLITE_OK;
  switch (level) {
    case SQLITE_LOCK_SHARED:
      if (locks->pending != NULL || locks->exclusive != NULL) return SQLITE_BUSY;
      locks->shared_count++;
      break;
    case SQLITE_LOCK_RESERVED:
      if (locks->reserved != NULL || locks->pending != NULL) return SQLITE_BUSY;
      locks->reserved = handle;
      break;
    default: return raise_to_exclusive(locks, held, handle);
  }
  held->level = level;
  return SQLITE_OK;
}

void locks_lower(Locks *locks, Held *held, const void *handle, int level) {
  if (held->level <= level) return;
  if (locks->exclusive == handle) locks->exclusive = NULL;
  if (locks->pending == handle) locks->pending = NULL;
  if (locks->reserved == handle) locks->reserved = NULL;
  if (level == SQLITE_LOCK_NONE) locks->shared_count--;
  held->level = level;
}

// MARK: Shared memory

int locks_map(Locks *locks, int region, int size, bool extend, void volatile **at) {
  *at = NULL;
  if (region >= SHARED_REGIONS_MAX) return SQLITE_NOMEM;
  if (locks->regions[region] == NULL) {
    if (!extend) return SQLITE_OK;
    locks->regions[region] = calloc(1, (size_t)size);
    if (locks->regions[region] == NULL) return SQLITE_NOMEM;
  }
  *at = locks->regions[region];
  return SQLITE_OK;
}

static void release(Locks *locks, Held *held, int slot) {
  unsigned bit = 1u << slot;
  if (held->shared_slots & bit) locks->slot_shared[slot]--;
  if (held->exclusive_slots & bit) locks->slot_exclusive[slot] = false;
  held->shared_slots &= ~bit;
  held->exclusive_slots &= ~bit;
}

int locks_slots(Locks *locks, Held *held, int offset, int count, int flags) {
  bool is_exclusive = flags & SQLITE_SHM_EXCLUSIVE;
  if (flags & SQLITE_SHM_UNLOCK) {
    for (int slot = offset; slot < offset + count; slot++) release(locks, held, slot);
    return SQLITE_OK;
  }
  for (int slot = offset; slot < offset + count; slot++) {
    unsigned bit = 1u << slot;
    int others = locks->slot_shared[slot] - (held->shared_slots & bit ? 1 : 0);
    if (locks->slot_exclusive[slot] && !(held->exclusive_slots & bit)) return SQLITE_BUSY;
    if (is_exclusive && others > 0) return SQLITE_BUSY;
  }
  for (int slot = offset; slot < offset + count; slot++) {
    unsigned bit = 1u << slot;
    if (is_exclusive) {
      locks->slot_exclusive[slot] = true;
      held->exclusive_slots |= bit;
    } else if (!(held->shared_slots & bit)) {
      locks->slot_shared[slot]++;
      held->shared_slots |= bit;
    }
  }
  return SQLITE_OK;
}

void locks_release_slots(Locks *locks, Held *held) {
  for (int slot = 0; slot < SQLITE_SHM_NLOCK; slot++) release(locks, held, slot);
}

void locks_free_regions(Locks *locks) {
  for (int region = 0; region < SHARED_REGIONS_MAX; region++) {
    free(locks->regions[region]);
    locks->regions[region] = NULL;
  }
}
