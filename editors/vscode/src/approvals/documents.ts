// The virtual documents of an approval: a file before and after, and the
// call's details. agent-approval:/ID/before/N/NAME, …/after/N/NAME, …/details/NAME.txt

import * as vscode from 'vscode';
import { fileName } from '../decisions/place';
import type { Approval, Edit } from '../protocol';
import { detailsOf } from './describe';
import { edited } from './edited';
import type { OpenApprovals } from './open';

export const approvalScheme = 'agent-approval';

type Side = 'before' | 'after';

/** Serves the documents while their approval is open, and what they last showed afterwards. */
export class ApprovalDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly change = new vscode.EventEmitter<vscode.Uri>();
  private readonly before = new Map<string, string>();
  private readonly shown = new Map<string, string>();
  private readonly provider: vscode.Disposable;
  private readonly unsubscribe: () => void;

  readonly onDidChange = this.change.event;

  constructor(private readonly approvals: OpenApprovals) {
    this.provider = vscode.workspace.registerTextDocumentContentProvider(approvalScheme, this);
    this.unsubscribe = approvals.onChange(() => {
      for (const shown of this.shown.keys()) {
        const uri = vscode.Uri.parse(shown);
        if (this.approvals.get(approvalIdOf(uri) ?? '') !== undefined) {
          this.change.fire(uri);
        }
      }
    });
  }

  dispose(): void {
    this.unsubscribe();
    this.provider.dispose();
    this.change.dispose();
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const key = uri.toString();
    const text = await this.current(uri);
    if (text !== undefined) {
      this.shown.set(key, text);
    }
    return text ?? this.shown.get(key) ?? 'This approval is not open any more.\n';
  }

  /** The document with everything about the call. */
  detailsUri(approval: Approval): vscode.Uri {
    return vscode.Uri.from({ scheme: approvalScheme, path: `/${approval.id}/details/${approval.tool}.txt` });
  }

  /** One side of the diff of the approval's nth edit. */
  sideUri(approval: Approval, n: number, side: Side): vscode.Uri {
    const name = fileName(approval.edits?.[n]?.uri ?? 'file');
    return vscode.Uri.from({ scheme: approvalScheme, path: `/${approval.id}/${side}/${n}/${name}` });
  }

  /** Drops what closed documents showed, so that memory does not grow with the day. */
  release(uri: vscode.Uri): void {
    this.shown.delete(uri.toString());
  }

  private async current(uri: vscode.Uri): Promise<string | undefined> {
    const [, id = '', side, n = ''] = uri.path.split('/');
    const open = this.approvals.get(id);
    if (open === undefined) {
      return undefined;
    }
    if (side === 'details') {
      return detailsOf(open);
    }
    const edit = open.approval.edits?.[Number(n)];
    if (edit === undefined) {
      return undefined;
    }
    const before = await this.textBefore(id, edit);
    return side === 'before' ? before : edited(before, edit.hunks ?? [], hunk => !open.refused.has(hunk));
  }

  /** The file as it was when the approval was first looked at: the open document, else the disk. */
  private async textBefore(id: string, edit: Edit): Promise<string> {
    const key = `${id} ${edit.uri}`;
    const known = this.before.get(key);
    if (known !== undefined) {
      return known;
    }
    const text = await currentText(vscode.Uri.parse(edit.uri));
    this.before.set(key, text);
    return text;
  }
}

/** The approval that a document belongs to. */
export function approvalIdOf(uri: vscode.Uri | undefined): string | undefined {
  return uri?.scheme === approvalScheme ? uri.path.split('/')[1] : undefined;
}

async function currentText(uri: vscode.Uri): Promise<string> {
  const open = vscode.workspace.textDocuments.find(document => document.uri.toString() === uri.toString());
  if (open !== undefined) {
    return open.getText();
  }
  try {
    return new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
  } catch {
    return ''; // a file that the call would create
  }
}
