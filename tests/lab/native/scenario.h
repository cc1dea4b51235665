/*
 * scenario.h: the scenario file and the look-ups that every answer is made of. It is read at nvmlInit, and again when it or its
 * live file changes.
 *
 * Included by nvml_stub.c only (and through it by fake_smi.c).
 */
#define _POSIX_C_SOURCE 200809L     /* and no more: newer extensions bind to newer glibc symbols */
#include <ctype.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef int ret_t;
typedef unsigned int u32;
typedef unsigned long long u64;

enum { OK = 0, UNINIT = 1, BAD_ARG = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7,
       NO_DRIVER = 9, TIMEOUT = 10, VERSION = 25 };

static const struct { const char *name, *text; int code; } errors[] = {
    {"SUCCESS", "Success", 0},
    {"UNINITIALIZED", "Uninitialized", 1},
    {"INVALID_ARGUMENT", "Invalid Argument", 2},
    {"NOT_SUPPORTED", "Not Supported", 3},
    {"NO_PERMISSION", "Insufficient Permissions", 4},
    {"NOT_FOUND", "Not Found", 6},
    {"INSUFFICIENT_SIZE", "Insufficient Size", 7},
    {"INSUFFICIENT_POWER", "Insufficient External Power", 8},
    {"DRIVER_NOT_LOADED", "Driver Not Loaded", 9},
    {"TIMEOUT", "Timeout", 10},
    {"IRQ_ISSUE", "Interrupt Request Issue", 11},
    {"LIBRARY_NOT_FOUND", "NVML Shared Library Not Found", 12},
    {"FUNCTION_NOT_FOUND", "Function Not Found", 13},
    {"CORRUPTED_INFOROM", "Corrupted infoROM", 14},
    {"GPU_IS_LOST", "GPU is lost", 15},
    {"RESET_REQUIRED", "GPU requires reset", 16},
    {"OPERATING_SYSTEM", "The operating system has blocked the request.", 17},
    {"LIB_RM_VERSION_MISMATCH", "RM has detected an NVML/RM version mismatch.", 18},
    {"IN_USE", "In use by another client", 19},
    {"MEMORY", "Insufficient Memory", 20},
    {"NO_DATA", "No data", 21},
    {"ARGUMENT_VERSION_MISMATCH", "Argument version mismatch", 25},
    {"DEPRECATED", "Deprecated", 26},
    {"NOT_READY", "Not ready", 27},
    {"GPU_NOT_FOUND", "GPU not found", 28},
    {"INVALID_STATE", "Invalid state", 29},
    {"UNKNOWN", "Unknown Error", 999},
};
#define NERR (sizeof errors / sizeof errors[0])

/* ---- the scenario --------------------------------------------------------- */

#define MAXGPU 64
#define MAXMIG 7
#define SCENARIO "/etc/gpu-lab/scenario.conf"
#define FREEZER "/run/gpu-lab/frozen/tasks"
enum { SYS = -1, ALL = -2 };
typedef struct { int gpu, mig; } dev_t_;            /* mig is -1 for a whole GPU */
struct line { int gpu; size_t at; char *key, *value; };

static struct line *lines;
static size_t nlines, room;
static dev_t_ devs[MAXGPU], migs[MAXGPU][MAXMIG];
static u32 count;
static int refs;
static struct timespec started;                     /* of nvmlInit: what @steps and @ramp count from */
static char live[256];                              /* [system] live = <path>: lines that hold while their process lives */
static struct { dev_t dev; ino_t ino; off_t size; struct timespec changed; } seen[2];
static long burn;                                   /* [system] call_microseconds */
static pid_t holder;                                /* of the live file that was read; 0: none */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void trace(const char *what)
{
    const char *path = getenv("NVML_STUB_TRACE");
    FILE *f = path && *path ? fopen(path, "a") : NULL;
    if (f) { fprintf(f, "%s\n", what); fclose(f); }
}

static char *trim(char *s)
{
    while (isspace((unsigned char)*s)) s++;
    for (char *e = s + strlen(s); e > s && isspace((unsigned char)e[-1]); ) *--e = 0;
    return s;
}

/* By key, then in the order of the file: a getter is a binary search, as a driver's answer costs next to nothing. */
static int by_key(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int c = strcmp(x->key, y->key);
    return c ? c : x->at < y->at ? -1 : x->at > y->at;
}

static const char *raw(int gpu, const char *key)
{
    const char *all = NULL;
    size_t low = 0, high = nlines;
    while (low < high) {                            /* the first line after those of this key */
        size_t middle = (low + high) / 2;
        if (strcmp(lines[middle].key, key) <= 0) low = middle + 1; else high = middle;
    }
    for (size_t i = low; i-- > 0 && !strcmp(lines[i].key, key); ) {     /* the last line wins */
        if (lines[i].gpu == gpu) return lines[i].value;
        if (gpu >= 0 && lines[i].gpu == ALL && !all) all = lines[i].value;
    }
    return all;
}

static ret_t code_of(const char *name)
{
    for (size_t i = 0; i < NERR; i++) if (!strcmp(errors[i].name, name)) return errors[i].code;
    return *name ? atoi(name) : 999;
}

static void add(int gpu, const char *key, const char *value)
{
    if (nlines == room) lines = realloc(lines, (room = room ? 2 * room : 256) * sizeof *lines);
    lines[nlines].gpu = gpu;
    lines[nlines].at = nlines;
    lines[nlines].key = strdup(key);
    lines[nlines++].value = strdup(value);
}

/* "hang" waits for ever, "dstate" asks the freezer for a sleep that not even SIGKILL ends. */
static void stall(const char *how)
{
    if (!strcasecmp(how, "dstate")) {
        FILE *f = fopen(FREEZER, "w");
        if (f) { fprintf(f, "%d", (int)getpid()); fclose(f); }
    }
    for (;;) pause();
}

static double since(struct timespec from)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) / 1e9;
}

static const char *scenario_path(void)
{
    const char *path = getenv("NVML_STUB_SCENARIO");
    return path && *path ? path : SCENARIO;
}

/* Whether a file isn't what it was when it was last looked at. The call itself: libc's stat is a symbol of glibc 2.33. */
extern long syscall(long number, ...);
static int changed(int which, const char *path)
{
    struct stat s;
    memset(&s, 0, sizeof s);
    if (!*path || syscall(SYS_newfstatat, AT_FDCWD, path, &s, 0)) s.st_size = -1;
    int same = seen[which].dev == s.st_dev && seen[which].ino == s.st_ino && seen[which].size == s.st_size
        && seen[which].changed.tv_sec == s.st_mtim.tv_sec && seen[which].changed.tv_nsec == s.st_mtim.tv_nsec;
    seen[which].dev = s.st_dev; seen[which].ino = s.st_ino; seen[which].size = s.st_size; seen[which].changed = s.st_mtim;
    return !same;
}

static int lives(pid_t pid) { return pid > 0 && !kill(pid, 0); }

static ret_t read_lines(const char *path, FILE *f)
{
    char buf[4096];
    int from = SYS, to = SYS;
    while (fgets(buf, sizeof buf, f)) {
        char *s = trim(buf), *eq;
        if (!*s || *s == '#') continue;
        if (*s == '[') {                            /* [system] [gpu *] [gpu 3] [gpu 0-3] */
            if (!strncmp(s, "[system]", 8)) from = to = SYS;
            else if (!strncmp(s, "[gpu *]", 7)) from = to = ALL;
            else if (sscanf(s, "[gpu %d-%d]", &from, &to) == 2) ;
            else if (sscanf(s, "[gpu %d]", &from) == 1) to = from;
            else { fprintf(stderr, "nvml_stub: %s: bad section: %s\n", path, s); return 999; }
            continue;
        }
        if (!(eq = strchr(s, '='))) { fprintf(stderr, "nvml_stub: %s: bad line: %s\n", path, s); return 999; }
        *eq = 0;
        for (int g = from; g <= to; g++) add(g, trim(s), trim(eq + 1));
    }
    return OK;
}

/* The scenario, then what its live file says while the process that the file names as its holder lives. The lines of before
 * stay in memory: somebody may still read them. */
static ret_t read_files(void)
{
    const char *path = scenario_path(), *v;
    FILE *f = fopen(path, "r");
    ret_t r;
    if (!f) return NO_DRIVER;
    changed(0, path);
    lines = NULL;
    nlines = room = 0;
    r = read_lines(path, f);
    fclose(f);
    if (r) return r;
    if (nlines) qsort(lines, nlines, sizeof *lines, by_key);
    snprintf(live, sizeof live, "%s", (v = raw(SYS, "live")) ? v : "");
    changed(1, live);
    holder = 0;
    if (*live && (f = fopen(live, "r"))) {
        size_t before = nlines;
        int first = 0;
        if (fscanf(f, "holder = %d", &first) == 1 && lives(first) && !read_lines(live, f)) holder = first;
        else nlines = before;
        fclose(f);
        if (nlines) qsort(lines, nlines, sizeof *lines, by_key);
    }
    return OK;
}

static ret_t load(void)
{
    const char *v;
    ret_t r = read_files();
    if (r) return r;
    clock_gettime(CLOCK_MONOTONIC, &started);
    count = (v = raw(SYS, "count")) ? (u32)atoi(v) : 0;
    if (count > MAXGPU) count = MAXGPU;
    for (int g = 0; g < MAXGPU; g++) {
        devs[g] = (dev_t_){g, -1};
        for (int m = 0; m < MAXMIG; m++) migs[g][m] = (dev_t_){g, m};
    }
    burn = (v = raw(SYS, "call_microseconds")) ? atol(v) : 0;
    v = raw(SYS, "init");
    if (!v || *v != '!') return OK;
    if (!strcmp(v, "!HANG") || !strcmp(v, "!DSTATE")) stall(v + 1);
    return code_of(v + 1);
}

/* At most a hundred times a second: what was written since then holds. A file caught half-written is read again. */
static void refresh(void)
{
    static struct timespec last;
    if (since(last) < 0.01) return;
    pthread_mutex_lock(&lock);
    clock_gettime(CLOCK_MONOTONIC, &last);
    int different = changed(0, scenario_path());
    different |= changed(1, live);
    if (refs && (different || (holder && !lives(holder)))) read_files();
    pthread_mutex_unlock(&lock);
}

/* "@steps 0:a; 2:b" is a, and b two seconds after nvmlInit; "@ramp 0:100; 5:2000" a number on the line between the two;
 * "!HANG" waits for ever. */
static const char *timed(const char *v)
{
    static __thread char out[8][512];
    static __thread u32 turn;
    int ramp = !strncmp(v, "@ramp ", 6);
    if (!ramp && strncmp(v, "@steps ", 7)) return v;
    double now = since(started), at = 0, earlier = 0, value = 0, low = 0;
    char all[2048], *rest, *part, *to = out[turn++ % 8];
    *to = 0;
    snprintf(all, sizeof all, "%s", strchr(v, ' ') + 1);
    for (int n = 0; (part = strtok_r(n ? NULL : all, ";", &rest)); n++) {
        char *colon = strchr(part, ':');
        if (!colon) continue;
        at = strtod(part, NULL);
        value = strtod(colon + 1, NULL);
        if (n && at > now) {
            if (ramp) snprintf(to, 512, "%.0f", low + (value - low) * (now - earlier) / (at - earlier));
            return to;
        }
        earlier = at;
        low = value;
        if (ramp) snprintf(to, 512, "%.0f", value);
        else snprintf(to, 512, "%s", trim(colon + 1));
    }
    return to;
}

/* Looks a key up; for a MIG device "mig.<n>.<key>" first, then the GPU's key. */
static ret_t find(const dev_t_ *d, const char *key, const char **out)
{
    char k[160];
    const char *v = NULL;
    int gpu = d ? d->gpu : SYS;
    trace(key);
    if (!refs) return UNINIT;
    refresh();
    if (burn) {                                     /* what a call of a real driver costs the caller */
        struct timespec from, now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
        do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        while ((now.tv_sec - from.tv_sec) * 1000000L + (now.tv_nsec - from.tv_nsec) / 1000 < burn);
    }
    if (d && !((d >= devs && d < devs + MAXGPU) || (d >= &migs[0][0] && d <= &migs[MAXGPU - 1][MAXMIG - 1])))
        return BAD_ARG;
    if (d && (v = raw(gpu, "*")) && *v == '!') return code_of(v + 1);   /* the GPU fails as a whole */
    v = NULL;
    if (d && d->mig >= 0) { snprintf(k, sizeof k, "mig.%d.%s", d->mig, key); v = raw(gpu, k); }
    if (!v) v = raw(gpu, key);
    if (!v) return NOT_SUPPORTED;
    if (*v == '@') v = timed(v);
    if (!strcmp(v, "!HANG") || !strcmp(v, "!DSTATE")) stall(v + 1);
    if (*v == '!') return code_of(v + 1);
    *out = v;
    return OK;
}

static ret_t num(const dev_t_ *d, const char *key, u64 *out)
{
    const char *v;
    ret_t r = find(d, key, &v);
    if (!r) *out = strtoull(v, NULL, 0);
    return r;
}
static ret_t n32(const dev_t_ *d, const char *key, u32 *out)
{
    u64 v;
    ret_t r = num(d, key, &v);
    if (!out) return BAD_ARG;
    if (!r) *out = (u32)v;
    return r;
}
static ret_t pair(const dev_t_ *d, const char *key, u32 *a, u32 *b)     /* "1 1" */
{
    const char *v; char *e;
    ret_t r = find(d, key, &v);
    if (r) return r;
    *a = (u32)strtoul(v, &e, 0);
    *b = (u32)strtoul(e, NULL, 0);
    return OK;
}
static ret_t text(const dev_t_ *d, const char *key, char *buf, u32 len)
{
    const char *v;
    ret_t r = find(d, key, &v);
    if (r) return r;
    if (strlen(v) + 1 > len) return TOO_SMALL;
    strcpy(buf, v);
    return OK;
}
#define KEY(...) char key[128]; snprintf(key, sizeof key, __VA_ARGS__)
#define NAME(list, i) ((u32)(i) < sizeof list / sizeof *list ? list[i] : "?")
