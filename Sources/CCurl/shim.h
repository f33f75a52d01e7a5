#ifndef TERN_CCURL_SHIM_H
#define TERN_CCURL_SHIM_H

// libcurl for Linux. Apple platforms use URLSession and never build this target.
#if defined(__linux__)

// The macros that check option types need constant options, which a wrapper does not have.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

// Swift can't call variadic functions: one wrapper for each type of argument.

static inline CURLcode tern_curl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode tern_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode tern_curl_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode tern_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode tern_curl_set_headers(CURL *easy, struct curl_slist *list) {
  return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
}

static inline CURLcode tern_curl_on_header(CURL *easy, curl_write_callback function) {
  return curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, function);
}

static inline CURLcode tern_curl_on_write(CURL *easy, curl_write_callback function) {
  return curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, function);
}

static inline CURLcode tern_curl_on_read(CURL *easy, curl_read_callback function) {
  return curl_easy_setopt(easy, CURLOPT_READFUNCTION, function);
}

static inline CURLcode tern_curl_on_seek(CURL *easy, curl_seek_callback function) {
  return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, function);
}

static inline CURLcode tern_curl_on_progress(CURL *easy, curl_xferinfo_callback function) {
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, function);
}

// Called when there is a connection and nothing of the request was sent over it yet. Since 7.80.
typedef int (*tern_curl_request_callback)(void *context, char *, char *, int, int);
static inline CURLcode tern_curl_on_request(
    CURL *easy, void *context, tern_curl_request_callback function) {
#if LIBCURL_VERSION_NUM >= 0x075000
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, context);
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
#else
  (void)easy;
  (void)function;
  (void)context;
  return CURLE_UNKNOWN_OPTION;
#endif
}

// Without it, cancelling during a name look-up waits for the resolver's thread, and with it
// every other transfer does. Since 7.87; an older library waits.
static inline void tern_curl_leave_resolver_behind(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075700
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#else
  (void)easy;
#endif
}

// The option took a bit mask until 7.85 and takes a list since.
static inline CURLcode tern_curl_allow_http_only(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075500
  return curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  return curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static inline CURLcode tern_curl_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLMcode tern_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

// Macros with casts, which Swift does not import.
static inline size_t tern_curl_write_pause(void) { return CURL_WRITEFUNC_PAUSE; }
static inline size_t tern_curl_read_abort(void) { return CURL_READFUNC_ABORT; }

#endif
#endif
