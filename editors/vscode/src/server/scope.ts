// Which documents are whose. The server follows every file, since the agent
// reads what the user sees, saved or not; but language features are asked for
// in hook scripts and the agent's manifests only.

import type { TextDocument } from 'vscode';
import { vsdiag, type DocumentSelector, type Middleware } from 'vscode-languageclient/node';

/** What the server is told about when it opens, changes, is saved and closes. */
export const followed: DocumentSelector = [
  { scheme: 'file' },
  { scheme: 'untitled', language: 'risor' },
];

/** Whether language features concern this document. */
export function isOurs(document: Pick<TextDocument, 'languageId' | 'uri'>): boolean {
  return document.languageId === 'risor' || isManifest(document.uri.path);
}

/** Whether a path is an agent's manifest. */
export function isManifest(path: string): boolean {
  return /\/\.agent-ls\/(?:agent|agents\/[^/]+)\.toml$/.test(path);
}

/** Spares the server, and the user's other language servers, questions about documents that are not ours. */
export const languageFeatures: Middleware = {
  provideCompletionItem: (document, position, context, token, next) =>
    isOurs(document) ? next(document, position, context, token) : undefined,
  provideHover: (document, position, token, next) =>
    isOurs(document) ? next(document, position, token) : undefined,
  provideSignatureHelp: (document, position, context, token, next) =>
    isOurs(document) ? next(document, position, context, token) : undefined,
  provideDefinition: (document, position, token, next) =>
    isOurs(document) ? next(document, position, token) : undefined,
  provideReferences: (document, position, options, token, next) =>
    isOurs(document) ? next(document, position, options, token) : undefined,
  provideDocumentHighlights: (document, position, token, next) =>
    isOurs(document) ? next(document, position, token) : undefined,
  provideDocumentSymbols: (document, token, next) =>
    isOurs(document) ? next(document, token) : undefined,
  provideCodeActions: (document, range, context, token, next) =>
    isOurs(document) ? next(document, range, context, token) : undefined,
  provideCodeLenses: (document, token, next) =>
    isOurs(document) ? next(document, token) : undefined,
  provideDocumentLinks: (document, token, next) =>
    isOurs(document) ? next(document, token) : undefined,
  provideRenameEdits: (document, position, newName, token, next) =>
    isOurs(document) ? next(document, position, newName, token) : undefined,
  prepareRename: (document, position, token, next) =>
    isOurs(document) ? next(document, position, token) : undefined,
  provideDocumentFormattingEdits: (document, options, token, next) =>
    isOurs(document) ? next(document, options, token) : undefined,
  provideFoldingRanges: (document, context, token, next) =>
    isOurs(document) ? next(document, context, token) : undefined,
  provideSelectionRanges: (document, positions, token, next) =>
    isOurs(document) ? next(document, positions, token) : undefined,
  provideDocumentSemanticTokens: (document, token, next) =>
    isOurs(document) ? next(document, token) : undefined,
  provideDiagnostics: (document, previous, token, next) =>
    !('languageId' in document) || isOurs(document)
      ? next(document, previous, token)
      : { kind: vsdiag.DocumentDiagnosticReportKind.full, items: [] },
  provideInlayHints: (document, range, token, next) =>
    isOurs(document) ? next(document, range, token) : undefined,
};
