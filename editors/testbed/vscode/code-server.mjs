// Starts code-server on a free port of the loopback interface, with an extension installed and nothing of the user's in
// it: own settings, own extensions, own state and configuration folders.

import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What every test window is set to, so that pictures are the same everywhere. */
const quiet = {
  'workbench.colorTheme': 'Default Light Modern',
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'chat.disableAIFeatures': true,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true,
  'git.enabled': false,
  'window.commandCenter': false,
  'editor.minimap.enabled': false,
  'editor.fontFamily': 'DejaVu Sans Mono',
};

/**
 * Starts a server. `host` is the folder that install.sh made. With `tests`, extension hosts run test suites, and
 * notifications do not pop up; with `trust`, every workspace is trusted.
 * Returns its address, the environment's folders, and close(), which ends it and removes what it wrote.
 */
export async function startCodeServer({ host, vsix, settings = {}, environment = {}, tests = false, trust = true }) {
  const data = await mkdtemp(join(tmpdir(), 'agent-ls-vscode-'));
  const user = join(data, 'user');
  for (const scope of ['User', 'Machine']) {
    await mkdir(join(user, scope), { recursive: true });
    await writeFile(join(user, scope, 'settings.json'), JSON.stringify({ ...quiet, ...settings }));
  }
  const env = {
    ...process.env,
    XDG_STATE_HOME: join(data, 'state'),
    XDG_CONFIG_HOME: join(data, 'config'),
    XDG_DATA_HOME: join(data, 'share'),
    ...environment,
  };
  const program = join(host, 'node_modules/.bin/code-server');
  const where = ['--config', join(data, 'config.yaml'), '--user-data-dir', user, '--extensions-dir', join(data, 'extensions')];
  await run(program, [...where, '--install-extension', vsix], { env }).catch(error => {
    // The first line says what; the rest is VS Code's own source.
    throw new Error(`the extension was not installed: ${String(error.stderr).slice(0, 500)}`);
  });

  const child = spawn(program, [
    ...where, '--auth', 'none', '--bind-addr', '127.0.0.1:0', '--disable-telemetry', '--disable-update-check',
    '--disable-getting-started-override', ...(trust ? ['--disable-workspace-trust'] : []),
    // Without this one VS Code ignores extensionTestsPath in silence.
    ...(tests ? ['--vscode-option', 'enable-smoke-test-driver'] : []),
  ], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const gone = new Promise(resolve => child.once('exit', resolve));
  // Whatever ends this program ends the server.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const close = async () => {
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 5000);
    await gone;
    clearTimeout(late);
    process.removeListener('exit', kill);
    await rm(data, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    return { base: await addressOf(child), data, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The address that a server says it listens on. */
function addressOf(child) {
  return new Promise((resolve, reject) => {
    let log = '';
    const late = setTimeout(() => reject(new Error(`code-server did not start in 120 s:\n${log}`)), 120_000);
    const read = chunk => {
      log += chunk;
      const address = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(log)?.[1];
      if (address !== undefined) {
        clearTimeout(late);
        resolve(address);
      }
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', code => {
      clearTimeout(late);
      reject(new Error(`code-server ended with ${code}:\n${log}`));
    });
  });
}
