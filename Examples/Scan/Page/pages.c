#include "CScanPages.h"

// C23, and no compiler that we build with lacks it.
#pragma clang diagnostic ignored "-Wc23-extensions"
static const unsigned char kit_styles[] = {
#embed "kit/kit.css"
};
static const unsigned char kit_module[] = {
#embed "kit/kit.js"
};
static const unsigned char document[] = {
#embed "site/index.html"
};
static const unsigned char styles[] = {
#embed "site/scan.css"
};
static const unsigned char module[] = {
#embed "site/scan.js"
};
static const unsigned char camera[] = {
#embed "site/camera.js"
};
static const unsigned char finder[] = {
#embed "site/finder.js"
};
static const unsigned char lens[] = {
#embed "site/lens.js"
};
static const unsigned char menu[] = {
#embed "site/menu.js"
};
static const unsigned char shrink[] = {
#embed "site/shrink.js"
};
static const unsigned char outbox[] = {
#embed "site/outbox.js"
};
static const unsigned char photos[] = {
#embed "site/photos.js"
};
static const unsigned char library[] = {
#embed "site/library.js"
};
static const unsigned char book[] = {
#embed "site/book.js"
};
static const unsigned char store[] = {
#embed "site/store.js"
};
static const unsigned char shell[] = {
#embed "site/shell.js"
};
static const unsigned char manifest[] = {
#embed "site/manifest.json"
};
static const unsigned char wing[] = {
#embed "site/wing.svg"
};

#define STYLES "text/css; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"

static const struct scan_page_file files[] = {
    {"kit.css", STYLES, kit_styles, sizeof kit_styles},
    {"kit.js", SCRIPT, kit_module, sizeof kit_module},
    {"", "text/html; charset=utf-8", document, sizeof document},
    {"scan.css", STYLES, styles, sizeof styles},
    {"scan.js", SCRIPT, module, sizeof module},
    {"camera.js", SCRIPT, camera, sizeof camera},
    {"finder.js", SCRIPT, finder, sizeof finder},
    {"lens.js", SCRIPT, lens, sizeof lens},
    {"menu.js", SCRIPT, menu, sizeof menu},
    {"shrink.js", SCRIPT, shrink, sizeof shrink},
    {"outbox.js", SCRIPT, outbox, sizeof outbox},
    {"photos.js", SCRIPT, photos, sizeof photos},
    {"library.js", SCRIPT, library, sizeof library},
    {"book.js", SCRIPT, book, sizeof book},
    {"store.js", SCRIPT, store, sizeof store},
    {"shell.js", SCRIPT, shell, sizeof shell},
    {"manifest.json", "application/manifest+json", manifest, sizeof manifest},
    {"wing.svg", "image/svg+xml", wing, sizeof wing},
};

const struct scan_page_file *scan_page_file(size_t index) {
  return index < sizeof files / sizeof *files ? &files[index] : NULL;
}
