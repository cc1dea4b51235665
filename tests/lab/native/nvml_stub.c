/*
 * nvml_stub.c: a stand-in for libnvidia-ml.so.1 that answers from a text file.
 *
 *   cc -O1 -Wall -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 \
 *      -o libnvidia-ml.so.1 nvml_stub.c
 *
 * NVML_STUB_SCENARIO  the scenario file (see ../README.md); unset: /etc/gpu-lab/scenario.conf;
 *                     neither is there: no driver
 * NVML_STUB_TRACE     a file that gets one line for each call
 *
 * One rule covers every getter: the function turns its arguments into a key and
 * looks it up for that GPU.  No such key: NVML_ERROR_NOT_SUPPORTED.  A value
 * "!GPU_IS_LOST" (or any other name of the table below): that error.  Anything
 * else is the answer.  The file is read at each nvmlInit, and again when it has changed.
 */
#include "scenario.h"

/* ---- library and system ---------------------------------------------------- */

ret_t nvmlInitWithFlags(u32 flags)
{
    (void)flags;
    pthread_mutex_lock(&lock);
    ret_t r = refs ? OK : load();
    if (!r) refs++;
    pthread_mutex_unlock(&lock);
    return r;
}
ret_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
ret_t nvmlInit(void) { return nvmlInitWithFlags(0); }
ret_t nvmlShutdown(void)
{
    pthread_mutex_lock(&lock);
    ret_t r = refs ? (refs--, OK) : UNINIT;
    pthread_mutex_unlock(&lock);
    return r;
}
const char *nvmlErrorString(ret_t r)
{
    for (size_t i = 0; i < NERR; i++) if (errors[i].code == r) return errors[i].text;
    return "Unknown Error";
}
ret_t nvmlSystemGetDriverVersion(char *b, u32 n) { return text(NULL, "driver_version", b, n); }
ret_t nvmlSystemGetNVMLVersion(char *b, u32 n) { return text(NULL, "nvml_version", b, n); }
ret_t nvmlSystemGetDriverBranch(void *b, u32 n) { return text(NULL, "driver_branch", (char *)b + 4, n); }
ret_t nvmlSystemGetCudaDriverVersion(int *v) { return n32(NULL, "cuda_version", (u32 *)v); }
ret_t nvmlSystemGetCudaDriverVersion_v2(int *v) { return n32(NULL, "cuda_version", (u32 *)v); }
ret_t nvmlSystemGetProcessName(u32 pid, char *b, u32 n) { KEY("process.%u.name", pid); return text(NULL, key, b, n); }
ret_t nvmlUnitGetCount(u32 *n) { *n = 0; return OK; }
ret_t nvmlGetExcludedDeviceCount(u32 *n) { *n = 0; return OK; }
ret_t nvmlEventSetCreate(void **set) { *set = &count; return OK; }
ret_t nvmlEventSetFree(void *set) { (void)set; return OK; }
ret_t nvmlEventSetWait_v2(void *set, void *data, u32 ms) { (void)set; (void)data; (void)ms; return TIMEOUT; }
ret_t nvmlDeviceRegisterEvents(dev_t_ *d, u64 types, void *set) { (void)d; (void)types; (void)set; return OK; }

/* ---- handles ----------------------------------------------------------------- */

ret_t nvmlDeviceGetCount_v2(u32 *n)
{
    const char *v;
    if (!refs) return UNINIT;
    if ((v = raw(SYS, "count")) && *v == '!') return code_of(v + 1);
    *n = count;
    return OK;
}
ret_t nvmlDeviceGetCount(u32 *n) { return nvmlDeviceGetCount_v2(n); }
ret_t nvmlDeviceGetHandleByIndex_v2(u32 i, dev_t_ **d)
{
    const char *v;
    if (!refs) return UNINIT;
    if (i >= count) return BAD_ARG;
    if ((v = raw((int)i, "handle")) && *v == '!') return code_of(v + 1);
    *d = &devs[i];
    return OK;
}
ret_t nvmlDeviceGetHandleByIndex(u32 i, dev_t_ **d) { return nvmlDeviceGetHandleByIndex_v2(i, d); }
static ret_t handle_by(const char *key, const char *want, dev_t_ **d)
{
    const char *v;
    if (!refs) return UNINIT;
    for (u32 i = 0; i < count; i++)
        if (!find(&devs[i], key, &v) && !strcasecmp(v, want)) { *d = &devs[i]; return OK; }
    return NOT_FOUND;
}
ret_t nvmlDeviceGetHandleByUUID(const char *u, dev_t_ **d) { return handle_by("uuid", u, d); }
ret_t nvmlDeviceGetHandleBySerial(const char *u, dev_t_ **d) { return handle_by("serial", u, d); }
ret_t nvmlDeviceGetHandleByPciBusId_v2(const char *u, dev_t_ **d) { return handle_by("pci.bus_id", u, d); }
ret_t nvmlDeviceGetIndex(dev_t_ *d, u32 *i) { *i = d->mig < 0 ? (u32)d->gpu : (u32)d->mig; return OK; }
ret_t nvmlDeviceGetMinorNumber(dev_t_ *d, u32 *i)
{
    ret_t r = n32(d, "minor", i);
    if (r == NOT_SUPPORTED) { *i = (u32)d->gpu; r = OK; }
    return r;
}

/* ---- plain getters --------------------------------------------------------------- */

#define STR(fn, k) ret_t fn(dev_t_ *d, char *b, u32 n) { return text(d, k, b, n); }
#define U32(fn, k) ret_t fn(dev_t_ *d, u32 *v) { return n32(d, k, v); }
#define U64(fn, k) ret_t fn(dev_t_ *d, u64 *v) { return num(d, k, v); }
#define TWO(fn, k) ret_t fn(dev_t_ *d, u32 *a, u32 *b) { return pair(d, k, a, b); }

STR(nvmlDeviceGetName, "name")
STR(nvmlDeviceGetUUID, "uuid")
STR(nvmlDeviceGetSerial, "serial")
STR(nvmlDeviceGetVbiosVersion, "vbios")
STR(nvmlDeviceGetBoardPartNumber, "part_number")
STR(nvmlDeviceGetInforomImageVersion, "inforom.img")
ret_t nvmlDeviceGetGspFirmwareVersion(dev_t_ *d, char *b) { return text(d, "gsp", b, 64); }
U32(nvmlDeviceGetBrand, "brand")
U32(nvmlDeviceGetArchitecture, "architecture")
U32(nvmlDeviceGetBoardId, "board_id")
U32(nvmlDeviceGetMultiGpuBoard, "multi_gpu_board")
U32(nvmlDeviceGetNumGpuCores, "cores")
U32(nvmlDeviceGetMemoryBusWidth, "memory.bus_width")
U32(nvmlDeviceGetPersistenceMode, "persistence")
U32(nvmlDeviceGetDisplayMode, "display.mode")
U32(nvmlDeviceGetDisplayActive, "display.active")
U32(nvmlDeviceGetComputeMode, "compute_mode")
U32(nvmlDeviceGetAccountingMode, "accounting.mode")
U32(nvmlDeviceGetAccountingBufferSize, "accounting.size")
U32(nvmlDeviceGetPerformanceState, "pstate")
U32(nvmlDeviceGetPowerState, "pstate")
U32(nvmlDeviceGetPowerUsage, "power.mw")
U32(nvmlDeviceGetPowerManagementMode, "power.managed")
U32(nvmlDeviceGetPowerManagementLimit, "power.limit_mw")
U32(nvmlDeviceGetPowerManagementDefaultLimit, "power.default_mw")
U32(nvmlDeviceGetEnforcedPowerLimit, "power.enforced_mw")
TWO(nvmlDeviceGetPowerManagementLimitConstraints, "power.range_mw")
U64(nvmlDeviceGetTotalEnergyConsumption, "energy_mj")
U32(nvmlDeviceGetFanSpeed, "fan")
U32(nvmlDeviceGetNumFans, "fans")
U32(nvmlDeviceGetCurrPcieLinkGeneration, "pcie.gen")
U32(nvmlDeviceGetCurrPcieLinkWidth, "pcie.width")
U32(nvmlDeviceGetMaxPcieLinkGeneration, "pcie.max_gen")
U32(nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie.gpu_max_gen")
U32(nvmlDeviceGetMaxPcieLinkWidth, "pcie.max_width")
U32(nvmlDeviceGetPcieSpeed, "pcie.speed_mbps")
U32(nvmlDeviceGetPcieReplayCounter, "pcie.replays")
U64(nvmlDeviceGetCurrentClocksThrottleReasons, "throttle")
U64(nvmlDeviceGetCurrentClocksEventReasons, "throttle")
U64(nvmlDeviceGetSupportedClocksThrottleReasons, "throttle.supported")
U64(nvmlDeviceGetSupportedClocksEventReasons, "throttle.supported")
U64(nvmlDeviceGetSupportedEventTypes, "event_types")
U32(nvmlDeviceGetRetiredPagesPendingStatus, "retired.pending")
U32(nvmlDeviceGetVirtualizationMode, "virtualization")
U32(nvmlDeviceGetModuleId, "module_id")
U32(nvmlDeviceGetMaxMigDeviceCount, "mig.max")
TWO(nvmlDeviceGetEccMode, "ecc.mode")
TWO(nvmlDeviceGetMigMode, "mig.mode")
ret_t nvmlDeviceGetUtilizationRates(dev_t_ *d, u32 *v) { return pair(d, "utilization", v, v + 1); }  /* a struct of two */
TWO(nvmlDeviceGetCudaComputeCapability, "compute_capability")
TWO(nvmlDeviceGetEncoderUtilization, "utilization.encoder")
TWO(nvmlDeviceGetDecoderUtilization, "utilization.decoder")
TWO(nvmlDeviceGetJpgUtilization, "utilization.jpeg")
TWO(nvmlDeviceGetOfaUtilization, "utilization.ofa")
TWO(nvmlDeviceGetGspFirmwareMode, "gsp.mode")
ret_t nvmlDeviceValidateInforom(dev_t_ *d)          /* inforom.valid = !CORRUPTED_INFOROM */
{
    const char *v;
    ret_t r = find(d, "inforom.valid", &v);
    return r == NOT_SUPPORTED ? OK : r;
}

/* ---- getters with an index -------------------------------------------------------- */

static const char *const clocks[] = {"graphics", "sm", "mem", "video"};
static const char *const errtypes[] = {"corrected", "uncorrected"};
static const char *const counters[] = {"volatile", "aggregate"};
static const char *const places[] = {"l1", "l2", "dram", "register", "texture", "shared", "cbu", "sram"};

struct temperature { u32 version, sensor, c; };
ret_t nvmlDeviceGetTemperature(dev_t_ *d, u32 s, u32 *v) { (void)s; return n32(d, "temperature", v); }
ret_t nvmlDeviceGetTemperatureV(dev_t_ *d, struct temperature *t) { return n32(d, "temperature", &t->c); }
struct margin { u32 version; int c; };
ret_t nvmlDeviceGetMarginTemperature(dev_t_ *d, struct margin *m)
{
    if (m->version != (sizeof *m | 1 << 24)) return VERSION;
    return n32(d, "temperature.tlimit", (u32 *)&m->c);
}
ret_t nvmlDeviceGetTemperatureThreshold(dev_t_ *d, u32 t, u32 *v)
{
    static const char *const n[] = {"shutdown", "slowdown", "mem_max", "gpu_max"};
    KEY("temperature.%s", NAME(n, t));
    return n32(d, key, v);
}
ret_t nvmlDeviceGetClockInfo(dev_t_ *d, u32 t, u32 *v) { KEY("clock.%s", NAME(clocks, t)); return n32(d, key, v); }
ret_t nvmlDeviceGetClock(dev_t_ *d, u32 t, u32 id, u32 *v) { (void)id; KEY("clock.%s", NAME(clocks, t)); return n32(d, key, v); }
ret_t nvmlDeviceGetMaxClockInfo(dev_t_ *d, u32 t, u32 *v) { KEY("max_clock.%s", NAME(clocks, t)); return n32(d, key, v); }
ret_t nvmlDeviceGetMaxCustomerBoostClock(dev_t_ *d, u32 t, u32 *v) { KEY("boost_clock.%s", NAME(clocks, t)); return n32(d, key, v); }
ret_t nvmlDeviceGetApplicationsClock(dev_t_ *d, u32 t, u32 *v) { KEY("app_clock.%s", NAME(clocks, t)); return n32(d, key, v); }
ret_t nvmlDeviceGetDefaultApplicationsClock(dev_t_ *d, u32 t, u32 *v) { KEY("default_app_clock.%s", NAME(clocks, t)); return n32(d, key, v); }
ret_t nvmlDeviceGetPcieThroughput(dev_t_ *d, u32 c, u32 *v) { KEY("pcie.%s_kbps", c ? "rx" : "tx"); return n32(d, key, v); }
ret_t nvmlDeviceGetFanSpeed_v2(dev_t_ *d, u32 i, u32 *v) { KEY("fan.%u", i); return n32(d, key, v); }
ret_t nvmlDeviceGetInforomVersion(dev_t_ *d, u32 o, char *b, u32 n)
{
    static const char *const k[] = {"oem", "ecc", "power"};
    KEY("inforom.%s", NAME(k, o));
    return text(d, key, b, n);
}
ret_t nvmlDeviceGetTotalEccErrors(dev_t_ *d, u32 e, u32 c, u64 *v)
{
    KEY("ecc.%s.%s", NAME(counters, c), NAME(errtypes, e));
    return num(d, key, v);
}
ret_t nvmlDeviceGetMemoryErrorCounter(dev_t_ *d, u32 e, u32 c, u32 p, u64 *v)
{
    KEY("ecc.%s.%s.%s", NAME(counters, c), NAME(errtypes, e), NAME(places, p));
    return num(d, key, v);
}
ret_t nvmlDeviceGetNvLinkState(dev_t_ *d, u32 l, u32 *v) { KEY("nvlink.%u", l); return n32(d, key, v); }
ret_t nvmlDeviceGetNvLinkVersion(dev_t_ *d, u32 l, u32 *v) { (void)l; return n32(d, "nvlink.version", v); }
ret_t nvmlDeviceGetNvLinkErrorCounter(dev_t_ *d, u32 l, u32 c, u64 *v)
{
    static const char *const k[] = {"replay", "recovery", "crc_flit", "crc_data", "ecc_data"};
    KEY("nvlink.%u.%s", l, NAME(k, c));
    return num(d, key, v);
}
ret_t nvmlDeviceGetTopologyCommonAncestor(dev_t_ *a, dev_t_ *b, u32 *v) { KEY("topology.%d", b->gpu); return n32(a, key, v); }
ret_t nvmlDeviceGetP2PStatus(dev_t_ *a, dev_t_ *b, u32 i, u32 *v) { KEY("p2p.%d.%u", b->gpu, i); return n32(a, key, v); }
ret_t nvmlDeviceGetCpuAffinity(dev_t_ *d, u32 n, unsigned long *set)
{
    const char *v; char *e;
    ret_t r = find(d, "cpu_affinity", &v);          /* hex words, lowest first */
    for (u32 i = 0; !r && i < n; i++, v = e) set[i] = strtoul(v, &e, 16);
    return r;
}

/* ---- structures -------------------------------------------------------------------- */

struct memory { u64 total, free, used; };
struct memory_v2 { u32 version; u64 total, reserved, free, used; };
struct pci { char legacy[16]; u32 domain, bus, device, id, subsystem; char bus_id[32]; };
struct proc_v1 { u32 pid; u64 used; };
struct proc { u32 pid; u64 used; u32 gi, ci; };
struct field { u32 id, scope; long long time, latency; u32 type; ret_t ret; union { double d; u64 u; u32 i; } v; };
struct attributes { u32 sm, copy, dec, enc, jpeg, ofa, gi_slices, ci_slices; u64 mb; };

static ret_t memory(const dev_t_ *d, const char *prefix, struct memory *m)
{
    char k[64];
    snprintf(k, sizeof k, "%s.total", prefix);
    ret_t r = num(d, k, &m->total);
    if (r) return r;
    snprintf(k, sizeof k, "%s.used", prefix);
    if ((r = num(d, k, &m->used))) return r;
    snprintf(k, sizeof k, "%s.reserved", prefix);
    u64 reserved;
    if (!num(d, k, &reserved)) m->used += reserved;  /* the first form counts it as used */
    m->free = m->total > m->used ? m->total - m->used : 0;
    return OK;
}
ret_t nvmlDeviceGetMemoryInfo(dev_t_ *d, struct memory *m) { return memory(d, "memory", m); }
ret_t nvmlDeviceGetBAR1MemoryInfo(dev_t_ *d, struct memory *m) { return memory(d, "bar1", m); }
ret_t nvmlDeviceGetMemoryInfo_v2(dev_t_ *d, struct memory_v2 *m)
{
    struct memory a;
    ret_t r = memory(d, "memory", &a);
    if (r) return r;
    if (m->version != (sizeof *m | 2 << 24)) return VERSION;
    if (num(d, "memory.reserved", &m->reserved)) m->reserved = 0;
    m->total = a.total;
    m->used = a.used - m->reserved;
    m->free = a.free;
    return OK;
}
ret_t nvmlDeviceGetPciInfo_v3(dev_t_ *d, struct pci *p)
{
    const char *v;
    ret_t r = find(d, "pci.bus_id", &v);            /* 00000000:1B:00.0 */
    if (r) return r;
    memset(p, 0, sizeof *p);
    if (sscanf(v, "%x:%x:%x", &p->domain, &p->bus, &p->device) != 3) return 999;
    snprintf(p->bus_id, sizeof p->bus_id, "%08X:%02X:%02X.0", p->domain, p->bus & 255, p->device & 31);
    snprintf(p->legacy, sizeof p->legacy, "%04X:%02X:%02X.0", p->domain & 0xffff, p->bus & 255, p->device & 31);
    n32(d, "pci.id", &p->id);
    n32(d, "pci.subsystem", &p->subsystem);
    return OK;
}
ret_t nvmlDeviceGetRemappedRows(dev_t_ *d, u32 *corr, u32 *unc, u32 *pending, u32 *failed)
{
    const char *v;
    ret_t r = find(d, "remapped_rows", &v);         /* corrected uncorrected pending failed */
    if (r) return r;
    return sscanf(v, "%u %u %u %u", corr, unc, pending, failed) == 4 ? OK : 999;
}
ret_t nvmlDeviceGetRowRemapperHistogram(dev_t_ *d, u32 *h)
{
    const char *v;
    ret_t r = find(d, "remapped_rows.histogram", &v); /* max high partial low none */
    if (r) return r;
    return sscanf(v, "%u %u %u %u %u", h, h + 1, h + 2, h + 3, h + 4) == 5 ? OK : 999;
}
static ret_t retired(dev_t_ *d, u32 cause, u32 *n, u64 *pages)
{
    const char *v; char *e;
    u32 have = 0;
    KEY("retired.%s", cause ? "dbe" : "sbe");       /* page addresses */
    ret_t r = find(d, key, &v);
    if (r) return r;
    for (u64 a; a = strtoull(v, &e, 0), e != v; v = e, have++) if (have < *n && pages) pages[have] = a;
    r = have > *n ? TOO_SMALL : OK;
    *n = have;
    return r;
}
ret_t nvmlDeviceGetRetiredPages(dev_t_ *d, u32 cause, u32 *n, u64 *pages) { return retired(d, cause, n, pages); }
ret_t nvmlDeviceGetRetiredPages_v2(dev_t_ *d, u32 cause, u32 *n, u64 *pages, u64 *when)
{
    ret_t r = retired(d, cause, n, pages);
    for (u32 i = 0; !r && i < *n; i++) when[i] = 0;
    return r;
}
/* compute = 4242:1073741824:python 4243:0:train   (pid:bytes:name) */
static ret_t procs(dev_t_ *d, const char *kind, u32 *n, void *out, int v1)
{
    const char *v;
    u32 have = 0, pid;
    u64 used;
    KEY("processes.%s", kind);
    ret_t r = find(d, key, &v);
    if (r) return r;
    while (sscanf(v, " %u:%llu", &pid, &used) == 2) {
        if (have < *n && out) {
            if (v1) ((struct proc_v1 *)out)[have] = (struct proc_v1){pid, used};
            else ((struct proc *)out)[have] = (struct proc){pid, used, ~0u, ~0u};
        }
        have++;
        while (isspace((unsigned char)*v)) v++;
        while (*v && !isspace((unsigned char)*v)) v++;
    }
    r = have > *n ? TOO_SMALL : OK;
    *n = have;
    return r;
}
#define PROCS(fn, kind) \
    ret_t fn(dev_t_ *d, u32 *n, void *p) { return procs(d, kind, n, p, 1); } \
    ret_t fn##_v2(dev_t_ *d, u32 *n, void *p) { return procs(d, kind, n, p, 0); } \
    ret_t fn##_v3(dev_t_ *d, u32 *n, void *p) { return procs(d, kind, n, p, 0); }
PROCS(nvmlDeviceGetComputeRunningProcesses, "compute")
PROCS(nvmlDeviceGetGraphicsRunningProcesses, "graphics")
PROCS(nvmlDeviceGetMPSComputeRunningProcesses, "mps")

ret_t nvmlDeviceGetFieldValues(dev_t_ *d, int n, struct field *f)
{
    const char *v;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    for (int i = 0; i < n; i++) {                   /* field.<id>[.<scope>] = 7 | 7.5 */
        KEY(f[i].scope ? "field.%u.%u" : "field.%u", f[i].id, f[i].scope);
        f[i].time = t.tv_sec * 1000000LL + t.tv_nsec / 1000;
        f[i].latency = 0;
        if ((f[i].ret = find(d, key, &v))) continue;
        f[i].type = strchr(v, '.') ? 0 : *v == '-' ? 5 : 3;     /* double, signed int, unsigned long long */
        f[i].v.u = strtoull(v, NULL, 0);
        if (f[i].type == 0) f[i].v.d = strtod(v, NULL);
        if (f[i].type == 5) { f[i].v.u = 0; f[i].v.i = (u32)strtol(v, NULL, 0); }
    }
    return OK;
}

/* fabric.state: 0 not supported, 1 not started, 2 in progress, 3 completed */
struct fabric_v2 { u32 version; unsigned char uuid[16]; ret_t status; u32 clique, state, health; };
struct fabric_v3 { u32 version; unsigned char uuid[16]; ret_t status; u32 clique, state, health; unsigned char summary; };
struct fabric { unsigned char uuid[16]; ret_t status; u32 clique, state; };
static ret_t fabric(dev_t_ *d, unsigned char *uuid, ret_t *status, u32 *clique, u32 *state)
{
    const char *v;
    u32 n = 0;
    ret_t r = n32(d, "fabric.state", state);
    if (r) return r;
    *status = n32(d, "fabric.status", &n) ? OK : (ret_t)n;
    *clique = n32(d, "fabric.clique", &n) ? 0 : n;
    memset(uuid, 0, 16);
    if (!find(d, "fabric.uuid", &v))                /* 32 hex digits */
        for (int i = 0; i < 16 && sscanf(v + 2 * i, "%2x", &n) == 1; i++) uuid[i] = (unsigned char)n;
    return OK;
}
ret_t nvmlDeviceGetGpuFabricInfo(dev_t_ *d, struct fabric *f)
{
    return fabric(d, f->uuid, &f->status, &f->clique, &f->state);
}
ret_t nvmlDeviceGetGpuFabricInfoV(dev_t_ *d, struct fabric_v3 *f)
{
    if (f->version == (sizeof(struct fabric_v3) | 3 << 24)) f->summary = 0;
    else if (f->version != (sizeof(struct fabric_v2) | 2 << 24)) return VERSION;
    f->health = 0;
    return fabric(d, f->uuid, &f->status, &f->clique, &f->state);
}

/* Aggregate parity, SECDED and corrected counts, volatile ones, then by place; last the threshold flag. */
struct sram { u32 version; u64 n[11]; u32 threshold; };
ret_t nvmlDeviceGetSramEccErrorStatus(dev_t_ *d, struct sram *s)
{
    ret_t r = n32(d, "ecc.sram_threshold", &s->threshold);
    if (r) return r;
    if (s->version != (sizeof *s | 1 << 24)) return VERSION;
    memset(s->n, 0, sizeof s->n);
    num(d, "ecc.aggregate.uncorrected.sram", &s->n[1]);
    num(d, "ecc.aggregate.corrected.sram", &s->n[2]);
    num(d, "ecc.volatile.uncorrected.sram", &s->n[4]);
    num(d, "ecc.volatile.corrected.sram", &s->n[5]);
    return OK;
}

/* ---- MIG: mig.0.uuid, mig.0.gi, mig.0.ci, mig.0.memory.total ... -------------------- */

ret_t nvmlDeviceIsMigDeviceHandle(dev_t_ *d, u32 *v) { *v = d->mig >= 0; return OK; }
ret_t nvmlDeviceGetMigDeviceHandleByIndex(dev_t_ *d, u32 i, dev_t_ **out)
{
    const char *v;
    KEY("mig.%u.uuid", i);
    ret_t r = i < MAXMIG ? find(d, key, &v) : BAD_ARG;
    if (!r) *out = &migs[d->gpu][i];
    return r == NOT_SUPPORTED ? NOT_FOUND : r;
}
ret_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(dev_t_ *d, dev_t_ **out) { *out = &devs[d->gpu]; return OK; }
U32(nvmlDeviceGetGpuInstanceId, "gi")
U32(nvmlDeviceGetComputeInstanceId, "ci")
ret_t nvmlDeviceGetAttributes_v2(dev_t_ *d, struct attributes *a)
{
    const char *v;
    ret_t r = find(d, "attributes", &v);            /* sm copy dec enc jpeg ofa gi ci mb */
    if (r) return r;
    return sscanf(v, "%u %u %u %u %u %u %u %u %llu", &a->sm, &a->copy, &a->dec, &a->enc, &a->jpeg, &a->ofa,
                  &a->gi_slices, &a->ci_slices, &a->mb) == 9 ? OK : 999;
}

/* ---- GPM: gpm.sm_util in per cent; a GPU without the key has no GPM -------------------------------------------- */

struct gpm_support { u32 version, supported; };
struct gpm_metric { u32 id; ret_t ret; double value; const char *names[3]; };
struct gpm_metrics { u32 version, n; dev_t_ **first, **second; struct gpm_metric metrics[]; };
ret_t nvmlGpmQueryDeviceSupport(dev_t_ *d, struct gpm_support *s)
{
    const char *v;
    ret_t r = find(d, "gpm.sm_util", &v);
    s->supported = r == OK;
    return r == NOT_SUPPORTED ? OK : r;
}
ret_t nvmlGpmSampleAlloc(dev_t_ ***sample) { *sample = calloc(1, sizeof **sample); return OK; }
ret_t nvmlGpmSampleFree(dev_t_ **sample) { free(sample); return OK; }
ret_t nvmlGpmSampleGet(dev_t_ *d, dev_t_ **sample) { *sample = d; return OK; }
ret_t nvmlGpmMetricsGet(struct gpm_metrics *m)
{
    const char *v;
    if (m->version != 1) return VERSION;
    if (!*m->first || *m->first != *m->second) return BAD_ARG;
    for (u32 i = 0; i < m->n; i++) {
        m->metrics[i].ret = m->metrics[i].id == 2 ? find(*m->second, "gpm.sm_util", &v) : NOT_SUPPORTED;
        if (!m->metrics[i].ret) m->metrics[i].value = strtod(v, NULL);
    }
    return OK;
}

/* ---- what the real nvidia-smi asks for besides the public API ----------------------- */

/* It calls nvmlInternalGetExportTable and stops with "Mismatch in versions" unless it
 * gets a table: its size in bytes, then function pointers.  Entry 81 gives the handle of
 * an index, 213 the compute processes, 230 the PCIe generation of the host's end; for
 * the others NOT_SUPPORTED makes nvidia-smi print N/A. */
static ret_t slot_procs(dev_t_ *d, u32 *n, char *out)
{
    struct proc p[64];
    u32 have = 64;
    ret_t r = procs(d, "compute", &have, p, 0);
    if (r) have = 0;
    for (u32 i = 0; i < have && i < *n; i++) {      /* 32 bytes, then the name in 4096 */
        char *e = out + i * (size_t)(32 + 4096);
        memset(e, 0, 32 + 4096);
        memcpy(e, &p[i].pid, 4);
        memcpy(e + 8, &p[i].used, 8);
        memcpy(e + 16, &p[i].gi, 4);
        memcpy(e + 20, &p[i].ci, 4);
        nvmlSystemGetProcessName(p[i].pid, e + 32, 4096);
    }
    *n = have;
    return r;
}
static ret_t slot(u32 n, uintptr_t a, void *b, void *c)
{
    char what[32];
    snprintf(what, sizeof what, "table[%u]", n);
    trace(what);
    if (n == 81 && a < MAXGPU) return nvmlDeviceGetHandleByIndex_v2((u32)a, b);
    if (n == 213) return slot_procs((dev_t_ *)a, b, c);
    if (n == 214 || n == 215) { *(u32 *)b = 0; return OK; }
    if (n == 230) return n32((dev_t_ *)a, "pcie.host_max_gen", b);
    return NOT_SUPPORTED;
}
#define S1(n) static ret_t slot_##n(uintptr_t a, void *b, void *c) { return slot(1##n - 1000, a, b, c); }
#define TEN(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
#define HUNDRED(M, n) TEN(M, n##0) TEN(M, n##1) TEN(M, n##2) TEN(M, n##3) TEN(M, n##4) \
                      TEN(M, n##5) TEN(M, n##6) TEN(M, n##7) TEN(M, n##8) TEN(M, n##9)
HUNDRED(S1, 0) HUNDRED(S1, 1) HUNDRED(S1, 2)
#define P1(n) (void *)slot_##n,
static void *table[300] = { HUNDRED(P1, 0) HUNDRED(P1, 1) HUNDRED(P1, 2) };

ret_t nvmlInternalGetExportTable(void **out, const void *guid)
{
    (void)guid;
    table[0] = (void *)sizeof table;
    *out = table;
    return OK;
}
