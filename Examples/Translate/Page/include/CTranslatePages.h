#ifndef C_TRANSLATE_PAGES_H
#define C_TRANSLATE_PAGES_H

#include <stddef.h>

/// A file that the compiler embeds. Its bytes stay where they are while the process runs.
struct translate_page_file {
  const char *name;
  const char *type;
  const unsigned char *bytes;
  size_t count;
};

/// The page of `translate serve`, with the kit of all pages.
///
/// @param index from 0 on.
/// @return NULL behind the last one.
const struct translate_page_file *translate_page_file(size_t index);

#endif
