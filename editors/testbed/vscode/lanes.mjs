// Runs the three lanes of the VS Code tests one after the other, adds up what they say and prints "N passed, N failed" as
// the last line. Whatever a lane started has ended when it returns.

import { spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runInHost, startBrowser } from './browser.mjs';
import { startCodeServer } from './code-server.mjs';

const { values: given } = parseArgs({
  options: Object.fromEntries(['host', 'chromium', 'extension', 'vsix', 'shots', 'server', 'only'].map(name => [name, { type: 'string' }])),
});
const counts = { passed: 0, failed: 0 };
const settings = given.server === undefined ? {} : { 'agent-ls.server.path': given.server };

/** Notes how a test went. */
function note(ok, name, detail = '') {
  counts[ok ? 'passed' : 'failed']++;
  console.log(`  ${ok ? 'ok    ' : 'FAILED'} ${name}${detail === '' ? '' : `\n${detail.replace(/^/gm, '         ')}`}`);
}

/** A copy of the extension's test workspace, that the agent may change. */
async function withWorkspace(work) {
  const folder = await mkdtemp(join(tmpdir(), 'agent-ls-workspace-'));
  const workspace = join(folder, 'calc');
  await cp(join(given.extension, 'test/workspace'), workspace, { recursive: true });
  try {
    await work(workspace);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** What needs no editor. */
async function unitLane() {
  const mocha = join(given.extension, 'node_modules/mocha/bin/mocha.js');
  const child = spawn(process.execPath, [mocha, '--ui', 'tdd', '--reporter', 'json', 'out/unit.js'], {
    cwd: given.extension, stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', chunk => { text += chunk; });
  await new Promise(resolve => child.once('close', resolve));
  const report = JSON.parse(text);
  counts.passed += report.passes.length;
  console.log(`  ok     ${report.passes.length} tests`);
  for (const failure of report.failures) {
    note(false, failure.fullTitle, failure.err.stack);
  }
}

/** The extension as VS Code's extension host sees it. */
async function hostLane() {
  await withWorkspace(async workspace => {
    const report = join(workspace, '../report.txt');
    const environment = { AGENT_LS_TEST_REPORT: report };
    const server = await startCodeServer({ host: given.host, vsix: given.vsix, settings, environment, tests: true });
    const browser = await startBrowser(given);
    try {
      const log = [];
      const code = await runInHost(browser, server.base, {
        extension: given.extension, tests: join(given.extension, 'out/host.js'), folder: workspace, timeout: 600_000,
        log: (...parts) => log.push(parts.join(' ')), shot: join(given.shots, 'extension-host-failed.png'),
      });
      const failedBefore = counts.failed;
      for (const result of (await readFile(report, 'utf8').catch(() => '')).split(/\n(?=ok |not ok )/)) {
        const [first = '', ...rest] = result.trim().split('\n');
        if (first !== '') {
          note(!first.startsWith('not ok'), first.replace(/^(not )?ok /, ''), rest.join('\n'));
        }
      }
      if (code !== 0 && counts.failed === failedBefore) {
        note(false, `the extension host ended with ${code}`, log.slice(-40).join('\n'));
      }
    } finally {
      await browser.close();
      await server.close();
    }
  });
}

/** The window as a user sees it. */
async function windowLane() {
  const { windowTests } = await import(join(given.extension, 'test/window/index.mjs'));
  for (const { name, trust, test } of windowTests) {
    await withWorkspace(async workspace => {
      const server = await startCodeServer({ host: given.host, vsix: given.vsix, settings, trust });
      const browser = await startBrowser(given);
      try {
        await test({ browser, base: server.base, workspace, shots: given.shots, step: (what, error) => note(error === undefined, `${name}: ${what}`, error?.stack ?? '') });
      } finally {
        await browser.close();
        await server.close();
      }
    });
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => process.exit(130));
}

// Pictures of an earlier run's failures would be taken for this one's.
for (const name of await readdir(given.shots)) {
  if (/failed.*\.png$/.test(name)) {
    await rm(join(given.shots, name));
  }
}

const lanes = { unit: unitLane, host: hostLane, window: windowLane };
for (const [name, lane] of Object.entries(lanes)) {
  if (given.only !== undefined && given.only !== name) {
    continue;
  }
  const started = performance.now();
  console.log(`${name}:`);
  try {
    await lane();
  } catch (error) {
    note(false, `the ${name} lane`, error.stack);
  }
  console.log(`  ${((performance.now() - started) / 1000).toFixed(1)} s`);
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1;
