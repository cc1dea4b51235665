/*
 * scenario.h: the scenario file, read once per nvmlInit, and the look-ups that every answer is made of.
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

static ret_t load(void)
{
    const char *path = getenv("NVML_STUB_SCENARIO"), *v;
    if (!path || !*path) path = SCENARIO;
    FILE *f = fopen(path, "r");
    char buf[4096];
    int from = SYS, to = SYS;
    if (!f) return NO_DRIVER;
    for (size_t i = 0; i < nlines; i++) { free(lines[i].key); free(lines[i].value); }
    nlines = 0;
    while (fgets(buf, sizeof buf, f)) {
        char *s = trim(buf), *eq;
        if (!*s || *s == '#') continue;
        if (*s == '[') {                            /* [system] [gpu *] [gpu 3] [gpu 0-3] */
            if (!strncmp(s, "[system]", 8)) from = to = SYS;
            else if (!strncmp(s, "[gpu *]", 7)) from = to = ALL;
            else if (sscanf(s, "[gpu %d-%d]", &from, &to) == 2) ;
            else if (sscanf(s, "[gpu %d]", &from) == 1) to = from;
            else { fprintf(stderr, "nvml_stub: %s: bad section: %s\n", path, s); fclose(f); return 999; }
            continue;
        }
        if (!(eq = strchr(s, '='))) { fprintf(stderr, "nvml_stub: %s: bad line: %s\n", path, s); fclose(f); return 999; }
        *eq = 0;
        for (int g = from; g <= to; g++) add(g, trim(s), trim(eq + 1));
    }
    fclose(f);
    if (nlines) qsort(lines, nlines, sizeof *lines, by_key);
    count = (v = raw(SYS, "count")) ? (u32)atoi(v) : 0;
    if (count > MAXGPU) count = MAXGPU;
    for (int g = 0; g < MAXGPU; g++) {
        devs[g] = (dev_t_){g, -1};
        for (int m = 0; m < MAXMIG; m++) migs[g][m] = (dev_t_){g, m};
    }
    v = raw(SYS, "init");
    if (!v || *v != '!') return OK;
    if (!strcmp(v, "!HANG") || !strcmp(v, "!DSTATE")) stall(v + 1);
    return code_of(v + 1);
}

/* Looks a key up; for a MIG device "mig.<n>.<key>" first, then the GPU's key. */
static ret_t find(const dev_t_ *d, const char *key, const char **out)
{
    char k[160];
    const char *v = NULL;
    int gpu = d ? d->gpu : SYS;
    trace(key);
    if (!refs) return UNINIT;
    if (d && !((d >= devs && d < devs + MAXGPU) || (d >= &migs[0][0] && d <= &migs[MAXGPU - 1][MAXMIG - 1])))
        return BAD_ARG;
    if (d && (v = raw(gpu, "*")) && *v == '!') return code_of(v + 1);   /* the GPU fails as a whole */
    v = NULL;
    if (d && d->mig >= 0) { snprintf(k, sizeof k, "mig.%d.%s", d->mig, key); v = raw(gpu, k); }
    if (!v) v = raw(gpu, key);
    if (!v) return NOT_SUPPORTED;
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
