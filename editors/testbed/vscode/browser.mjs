// Drives the workbench of a code-server in headless Chromium.

import { createRequire } from 'node:module';
import { join } from 'node:path';

/** How long a window may take to stand, on a machine that has other things to do. */
const patience = 120_000;

/** Starts Chromium. `host` is the folder that install.sh made. */
export async function startBrowser({ host, chromium }) {
  const playwright = createRequire(join(host, 'package.json'))('playwright-core');
  return await playwright.chromium.launch({
    executablePath: chromium,
    headless: true,
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync',
    ],
  });
}

/** Opens a folder in a new window, and waits until the workbench stands. */
export async function openFolder(browser, base, folder) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${base}/?folder=${encodeURIComponent(folder)}`, { timeout: patience });
  await page.locator('.monaco-workbench .part.statusbar').waitFor({ timeout: patience });
  return page;
}

/**
 * Runs a module in the extension host of a window on a folder: its run() is called once the window stands. Returns
 * what the host ended with: 0 when run() came back, else another number, or "timeout".
 */
export async function runInHost(browser, base, { extension, tests, folder, timeout, log, shot }) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  let finish;
  const ended = new Promise(resolve => { finish = resolve; });
  await page.exposeFunction('codeAutomationLog', (_kind, parts) => log(...parts));
  await page.exposeFunction('codeAutomationExit', code => finish(code));
  const remote = path => `vscode-remote://${new URL(base).host}${path}`;
  const payload = JSON.stringify([
    ['extensionDevelopmentPath', remote(extension)],
    ['extensionTestsPath', remote(tests)],
  ]);
  await page.goto(`${base}/?folder=${encodeURIComponent(folder)}&payload=${encodeURIComponent(payload)}`, { timeout: patience });
  const late = setTimeout(() => finish('timeout'), timeout);
  const code = await ended;
  clearTimeout(late);
  if (code !== 0) {
    await page.screenshot({ path: shot });
  }
  await page.close();
  return code;
}
