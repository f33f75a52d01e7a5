#include "CTernAPI.h"

// Swift has a resource bundle for this, or a literal that takes ten seconds to compile.
// C23, and no compiler that we build with lacks it.
#pragma clang diagnostic ignored "-Wc23-extensions"
static const unsigned char document[] = {
#embed "openapi.json"
};

static const unsigned char admin[] = {
#embed "admin.json"
};

const unsigned char *tern_api_document(size_t *count) {
  *count = sizeof document;
  return document;
}

const unsigned char *tern_admin_document(size_t *count) {
  *count = sizeof admin;
  return admin;
}
