/*
 * affinity.c: the CPU affinity of a lab host.
 *
 * Everything else a host says about its CPUs comes from files that the lab binds over /proc and /sys;
 * the affinity comes from a system call, and the machine under the lab has a few CPUs only.  Named in
 * /etc/ld.so.preload this answers sched_getaffinity from /etc/gpu-lab/cpus (one number: CPUs 0..n-1).
 * Programs that make the call themselves (no libc) still see the real CPUs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    int cpus = 1;
    FILE *f = fopen("/etc/gpu-lab/cpus", "r");
    (void)pid;
    if (f) { if (fscanf(f, "%d", &cpus) != 1) cpus = 1; fclose(f); }
    if ((size_t)cpus > size * 8) { errno = EINVAL; return -1; }     /* as the kernel: callers come again with more room */
    memset(set, 0, size);
    for (int n = 0; n < cpus; n++) ((unsigned char *)set)[n / 8] |= (unsigned char)(1 << n % 8);
    return 0;
}
