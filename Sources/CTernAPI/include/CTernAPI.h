#ifndef C_TERN_API_H
#define C_TERN_API_H

#include <stddef.h>

/// The bytes of openapi.json, which the compiler embeds. They stay where they are while the process
/// runs.
///
/// @param count is set to how many there are.
const unsigned char *tern_api_document(size_t *count);

/// The same of admin.json, which describes the routes for operators.
///
/// @param count is set to how many there are.
const unsigned char *tern_admin_document(size_t *count);

#endif
