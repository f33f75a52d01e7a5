#ifndef C_TERN_PAGES_H
#define C_TERN_PAGES_H

#include <stddef.h>

/// A file that the compiler embeds. Its bytes stay where they are while the process runs.
struct tern_page_file {
  const char *name;
  const char *type;
  const unsigned char *bytes;
  size_t count;
};

/// The styles, controls and connection that all pages have.
///
/// @param index from 0 on.
/// @return NULL behind the last one.
const struct tern_page_file *tern_kit_file(size_t index);

/// The page of `tern inspect --serve`, beside the kit.
const struct tern_page_file *tern_inspect_file(size_t index);

/// The dashboard of `tern serve`, with what it takes of the kit.
const struct tern_page_file *tern_dashboard_file(size_t index);

#endif
