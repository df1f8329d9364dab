import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { Parts } from '../../src/parts';
import { isLive } from '../../src/runs/log';
import { approvalOf, closeEditors, ended, extension, file, startRun, until } from './window';

suite('decisions', () => {
  let parts: Parts;
  suiteSetup(async () => {
    parts = await extension();
    const run = await startRun(parts, 'Fix the sum');
    await approvalOf(parts, run);
  });
  suiteTeardown(async () => {
    for (const run of parts.runs.runs.filter(isLive)) {
      await vscode.commands.executeCommand('agent-ls.cancel', { runId: run.runId });
      await ended(run);
    }
    await closeEditors();
  });

  test('a denial is there with its reason, its time and its line', () => {
    const denial = parts.decisions.all.find(decision => decision.action === 'deny');
    assert.ok(denial);
    assert.equal(denial.reason, 'nothing is removed here');
    assert.equal(denial.function, 'on_tool_call');
    assert.ok(denial.durationUs > 0);
    assert.ok(denial.hook.uri?.endsWith('/.agent-ls/hooks/guard.risor'));
  });

  test('opening it goes to the line that decided', async () => {
    const denial = parts.decisions.all.find(decision => decision.action === 'deny');
    await vscode.commands.executeCommand('agent-ls.decisions.open', denial);
    const editor = vscode.window.activeTextEditor;
    assert.ok(editor);
    assert.ok(editor.document.uri.path.endsWith('/hooks/guard.risor'));
    assert.match(editor.document.lineAt(editor.selection.start.line).text, /return \{action: "deny"/);
  });

  test('the view shows those of a script, and all again', async () => {
    await vscode.window.showTextDocument(file('.agent-ls/hooks/guard.risor'));
    await vscode.commands.executeCommand('agent-ls.showDecisionsOfScript');
    assert.equal(parts.decisionsTree.narrowed, 'guard.risor');
    const rows = parts.decisionsTree.getChildren();
    assert.ok(rows.length > 0);
    await vscode.commands.executeCommand('agent-ls.decisions.showAll');
    assert.equal(parts.decisionsTree.narrowed, undefined);
    await until('the view is in front', () => parts.decisionsView.visible);
  });

  test('a run of before has its decisions when it is opened again', async () => {
    const recorded = await parts.server.request('agent/decisions', { limit: 1000 });
    const ids = new Set(recorded.decisions.map(decision => decision.id));
    for (const decision of parts.decisions.all) {
      assert.ok(ids.has(decision.id), `${decision.id} is not recorded`);
    }
  });
});
