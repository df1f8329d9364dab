// Keeps requests for language features to the documents that are ours, and
// this extension's own settings to itself.

import { vsdiag, type Middleware } from 'vscode-languageclient/node';
import { isOurs } from './scope';
import { serverSettings } from './settings';

/** Spares the server, and the user's other language servers, questions about documents that are not ours. */
export const middleware: Middleware = {
  workspace: {
    configuration: async (params, token, next) => {
      const found: unknown = await next(params, token);
      return Array.isArray(found)
        ? found.map((value: unknown, n) => (params.items[n]?.section === 'agent-ls' ? serverSettings(value) : value))
        : [];
    },
  },
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
