#include "powerloss_vfs.h"

#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "powerloss_content.h"

typedef struct {
  sqlite3_file base;
  Content *content;
  // In the same allocation, behind this struct: it has the locks and the shared memory.
  sqlite3_file *real;
} File;

static sqlite3_vfs *root;

static File *file_of(sqlite3_file *base) { return (File *)base; }
static sqlite3_file *real_of(sqlite3_file *base) { return file_of(base)->real; }

// MARK: Content: memory only, until a sync

static int file_close(sqlite3_file *base) {
  content_lock();
  content_close(file_of(base)->content);
  int code = real_of(base)->pMethods->xClose(real_of(base));
  content_unlock();
  return code;
}

static int file_read(sqlite3_file *base, void *into, int count, sqlite3_int64 offset) {
  content_lock();
  int code = content_read(file_of(base)->content, into, count, offset);
  content_unlock();
  return code;
}

static int file_write(sqlite3_file *base, const void *from, int count, sqlite3_int64 offset) {
  content_lock();
  int code = content_write(file_of(base)->content, from, count, offset);
  content_unlock();
  return code;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size) {
  content_lock();
  int code = content_truncate(file_of(base)->content, size);
  content_unlock();
  return code;
}

static int file_sync(sqlite3_file *base, int flags) {
  (void)flags;
  content_lock();
  int code = content_sync(file_of(base)->content, real_of(base));
  content_unlock();
  return code;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size) {
  content_lock();
  *size = content_size(file_of(base)->content);
  content_unlock();
  return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int operation, void *argument) {
  switch (operation) {
    // These would change the real file's size, or map it.
    case SQLITE_FCNTL_SIZE_HINT:
    case SQLITE_FCNTL_CHUNK_SIZE:
      return SQLITE_OK;
    case SQLITE_FCNTL_MMAP_SIZE:
      *(sqlite3_int64 *)argument = 0;
      return SQLITE_OK;
    default:
      return real_of(base)->pMethods->xFileControl(real_of(base), operation, argument);
  }
}

static int file_characteristics(sqlite3_file *base) {
  // No promise of atomic or ordered writes: an append that was not synced is lost whole.
  return real_of(base)->pMethods->xDeviceCharacteristics(real_of(base)) &
         SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

// MARK: Locks and shared memory: the real file's

static int file_lock(sqlite3_file *base, int level) {
  return real_of(base)->pMethods->xLock(real_of(base), level);
}

static int file_unlock(sqlite3_file *base, int level) {
  return real_of(base)->pMethods->xUnlock(real_of(base), level);
}

static int file_check_reserved(sqlite3_file *base, int *reserved) {
  return real_of(base)->pMethods->xCheckReservedLock(real_of(base), reserved);
}

static int file_sector_size(sqlite3_file *base) {
  return real_of(base)->pMethods->xSectorSize(real_of(base));
}

static int file_shm_map(sqlite3_file *base, int page, int size, int extend, void volatile **at) {
  return real_of(base)->pMethods->xShmMap(real_of(base), page, size, extend, at);
}

static int file_shm_lock(sqlite3_file *base, int offset, int count, int flags) {
  return real_of(base)->pMethods->xShmLock(real_of(base), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *base) {
  real_of(base)->pMethods->xShmBarrier(real_of(base));
}

static int file_shm_unmap(sqlite3_file *base, int remove) {
  return real_of(base)->pMethods->xShmUnmap(real_of(base), remove);
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

static int open_locked(const char *path, File *file, int flags, int *out_flags) {
  // Content that nobody has open belongs to the file that had this name: not to a new one.
  if (content_find(path) != NULL && access(path, F_OK) != 0) content_unlink(path);
  int code = root->xOpen(root, path, file->real, flags, out_flags);
  if (code == SQLITE_OK) code = content_open(path, file->real, &file->content);
  if (code != SQLITE_OK) {
    if (file->real->pMethods != NULL) file->real->pMethods->xClose(file->real);
    return code;
  }
  file->base.pMethods = &file_methods;
  return SQLITE_OK;
}

static int vfs_open(
    sqlite3_vfs *vfs, sqlite3_filename path, sqlite3_file *base, int flags, int *out_flags) {
  (void)vfs;
  int kept = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL |
             SQLITE_OPEN_SUPER_JOURNAL;
  if (path == NULL || (flags & kept) == 0) return root->xOpen(root, path, base, flags, out_flags);
  File *file = file_of(base);
  memset(file, 0, sizeof(File) + (size_t)root->szOsFile);
  file->real = (sqlite3_file *)(file + 1);
  content_lock();
  int code = open_locked(path, file, flags, out_flags);
  content_unlock();
  return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync_directory) {
  (void)vfs;
  content_lock();
  int code = root->xDelete(root, path, sync_directory);
  if (code == SQLITE_OK || code == SQLITE_IOERR_DELETE_NOENT) content_unlink(path);
  content_unlock();
  return code;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
  (void)vfs;
  int code = root->xAccess(root, path, flags, result);
  if (code != SQLITE_OK || flags != SQLITE_ACCESS_EXISTS) return code;
  // An empty file counts as absent, and one that was never synced is empty on disk.
  content_lock();
  Content *content = content_find(path);
  if (content != NULL) *result = access(path, F_OK) == 0 && content_size(content) > 0;
  content_unlock();
  return code;
}

static int vfs_full_pathname(sqlite3_vfs *vfs, const char *name, int count, char *path) {
  (void)vfs;
  return root->xFullPathname(root, name, count, path);
}

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

static int vfs_current_time(sqlite3_vfs *vfs, double *days) {
  (void)vfs;
  return root->xCurrentTime(root, days);
}

static int vfs_last_error(sqlite3_vfs *vfs, int count, char *message) {
  (void)vfs;
  return root->xGetLastError(root, count, message);
}

static int vfs_current_time_int64(sqlite3_vfs *vfs, sqlite3_int64 *milliseconds) {
  (void)vfs;
  return root->xCurrentTimeInt64(root, milliseconds);
}

static sqlite3_vfs powerloss_vfs = {
    .iVersion = 2,
    .zName = TERN_POWERLOSS_VFS_NAME,
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

int tern_powerloss_vfs_register(bool make_default) {
  content_lock();
  if (root == NULL) {
    root = sqlite3_vfs_find(NULL);
    if (root != NULL) {
      powerloss_vfs.szOsFile = (int)sizeof(File) + root->szOsFile;
      powerloss_vfs.mxPathname = root->mxPathname;
    }
  }
  content_unlock();
  if (root == NULL || root->iVersion < 2) return SQLITE_ERROR;
  return sqlite3_vfs_register(&powerloss_vfs, make_default);
}

int64_t tern_powerloss_pending_bytes(void) {
  content_lock();
  int64_t bytes = content_pending_bytes();
  content_unlock();
  return bytes;
}

int64_t tern_powerloss_sync_count(void) {
  content_lock();
  int64_t count = content_sync_count();
  content_unlock();
  return count;
}
