import * as assert from 'node:assert/strict';
import { locateServer, type Machine } from '../../src/server/locate';
import { isManifest } from '../../src/server/scope';
import { serverSettings } from '../../src/server/settings';

suite('locating the server', () => {
  const machine = (files: string[], over: Partial<Machine> = {}): Machine => ({
    platform: 'linux', home: '/home/me', searchPath: '/usr/bin:bin:/opt/bin', runnable: file => files.includes(file), ...over,
  });

  test('the setting comes first', () => {
    const found = locateServer('/my/agent-ls', '/ext', machine(['/my/agent-ls', '/ext/bin/agent-ls']));
    assert.deepEqual(found, { command: '/my/agent-ls', from: 'setting' });
  });

  test('the setting may start in the home folder', () => {
    assert.deepEqual(locateServer('~/bin/agent-ls', '/ext', machine(['/home/me/bin/agent-ls'])), {
      command: '/home/me/bin/agent-ls', from: 'setting',
    });
  });

  test('a setting that names nothing is a problem and not passed over', () => {
    const found = locateServer('/gone/agent-ls', '/ext', machine(['/ext/bin/agent-ls', '/usr/bin/agent-ls']));
    assert.match('problem' in found ? found.problem : '', /\/gone\/agent-ls/);
  });

  test('a relative setting is a problem: it would depend on the workspace', () => {
    assert.ok('problem' in locateServer('./agent-ls', '/ext', machine(['./agent-ls'])));
  });

  test('then the bundled one, then PATH', () => {
    assert.deepEqual(locateServer('', '/ext', machine(['/ext/bin/agent-ls', '/usr/bin/agent-ls'])), {
      command: '/ext/bin/agent-ls', from: 'bundled',
    });
    assert.deepEqual(locateServer(' ', '/ext', machine(['/opt/bin/agent-ls'])), { command: '/opt/bin/agent-ls', from: 'PATH' });
  });

  test('a relative entry of PATH is not looked into', () => {
    assert.ok('problem' in locateServer('', '/ext', machine(['bin/agent-ls'])));
  });

  test('Windows has its own name and separators', () => {
    const files = ['C:\\tools\\agent-ls.exe'];
    const found = locateServer('', 'C:\\ext', machine(files, { platform: 'win32', searchPath: 'C:\\x;C:\\tools' }));
    assert.deepEqual(found, { command: 'C:\\tools\\agent-ls.exe', from: 'PATH' });
  });

  test('when there is none, the message says what to do', () => {
    const found = locateServer('', '/ext', machine([]));
    assert.match('problem' in found ? found.problem : '', /agent-ls\.server\.path/);
  });
});

suite('whose document it is', () => {
  for (const [path, want] of [
    ['/ws/.agent-ls/agent.toml', true],
    ['/ws/.agent-ls/agents/review.toml', true],
    ['/ws/agent.toml', false],
    ['/ws/.agent-ls/agents/deep/review.toml', false],
    ['/ws/.agent-ls/rehearsal/turns.yaml', false],
  ] as const) {
    test(`${path} is ${want ? 'a' : 'no'} manifest`, () => { assert.equal(isManifest(path), want); });
  }
});

suite('settings', () => {
  test('the server gets everything but the settings of the extension', () => {
    const section = { server: { path: 'x' }, trace: { server: 'off' }, model: '', mode: 'ask', policy: { deny: ['shell(rm *)'] } };
    assert.deepEqual(serverSettings(section), { policy: { deny: ['shell(rm *)'] } });
    assert.equal(serverSettings(null), null);
  });
});
