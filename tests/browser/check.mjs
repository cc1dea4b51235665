// Copyright (c) 2026 The trainops.gpu_audit authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// Checks one report in headless Chromium: node check.mjs report.html. Prints what is wrong, a line each; exit 1 when anything is.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { FileSystemConfigLoader, HtmlValidate } from "html-validate";
import { openReport, withBrowser } from "./browser.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const report = resolve(process.argv[2]);
const url = pathToFileURL(report).href;
const wrong = [];
const must = (fine, text) => { if (!fine) wrong.push(text); };
const settle = (page) => page.evaluate(() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 120)));
const openHosts = (page) => page.evaluate(() => {
  document.querySelectorAll("details.host:not([hidden]), .cause details, .more").forEach((element, at) => { if (at < 12) element.open = true; });
});
const rowNames = (page) => page.evaluate(() => [...document.querySelectorAll(".matrix tbody tr:not(.group)")].filter((row) => row.getClientRects().length).map((row) => row.cells[0].textContent));

async function accessibility(browser, dark, mobile) {
  const { page, said } = await openReport(browser, url, { dark, mobile, width: mobile ? 390 : 1366, height: mobile ? 844 : 768 });
  await openHosts(page);
  await settle(page);
  await page.evaluate(() => document.querySelectorAll(".facts, .facts details, .fold").forEach((fold) => { fold.open = true; }));
  await settle(page);
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const rule of found.violations) {
    wrong.push(`axe ${dark ? "dark" : "light"} ${mobile ? "phone" : "laptop"}: ${rule.id}: ${rule.nodes.length} × ${rule.nodes[0].html.slice(0, 160)} ${rule.nodes[0].failureSummary.replace(/\s+/g, " ").slice(0, 200)}`);
  }
  said.errors.forEach((text) => wrong.push("console: " + text));
  said.requests.filter((request) => request.split("#")[0] !== url).forEach((request) => wrong.push("request: " + request));
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  must(over <= 0, `the page is ${over} px wider than the ${mobile ? "phone" : "screen"}`);
  const split = await page.evaluate(() => [...document.querySelectorAll(".figures td.num")].filter((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return !/\s/.test(cell.textContent.trim()) && new Set([...range.getClientRects()].map((box) => box.top)).size > 1;
  }).map((cell) => cell.textContent));
  must(!split.length, `figures are split over lines on a ${mobile ? "phone" : "laptop"}: ${split.slice(0, 5).join(", ")}`);
  // A name may go on in the next line behind a dot or an underscore, where it may be broken.
  const names = await page.evaluate(() => [...document.querySelectorAll(".plain th code, .plain thead th")].filter((name) => [...name.childNodes].some((part) => {
    const range = document.createRange();
    range.selectNodeContents(part);
    return part.nodeType === Node.TEXT_NODE && /^[\w.]{1,30}$/.test(part.textContent) && new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;
  })).map((name) => name.textContent));
  must(!names.length, `names are broken within a word on a ${mobile ? "phone" : "laptop"}: ${names.slice(0, 5).join(", ")}`);
  await page.close();
}

async function firstScreen(browser) {
  const { page } = await openReport(browser, url);
  const bottoms = await page.evaluate(() => ["h1", ".verdicts", "#next-title", "#matrix-title", "#open-title"].map((selector) => [selector, document.querySelector(selector).getBoundingClientRect().bottom]));
  bottoms.forEach(([selector, bottom]) => must(bottom > 0 && bottom <= 768, `${selector} isn't on a laptop's first screen (${Math.round(bottom)} px)`));
  await page.close();
}

async function finding(browser) {
  const { page } = await openReport(browser, url);
  const all = await rowNames(page);
  const wanted = all[all.length - 1];
  const timed = await page.evaluate(() => {
    const box = document.getElementById("q"), times = {};
    const time = (name, act) => { const from = performance.now(); act(); document.body.getBoundingClientRect(); times[name] = Math.round(performance.now() - from); };
    const heads = [...document.querySelectorAll(".matrix thead button")];
    time("sort", () => heads[0].click());
    time("sort_back", () => heads[0].click());
    time("unsort", () => heads[0].click());
    time("group", () => { const select = document.getElementById("g"); select.value = "model"; select.dispatchEvent(new Event("change")); });
    time("ungroup", () => { const select = document.getElementById("g"); select.value = ""; select.dispatchEvent(new Event("change")); });
    box.focus();
    return times;
  });
  console.log("ms: " + JSON.stringify(timed));
  await page.keyboard.type(wanted);
  await settle(page);
  const found = await rowNames(page);
  must(found.includes(wanted) && found.length <= all.length, `searching for ${wanted} shows ${found.length} rows`);
  const address = page.url();
  must(address.includes("q="), "the search isn't in the address: " + address.slice(-80));
  await page.close();
  const again = await openReport(browser, address);
  must(JSON.stringify(await rowNames(again.page)) === JSON.stringify(found), "the address doesn't bring the search back");
  must(await again.page.$eval("#q", (box) => box.value) === wanted, "the search box isn't filled from the address");
  await again.page.click("#reset");
  await settle(again.page);
  must((await rowNames(again.page)).length === all.length, "reset doesn't show all rows");
  const chip = await again.page.$eval(".chip[data-verdict]", (button) => { button.click(); return +button.querySelector("b").textContent; });
  await settle(again.page);
  must((await rowNames(again.page)).length === Math.min(chip, 200), "a verdict's button doesn't show its hosts");
  must(await again.page.$eval(".chip[data-verdict]", (button) => button.getAttribute("aria-pressed")) === "true", "a pressed button doesn't say so");
  await again.page.close();
}

async function sorting(browser) {
  const { page } = await openReport(browser, url + "#s=name");
  const names = await rowNames(page);
  const sorted = await page.evaluate((given) => [...given].sort(new Intl.Collator(document.documentElement.lang, { numeric: true }).compare), names);
  must(JSON.stringify(names) === JSON.stringify(sorted), "sorting by name doesn't");
  must(await page.$eval('th[data-sort="name"]', (head) => head.getAttribute("aria-sort")) === "ascending", "the sorted column doesn't say so");
  const opened = await page.evaluate(async () => {
    const link = document.querySelector(".matrix tbody a");
    link.focus();
    link.click();
    await new Promise((done) => setTimeout(done, 300));
    const host = document.querySelector(link.getAttribute("href"));
    return { open: host.open, text: host.querySelector(".body").textContent.length, focus: document.activeElement.closest("details.host") === host, hash: location.hash.includes("h=") };
  });
  must(opened.open && opened.text > 20, "a host doesn't open from the matrix");
  must(opened.focus, "the keyboard doesn't follow to the opened host");
  must(opened.hash, "the opened host isn't in the address");
  await page.close();
}

/** Maps of links: a cell says its figures below the table to a pointer and to the arrow keys, which stay inside the table. */
async function linkMap(browser) {
  const { page } = await openReport(browser, url);
  const section = await page.$("#links .map");
  if (section) {
    const hint = await page.$eval("#links .readout", (readout) => readout.textContent);
    await page.focus("#links .mapped .scroll");
    const steps = [];
    for (const key of ["ArrowDown", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowLeft", "ArrowUp"]) {
      await page.keyboard.press(key);
      steps.push(await page.evaluate(() => [document.activeElement.parentElement.rowIndex, document.activeElement.cellIndex, document.querySelector("#links .readout").textContent]));
    }
    const places = steps.map(([row, column]) => `${row},${column}`).join(" ");
    must(places === "1,1 1,2 2,2 2,1 2,1 1,1", "arrow keys in the map go to " + places);
    must(steps[0][2] === hint, "the cell of a host with itself says " + steps[0][2]);
    const names = await page.$$eval("#links .map tbody th", (heads) => heads.slice(0, 2).map((head) => head.textContent));
    must(steps[1][2].startsWith(`${names[0]} → ${names[1]}: `) && /\d/.test(steps[1][2]), "a focused cell says " + steps[1][2]);
    const cell = await page.$("#links .map tbody tr:nth-child(2) td:nth-child(2)");
    await cell.hover();
    must((await page.$eval("#links .readout", (readout) => readout.textContent)).startsWith(`${names[1]} → ${names[0]}: `), "a cell under the pointer says nothing");
    must(await page.$$eval("#links .map [tabindex]", (cells) => cells.length) === 1, "more than one cell of a map is a stop of the keyboard");
  }
  await page.close();
}

async function withoutScript(browser) {
  const { page } = await openReport(browser, url, { script: false });
  const rows = await page.$$eval(".matrix tbody tr", (all) => all.filter((row) => row.getClientRects().length).length);
  const hosts = await page.$$eval("details.host", (all) => all.length);
  must(rows === hosts && rows > 0, `without JavaScript ${rows} of ${hosts} rows are shown`);
  await page.close();
}

async function hostileText(browser) {
  const { page } = await openReport(browser, url);
  must(await page.evaluate(() => window.attacked === undefined && document.title !== "attacked"), "a text of a host was run as script");
  must(await page.$$eval("img, iframe, object, embed", (all) => all.length) === 0, "a text of a host became an element");
  await page.close();
}

await withBrowser(async (browser) => {
  // Colours depend on light and dark, layout on the size: each once is enough, and axe reads a large page slowly.
  await accessibility(browser, false, false);
  await accessibility(browser, true, true);
  await firstScreen(browser);
  await finding(browser);
  await sorting(browser);
  await linkMap(browser);
  await withoutScript(browser);
  await hostileText(browser);
});
const validator = new HtmlValidate(new FileSystemConfigLoader({
  root: true, extends: ["html-validate:recommended"],
  // Attribute and text layout are the generator's; a hidden mark beside its word is decoration.
  rules: { "long-title": "off", "no-trailing-whitespace": "off", "require-sri": "off", "no-inline-style": "error" },
}));
const valid = await validator.validateFile(report);
for (const file of valid.results) for (const message of file.messages.slice(0, 15)) wrong.push(`html: ${message.line}:${message.column} ${message.ruleId}: ${message.message}`);
wrong.forEach((text) => console.log("WRONG " + text));
process.exit(wrong.length ? 1 : 0);
