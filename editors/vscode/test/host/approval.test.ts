import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { Parts } from '../../src/parts';
import { isLive, toolCall } from '../../src/runs/log';
import { activeDiff, approvalOf, closeEditors, ended, extension, onDisk, putOnDisk, startRun, until } from './window';

suite('approvals', () => {
  let parts: Parts;
  const texts = new Map<string, string>();

  suiteSetup(async () => {
    parts = await extension();
    for (const path of ['calc.go', 'totals.go']) {
      texts.set(path, await onDisk(path));
    }
  });
  teardown(async () => {
    for (const run of parts.runs.runs.filter(isLive)) {
      await vscode.commands.executeCommand('agent-ls.cancel', { runId: run.runId });
      await ended(run);
    }
    await closeEditors();
    for (const [path, text] of texts) {
      await putOnDisk(path, text);
    }
  });

  test('an edit is reviewed as a diff of the file before and after', async () => {
    const run = await startRun(parts, 'Fix the sum');
    const { approval } = await approvalOf(parts, run);
    await vscode.commands.executeCommand('agent-ls.approval.review', { id: approval.id });
    const diff = await until('the diff is in front', activeDiff);
    const before = await vscode.workspace.openTextDocument(diff.original);
    const after = await vscode.workspace.openTextDocument(diff.modified);
    assert.equal(before.getText(), texts.get('calc.go'));
    assert.equal(after.getText(), texts.get('calc.go')?.replace('a - b', 'a + b'));
    assert.equal(after.languageId, 'go');
  });

  test('it says who asked and what lasting answers cover', async () => {
    const run = await startRun(parts, 'Fix the sum');
    const { approval } = await approvalOf(parts, run);
    assert.ok((approval.why ?? []).length > 0);
    assert.equal(approval.risk, 'write');
    assert.equal(approval.tool, 'edit');
    assert.ok((approval.hooks ?? []).some(decision => decision.event === 'on_tool_call'));
    assert.deepEqual(approval.outcomes, ['allowOnce', 'allowSession', 'allowAlways', 'deny']);
    assert.ok(approval.covers?.session);
    assert.ok(approval.covers.always);
  });

  test('closing the diff answers nothing', async () => {
    const run = await startRun(parts, 'Fix the sum');
    const { approval } = await approvalOf(parts, run);
    await vscode.commands.executeCommand('agent-ls.approval.review', { id: approval.id });
    await until('the diff is in front', activeDiff);
    await closeEditors();
    // The server would have said by now that it was answered: it answers a request after it.
    await parts.server.request('agent/pending', {});
    assert.ok(parts.approvals.get(approval.id));
    assert.equal(run.status, 'waiting');
    assert.equal(await onDisk('calc.go'), texts.get('calc.go'));
  });

  test('allowing it from the diff applies it and closes the diff', async () => {
    const run = await startRun(parts, 'Fix the sum');
    const { approval } = await approvalOf(parts, run);
    await vscode.commands.executeCommand('agent-ls.approval.review', { id: approval.id });
    const diff = await until('the diff is in front', activeDiff);
    await vscode.commands.executeCommand('agent-ls.approval.allowOnce', diff.modified);
    await ended(run);
    assert.match(await onDisk('calc.go'), /a \+ b/);
    await until('the diff is closed', () => activeDiff() === undefined);
  });

  test('a refused hunk is not made, and the diff shows it at once', async () => {
    const run = await startRun(parts, 'Fix both totals');
    const { approval } = await approvalOf(parts, run);
    const hunks = (approval.edits ?? []).flatMap(edit => edit.hunks ?? []);
    assert.equal(hunks.length, 2);
    await vscode.commands.executeCommand('agent-ls.approval.review', { id: approval.id });
    const diff = await until('the diff is in front', activeDiff);
    parts.approvals.accept(approval.id, hunks[1]?.n ?? 0, false);
    const after = await vscode.workspace.openTextDocument(diff.modified);
    await until('the diff leaves the second place as it was', () => after.getText().split('sum -= value').length === 2);
    await vscode.commands.executeCommand('agent-ls.approval.allowOnce', { id: approval.id });
    await ended(run);
    assert.equal(run.status, 'done', run.error);
    const text = await onDisk('totals.go');
    assert.match(text, /func Total[^]*sum \+= value[^]*func Mean[^]*sum -= value/);
  });

  test('a command is shown with what a hook changed, and a denial with its reason', async () => {
    const run = await startRun(parts, 'Say hello');
    const { approval } = await approvalOf(parts, run);
    assert.equal(approval.command?.line, 'echo hello > hello.txt');
    const changes = (approval.hooks ?? []).flatMap(decision => decision.changes ?? []);
    assert.ok(changes.some(change => change.path.endsWith('timeout_ms')), JSON.stringify(changes));
    await vscode.commands.executeCommand('agent-ls.approval.review', { id: approval.id });
    const details = vscode.window.activeTextEditor?.document.getText() ?? '';
    assert.match(details, /echo hello > hello\.txt[^]*Why it asks[^]*Hooks that saw it[^]*timeout_ms/);
    await parts.review.answer(approval.id, 'deny', 'not on a Monday');
    await ended(run);
    assert.match(toolCall(run, approval.callId)?.output ?? '', /not on a Monday/);
    await assert.rejects(onDisk('hello.txt'));
  });

  test('an answer for a session does not reach into the next', async () => {
    const run = await startRun(parts, 'Fix the sum');
    const { approval } = await approvalOf(parts, run);
    assert.ok(approval.covers?.session);
    await vscode.commands.executeCommand('agent-ls.approval.allowSession', { id: approval.id });
    await ended(run);
    await putOnDisk('calc.go', texts.get('calc.go') ?? '');
    const other = await startRun(parts, 'Fix the sum');
    await approvalOf(parts, other);
  });
});
