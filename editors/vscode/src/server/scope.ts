// Which documents are whose. The server follows every file, since the agent
// reads what the user sees, saved or not; but language features are asked for
// in hook scripts, their fixtures and the agent's manifests only.

import type { TextDocument } from 'vscode';
import type { DocumentSelector } from 'vscode-languageclient/node';

/** What the server is told about when it opens, changes, is saved and closes. */
export const followed: DocumentSelector = [
  { scheme: 'file' },
  { scheme: 'untitled', language: 'risor' },
];

/** Whether language features concern this document. */
export function isOurs(document: Pick<TextDocument, 'languageId' | 'uri'>): boolean {
  return document.languageId === 'risor' || isManifest(document.uri.path) || isFixture(document.uri.path);
}

/** Whether a path is an agent's manifest. */
export function isManifest(path: string): boolean {
  return /\/\.agent-ls\/(?:agent|agents\/[^/]+)\.toml$/.test(path);
}

/** Whether a path is a fixture: cases of the hook script that it is beside. */
export function isFixture(path: string): boolean {
  return /\/\.agent-ls\/(?:[^/]+\/)*[^/]+_test\.toml$/.test(path);
}
