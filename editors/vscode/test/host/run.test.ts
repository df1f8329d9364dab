import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { Parts } from '../../src/parts';
import { isLive, toolCall } from '../../src/runs/log';
import type { UndoResult } from '../../src/protocol';
import { approvalOf, closeEditors, ended, extension, file, onDisk, putOnDisk, startRun, until } from './window';

suite('runs', () => {
  let parts: Parts;
  let before: string;

  suiteSetup(async () => {
    parts = await extension();
    before = await onDisk('calc.go');
  });
  teardown(async () => {
    for (const run of parts.runs.runs.filter(isLive)) {
      await vscode.commands.executeCommand('agent-ls.cancel', { runId: run.runId });
      await ended(run);
    }
    await closeEditors();
    await putOnDisk('calc.go', before);
  });

  test('go from the prompt to the changed file, with every step shown', async () => {
    const run = await startRun(parts, 'Fix the sum');
    const open = await approvalOf(parts, run);
    await until('the status bar asks', () => parts.status.text.includes('1 to approve'));
    assert.equal(await onDisk('calc.go'), before);
    await vscode.commands.executeCommand('agent-ls.approval.allowOnce', { id: open.approval.id });
    await ended(run);
    assert.equal(run.status, 'done', run.error);
    assert.match(await onDisk('calc.go'), /return a \+ b/);
    await until('the status bar rests', () => !parts.status.text.includes('approve'));

    const items = run.stages.flatMap(stage => stage.items);
    assert.deepEqual(run.stages.map(stage => stage.name), ['fix']);
    assert.deepEqual(items.filter(item => item.kind === 'message').map(item => item.text), [
      'I look at the file first, and clear the old build.', 'Then only the edit.', 'Fixed: Add subtracted.',
    ]);
    assert.ok(items.some(item => item.kind === 'file' && item.uri.endsWith('/calc.go')));
    assert.ok(items.some(item => item.kind === 'decision' && item.decision.action === 'deny'));
    assert.ok(toolCall(run, open.approval.callId)?.outcome !== undefined);
  });

  test('an edit of an open document goes through the editor, and a clean one is saved', async () => {
    const document = await vscode.workspace.openTextDocument(file('calc.go'));
    await vscode.window.showTextDocument(document);
    const run = await startRun(parts, 'Fix the sum');
    const open = await approvalOf(parts, run);
    await vscode.commands.executeCommand('agent-ls.approval.allowOnce', { id: open.approval.id });
    await ended(run);
    assert.equal(run.status, 'done', run.error);
    assert.match(document.getText(), /return a \+ b/);
    assert.equal(document.isDirty, false);
    assert.match(await onDisk('calc.go'), /return a \+ b/);
  });

  test('the agent reads what the user sees, saved or not, and leaves it unsaved', async () => {
    const document = await vscode.workspace.openTextDocument(file('calc.go'));
    const editor = await vscode.window.showTextDocument(document);
    await editor.edit(edit => { edit.insert(new vscode.Position(1, 0), '\n// typed, not saved\n'); });
    const run = await startRun(parts, 'Fix the sum');
    const open = await approvalOf(parts, run);
    await vscode.commands.executeCommand('agent-ls.approval.allowOnce', { id: open.approval.id });
    await ended(run);
    assert.equal(run.status, 'done', run.error);
    assert.match(document.getText(), /typed, not saved[^]*return a \+ b/);
    assert.equal(document.isDirty, true);
    assert.equal(await onDisk('calc.go'), before);
    await vscode.commands.executeCommand('workbench.action.files.revert');
  });

  test('are undone', async () => {
    const run = await startRun(parts, 'Fix the sum');
    const open = await approvalOf(parts, run);
    await vscode.commands.executeCommand('agent-ls.approval.allowOnce', { id: open.approval.id });
    await ended(run);
    assert.notEqual(await onDisk('calc.go'), before);
    const undone = await vscode.commands.executeCommand<UndoResult>('agent-ls.undo', { runId: run.runId, confirmed: true });
    assert.deepEqual(undone.conflicts, []);
    assert.equal(await onDisk('calc.go'), before);
  });

  test('are cancelled, which takes their approvals down', async () => {
    const run = await startRun(parts, 'Fix the sum');
    await approvalOf(parts, run);
    await vscode.commands.executeCommand('agent-ls.cancel', { runId: run.runId });
    await ended(run);
    assert.equal(run.status, 'cancelled');
    await until('the approval is down', () => parts.approvals.all.length === 0);
    assert.equal(await onDisk('calc.go'), before);
  });

  test('a selection goes along', async () => {
    const editor = await vscode.window.showTextDocument(file('calc.go'));
    editor.selection = new vscode.Selection(3, 0, 4, 3);
    const run = await startRun(parts, 'Fix the sum');
    await approvalOf(parts, run);
  });

  test('their transcript can be read', async () => {
    const run = await startRun(parts, 'Fix the sum');
    await approvalOf(parts, run);
    await vscode.commands.executeCommand('agent-ls.showTranscript', { runId: run.runId });
    const document = vscode.window.activeTextEditor?.document;
    assert.equal(document?.uri.scheme, 'agent-run');
    assert.match(document.getText(), /> Fix the sum[^]*I look at the file first[^]*nothing is removed here/);
  });

  test('one that cannot start says why and where', async () => {
    const guard = await onDisk('.agent-ls/hooks/guard.risor');
    try {
      await putOnDisk('.agent-ls/hooks/guard.risor', guard.replace('func on_tool_call(ctx)', 'func on_tool_cal(ctx)'));
      const known = parts.runs.runs.length;
      const notStarted = parts.server.request('agent/start', { prompt: 'Fix the sum' });
      await assert.rejects(notStarted, (error: { code?: number; data?: { diagnostics?: { uri: string }[] } }) => {
        assert.equal(error.code, -32010);
        assert.ok((error.data?.diagnostics ?? []).length > 0, 'no diagnostics in the error');
        return true;
      });
      assert.equal(parts.runs.runs.length, known);
    } finally {
      await putOnDisk('.agent-ls/hooks/guard.risor', guard);
    }
  });
});
