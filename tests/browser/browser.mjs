// Copyright (c) 2026 The trainops.gpu_audit authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// Starts headless Chromium with a fresh profile and nothing that talks to the network on its own.
import { mkdtempSync, rmSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const candidates = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The browser's path, or null where there is none. */
export const chromium = () => candidates.find((path) => path && existsSync(path)) || null;

/** Runs `work(browser)` and takes the browser and its profile away afterwards. */
export async function withBrowser(work) {
  const profile = mkdtempSync(join(tmpdir(), "gpu-audit-browser-"));
  const browser = await puppeteer.launch({
    executablePath: chromium(), headless: true, userDataDir: profile,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
      "--disable-sync", "--disable-dev-shm-usage", "--lang=en-US"],
  });
  try {
    return await work(browser);
  } finally {
    await browser.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

/** Opens a report; gives the page and the list that its errors and requests end up in. */
export async function openReport(browser, url, { width = 1366, height = 768, dark = false, script = true, mobile = false } = {}) {
  const page = await browser.newPage();
  const said = { errors: [], requests: [] };
  page.on("console", (message) => { if (["error", "warn"].includes(message.type())) said.errors.push(message.text()); });
  page.on("pageerror", (error) => said.errors.push(String(error)));
  page.on("request", (request) => { if (!request.url().startsWith("data:")) said.requests.push(request.url()); });
  await page.setJavaScriptEnabled(script);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
  await page.setViewport({ width, height, isMobile: mobile, hasTouch: mobile, deviceScaleFactor: 1 });
  await page.goto(url, { waitUntil: "load" });
  if (script) await page.waitForFunction(() => document.documentElement.dataset.ready === "1", { timeout: 20000 });
  return { page, said };
}
