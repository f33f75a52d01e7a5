#ifndef TERN_CCRYPTO_SHIM_H
#define TERN_CCRYPTO_SHIM_H

// OpenSSL's libcrypto for Linux. Apple platforms use CryptoKit and never build this target.
#if defined(__linux__)
#include <openssl/sha.h>
#endif
#endif
