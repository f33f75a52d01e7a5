#include "fault_vfs.h"

#include <sqlite3.h>
#include <string.h>

#include "fault_disk.h"

typedef struct {
  sqlite3_file base;
  Node *node;
  Held held;
} File;

static sqlite3_vfs *root;
static _Thread_local int64_t clock_ms;

static Node *node_of(sqlite3_file *base) { return ((File *)base)->node; }
static Held *held_by(sqlite3_file *base) { return &((File *)base)->held; }

// MARK: Content

static int file_close(sqlite3_file *base) {
  fault_lock();
  Node *node = node_of(base);
  locks_lower(&node->locks, held_by(base), base, SQLITE_LOCK_NONE);
  locks_release_slots(&node->locks, held_by(base));
  node_close(node);
  fault_unlock();
  return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *into, int count, sqlite3_int64 offset) {
  fault_lock();
  int code = node_read(node_of(base), into, count, offset);
  fault_unlock();
  return code;
}

static int file_write(sqlite3_file *base, const void *from, int count, sqlite3_int64 offset) {
  fault_lock();
  int code = node_write(node_of(base), from, count, offset);
  fault_unlock();
  return code;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size) {
  fault_lock();
  int code = node_truncate(node_of(base), size);
  fault_unlock();
  return code;
}

static int file_sync(sqlite3_file *base, int flags) {
  (void)flags;
  fault_lock();
  int code = node_sync(node_of(base));
  fault_unlock();
  return code;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size) {
  fault_lock();
  int code = node_is_alive(node_of(base)) ? SQLITE_OK : SQLITE_IOERR_FSTAT;
  *size = node_of(base)->seen.size;
  fault_unlock();
  return code;
}

static int file_control(sqlite3_file *base, int operation, void *argument) {
  (void)base;
  (void)argument;
  // A hint may be ignored.
  return operation == SQLITE_FCNTL_SIZE_HINT ? SQLITE_OK : SQLITE_NOTFOUND;
}

static int file_characteristics(sqlite3_file *base) {
  (void)base;
  // As the unix VFS: bytes beside a write stay, but no write is atomic or ordered.
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int file_sector_size(sqlite3_file *base) {
  (void)base;
  return 4096;
}

// MARK: Locks and shared memory

static int file_lock(sqlite3_file *base, int level) {
  fault_lock();
  Node *node = node_of(base);
  int code = node_is_alive(node) ? locks_raise(&node->locks, held_by(base), base, level)
                                 : SQLITE_IOERR_LOCK;
  fault_unlock();
  return code;
}

static int file_unlock(sqlite3_file *base, int level) {
  fault_lock();
  locks_lower(&node_of(base)->locks, held_by(base), base, level);
  fault_unlock();
  return SQLITE_OK;
}

static int file_check_reserved(sqlite3_file *base, int *reserved) {
  fault_lock();
  int code = node_is_alive(node_of(base)) ? SQLITE_OK : SQLITE_IOERR_CHECKRESERVEDLOCK;
  Locks *locks = &node_of(base)->locks;
  *reserved = locks->reserved != NULL || locks->pending != NULL || locks->exclusive != NULL;
  fault_unlock();
  return code;
}

static int file_shm_map(sqlite3_file *base, int region, int size, int extend, void volatile **at) {
  fault_lock();
  Node *node = node_of(base);
  int code = node_is_alive(node) ? locks_map(&node->locks, region, size, extend, at)
                                 : SQLITE_IOERR_SHMMAP;
  fault_unlock();
  return code;
}

static int file_shm_lock(sqlite3_file *base, int offset, int count, int flags) {
  fault_lock();
  Node *node = node_of(base);
  int code = node_is_alive(node) || (flags & SQLITE_SHM_UNLOCK)
                 ? locks_slots(&node->locks, held_by(base), offset, count, flags)
                 : SQLITE_IOERR_SHMLOCK;
  fault_unlock();
  return code;
}

static void file_shm_barrier(sqlite3_file *base) {
  (void)base;
  fault_lock();
  fault_unlock();
}

static int file_shm_unmap(sqlite3_file *base, int remove) {
  fault_lock();
  locks_release_slots(&node_of(base)->locks, held_by(base));
  // Only the last connection asks for it.
  if (remove) locks_free_regions(&node_of(base)->locks);
  fault_unlock();
  return SQLITE_OK;
}

// Version 2: no memory mapping.
static const sqlite3_io_methods file_methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

// MARK: Names

static int open_on(
    TernFaultDisk *disk, const char *path, sqlite3_file *base, int flags, int *out_flags) {
  File *file = (File *)base;
  memset(file, 0, sizeof(File));
  if (disk_is_crashed(disk)) return SQLITE_CANTOPEN;
  int code = disk_open(disk, path, flags & SQLITE_OPEN_CREATE, &file->node);
  if (code != SQLITE_OK) return code;
  file->base.pMethods = &file_methods;
  if (out_flags != NULL) *out_flags = flags;
  return SQLITE_OK;
}

static int vfs_open(
    sqlite3_vfs *vfs, sqlite3_filename path, sqlite3_file *base, int flags, int *out_flags) {
  (void)vfs;
  fault_lock();
  TernFaultDisk *disk = path == NULL ? NULL : disk_of(path);
  int code = disk == NULL ? SQLITE_OK : open_on(disk, path, base, flags, out_flags);
  fault_unlock();
  return disk == NULL ? root->xOpen(root, path, base, flags, out_flags) : code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync_directory) {
  (void)vfs;
  fault_lock();
  TernFaultDisk *disk = disk_of(path);
  int code = disk == NULL ? SQLITE_OK : disk_delete(disk, path, sync_directory);
  fault_unlock();
  return disk == NULL ? root->xDelete(root, path, sync_directory) : code;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
  (void)vfs;
  fault_lock();
  TernFaultDisk *disk = disk_of(path);
  int code = SQLITE_OK;
  if (disk != NULL) {
    Node *node = disk_find(disk, path);
    // An empty file counts as absent, as with the unix VFS.
    *result = node != NULL && (flags != SQLITE_ACCESS_EXISTS || node->seen.size > 0);
    if (disk_is_crashed(disk)) code = SQLITE_IOERR_ACCESS;
  }
  fault_unlock();
  return disk == NULL ? root->xAccess(root, path, flags, result) : code;
}

static int vfs_full_pathname(sqlite3_vfs *vfs, const char *name, int count, char *path) {
  (void)vfs;
  return root->xFullPathname(root, name, count, path);
}

// MARK: Time

// Noon of the first day that SQLite counts from, to midnight of 1970.
#define JULIAN_MS_OF_1970 ((sqlite3_int64)210866760000000)

static int vfs_current_time_int64(sqlite3_vfs *vfs, sqlite3_int64 *milliseconds) {
  (void)vfs;
  if (clock_ms == 0) return root->xCurrentTimeInt64(root, milliseconds);
  *milliseconds = clock_ms + JULIAN_MS_OF_1970;
  return SQLITE_OK;
}

static int vfs_current_time(sqlite3_vfs *vfs, double *days) {
  sqlite3_int64 milliseconds = 0;
  int code = vfs_current_time_int64(vfs, &milliseconds);
  *days = (double)milliseconds / 86400000.0;
  return code;
}

void tern_fault_set_clock(int64_t milliseconds) { clock_ms = milliseconds; }

// MARK: The machine: the root's

static void *vfs_dl_open(sqlite3_vfs *vfs, const char *name) {
  (void)vfs;
  return root->xDlOpen(root, name);
}

static void vfs_dl_error(sqlite3_vfs *vfs, int count, char *message) {
  (void)vfs;
  root->xDlError(root, count, message);
}

static void (*vfs_dl_sym(sqlite3_vfs *vfs, void *handle, const char *name))(void) {
  (void)vfs;
  return root->xDlSym(root, handle, name);
}

static void vfs_dl_close(sqlite3_vfs *vfs, void *handle) {
  (void)vfs;
  root->xDlClose(root, handle);
}

static int vfs_randomness(sqlite3_vfs *vfs, int count, char *into) {
  (void)vfs;
  return root->xRandomness(root, count, into);
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds) {
  (void)vfs;
  return root->xSleep(root, microseconds);
}

static int vfs_last_error(sqlite3_vfs *vfs, int count, char *message) {
  (void)vfs;
  return root->xGetLastError(root, count, message);
}

static sqlite3_vfs fault_vfs = {
    .iVersion = 2,
    .zName = "tern-fault",
    .xOpen = vfs_open,
    .xDelete = vfs_delete,
    .xAccess = vfs_access,
    .xFullPathname = vfs_full_pathname,
    .xDlOpen = vfs_dl_open,
    .xDlError = vfs_dl_error,
    .xDlSym = vfs_dl_sym,
    .xDlClose = vfs_dl_close,
    .xRandomness = vfs_randomness,
    .xSleep = vfs_sleep,
    .xCurrentTime = vfs_current_time,
    .xGetLastError = vfs_last_error,
    .xCurrentTimeInt64 = vfs_current_time_int64,
};

int tern_fault_vfs_register(void) {
  fault_lock();
  bool is_first = root == NULL;
  if (is_first) {
    root = sqlite3_vfs_find(NULL);
    if (root != NULL) {
      int size = (int)sizeof(File);
      fault_vfs.szOsFile = root->szOsFile > size ? root->szOsFile : size;
      fault_vfs.mxPathname = root->mxPathname;
    }
  }
  fault_unlock();
  if (root == NULL || root->iVersion < 2) return SQLITE_ERROR;
  return is_first ? sqlite3_vfs_register(&fault_vfs, 1) : SQLITE_OK;
}
