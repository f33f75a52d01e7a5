#ifndef TERN_CNETLINK_SHIM_H
#define TERN_CNETLINK_SHIM_H

// Linux's routing socket, which the Glibc module leaves out. Nothing to link; empty elsewhere.
#if defined(__linux__)

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

// A socket that hears of the groups, a bit mask; -1 with errno on failure.
static inline int tern_netlink_open(unsigned int groups, int is_blocking) {
  int type = SOCK_RAW | SOCK_CLOEXEC | (is_blocking ? 0 : SOCK_NONBLOCK);
  int descriptor = socket(AF_NETLINK, type, NETLINK_ROUTE);
  if (descriptor < 0) return -1;
  struct sockaddr_nl address;
  memset(&address, 0, sizeof address);
  address.nl_family = AF_NETLINK;
  address.nl_groups = groups;
  // The kernel answers within the call; the limit is for one that never does.
  struct timeval limit = {1, 0};
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0 ||
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0) {
    int reason = errno;
    close(descriptor);
    errno = reason;
    return -1;
  }
  return descriptor;
}

// Asks for all links or routes; -1 with errno on failure.
static inline int tern_netlink_ask_for_all(int descriptor, unsigned short type) {
  struct {
    struct nlmsghdr header;
    // Long enough for both kinds of question; only the family matters, and 0 is any.
    struct ifinfomsg body;
  } question;
  memset(&question, 0, sizeof question);
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = type;
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  return send(descriptor, &question, sizeof question, 0) < 0 ? -1 : 0;
}

// One datagram of the kernel's, passing over everybody else's; -1 with errno on failure.
static inline ssize_t tern_netlink_receive(int descriptor, void *buffer, size_t size) {
  for (;;) {
    struct sockaddr_nl sender;
    socklen_t length = sizeof sender;
    ssize_t count =
        recvfrom(descriptor, buffer, size, 0, (struct sockaddr *)&sender, &length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 || sender.nl_pid == 0) return count;
  }
}

// A timer that is never due and becomes readable when the clock on the wall jumps, which it does
// when a machine wakes up; -1 with errno on failure.
static inline int tern_clock_watch(void) {
  int descriptor = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (descriptor < 0) return -1;
  struct itimerspec never;
  memset(&never, 0, sizeof never);
  // In 2038 where seconds are 32 bits, and then it is read once for nothing.
  never.it_value.tv_sec = sizeof(time_t) > 4 ? (time_t)(1LL << 40) : (time_t)0x7FFFFFFF;
  if (timerfd_settime(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) < 0) {
    int reason = errno;
    close(descriptor);
    errno = reason;
    return -1;
  }
  return descriptor;
}

// How long the machine has slept since it was started, in nanoseconds.
static inline unsigned long long tern_slept_nanoseconds(void) {
  struct timespec with, without;
  // Asked in this order, what passes in between makes no sleep of it.
  clock_gettime(CLOCK_BOOTTIME, &with);
  clock_gettime(CLOCK_MONOTONIC, &without);
  long long difference = (with.tv_sec - without.tv_sec) * 1000000000LL + with.tv_nsec - without.tv_nsec;
  return difference > 0 ? (unsigned long long)difference : 0;
}

#endif
#endif
