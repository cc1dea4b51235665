"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("index").textContent);
  const hosts = data.hosts, T = data.texts;
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (all, key) => (key in values ? values[key] : all));
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const number = new Intl.NumberFormat(data.language);
  const byName = new Intl.Collator(data.language, { numeric: true }).compare;
  const whenPrinted = 40;

  // ---- the state of the view, kept in the address so that a view can be sent to someone
  const empty = { q: "", v: "", g: "", s: "", d: "", c: "", h: "", all: "" };
  let state = { ...empty };
  const readAddress = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    const next = { ...empty };
    for (const key in next) next[key] = given.get(key) || "";
    const anchor = /^#h(\d+)$/.exec(location.hash);
    if (anchor && hosts[anchor[1]]) next.h = hosts[anchor[1]].n;
    if (next.c && !(next.c in data.causes)) next.c = "";
    return next;
  };
  const address = () => {
    const said = new URLSearchParams();
    for (const key in state) if (state[key]) said.set(key, state[key]);
    return "#" + said.toString();
  };
  const remember = (push) => {
    const url = address();
    if (url === (location.hash || "#")) return;
    try { history[push ? "pushState" : "replaceState"](null, "", url); } catch (e) { location.hash = url; }
  };

  // ---- the matrix: the rows are in the page, the script only orders and hides them
  const table = document.querySelector(".matrix"), body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const details = [...document.querySelectorAll("#hosts > .host")];
  const rowOf = [], detailOf = [];
  rows.forEach((row) => { rowOf[row.dataset.i] = row; });
  details.forEach((detail) => { detailOf[detail.dataset.i] = detail; });
  hosts.forEach((host) => { host.text = host.s + " " + host.g.join(" ").toLowerCase(); });

  const ranks = {};
  const rank = (column) => {
    if (!ranks[column]) ranks[column] = hosts.map((host, i) => {
      const found = data.statusOrder.indexOf(rowOf[i].cells[column].textContent);
      return found < 0 ? 99 : found;
    });
    return ranks[column];
  };
  const comparison = () => {
    const back = state.d ? -1 : 1;
    const last = (a, b) => hosts[a].o - hosts[b].o;
    if (!state.s) return last;
    if (state.s === "name") return (a, b) => back * byName(hosts[a].n, hosts[b].n);
    if (state.s === "verdict") return (a, b) => back * (data.verdictOrder.indexOf(hosts[a].v) - data.verdictOrder.indexOf(hosts[b].v)) || last(a, b);
    if (state.s === "gpus") return (a, b) => back * (byName(hosts[a].m, hosts[b].m) || hosts[a].p - hosts[b].p) || last(a, b);
    const column = heads.findIndex((head) => head.dataset.sort === state.s);
    if (column < 0) return last;
    const value = rank(column);
    return (a, b) => back * (value[a] - value[b]) || last(a, b);
  };
  const groupName = (host) => {
    if (state.g === "model") return host.m || T.group_other;
    if (state.g === "verdict") return data.verdicts[host.v];
    if (state.g === "groups") return host.g.filter((name) => name !== "all" && name !== "ungrouped").join(", ") || T.group_other;
    if (state.g.startsWith("f:")) return host.g.filter((name) => family(name) === state.g.slice(2)).join(", ") || T.group_other;
    if (state.g.startsWith("i:")) return host.g.includes(state.g.slice(2)) ? state.g.slice(2) : T.group_other;
    return "";
  };
  const family = (name) => (/^(.*?[^\d_-])[_-]?(?:[_-][^_-]*|\d+)$/.exec(name) || [])[1] || "";

  let matching = [];
  const matches = (host) => {
    if (state.v && host.v !== state.v) return false;
    if (state.c && !host.c.includes(state.c)) return false;
    return !words.length || words.every((word) => host.text.includes(word));
  };
  let words = [];
  // Only the rows that are drawn are moved; the rest stay where they are, out of sight. On paper all are drawn.
  const show = (onPaper) => {
    words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    matching = hosts.map((host, i) => i).filter((i) => matches(hosts[i])).sort(comparison());
    const limit = state.all || onPaper === true ? Infinity : data.rowsShown;
    const visible = new Set(matching);
    const fragment = document.createDocumentFragment();
    body.querySelectorAll(".group").forEach((head) => head.remove());
    const place = (i, at) => {
      rowOf[i].hidden = false;
      rowOf[i].classList.toggle("late", at >= limit);
      if (at < limit) fragment.append(rowOf[i]);
    };
    if (state.g) {
      const groups = new Map();
      matching.forEach((i) => { const name = groupName(hosts[i]); groups.has(name) ? groups.get(name).push(i) : groups.set(name, [i]); });
      const names = [...groups.keys()];
      if (state.g !== "verdict") names.sort((a, b) => (a === T.group_other) - (b === T.group_other) || byName(a, b));
      let at = 0;
      names.forEach((name) => {
        if (at < limit) fragment.append(groupHead(name, groups.get(name)));
        groups.get(name).forEach((i) => place(i, at++));
      });
    } else matching.forEach(place);
    rows.forEach((row) => { if (!visible.has(+row.dataset.i)) row.hidden = true; });
    body.prepend(fragment);
    details.forEach((detail) => { detail.hidden = !visible.has(+detail.dataset.i); });
    matching.forEach((i, at) => detailOf[i].classList.toggle("late", at >= limit));
    const hiddenRows = Math.max(0, matching.length - limit);
    $("all-rows").hidden = !hiddenRows;
    $("all-rows").textContent = fill(T.show_all, { n: number.format(matching.length) });
    $("empty").hidden = matching.length > 0;
    $("count").textContent = fill(T.shown, { n: number.format(Math.min(matching.length, limit)), total: number.format(hosts.length) });
    drawControls();
  };
  const groupHead = (name, members) => {
    const head = make("tr", "group"), cell = make("th");
    cell.colSpan = heads.length;
    cell.scope = "rowgroup";
    cell.append(make("b", "", name), document.createTextNode(countVerdicts(members)));
    head.append(cell);
    return head;
  };
  const countVerdicts = (members) => {
    const counts = {};
    members.forEach((i) => { counts[hosts[i].v] = (counts[hosts[i].v] || 0) + 1; });
    return data.verdictOrder.filter((v) => counts[v]).map((v) => data.verdicts[v] + " " + counts[v]).join(" · ");
  };
  const drawControls = () => {
    if ($("q").value !== state.q) $("q").value = state.q;
    $("v").value = state.v;
    $("g").value = state.g;
    document.querySelectorAll(".chip[data-verdict]").forEach((chip) => chip.setAttribute("aria-pressed", String(chip.dataset.verdict === state.v)));
    $("only").hidden = !state.c;
    $("only").textContent = state.c ? fill(T.cause_filter, { cause: data.causes[state.c] }) + " ✕" : "";
    $("reset").hidden = Object.keys(empty).every((key) => key === "h" || !state[key]);
    heads.forEach((head) => {
      if (head.dataset.sort === state.s) head.setAttribute("aria-sort", state.d ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  };
  const change = (values, push) => { Object.assign(state, values); remember(push); show(); };

  heads.forEach((head) => {
    const button = make("button", "", head.textContent);
    button.type = "button";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const key = head.dataset.sort;
      if (state.s !== key) change({ s: key, d: "" });
      else change(state.d ? { s: "", d: "" } : { d: "1" });
    });
  });
  const groupNames = [...new Set(hosts.flatMap((host) => host.g))].filter((name) => name !== "all" && name !== "ungrouped").sort(byName);
  const families = {};
  groupNames.forEach((name) => { const f = family(name); if (f) (families[f] = families[f] || []).push(name); });
  const addOption = (value, text) => { const option = make("option", "", text); option.value = value; $("g").append(option); };
  Object.keys(families).filter((f) => families[f].length > 1).sort(byName).forEach((f) => addOption("f:" + f, fill(T.group_prefix, { prefix: f })));
  groupNames.slice(0, 60).forEach((name) => addOption("i:" + name, name));

  let typing = 0;
  $("q").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => change({ q: $("q").value.trim() }), 60); });
  $("v").addEventListener("change", () => change({ v: $("v").value }));
  $("g").addEventListener("change", () => change({ g: $("g").value }));
  $("reset").addEventListener("click", () => change({ ...empty, h: state.h }));
  $("only").addEventListener("click", () => change({ c: "" }));
  $("all-rows").addEventListener("click", () => change({ all: "1" }));
  table.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("td.c");
    const name = event.target.closest("tbody a");
    if (name) name.title = name.textContent;
    const gpus = event.target.closest("td.g");
    if (gpus) gpus.title = gpus.textContent;
    if (cell && !cell.title && cell.textContent !== "–") cell.title = heads[cell.cellIndex].textContent + ": " + cell.textContent;
  });

  // ---- a host's own part: unpacked when it is opened
  let packedLines = null;
  const packed = (i) => {
    if (!packedLines) packedLines = $("packed").textContent.split("\n");
    return (packedLines[i] || "").split(" ");
  };
  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text();
  };
  const canUnpack = typeof DecompressionStream === "function";
  const fillHost = async (i) => {
    const box = detailOf[i].querySelector(".body");
    if (box.dataset.full) return;
    box.dataset.full = "1";
    const [facts, said] = packed(i);
    if (said) {
      // The page's maker escaped this text; it is markup of the page that was stored small.
      if (canUnpack) box.innerHTML = await unpack(said);
      else box.append(make("p", "quiet", T.detail_old_browser));
    }
    addAgo(box);
    box.append(factsPart(facts));
  };
  const factsPart = (facts) => {
    if (facts === "-" || facts === "+" || !facts) return make("p", "quiet", facts === "+" ? T.facts_big : T.facts_none);
    const fold = make("details", "fold facts"), title = make("summary", "", T.facts_title);
    fold.append(title);
    fold.addEventListener("toggle", async () => {
      if (!fold.open || fold.dataset.full) return;
      fold.dataset.full = "1";
      if (!canUnpack) { fold.append(make("p", "quiet", T.facts_old_browser)); return; }
      const document_ = JSON.parse(await unpack(facts));
      fold.append(...tree({ ...document_.facts, measurements: document_.measurements, stale_measurements: document_.stale_measurements }));
    });
    return fold;
  };
  const odd = /[\p{Cc}\p{Cs}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\ufffe\uffff\u{e0000}-\u{e007f}]/gu;
  const visible = (text) => String(text).replace(odd, (c) => "‹U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "›");
  const sizes = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  const bytes = (value) => {
    let at = 0;
    while (Math.abs(value) >= 1024 && at < sizes.length - 1) { value /= 1024; at++; }
    return value.toFixed(at && value < 100 ? (value < 10 ? 2 : 1) : 0) + " " + sizes[at];
  };
  const factText = (key, value) => {
    if (typeof value === "boolean") return value ? T.yes : T.no;
    if (typeof value !== "number") return visible(value);
    if (/_bytes$/.test(key) && Math.abs(value) >= 1024) return number.format(value) + " (" + bytes(value) + ")";
    if (/_fraction$/.test(key)) return value + " (" + (value * 100).toFixed(1).replace(/\.0$/, "") + " %)";
    if (/bits_per_second$/.test(key)) return number.format(value) + " (" + value / 1e9 + " Gbit/s)";
    return /(count|seconds|_total|_free|bytes)/.test(key) ? number.format(value) : String(value);
  };
  const label = (value, i) => {
    const name = value && (value.name || value.mount_point || value.path || value.device || value.module || value.bus_id);
    return typeof name === "string" ? i + " · " + visible(name).slice(0, 80) : String(i);
  };
  const tree = (value) => Object.entries(value).filter(([, item]) => item !== undefined).map(([key, item]) => {
    const isList = Array.isArray(item), isMap = item && typeof item === "object" && !isList;
    if ((isList && item.some((each) => each && typeof each === "object")) || (isMap && Object.keys(item).length)) {
      const fold = make("details");
      const name = Array.isArray(value) ? label(item, key) : visible(key);
      fold.append(make("summary", "", name + (isList ? " (" + item.length + ")" : "")));
      fold.addEventListener("toggle", () => { if (fold.open && fold.childElementCount === 1) fold.append(...tree(item)); });
      return fold;
    }
    const line = make("div", "kv"), nothing = item === null || (isList && !item.length) || isMap;
    const why = item === null && value.absent ? value.absent[key] : null;
    line.append(make("span", "", visible(key)), make("span", nothing ? "nil" : "", nothing ? (why ? "– " + visible(why) : "–") : isList ? item.map((each) => factText(key, each)).join(", ") : factText(key, item)));
    return line;
  });
  details.forEach((detail) => detail.addEventListener("toggle", () => { if (detail.open) fillHost(+detail.dataset.i); }));
  const openHost = async (i, focus) => {
    if (detailOf[i].hidden) change({ ...empty, h: state.h });
    detailOf[i].classList.remove("late");
    await fillHost(i);
    detailOf[i].open = true;
    detailOf[i].scrollIntoView({ block: "start" });
    if (focus) detailOf[i].querySelector("summary").focus({ preventScroll: true });
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#h"]');
    if (link) {
      const i = +link.getAttribute("href").slice(2);
      event.preventDefault();
      state.h = hosts[i].n;
      remember(true);
      openHost(i, true);
      return;
    }
    const chip = event.target.closest(".chip[data-verdict]");
    if (chip) { change({ v: state.v === chip.dataset.verdict ? "" : chip.dataset.verdict }); return; }
    const only = event.target.closest(".only");
    if (only) { change({ ...empty, h: state.h, c: only.dataset.cause }, true); $("matrix").scrollIntoView({ block: "nearest" }); return; }
    const copy = event.target.closest(".copy");
    if (copy) copyCommand(copy);
  });

  // ---- copying, also from a file where the clipboard API isn't there
  const copyCommand = async (button) => {
    const code = button.parentElement.querySelector("code");
    let done = false;
    try { await navigator.clipboard.writeText(code.textContent); done = true; } catch (e) { done = false; }
    if (!done) {
      const range = document.createRange();
      range.selectNodeContents(code);
      const selection = getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      try { done = document.execCommand("copy"); } catch (e) { done = false; }
    }
    button.textContent = done ? T.copied : T.copy_failed;
    setTimeout(() => { button.textContent = T.copy; }, 2000);
  };

  // ---- the maps of links: a cell's figures are said below the table; arrow keys move from cell to cell
  const sayCell = (cell) => {
    const readout = cell.closest(".mapped").querySelector(".readout"), table = cell.closest("table");
    if (!readout.dataset.hint) readout.dataset.hint = readout.textContent;
    const column = table.tHead.rows[0].cells[cell.cellIndex].querySelector("i").textContent;
    const said = cell.classList.contains("qs") ? readout.dataset.hint : cell.parentElement.cells[0].textContent + " → " + column + ": " + cell.textContent.trim();
    if (readout.textContent !== said) readout.textContent = said;
  };
  const mapCell = (event) => (event.target.closest ? event.target.closest(".map td") : null);
  const keyed = (table) => table.querySelector('td[tabindex="0"]');
  document.addEventListener("pointerover", (event) => { const cell = mapCell(event); if (cell) sayCell(cell); });
  document.addEventListener("focusin", (event) => { const cell = mapCell(event); if (cell) sayCell(cell); });
  document.addEventListener("click", (event) => { const cell = mapCell(event); if (cell) focusCell(cell); });
  const focusCell = (cell) => {
    const before = keyed(cell.closest("table"));
    if (before) before.removeAttribute("tabindex");
    cell.tabIndex = 0;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  document.addEventListener("keydown", (event) => {
    const move = moves[event.key], mapped = event.target.closest && event.target.closest(".mapped");
    if (!move || !mapped || event.altKey || event.ctrlKey || event.metaKey) return;
    const table = mapped.querySelector(".map"), cell = mapCell(event);
    const [row, column] = cell ? [cell.parentElement.rowIndex + move[0], cell.cellIndex + move[1]] : [1, 1];
    const next = row >= 1 && column >= 1 && table.rows[row] && table.rows[row].cells[column];
    event.preventDefault();
    if (next) focusCell(next);
  });

  // ---- how long ago, by this browser's clock, beside the absolute time
  const relative = new Intl.RelativeTimeFormat(data.language, { numeric: "always", style: "short" });
  const ago = (moment) => {
    const seconds = (moment - Date.now()) / 1000;
    for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
      if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
    }
    return relative.format(Math.round(seconds), "second");
  };
  const addAgo = (root) => root.querySelectorAll("time[datetime]").forEach((time) => {
    const moment = Date.parse(time.dateTime);
    if (!Number.isNaN(moment) && !time.dataset.ago) { time.dataset.ago = "1"; time.after(" (" + ago(moment) + ")"); }
  });

  // ---- colours
  const modes = ["auto", "light", "dark"];
  const drawTheme = () => {
    const said = fill(T.theme, { mode: T["theme_" + (document.documentElement.dataset.theme || "auto")] });
    $("theme").lastElementChild.textContent = said;
    $("theme").setAttribute("aria-label", said);
  };
  $("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const next = modes[(modes.indexOf(root.dataset.theme || "auto") + 1) % modes.length];
    if (next === "auto") delete root.dataset.theme; else root.dataset.theme = next;
    try { if (next === "auto") localStorage.removeItem("gpu-audit-theme"); else localStorage.setItem("gpu-audit-theme", next); } catch (e) { /* a file page may have no storage */ }
    drawTheme();
  });

  // ---- paper: what is shown is printed, hosts in full while they are few
  addEventListener("beforeprint", () => {
    if (matching.length > data.rowsShown) show(true);
    $("hosts").classList.toggle("few", matching.length <= whenPrinted);
    if (matching.length > whenPrinted) return;
    document.querySelectorAll(".more").forEach((more) => { more.open = true; });
    matching.forEach((i) => { if (!detailOf[i].open) { detailOf[i].dataset.shut = "1"; detailOf[i].open = true; } });
  });
  addEventListener("afterprint", () => {
    details.forEach((detail) => { if (detail.dataset.shut) { delete detail.dataset.shut; detail.open = false; } });
    if (matching.length > data.rowsShown) show();
  });

  const arrive = () => {
    state = readAddress();
    show();
    const i = state.h ? hosts.findIndex((host) => host.n === state.h) : -1;
    if (i >= 0) openHost(i, false);
  };
  addEventListener("popstate", arrive);
  drawTheme();
  addAgo(document);
  arrive();
  document.documentElement.dataset.ready = "1";
})();
