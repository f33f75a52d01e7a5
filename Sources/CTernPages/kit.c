#include "CTernPages.h"

// C23, and no compiler that we build with lacks it.
#pragma clang diagnostic ignored "-Wc23-extensions"
static const unsigned char styles[] = {
#embed "kit/kit.css"
};
static const unsigned char module[] = {
#embed "kit/kit.js"
};
static const unsigned char parts[] = {
#embed "kit/parts.js"
};
static const unsigned char icon[] = {
#embed "kit/icon.svg"
};

static const struct tern_page_file files[] = {
    {"kit.css", "text/css; charset=utf-8", styles, sizeof styles},
    {"kit.js", "text/javascript; charset=utf-8", module, sizeof module},
    {"parts.js", "text/javascript; charset=utf-8", parts, sizeof parts},
    {"icon.svg", "image/svg+xml", icon, sizeof icon},
};

const struct tern_page_file *tern_kit_file(size_t index) {
  return index < sizeof files / sizeof *files ? &files[index] : NULL;
}
