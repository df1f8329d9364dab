import * as assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { ownSettings } from '../../src/server/settings';

interface Contributed {
  engines: { vscode: string };
  devDependencies: Record<string, string>;
  contributes: {
    commands: { command: string }[];
    menus: Record<string, { command: string; when?: string }[]>;
    viewsWelcome: { contents: string }[];
    configuration: { properties: Record<string, { scope: string }> };
    views: Record<string, { icon: string }[]>;
  };
}

suite('package.json', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Contributed;
  const commands = new Set(manifest.contributes.commands.map(command => command.command));
  const source = readFileSync('dist/extension.js', 'utf8');

  test('menus name commands that there are', () => {
    const used = Object.values(manifest.contributes.menus).flat().map(entry => entry.command);
    assert.deepEqual(used.filter(command => !commands.has(command)), []);
  });

  test('each command is registered', () => {
    // Most names are put together from a prefix, so the last part is looked for.
    const missing = [...commands].filter(command => !source.includes(command) && !source.includes(command.replace('agent-ls.', '')));
    assert.deepEqual(missing, []);
  });

  test('what loosens the agent is a setting of the user, not of a workspace', () => {
    const { properties } = manifest.contributes.configuration;
    assert.equal(properties['agent-ls.server.path']?.scope, 'machine');
    assert.equal(properties['agent-ls.mode']?.scope, 'machine');
  });

  test('no setting of the extension goes to the server', () => {
    const names = Object.keys(manifest.contributes.configuration.properties).map(name => name.split('.')[1]);
    assert.deepEqual([...new Set(names)].sort(), [...ownSettings].sort());
  });

  test('the API that it is checked with is the one it asks for', () => {
    assert.equal(manifest.engines.vscode, `^${manifest.devDependencies['@types/vscode'] ?? ''}`);
  });

  test('pictures are there', () => {
    for (const view of Object.values(manifest.contributes.views).flat()) {
      assert.ok(existsSync(view.icon), view.icon);
    }
  });
});
