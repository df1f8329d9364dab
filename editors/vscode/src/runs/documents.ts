// The transcript of a run as a document: agent-run:/RUN/transcript.txt

import * as vscode from 'vscode';
import type { Item, RunLog } from './log';
import { transcriptOf } from './transcript';

export const runScheme = 'agent-run';

/** Serves transcripts, and keeps the open ones up to date. */
export class TranscriptDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly change = new vscode.EventEmitter<vscode.Uri>();
  private readonly provider: vscode.Disposable;

  readonly onDidChange = this.change.event;

  constructor(private readonly log: RunLog) {
    this.provider = vscode.workspace.registerTextDocumentContentProvider(runScheme, this);
  }

  dispose(): void {
    this.provider.dispose();
    this.change.dispose();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const run = this.log.run(uri.path.split('/')[1] ?? '');
    return run === undefined ? 'This run is not known here.\n' : transcriptOf(run).text;
  }

  /** The run has gone on. */
  changed(runId: string): void {
    const uri = transcriptUri(runId);
    if (vscode.workspace.textDocuments.some(document => document.uri.toString() === uri.toString())) {
      this.change.fire(uri);
    }
  }

  /** Opens the transcript, at an item if one is given. */
  async open(runId: string, item?: Item): Promise<void> {
    const run = this.log.run(runId);
    if (run === undefined) {
      void vscode.window.showInformationMessage('This run is not known here.');
      return;
    }
    this.changed(runId);
    const line = item === undefined ? undefined : transcriptOf(run).lines.get(item);
    const at = line === undefined ? undefined : new vscode.Range(line, 0, line, 0);
    const editor = await vscode.window.showTextDocument(transcriptUri(runId), { preview: true, ...(at === undefined ? {} : { selection: at }) });
    if (at !== undefined) {
      editor.revealRange(at, vscode.TextEditorRevealType.AtTop);
    }
  }
}

function transcriptUri(runId: string): vscode.Uri {
  return vscode.Uri.from({ scheme: runScheme, path: `/${runId}/transcript.txt` });
}
