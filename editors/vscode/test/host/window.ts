// What the tests in the extension host do with the window, in few words.

import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { OpenApproval } from '../../src/approvals/open';
import type { Parts } from '../../src/parts';
import type { StartResult } from '../../src/protocol';
import { isLive, type Run } from '../../src/runs/log';
import { transcriptOf } from '../../src/runs/transcript';

/** The running extension, with its server ready. */
export async function extension(): Promise<Parts> {
  const found = vscode.extensions.getExtension<Parts>('agent-ls.agent-ls');
  assert.ok(found, 'the extension is not installed');
  const parts = await found.activate();
  await until('the server is ready', () => parts.server.ready);
  return parts;
}

/** Waits until something holds, and returns it. Looks again at every event of the window that could have changed it. */
export async function until<T>(what: string, look: () => T | undefined | false | Thenable<T | undefined | false>, limit = 60_000): Promise<T> {
  const end = Date.now() + limit;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) {
      return found;
    }
    if (Date.now() > end) {
      throw new assert.AssertionError({ message: `waited ${limit} ms in vain until ${what}` });
    }
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

/** The URI of a file of the workspace. */
export function file(path: string): vscode.Uri {
  const folder = vscode.workspace.workspaceFolders?.[0];
  assert.ok(folder, 'no folder is open');
  return vscode.Uri.joinPath(folder.uri, path);
}

/** What is on the disk. */
export async function onDisk(path: string): Promise<string> {
  return new TextDecoder().decode(await vscode.workspace.fs.readFile(file(path)));
}

/** Puts a text on the disk, and waits until a document that shows the file has it too. */
export async function putOnDisk(path: string, text: string): Promise<void> {
  const uri = file(path);
  await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(text));
  await until(`the editor has seen the new ${path}`, () => {
    const document = vscode.workspace.textDocuments.find(open => open.uri.toString() === uri.toString());
    return document === undefined || document.getText() === text;
  });
}

/** Starts a run with the command, and returns it once it is known. */
export async function startRun(parts: Parts, prompt: string): Promise<Run> {
  const started = await vscode.commands.executeCommand<StartResult | undefined>('agent-ls.run', { prompt });
  if (started === undefined) {
    await parts.server.request('agent/start', { prompt }); // to fail with the server's reason
    throw new assert.AssertionError({ message: `the run "${prompt}" did not start` });
  }
  return await until(`the run "${prompt}" is in the log`, () => parts.runs.run(started.runId));
}

/** Waits for the run's next approval; a run that ends without one fails with what it did. */
export async function approvalOf(parts: Parts, run: Run): Promise<OpenApproval> {
  return await until('the run asks', () => {
    assert.ok(isLive(run), `the run ended without asking:\n${transcriptOf(run).text}`);
    return parts.approvals.all.find(open => open.approval.runId === run.runId);
  });
}

/** Waits until a run is over. */
export async function ended(run: Run): Promise<void> {
  await until('the run ends', () => !isLive(run));
}

/** Closes every editor. */
export async function closeEditors(): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.closeAllEditors');
}

/** The diff that is in front, if one is. */
export function activeDiff(): vscode.TabInputTextDiff | undefined {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return input instanceof vscode.TabInputTextDiff ? input : undefined;
}
