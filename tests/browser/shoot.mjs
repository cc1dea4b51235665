// Copyright (c) 2026 The trainops.gpu_audit authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// Screenshots of a report: node shoot.mjs report.html outdir [name]
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { openReport, withBrowser } from "./browser.mjs";

const [report, out, name = "report"] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const url = pathToFileURL(resolve(report)).href;

/** The record and the charts of every measured host: open, then cut out as they stand. */
async function shootMeasured(page, path) {
  await page.evaluate(() => document.querySelectorAll("details.host").forEach((host, at) => { host.open = at < 8; }));
  await new Promise((done) => setTimeout(done, 300));
  const places = await page.evaluate(() => [...document.querySelectorAll(".closing")].map((record) => {
    const last = record.nextElementSibling?.matches(".plots") ? record.nextElementSibling : record;
    const [first, end] = [record.getBoundingClientRect(), last.getBoundingClientRect()];
    return { x: 0, y: first.top + scrollY - 8, width: innerWidth, height: end.bottom - first.top + 20 };
  }));
  for (const [at, clip] of places.entries()) await page.screenshot({ path: `${path}-${at}.png`, captureBeyondViewport: true, clip });
}

await withBrowser(async (browser) => {
  for (const dark of [false, true]) {
    for (const [label, width, height, mobile] of [["laptop", 1366, 768, false], ["phone", 390, 844, true]]) {
      const { page } = await openReport(browser, url, { width, height, dark, mobile });
      await page.screenshot({ path: join(out, `${name}-${label}-${dark ? "dark" : "light"}.png`) });
      if (!dark) {
        const first = await page.$("details.host");
        if (first) {
          await page.evaluate((element) => { element.open = true; }, first);
          await new Promise((done) => setTimeout(done, 300));
          await first.evaluate((element) => element.scrollIntoView());
          await page.screenshot({ path: join(out, `${name}-${label}-host.png`) });
        }
        await (await page.$("#links"))?.screenshot({ path: join(out, `${name}-${label}-links.png`) });
        await page.evaluate(() => document.querySelector(".below > .charts")?.scrollIntoView());
        await page.screenshot({ path: join(out, `${name}-${label}-charts.png`) });
      }
      await shootMeasured(page, join(out, `${name}-${label}-${dark ? "dark" : "light"}-measured`));
      await page.close();
    }
  }
  const { page } = await openReport(browser, url);
  await page.pdf({ path: join(out, `${name}.pdf`), format: "A4", printBackground: false });
});
