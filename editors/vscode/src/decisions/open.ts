// Jumps to the line that decided, and says when the script is not the one any
// more that the run had.

import { createHash } from 'node:crypto';
import * as vscode from 'vscode';
import type { Decision } from '../protocol';
import { fileName, placeOf } from './place';

/** Opens the place of a decision. */
export async function openPlace(decision: Decision): Promise<void> {
  const place = placeOf(decision);
  if (place.uri === undefined) {
    void vscode.window.showInformationMessage(`This was not decided in a file: ${place.label}`);
    return;
  }
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(place.uri));
  const range = decision.error?.range ?? decision.hook.range;
  const at = range === undefined
    ? new vscode.Range(0, 0, 0, 0)
    : new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character);
  // The cursor only: what is selected would go along with the next run.
  const cursor = new vscode.Range(at.start, at.start);
  const editor = await vscode.window.showTextDocument(document, { selection: cursor, preview: true });
  editor.revealRange(at, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  if (await changedSince(document, decision)) {
    vscode.window.setStatusBarMessage(`$(warning) ${fileName(place.uri)} was edited after this decision: the line may be another one`, 8000);
  }
}

/** Whether the text differs from the one that the run had pinned. */
async function changedSince(document: vscode.TextDocument, decision: Decision): Promise<boolean> {
  const { digest, uri } = decision.hook;
  if (digest === undefined || uri === undefined || decision.error?.uri !== undefined) {
    return false;
  }
  if (document.isDirty) {
    return true;
  }
  const bytes = await vscode.workspace.fs.readFile(document.uri);
  return createHash('sha256').update(bytes).digest('hex') !== digest.replace(/^sha256:/, '');
}
