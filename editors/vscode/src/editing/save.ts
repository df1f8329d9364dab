// agent/save: documents that were clean before the agent's edit, saved so that
// commands see them.

import * as vscode from 'vscode';

/** Saves the documents, and says which are on the disk now as they are in the editor. */
export async function saveDocuments(uris: readonly string[]): Promise<{ saved: string[] }> {
  const saved: string[] = [];
  for (const uri of uris) {
    const wanted = vscode.Uri.parse(uri).toString();
    const document = vscode.workspace.textDocuments.find(open => open.uri.toString() === wanted);
    if (document !== undefined && (!document.isDirty || (await document.save()))) {
      saved.push(uri);
    }
  }
  return { saved };
}
