/*
 * fake_smi.c: a stand-in for nvidia-smi that answers from the stub's scenario.
 *
 *   nvidia-smi -L | -q -x [-i GPU] | --query-gpu=F,F --format=csv[,noheader][,nounits] | (a one-line table)
 *
 * Statically linked with nvml_stub.c, so that one build runs on every host and both always agree.  Element
 * names, order and spellings follow what drivers 535 to 580 print; sections that carry nothing an audit
 * reads are left out.  Exit codes are the documented ones.
 *
 * [system] smi = hang | dstate | segv | garbage: what goes wrong in this program only.
 */
#include "nvml_stub.c"
#include <signal.h>
#include "smi_xml.h"

/* One field of --query-gpu; 0: no such field. */
static int column(val out, dev_t_ *d, const char *f, int units)
{
    static const struct { const char *field, *key, *unit; char kind; } known[] = {
        {"name", "name", "", 's'}, {"gpu_name", "name", "", 's'}, {"uuid", "uuid", "", 's'}, {"gpu_uuid", "uuid", "", 's'},
        {"serial", "serial", "", 's'}, {"gpu_serial", "serial", "", 's'}, {"vbios_version", "vbios", "", 's'},
        {"pci.bus_id", "pci.bus_id", "", 's'}, {"gpu_bus_id", "pci.bus_id", "", 's'},
        {"memory.total", "memory.total", " MiB", 'm'}, {"memory.used", "memory.used", " MiB", 'm'},
        {"memory.reserved", "memory.reserved", " MiB", 'm'}, {"temperature.gpu", "temperature", "", 'n'},
        {"temperature.memory", "field.82", "", 'n'}, {"power.draw", "power.mw", " W", 'w'},
        {"power.limit", "power.limit_mw", " W", 'w'}, {"pstate", "pstate", "", 'p'}, {"compute_mode", "compute_mode", "", 'n'},
        {"ecc.errors.uncorrected.volatile.total", "ecc.volatile.uncorrected", "", 'n'},
        {"ecc.errors.corrected.volatile.total", "ecc.volatile.corrected", "", 'n'},
        {"pcie.link.gen.current", "pcie.gen", "", 'n'}, {"pcie.link.gen.max", "pcie.max_gen", "", 'n'},
        {"pcie.link.width.current", "pcie.width", "", 'n'}, {"pcie.link.width.max", "pcie.max_width", "", 'n'}};
    u64 n;
    ret_t r = OK;
    const char *s = "";
    if (!strcmp(f, "index")) { snprintf(out, V, "%d", d->gpu); return 1; }
    if (!strcmp(f, "count")) { snprintf(out, V, "%u", count); return 1; }
    if (!strcmp(f, "compute_cap")) {
        u32 v[2];
        if ((r = pair(d, "compute_capability", v, v + 1))) snprintf(out, V, "[%s]", absent(r)); else snprintf(out, V, "%u.%u", v[0], v[1]);
        return 1;
    }
    if (!strcmp(f, "driver_version")) { snprintf(out, V, "%s", raw(SYS, "driver_version")); return 1; }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].field, f)) continue;
        if (known[i].kind == 's') r = find(d, known[i].key, &s); else r = num(d, known[i].key, &n);
        if (r) snprintf(out, V, "[%s]", absent(r));
        else switch (known[i].kind) {
            case 's': snprintf(out, V, "%s", s); break;
            case 'm': snprintf(out, V, "%llu%s", n >> 20, units ? known[i].unit : ""); break;
            case 'w': snprintf(out, V, "%.2f%s", n / 1000.0, units ? known[i].unit : ""); break;
            case 'p': snprintf(out, V, "P%llu", n); break;
            default: snprintf(out, V, "%llu", n);
        }
        return 1;
    }
    return 0;
}

/* Is this GPU what -i names: an index, a UUID, a serial or a bus id (with a domain of 4 or 8 digits)? */
static int wanted(int g, const char *id)
{
    const char *bus = raw(g, "pci.bus_id"), *uuid = raw(g, "uuid"), *serial = raw(g, "serial");
    if (!id) return 1;
    if (strchr(id, ':')) return bus && strlen(bus) >= 12 && strlen(id) >= 12 && !strcasecmp(bus + strlen(bus) - 12, id + strlen(id) - 12);
    if (!strncmp(id, "GPU-", 4)) return uuid && !strcmp(uuid, id);
    return strlen(id) < 4 ? atoi(id) == g : serial && !strcmp(serial, id);
}

static int query(char *fields, const char *id, int header, int units)
{
    for (u32 g = 0; g < count; g++) {
        char *copy = strdup(fields), *at = copy, *f;
        dev_t_ *d;
        val v;
        if (g == 0 && header) puts(fields);
        if (!wanted((int)g, id) || nvmlDeviceGetHandleByIndex_v2(g, &d)) { free(copy); continue; }
        while ((f = at)) {
            if ((at = strchr(f, ','))) *at++ = 0;
            if (!column(v, d, trim(f), units)) { printf("Field \"%s\" is not a valid field to query.\n", trim(f)); return 2; }
            printf("%s%s", v, at ? ", " : "\n");
        }
        free(copy);
    }
    return 0;
}

static int failed(ret_t r)
{
    const char *lib = raw(SYS, "nvml_version");
    if (r == NO_DRIVER) {
        puts("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
             "Make sure that the latest NVIDIA driver is installed and running.\n");
        return 9;
    }
    if (r == 18) {
        const char *branch = lib ? strchr(lib, '.') : NULL;
        puts("Failed to initialize NVML: Driver/library version mismatch");
        printf("NVML library version: %s\n", branch ? branch + 1 : "unknown");
    } else printf("Failed to initialize NVML: %s\n", absent(r));
    return r == 999 ? 255 : r;
}

int main(int argc, char **argv)
{
    int list = 0, xml = 0, header = 1, units = 1, found = 0;
    char *fields = NULL, *id = NULL, stamp[64];
    const char *how;
    time_t now = time(NULL);
    val v;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-L")) list = 1;
        else if (!strcmp(argv[i], "-x") || !strcmp(argv[i], "-q")) xml = 1;
        else if (!strcmp(argv[i], "-i") && i + 1 < argc) id = argv[++i];
        else if (!strncmp(argv[i], "--id=", 5)) id = argv[i] + 5;
        else if (!strncmp(argv[i], "--query-gpu=", 12)) fields = argv[i] + 12;
        else if (!strncmp(argv[i], "--format=", 9)) { header = !strstr(argv[i], "noheader"); units = !strstr(argv[i], "nounits"); }
    }
    signal(SIGTERM, SIG_IGN);                       /* a call that hangs in the driver hears no signal but KILL */
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    ret_t r = nvmlInit_v2();
    if ((how = raw(SYS, "smi"))) {
        if (!strcmp(how, "hang") || !strcmp(how, "dstate")) stall(how);
        if (!strcmp(how, "segv")) { signal(SIGSEGV, SIG_DFL); raise(SIGSEGV); }
        if (!strcmp(how, "garbage")) { puts("\xff\xfe<<<"); return 0; }
    }
    if (r) return failed(r);
    if (!count) { puts("No devices were found"); return 6; }
    for (u32 g = 0; g < count; g++) {               /* one GPU that cannot be opened ends the whole program */
        dev_t_ *d;
        if (!wanted((int)g, id)) continue;
        found = 1;
        if ((r = nvmlDeviceGetHandleByIndex_v2(g, &d))) {
            printf("Unable to determine the device handle for GPU%u: %s: %s%s\n", g, raw((int)g, "pci.bus_id"), absent(r),
                   r == 15 ? ".  Reboot the system to recover this GPU" : "");
            return r == 999 ? 255 : r;
        }
    }
    if (!found) { puts("No devices were found"); return 6; }
    if (fields) return query(fields, id, header, units);
    if (list) {
        for (u32 g = 0; g < count; g++) {
            val name, uuid;
            printf("GPU %u: %s (UUID: %s)\n", g, string(name, &devs[g], "name"), string(uuid, &devs[g], "uuid"));
        }
        return 0;
    }
    if (!xml) {
        printf("| NVIDIA-SMI %s  Driver Version: %s  CUDA Version: %s |\n", raw(SYS, "driver_version"), raw(SYS, "driver_version"), cuda(v));
        return 0;
    }
    strftime(stamp, sizeof stamp, "%a %b %e %H:%M:%S %Y", localtime(&now));
    puts("<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">");
    open_("nvidia_smi_log");
    leaf("timestamp", stamp);
    leaf("driver_version", string(v, NULL, "driver_version"));
    leaf("cuda_version", cuda(v));
    leaf("attached_gpus", fmt_u32(v, OK, count, ""));
    for (u32 g = 0; g < count; g++) if (wanted((int)g, id)) gpu_xml(&devs[g]);
    close_("nvidia_smi_log");
    return 0;
}
