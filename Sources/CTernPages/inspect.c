#include "CTernPages.h"

#pragma clang diagnostic ignored "-Wc23-extensions"
static const unsigned char document[] = {
#embed "inspect/index.html"
};
static const unsigned char styles[] = {
#embed "inspect/inspect.css"
};
static const unsigned char module[] = {
#embed "inspect/inspect.js"
};
static const unsigned char screens[] = {
#embed "inspect/screens.js"
};

static const struct tern_page_file files[] = {
    {"", "text/html; charset=utf-8", document, sizeof document},
    {"inspect.css", "text/css; charset=utf-8", styles, sizeof styles},
    {"inspect.js", "text/javascript; charset=utf-8", module, sizeof module},
    {"screens.js", "text/javascript; charset=utf-8", screens, sizeof screens},
};

const struct tern_page_file *tern_inspect_file(size_t index) {
  return index < sizeof files / sizeof *files ? &files[index] : NULL;
}
