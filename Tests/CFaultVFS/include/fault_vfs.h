#ifndef TERN_FAULT_VFS_H
#define TERN_FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>

// A SQLite VFS for tests whose disks are in memory and fail when they are told to.
//
// A disk is a folder: databases, logs and journals in it exist here alone, every other path goes to
// the VFS that was the default before. A disk keeps what programs see, what would be left without
// power, and between the two every write that was not synced. A crash is simulated: from then on
// every call of a connection fails, until the power is cycled; only connections opened after that
// reach the disk again.
//
// Creating and removing a file lasts once its directory was synced: with the first sync of a new
// file, or by a delete that asks for it. Any thread may call; a disk's connections share one lock.

typedef struct TernFaultDisk TernFaultDisk;

// What is counted, and can be hit: any sum of these.
enum {
  TERN_FAULT_READ = 1,
  TERN_FAULT_WRITE = 2,
  TERN_FAULT_SYNC = 4,
  TERN_FAULT_TRUNCATE = 8,
  TERN_FAULT_DELETE = 16,
};

enum {
  // The call fails with `code` and does nothing; a write that fails with SQLITE_FULL leaves half.
  TERN_FAULT_FAIL = 0,
  // A sync fails, and what it was to keep never becomes durable, though programs still see it: the
  // system has marked the pages clean.
  TERN_FAULT_FAIL_AND_FORGET = 1,
  // The program dies before the call.
  TERN_FAULT_CRASH = 2,
  // The program dies in the call: of a write the first bytes are made, anything else is done whole.
  TERN_FAULT_TEAR = 3,
};

typedef struct {
  int operations;
  // Hits the `at`-th of the operations since the disk was armed, from 1.
  int64_t at;
  int action;
  // A SQLite result code, for the two that fail.
  int code;
  // Hits all later operations too.
  bool is_lasting;
  // Decides how much of a torn write is made.
  uint64_t seed;
} TernFault;

enum {
  // Only the program died: the system writes everything in the end.
  TERN_FAULT_KEEP_ALL = 0,
  // Of what was not synced nothing is left.
  TERN_FAULT_KEEP_NONE = 1,
  // Of what was not synced, sectors of 512 bytes and names are left as the seed says.
  TERN_FAULT_KEEP_SOME = 2,
};

// Makes the VFS the default of this process, for paths on its disks; once is enough. Returns a
// SQLite result code.
int tern_fault_vfs_register(void);

// Makes an empty disk in place of a folder, or one with what `copied` would keep without power.
// NULL when memory is short.
TernFaultDisk *tern_fault_disk_make(const char *folder, const TernFaultDisk *copied);
void tern_fault_disk_free(TernFaultDisk *disk);

void tern_fault_disk_arm(TernFaultDisk *disk, TernFault fault);
void tern_fault_disk_disarm(TernFaultDisk *disk);

// Whether the fault has hit since the disk was armed.
bool tern_fault_disk_was_hit(const TernFaultDisk *disk);
bool tern_fault_disk_is_crashed(const TernFaultDisk *disk);
// How many operations that the fault names there were since the disk was armed.
int64_t tern_fault_disk_count(const TernFaultDisk *disk);

// Ends the life of every open connection, and starts anew with what is left. Disarms. Returns a
// SQLite result code.
int tern_fault_disk_cycle_power(TernFaultDisk *disk, int keep, uint64_t seed);

// What programs see of a file: copies up to `count` bytes, and returns how many the file has, or -1
// when there is none.
int64_t tern_fault_disk_read(
    const TernFaultDisk *disk, const char *path, void *into, int64_t count);

// What connections of this thread take for the time, in milliseconds since 1970; 0 for the
// machine's own. It holds for every path.
void tern_fault_set_clock(int64_t milliseconds);

#endif
