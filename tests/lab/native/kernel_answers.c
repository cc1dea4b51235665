/*
 * kernel_answers.c: what a lab host's kernel says of itself that no file can cover.
 *
 * Named in /etc/ld.so.preload of the host.  Everything else comes from files that the lab covers in /proc and /sys; these don't:
 *   sched_getaffinity, and Cpus_allowed_list in /proc/self/status   CPUs 0..n-1, n from /etc/gpu-lab/cpus
 *   adjtimex (read only)                                            a clock that is synchronised; /etc/gpu-lab/unsynchronised: that isn't
 * The machine under the lab has a few CPUs only and may have no time source.  A program that makes these calls without libc still
 * sees the real answers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/types.h>
#include <unistd.h>

static int real_open(const char *path, int flags, mode_t mode) { return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode); }

static int slurp(const char *path, char *buf, int room)
{
    int fd = real_open(path, O_RDONLY | O_CLOEXEC, 0), have = 0, n;
    if (fd < 0) return -1;
    while (have < room - 1 && (n = (int)read(fd, buf + have, (size_t)(room - 1 - have))) > 0) have += n;
    close(fd);
    buf[have] = 0;
    return have;
}

static int cpus(void)
{
    char buf[32];
    int n = 0;
    if (slurp("/etc/gpu-lab/cpus", buf, sizeof buf) > 0) sscanf(buf, "%d", &n);
    return n;
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    int n = cpus();
    if (n <= 0) {
        n = (int)syscall(SYS_sched_getaffinity, pid, size, set);
        return n < 0 ? -1 : 0;
    }
    if ((size_t)n > size * 8) { errno = EINVAL; return -1; }        /* as the kernel: callers come again with more room */
    memset(set, 0, size);
    for (int c = 0; c < n; c++) ((unsigned char *)set)[c / 8] |= (unsigned char)(1 << c % 8);
    return 0;
}

int adjtimex(struct timex *t)
{
    int r = (int)syscall(SYS_adjtimex, t);
    if (r < 0 || t->modes) return r;
    if (access("/etc/gpu-lab/unsynchronised", F_OK) == 0) { t->status |= STA_UNSYNC; return TIME_ERROR; }
    t->status &= ~STA_UNSYNC;
    t->maxerror = t->esterror = 1000;                               /* microseconds */
    return TIME_OK;
}

/* /proc/self/status with the affinity above, as a file in memory. */
static int status_file(int flags)
{
    static const char key[] = "Cpus_allowed_list:";
    char text[8192], line[64], *at, *end;
    int n = cpus(), fd;
    if (n <= 0 || slurp("/proc/self/status", text, sizeof text) <= 0) return -1;
    if (!(at = strstr(text, key)) || !(end = strchr(at, '\n'))) return -1;
    if ((fd = (int)syscall(SYS_memfd_create, "status", flags & O_CLOEXEC ? 1 : 0)) < 0) return -1;
    int length = snprintf(line, sizeof line, n == 1 ? "%s\t0" : "%s\t0-%d", key, n - 1);
    if (write(fd, text, (size_t)(at - text)) < 0 || write(fd, line, (size_t)length) < 0 || write(fd, end, strlen(end)) < 0) { close(fd); return -1; }
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static int opened(const char *path, int flags, mode_t mode)
{
    if (!strcmp(path, "/proc/self/status") && (flags & O_ACCMODE) == O_RDONLY) {
        int fd = status_file(flags);
        if (fd >= 0) return fd;
    }
    return real_open(path, flags, mode);
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        mode_t mode = 0; \
        va_list rest; \
        va_start(rest, flags); \
        if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) mode = va_arg(rest, mode_t); \
        va_end(rest); \
        return opened(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
