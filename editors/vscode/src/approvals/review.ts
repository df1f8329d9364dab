// Puts an approval before the user: a notification when it arrives, the diff
// or the details when it is reviewed, a list of answers when asked for one.
// Whatever is dismissed leaves the approval open.

import * as vscode from 'vscode';
import { duration, fileName, placeOf } from '../decisions/place';
import type { Approval, Outcome } from '../protocol';
import { messageOf } from '../server/server';
import { plainLabel } from '../visible';
import { choicesOf, trailLine } from './describe';
import { approvalIdOf, approvalScheme, type ApprovalDocuments } from './documents';
import { hunksOf, NotAnswered, type OpenApproval, type OpenApprovals } from './open';
import type { ReviewThreads } from './thread';

/** Shows approvals and takes answers. */
export class Review {
  constructor(
    private readonly approvals: OpenApprovals,
    private readonly documents: ApprovalDocuments,
    private readonly threads: ReviewThreads,
  ) {}

  /** Says that an approval arrived. An edit can only be allowed where it can be seen; a command is in the message. */
  async announce(approval: Approval): Promise<void> {
    const review = 'Review';
    const allow = 'Allow Once';
    const deny = 'Deny';
    const command = approval.command?.line;
    // A command that does not fit into the message whole is not allowed from it.
    const whole = command !== undefined && command.length <= 200 && !command.includes('\n');
    const buttons = [review, ...(whole && approval.outcomes.includes('allowOnce') ? [allow] : []), deny];
    const what = plainLabel(whole ? command : approval.title, 240);
    const why = approval.why?.[0] === undefined ? '' : ` (${plainLabel(approval.why[0], 160)})`;
    const message = `The agent asks: ${what}${why}`;
    const choice = approval.risk === 'read' || approval.risk === 'write'
      ? await vscode.window.showInformationMessage(message, ...buttons)
      : await vscode.window.showWarningMessage(message, ...buttons);
    switch (choice) {
      case review:
        await this.open(approval.id);
        break;
      case allow:
        await this.answer(approval.id, 'allowOnce');
        break;
      case deny:
        await this.answer(approval.id, 'deny');
        break;
    }
  }

  /** Opens the diff of one of the approval's edits, or of all of them; or the details when it edits nothing. */
  async open(id: string, n?: number): Promise<void> {
    const open = this.approvals.get(id);
    if (open === undefined) {
      void vscode.window.showInformationMessage('This approval is not open any more.');
      return;
    }
    const { approval } = open;
    const edits = approval.edits ?? [];
    if (edits.length === 0) {
      const uri = this.documents.detailsUri(approval);
      await vscode.window.showTextDocument(uri, { preview: true });
      this.threads.show(open, uri, 0);
      return;
    }
    const which = n ?? 0;
    const before = this.documents.sideUri(approval, which, 'before');
    const after = this.documents.sideUri(approval, which, 'after');
    const more = edits.length > 1 ? `, file ${which + 1} of ${edits.length}` : '';
    await vscode.commands.executeCommand(
      'vscode.diff', before, after, `Approve? ${plainLabel(fileName(edits[which]?.uri ?? ''))}${more}`, { preview: true },
    );
    this.threads.show(open, after, edits[which]?.hunks?.[0]?.range.start.line ?? 0);
  }

  /** Lists the answers with what each would cover. The first row changes nothing, so that a stray Enter does not. */
  async ask(id: string): Promise<void> {
    const open = this.approvals.get(id);
    if (open === undefined) {
      void vscode.window.showInformationMessage('This approval is not open any more.');
      return;
    }
    const picked = await vscode.window.showQuickPick(answerRows(open), {
      title: plainLabel(open.approval.title, 100),
      placeHolder: plainLabel((open.approval.why ?? []).join('; '), 150) || 'What should happen?',
      matchOnDetail: true,
    });
    if (picked?.feedback === true) {
      await this.denyWithFeedback(id);
    } else if (picked?.hunks === true) {
      await this.chooseHunks(id);
    } else if (picked?.review === true) {
      await this.open(id);
    } else if (picked?.outcome !== undefined) {
      await this.answer(id, picked.outcome);
    }
  }

  /** Asks what to tell the agent, and denies. An empty text denies without; leaving the box does not deny. */
  async denyWithFeedback(id: string): Promise<void> {
    const feedback = await vscode.window.showInputBox({
      title: 'Deny, and say why',
      prompt: 'The agent is told this with the refusal.',
    });
    if (feedback !== undefined) {
      await this.answer(id, 'deny', feedback);
    }
  }

  /** Asks which hunks to take in. The choice stays with the open approval; nothing is allowed by it. */
  async chooseHunks(id: string): Promise<void> {
    const open = this.approvals.get(id);
    if (open === undefined) {
      return;
    }
    const rows = hunksOf(open.approval).map(hunk => ({
      label: `Hunk ${hunk.n}, line ${hunk.range.start.line + 1}`,
      description: plainLabel(hunk.newText, 100),
      picked: !open.refused.has(hunk.n),
      n: hunk.n,
    }));
    const picked = await vscode.window.showQuickPick(rows, { canPickMany: true, title: 'Which hunks may be made?' });
    if (picked === undefined) {
      return;
    }
    const taken = new Set(picked.map(row => row.n));
    for (const row of rows) {
      this.approvals.accept(id, row.n, taken.has(row.n));
    }
    await this.ask(id);
  }

  /** Gives an answer, and closes what was opened to review it. Why it could not be given is shown. */
  async answer(id: string, outcome: Outcome, feedback?: string): Promise<void> {
    try {
      await this.approvals.answer(id, outcome, feedback);
    } catch (error) {
      const text = `Not answered: ${messageOf(error)}`;
      void (error instanceof NotAnswered ? vscode.window.showInformationMessage(text) : vscode.window.showErrorMessage(text));
    }
  }

  /** Closes the tabs of an approval that is not open any more. */
  async closeTabs(): Promise<void> {
    const stale = vscode.window.tabGroups.all.flatMap(group => group.tabs).filter(tab => {
      const uri = uriOf(tab);
      return uri?.scheme === approvalScheme && this.approvals.get(approvalIdOf(uri) ?? '') === undefined;
    });
    if (stale.length > 0) {
      await vscode.window.tabGroups.close(stale, true);
    }
  }
}

interface AnswerRow extends vscode.QuickPickItem {
  outcome?: Outcome;
  feedback?: true;
  hunks?: true;
  review?: true;
}

function answerRows(open: OpenApproval): AnswerRow[] {
  const { approval } = open;
  const rows: AnswerRow[] = [{ label: '$(clock) Decide later', detail: 'The call keeps waiting' }];
  rows.push({ label: '$(diff) Review', detail: (approval.edits ?? []).length > 0 ? 'Shows the diff' : 'Shows everything about the call', review: true });
  rows.push({ label: 'answers', kind: vscode.QuickPickItemKind.Separator });
  for (const choice of choicesOf(open)) {
    const icon = choice.outcome === 'deny' ? '$(close)' : '$(check)';
    rows.push({ label: `${icon} ${choice.label}`, detail: plainLabel(choice.covers), outcome: choice.outcome });
  }
  if (approval.outcomes.includes('deny')) {
    rows.push({ label: '$(close) Deny, and say why…', detail: 'The agent is told your reason', feedback: true });
  }
  const hunks = hunksOf(approval);
  if (hunks.length > 1) {
    const taken = hunks.length - open.refused.size;
    rows.push({ label: '$(list-selection) Choose hunks…', detail: `${taken} of ${hunks.length} are taken in`, hunks: true });
  }
  const trail = approval.hooks ?? [];
  if (trail.length > 0) {
    rows.push({ label: 'hooks that saw it', kind: vscode.QuickPickItemKind.Separator });
    for (const decision of trail) {
      rows.push({
        label: `$(law) ${plainLabel(trailLine(decision))}`,
        detail: plainLabel(`${placeOf(decision).label}, ${duration(decision.durationUs)}`),
      });
    }
  }
  return rows;
}

function uriOf(tab: vscode.Tab): vscode.Uri | undefined {
  if (tab.input instanceof vscode.TabInputTextDiff) {
    return tab.input.modified;
  }
  return tab.input instanceof vscode.TabInputText ? tab.input.uri : undefined;
}
