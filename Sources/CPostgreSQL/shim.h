#ifndef TERN_CPOSTGRESQL_SHIM_H
#define TERN_CPOSTGRESQL_SHIM_H

// libpq. Debian keeps its headers in a folder that is not searched.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

#endif
