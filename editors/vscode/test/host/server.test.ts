import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { Parts } from '../../src/parts';
import { isLive } from '../../src/runs/log';
import { approvalOf, closeEditors, ended, extension, onDisk, putOnDisk, startRun, until } from './window';

suite('the server', () => {
  let parts: Parts;
  let before: string;
  suiteSetup(async () => {
    parts = await extension();
    before = await onDisk('calc.go');
  });
  teardown(async () => {
    await until('the server is ready', () => parts.server.ready);
    for (const run of parts.runs.runs.filter(isLive)) {
      await vscode.commands.executeCommand('agent-ls.cancel', { runId: run.runId });
      await ended(run);
    }
    await closeEditors();
    await putOnDisk('calc.go', before);
  });

  test('an approval that was open is there again after a restart, and its answer counts', async () => {
    const run = await startRun(parts, 'Fix the sum');
    const { approval } = await approvalOf(parts, run);
    await vscode.commands.executeCommand('agent-ls.restartServer');
    const again = await until('the approval is shown again', () => parts.approvals.all.find(open => open.approval.callId === approval.callId));
    assert.equal(await onDisk('calc.go'), before);
    await vscode.commands.executeCommand('agent-ls.approval.allowOnce', { id: again.approval.id });
    await until('the edit is made', async () => (await onDisk('calc.go')).includes('a + b'));
    await until('the run is over', () => parts.runs.runs.filter(isLive).length === 0);
  });

  test('a path that names nothing is said, and put right without a reload', async () => {
    const settings = vscode.workspace.getConfiguration('agent-ls');
    await settings.update('server.path', '/nowhere/agent-ls', vscode.ConfigurationTarget.Global);
    await until('there is no server', () => !parts.server.ready);
    await until('the status bar says so', () => parts.status.text.includes('$(warning)'));
    await settings.update('server.path', undefined, vscode.ConfigurationTarget.Global);
    await until('the server is back', () => parts.server.ready);
  });

  test('says what it can do', () => {
    for (const method of ['agent/start', 'agent/cancel', 'agent/pending', 'agent/resolve', 'agent/decisions', 'agent/events', 'agent/undo'] as const) {
      assert.ok(parts.server.supports(method), `${method} is not supported`);
    }
  });
});
