/*
 * smi_xml.h: what nvidia-smi -q -x prints, one function a section, and how it spells values that it could not get.
 *
 * Included by fake_smi.c only, after nvml_stub.c.
 */
#define V 256
typedef char val[V];

/* What the real program prints in place of a value it could not get. */
static const char *absent(ret_t r)
{
    if (r == NOT_SUPPORTED || r == NOT_FOUND) return "N/A";
    if (r == 999) return "Unknown Error";
    return nvmlErrorString(r);
}
static const char *fmt_u32(val out, ret_t r, u32 v, const char *unit)
{
    if (r) snprintf(out, V, "%s", absent(r)); else snprintf(out, V, "%u%s", v, unit);
    return out;
}
static const char *number(val out, const dev_t_ *d, const char *key, const char *unit)
{
    u64 v = 0;
    ret_t r = num(d, key, &v);
    if (r) snprintf(out, V, "%s", absent(r)); else snprintf(out, V, "%llu%s", v, unit);
    return out;
}
static const char *degrees(val out, const dev_t_ *d, const char *key)
{
    u64 v = 0;
    ret_t r = num(d, key, &v);
    if (r) snprintf(out, V, "%s", absent(r)); else snprintf(out, V, "%d C", (int)v);
    return out;
}
static const char *string(val out, const dev_t_ *d, const char *key)
{
    const char *v = NULL;
    ret_t r = find(d, key, &v);
    snprintf(out, V, "%s", r ? absent(r) : v);
    return out;
}
static const char *choice(val out, const dev_t_ *d, const char *key, const char *zero, const char *other)
{
    u64 v = 0;
    ret_t r = num(d, key, &v);
    snprintf(out, V, "%s", r ? absent(r) : v ? other : zero);
    return out;
}
/* A word of a list by the n-th number of a "1 0" pair. */
static const char *nth(val out, const dev_t_ *d, const char *key, int n, const char *zero, const char *other)
{
    u32 v[2] = {0, 0};
    ret_t r = pair(d, key, v, v + 1);
    snprintf(out, V, "%s", r ? absent(r) : v[n] ? other : zero);
    return out;
}
static const char *milliwatts(val out, const dev_t_ *d, const char *key)
{
    u64 v = 0;
    ret_t r = num(d, key, &v);
    if (r) snprintf(out, V, "%s", absent(r)); else snprintf(out, V, "%.2f W", v / 1000.0);
    return out;
}
static const char *range(val out, const dev_t_ *d, int n)
{
    u32 v[2] = {0, 0};
    ret_t r = pair(d, "power.range_mw", v, v + 1);
    if (r) snprintf(out, V, "%s", absent(r)); else snprintf(out, V, "%.2f W", v[n] / 1000.0);
    return out;
}
static const char *cuda(val out)
{
    u64 v = 0;
    if (num(NULL, "cuda_version", &v)) snprintf(out, V, "N/A"); else snprintf(out, V, "%llu.%llu", v / 1000, v % 1000 / 10);
    return out;
}

static int indent;
static void escaped(const char *s)
{
    for (; *s; s++) switch (*s) {
        case '<': fputs("&lt;", stdout); break;
        case '>': fputs("&gt;", stdout); break;
        case '&': fputs("&amp;", stdout); break;
        default: putchar(*s);
    }
}
static void tabs(void) { for (int i = 0; i < indent; i++) putchar('\t'); }
static void open_(const char *tag) { tabs(); printf("<%s>\n", tag); indent++; }
static void close_(const char *tag) { indent--; tabs(); printf("</%s>\n", tag); }
static void leaf(const char *tag, const char *value)
{
    tabs();
    printf("<%s>", tag);
    escaped(value);
    printf("</%s>\n", tag);
}

static void memory_xml(const char *tag, const dev_t_ *d, const char *prefix, int reserved)
{
    struct memory m;
    val a, total, used, free_;
    u64 held = 0;
    ret_t r = memory(d, prefix, &m);
    if (!r && reserved) { KEY("%s.reserved", prefix); num(d, key, &held); }
    if (r) {
        snprintf(total, V, "%s", absent(r));
        snprintf(a, V, "%s", absent(r));
        snprintf(used, V, "%s", absent(r));
        snprintf(free_, V, "%s", absent(r));
    } else {
        snprintf(total, V, "%llu MiB", m.total >> 20);
        snprintf(a, V, "%llu MiB", held >> 20);
        snprintf(used, V, "%llu MiB", (m.used - held) >> 20);
        snprintf(free_, V, "%llu MiB", m.free >> 20);
    }
    open_(tag);
    leaf("total", total);
    if (reserved) leaf("reserved", a);
    leaf("used", used);
    leaf("free", free_);
    close_(tag);
}

static void ecc_xml(const dev_t_ *d)
{
    val v;
    static const char *const when[] = {"volatile", "aggregate"};
    open_("ecc_mode");
    leaf("current_ecc", nth(v, d, "ecc.mode", 0, "Disabled", "Enabled"));
    leaf("pending_ecc", nth(v, d, "ecc.mode", 1, "Disabled", "Enabled"));
    close_("ecc_mode");
    open_("ecc_errors");
    for (int i = 0; i < 2; i++) {
        char key[128];
        open_(when[i]);
        snprintf(key, sizeof key, "ecc.%s.corrected.sram", when[i]);
        leaf("sram_correctable", number(v, d, key, ""));
        snprintf(key, sizeof key, "ecc.%s.uncorrected.sram", when[i]);
        leaf("sram_uncorrectable", number(v, d, key, ""));
        snprintf(key, sizeof key, "ecc.%s.corrected.dram", when[i]);
        leaf("dram_correctable", number(v, d, key, ""));
        snprintf(key, sizeof key, "ecc.%s.uncorrected.dram", when[i]);
        leaf("dram_uncorrectable", number(v, d, key, ""));
        if (i) leaf("sram_threshold_exceeded", choice(v, d, "ecc.sram_threshold", "No", "Yes"));
        close_(when[i]);
    }
    close_("ecc_errors");
}

static void retired_xml(dev_t_ *d)
{
    static const char *const tags[] = {"multiple_single_bit_retirement", "double_bit_retirement"};
    val v;
    open_("retired_pages");
    for (u32 cause = 0; cause < 2; cause++) {
        u32 n = 0;
        ret_t r = retired(d, cause, &n, NULL);
        open_(tags[cause]);
        leaf("retired_count", fmt_u32(v, r == TOO_SMALL ? OK : r, n, ""));
        leaf("retired_pagelist", "N/A");
        close_(tags[cause]);
    }
    leaf("pending_blacklist", choice(v, d, "retired.pending", "No", "Yes"));
    leaf("pending_retirement", choice(v, d, "retired.pending", "No", "Yes"));
    close_("retired_pages");
}

static void remapped_xml(dev_t_ *d)
{
    static const char *const bins[] = {"max", "high", "partial", "low", "none"};
    u32 n[4], bank[5];
    val v;
    ret_t r = nvmlDeviceGetRemappedRows(d, n, n + 1, n + 2, n + 3);
    if (r) { leaf("remapped_rows", absent(r)); return; }
    open_("remapped_rows");
    leaf("remapped_row_corr", fmt_u32(v, OK, n[0], ""));
    leaf("remapped_row_unc", fmt_u32(v, OK, n[1], ""));
    leaf("remapped_row_pending", n[2] ? "Yes" : "No");
    leaf("remapped_row_failure", n[3] ? "Yes" : "No");
    if (!(r = nvmlDeviceGetRowRemapperHistogram(d, bank))) {
        open_("row_remapper_histogram");
        for (int i = 0; i < 5; i++) { KEY("row_remapper_histogram_%s", bins[i]); leaf(key, fmt_u32(v, OK, bank[i], " bank(s)")); }
        close_("row_remapper_histogram");
    }
    close_("remapped_rows");
}

static void clocks_xml(dev_t_ *d, const char *tag, const char *prefix, int all)
{
    static const char *const elements[] = {"graphics_clock", "sm_clock", "mem_clock", "video_clock"};
    val v;
    open_(tag);
    for (int i = 0; i < 4; i++) if (all || i == 0 || i == 2) {
        KEY("%s.%s", prefix, clocks[i]);
        leaf(elements[i], number(v, d, key, " MHz"));
    }
    close_(tag);
}

static void reasons_xml(const dev_t_ *d)
{
    static const struct { const char *name; u64 bit; } bits[] = {
        {"gpu_idle", 0x1}, {"applications_clocks_setting", 0x2}, {"sw_power_cap", 0x4}, {"hw_slowdown", 0x8},
        {"hw_thermal_slowdown", 0x40}, {"hw_power_brake_slowdown", 0x80}, {"sync_boost", 0x10},
        {"sw_thermal_slowdown", 0x20}, {"display_clocks_setting", 0x100}};
    static const struct { const char *name; u32 id; } counts[] = {
        {"sw_power_cap", 74}, {"sync_boost", 76}, {"sw_therm_slowdown", 269}, {"hw_therm_slowdown", 270}, {"hw_power_brake", 271}};
    u64 mask = 0, n;
    ret_t r = num(d, "throttle", &mask);
    val v;
    open_("clocks_event_reasons");
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        KEY("clocks_event_reason_%s", bits[i].name);
        leaf(key, r ? absent(r) : mask & bits[i].bit ? "Active" : "Not Active");
    }
    close_("clocks_event_reasons");
    open_("clocks_event_reasons_counters");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char field[32];
        KEY("clocks_event_reasons_counters_%s", counts[i].name);
        snprintf(field, sizeof field, "field.%u", counts[i].id);
        if ((r = num(d, field, &n))) snprintf(v, V, "%s", absent(r)); else snprintf(v, V, "%llu us", n / 1000);
        leaf(key, v);
    }
    close_("clocks_event_reasons_counters");
}

static void pci_xml(dev_t_ *d)
{
    struct pci p;
    val v;
    ret_t r = nvmlDeviceGetPciInfo_v3(d, &p);
    open_("pci");
    if (!r) {
        snprintf(v, V, "%02X", p.bus); leaf("pci_bus", v);
        snprintf(v, V, "%02X", p.device); leaf("pci_device", v);
        snprintf(v, V, "%04X", p.domain); leaf("pci_domain", v);
        leaf("pci_base_class", "3");
        leaf("pci_sub_class", "2");
        snprintf(v, V, "%08X", p.id); leaf("pci_device_id", v);
        leaf("pci_bus_id", p.bus_id);
        snprintf(v, V, "%08X", p.subsystem); leaf("pci_sub_system_id", v);
    } else leaf("pci_bus_id", absent(r));
    open_("pci_gpu_link_info");
    open_("pcie_gen");
    leaf("max_link_gen", number(v, d, "pcie.max_gen", ""));
    leaf("current_link_gen", number(v, d, "pcie.gen", ""));
    leaf("device_current_link_gen", number(v, d, "pcie.gen", ""));
    leaf("max_device_link_gen", number(v, d, "pcie.gpu_max_gen", ""));
    leaf("max_host_link_gen", number(v, d, "pcie.host_max_gen", ""));
    close_("pcie_gen");
    open_("link_widths");
    leaf("max_link_width", number(v, d, "pcie.max_width", "x"));
    leaf("current_link_width", number(v, d, "pcie.width", "x"));
    close_("link_widths");
    close_("pci_gpu_link_info");
    leaf("replay_counter", number(v, d, "pcie.replays", ""));
    leaf("replay_rollover_counter", "0");
    leaf("tx_util", number(v, d, "pcie.tx_kbps", " KB/s"));
    leaf("rx_util", number(v, d, "pcie.rx_kbps", " KB/s"));
    close_("pci");
}

static void temperature_xml(const dev_t_ *d)
{
    val v;
    u64 n;
    open_("temperature");
    leaf("gpu_temp", degrees(v, d, "temperature"));
    leaf("gpu_temp_tlimit", degrees(v, d, "temperature.tlimit"));
    if (num(d, "temperature.slowdown", &n)) {       /* newer GPUs give distances to the limit instead */
        leaf("gpu_temp_max_tlimit_threshold", degrees(v, d, "field.193"));
        leaf("gpu_temp_slow_tlimit_threshold", degrees(v, d, "field.194"));
        leaf("gpu_temp_max_gpu_tlimit_threshold", degrees(v, d, "field.196"));
    } else {
        leaf("gpu_temp_max_threshold", degrees(v, d, "temperature.shutdown"));
        leaf("gpu_temp_slow_threshold", degrees(v, d, "temperature.slowdown"));
        leaf("gpu_temp_max_gpu_threshold", degrees(v, d, "temperature.gpu_max"));
    }
    leaf("gpu_target_temperature", "N/A");
    leaf("memory_temp", degrees(v, d, "field.82"));
    if (num(d, "temperature.slowdown", &n)) leaf("gpu_temp_max_mem_tlimit_threshold", degrees(v, d, "field.195"));
    else leaf("gpu_temp_max_mem_threshold", degrees(v, d, "temperature.mem_max"));
    close_("temperature");
}

static void power_xml(const dev_t_ *d, const char *tag, const char *scope)
{
    val v;
    char average[32], instant[32];
    int gpu = !*scope;
    snprintf(average, sizeof average, "field.185%s", scope);
    snprintf(instant, sizeof instant, "field.186%s", scope);
    open_(tag);
    if (gpu) { val p; snprintf(v, V, "P%s", number(p, d, "pstate", "")); leaf("power_state", v); }
    u64 n;
    if (gpu && num(d, instant, &n) == NOT_SUPPORTED) leaf("power_draw", milliwatts(v, d, "power.mw"));  /* before 570 */
    else {
        leaf("average_power_draw", milliwatts(v, d, average));
        leaf("instant_power_draw", milliwatts(v, d, instant));
    }
    leaf("current_power_limit", gpu ? milliwatts(v, d, "power.enforced_mw") : "N/A");
    leaf("requested_power_limit", gpu ? milliwatts(v, d, "power.limit_mw") : "N/A");
    leaf("default_power_limit", gpu ? milliwatts(v, d, "power.default_mw") : "N/A");
    leaf("min_power_limit", gpu ? range(v, d, 0) : "N/A");
    leaf("max_power_limit", gpu ? range(v, d, 1) : "N/A");
    close_(tag);
}

static void fabric_xml(dev_t_ *d)
{
    static const char *const states[] = {"N/A", "Not Started", "In Progress", "Completed"};
    unsigned char uuid[16];
    ret_t status = OK;
    u32 clique = 0, state = 0;
    val v;
    ret_t r = fabric(d, uuid, &status, &clique, &state);
    open_("fabric");
    leaf("state", r ? absent(r) : NAME(states, state));
    leaf("status", r || !state ? "N/A" : state == 3 || status ? nvmlErrorString(status) : "N/A");
    if (r || state != 3) { leaf("cliqueId", "N/A"); leaf("clusterUuid", "N/A"); }
    else {
        leaf("cliqueId", fmt_u32(v, OK, clique, ""));
        for (int i = 0, at = 0; i < 16; i++)
            at += snprintf(v + at, V - (size_t)at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
        leaf("clusterUuid", v);
    }
    close_("fabric");
}

static void mig_xml(dev_t_ *d)
{
    u32 modes[2] = {0, 0};
    val v;
    ret_t r = pair(d, "mig.mode", modes, modes + 1);
    open_("mig_mode");
    leaf("current_mig", r ? absent(r) : modes[0] ? "Enabled" : "Disabled");
    leaf("pending_mig", r ? absent(r) : modes[1] ? "Enabled" : "Disabled");
    close_("mig_mode");
    if (r || !modes[0]) { tabs(); printf("<mig_devices>\n"); indent++; tabs(); puts("None"); close_("mig_devices"); return; }
    open_("mig_devices");
    for (u32 i = 0; i < MAXMIG; i++) {
        dev_t_ *m;
        struct attributes a;
        if (nvmlDeviceGetMigDeviceHandleByIndex(d, i, &m)) continue;
        open_("mig_device");
        leaf("index", fmt_u32(v, OK, i, ""));
        leaf("gpu_instance_id", number(v, m, "gi", ""));
        leaf("compute_instance_id", number(v, m, "ci", ""));
        if (!nvmlDeviceGetAttributes_v2(m, &a)) {
            open_("device_attributes");
            open_("shared");
            leaf("multiprocessor_count", fmt_u32(v, OK, a.sm, ""));
            leaf("copy_engine_count", fmt_u32(v, OK, a.copy, ""));
            leaf("encoder_count", fmt_u32(v, OK, a.enc, ""));
            leaf("decoder_count", fmt_u32(v, OK, a.dec, ""));
            leaf("ofa_count", fmt_u32(v, OK, a.ofa, ""));
            leaf("jpg_count", fmt_u32(v, OK, a.jpeg, ""));
            close_("shared");
            close_("device_attributes");
        }
        memory_xml("fb_memory_usage", m, "memory", 1);
        close_("mig_device");
    }
    close_("mig_devices");
}

static void processes_xml(dev_t_ *d)
{
    static const char *const kinds[] = {"compute", "graphics"}, *const letters[] = {"C", "G"};
    struct proc p[64];
    val v;
    open_("processes");
    for (int k = 0; k < 2; k++) {
        u32 n = 64;
        if (procs(d, kinds[k], &n, p, 0)) continue;
        for (u32 i = 0; i < n; i++) {
            char name[V] = "[Not Found]";
            open_("process_info");
            leaf("gpu_instance_id", "N/A");
            leaf("compute_instance_id", "N/A");
            leaf("pid", fmt_u32(v, OK, p[i].pid, ""));
            leaf("type", letters[k]);
            nvmlSystemGetProcessName(p[i].pid, name, V);
            leaf("process_name", name);
            snprintf(v, V, "%llu MiB", p[i].used >> 20);
            leaf("used_memory", v);
            close_("process_info");
        }
    }
    close_("processes");
}

static void gpu_xml(dev_t_ *d)
{
    static const char *const compute[] = {"Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process"};
    static const char *const virt[] = {"None", "Pass-Through", "VGPU", "Host VGPU", "Host VSGA"};
    static const char *const recovery[] = {"None", "Reset", "Reboot", "Drain P2P", "Drain and Reset"};
    static const char *const use[] = {"encoder", "decoder", "jpeg", "ofa"};
    val v, w;
    u64 n = 0;
    u32 two[2] = {0, 0};
    ret_t r;
    tabs();
    printf("<gpu id=\"%s\">\n", raw(d->gpu, "pci.bus_id"));
    indent++;
    leaf("product_name", string(v, d, "name"));
    leaf("product_brand", "NVIDIA");
    leaf("product_architecture", string(v, d, "architecture.name"));
    leaf("display_active", choice(v, d, "display.active", "Disabled", "Enabled"));
    leaf("persistence_mode", choice(v, d, "persistence", "Disabled", "Enabled"));
    leaf("addressing_mode", string(v, d, "addressing_mode"));
    mig_xml(d);
    leaf("accounting_mode", choice(v, d, "accounting.mode", "Disabled", "Enabled"));
    leaf("accounting_mode_buffer_size", number(v, d, "accounting.size", ""));
    leaf("serial", string(v, d, "serial"));
    leaf("uuid", string(v, d, "uuid"));
    r = nvmlDeviceGetMinorNumber(d, two);
    leaf("minor_number", fmt_u32(v, r, two[0], ""));
    leaf("vbios_version", string(v, d, "vbios"));
    leaf("multigpu_board", "No");
    leaf("board_part_number", string(v, d, "part_number"));
    open_("inforom_version");
    leaf("img_version", string(v, d, "inforom.img"));
    leaf("oem_object", string(v, d, "inforom.oem"));
    leaf("ecc_object", string(v, d, "inforom.ecc"));
    leaf("pwr_object", string(v, d, "inforom.power"));
    close_("inforom_version");
    open_("gpu_virtualization_mode");
    r = num(d, "virtualization", &n);
    leaf("virtualization_mode", r ? absent(r) : NAME(virt, n));
    leaf("host_vgpu_mode", "N/A");
    close_("gpu_virtualization_mode");
    r = num(d, "field.230", &n);
    leaf("gpu_recovery_action", r ? absent(r) : NAME(recovery, n));
    leaf("gsp_firmware_version", string(v, d, "gsp"));
    pci_xml(d);
    leaf("fan_speed", number(v, d, "fan", " %"));
    snprintf(v, V, "%s%s", num(d, "pstate", &n) ? "" : "P", number(w, d, "pstate", ""));
    leaf("performance_state", v);
    reasons_xml(d);
    memory_xml("fb_memory_usage", d, "memory", 1);
    memory_xml("bar1_memory_usage", d, "bar1", 0);
    r = num(d, "compute_mode", &n);
    leaf("compute_mode", r ? absent(r) : NAME(compute, n));
    open_("utilization");
    r = pair(d, "utilization", two, two + 1);
    leaf("gpu_util", fmt_u32(v, r, two[0], " %"));
    leaf("memory_util", fmt_u32(v, r, two[1], " %"));
    for (int i = 0; i < 4; i++) {
        char key[64], tag[64];
        snprintf(key, sizeof key, "utilization.%s", use[i]);
        snprintf(tag, sizeof tag, "%s_util", use[i]);
        r = pair(d, key, two, two + 1);
        leaf(tag, fmt_u32(v, r, two[0], " %"));
    }
    close_("utilization");
    ecc_xml(d);
    retired_xml(d);
    remapped_xml(d);
    temperature_xml(d);
    power_xml(d, "gpu_power_readings", "");
    power_xml(d, "module_power_readings", ".1");
    clocks_xml(d, "clocks", "clock", 1);
    clocks_xml(d, "applications_clocks", "app_clock", 0);
    clocks_xml(d, "default_applications_clocks", "default_app_clock", 0);
    clocks_xml(d, "max_clocks", "max_clock", 1);
    fabric_xml(d);
    processes_xml(d);
    indent--;
    tabs();
    printf("</gpu>\n\n");
}
