#include "CTernPages.h"

#pragma clang diagnostic ignored "-Wc23-extensions"
static const unsigned char document[] = {
#embed "dashboard/index.html"
};
static const unsigned char module[] = {
#embed "dashboard/dashboard.js"
};
static const unsigned char operators[] = {
#embed "dashboard/operator.js"
};
static const unsigned char spaces[] = {
#embed "dashboard/spaces.js"
};
// The two pages that look inside look alike.
static const unsigned char styles[] = {
#embed "inspect/inspect.css"
};

static const struct tern_page_file files[] = {
    {"", "text/html; charset=utf-8", document, sizeof document},
    {"dashboard.js", "text/javascript; charset=utf-8", module, sizeof module},
    {"operator.js", "text/javascript; charset=utf-8", operators, sizeof operators},
    {"spaces.js", "text/javascript; charset=utf-8", spaces, sizeof spaces},
    {"inspect.css", "text/css; charset=utf-8", styles, sizeof styles},
};

const struct tern_page_file *tern_dashboard_file(size_t index) {
  return index < sizeof files / sizeof *files ? &files[index] : NULL;
}
