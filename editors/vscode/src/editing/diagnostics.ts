// agent/clientDiagnostics: what the editor's own language servers say about
// files that the agent edited.

import * as vscode from 'vscode';
import { DiagnosticSeverity, type Diagnostic } from 'vscode-languageserver-protocol';

interface Item {
  uri: string;
  version?: number;
  diagnostics: Diagnostic[];
}

/** How long the other language servers have to look at an edit that was just made. */
const patience = 1500;
/** When nothing changed for this long, they have looked. */
const quiet = 300;

/** The diagnostics of the files as they are once the language servers have come to rest. */
export async function clientDiagnostics(uris: readonly string[], token: vscode.CancellationToken): Promise<{ items: Item[] }> {
  await settled(new Set(uris.map(uri => vscode.Uri.parse(uri).toString())), token);
  return { items: uris.map(itemOf) };
}

function itemOf(uri: string): Item {
  const parsed = vscode.Uri.parse(uri);
  const open = vscode.workspace.textDocuments.find(document => document.uri.toString() === parsed.toString());
  return {
    uri,
    ...(open === undefined ? {} : { version: open.version }),
    // What the server itself published, it knows.
    diagnostics: vscode.languages.getDiagnostics(parsed).filter(one => one.source !== 'agent-ls').map(wireOf),
  };
}

async function settled(uris: ReadonlySet<string>, token: vscode.CancellationToken): Promise<void> {
  await new Promise<void>(resolve => {
    let rest = setTimeout(done, quiet);
    const limit = setTimeout(done, patience);
    const listening = vscode.Disposable.from(
      token.onCancellationRequested(done),
      vscode.languages.onDidChangeDiagnostics(change => {
        if (change.uris.some(uri => uris.has(uri.toString()))) {
          clearTimeout(rest);
          rest = setTimeout(done, quiet);
        }
      }),
    );
    function done(): void {
      clearTimeout(rest);
      clearTimeout(limit);
      listening.dispose();
      resolve();
    }
  });
}

const severities = {
  [vscode.DiagnosticSeverity.Error]: DiagnosticSeverity.Error,
  [vscode.DiagnosticSeverity.Warning]: DiagnosticSeverity.Warning,
  [vscode.DiagnosticSeverity.Information]: DiagnosticSeverity.Information,
  [vscode.DiagnosticSeverity.Hint]: DiagnosticSeverity.Hint,
};

function wireOf(diagnostic: vscode.Diagnostic): Diagnostic {
  const { start, end } = diagnostic.range;
  const code = typeof diagnostic.code === 'object' ? diagnostic.code.value : diagnostic.code;
  return {
    range: { start: { line: start.line, character: start.character }, end: { line: end.line, character: end.character } },
    severity: severities[diagnostic.severity],
    message: diagnostic.message,
    ...(diagnostic.source === undefined ? {} : { source: diagnostic.source }),
    ...(code === undefined ? {} : { code }),
  };
}
