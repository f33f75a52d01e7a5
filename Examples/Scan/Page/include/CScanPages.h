#ifndef C_SCAN_PAGES_H
#define C_SCAN_PAGES_H

#include <stddef.h>

/// A file that the compiler embeds. Its bytes stay where they are while the process runs.
struct scan_page_file {
  const char *name;
  const char *type;
  const unsigned char *bytes;
  size_t count;
};

/// The page of `scan serve`, with the kit of all pages.
///
/// @param index from 0 on.
/// @return NULL behind the last one.
const struct scan_page_file *scan_page_file(size_t index);

#endif
