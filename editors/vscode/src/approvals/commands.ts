// The commands of approvals: from the view, a diff's title, a review thread,
// the palette, and from the status bar.

import * as vscode from 'vscode';
import type { Outcome } from '../protocol';
import { plainLabel } from '../visible';
import { approvalIdOf } from './documents';
import type { OpenApprovals } from './open';
import type { Review } from './review';
import type { ReviewThreads } from './thread';
import type { ApprovalNode } from './view';

/** What a command can be called with. */
type Target = { id: string; edit?: number } | ApprovalNode | vscode.Uri | vscode.CommentReply | vscode.CommentThread;

/** Registers the commands. */
export function registerApprovalCommands(
  approvals: OpenApprovals,
  review: Review,
  threads: ReviewThreads,
  showView: () => Thenable<void>,
): vscode.Disposable {
  const idOf = (target: Target | undefined): string | undefined => {
    if (target instanceof vscode.Uri) {
      return approvalIdOf(target);
    }
    if (target === undefined) {
      return undefined;
    }
    if ('id' in target) {
      return target.id;
    }
    if ('thread' in target) {
      return threads.approvalOf(target.thread);
    }
    if ('comments' in target) {
      return threads.approvalOf(target);
    }
    return 'approval' in target ? target.approval.id : undefined;
  };
  const find = async (target: Target | undefined): Promise<string | undefined> =>
    idOf(target) ?? approvalIdOf(vscode.window.activeTextEditor?.document.uri) ?? (await pickOpen(approvals));

  const answering = (outcome: Outcome) => async (target?: Target): Promise<void> => {
    const id = await find(target);
    if (id !== undefined) {
      const typed = target !== undefined && 'thread' in target ? target.text : undefined;
      await review.answer(id, outcome, outcome === 'deny' ? typed : undefined);
    }
  };
  const on = (command: string, work: (target?: Target) => unknown): vscode.Disposable =>
    vscode.commands.registerCommand(`agent-ls.${command}`, work);

  return vscode.Disposable.from(
    on('approval.allowOnce', answering('allowOnce')),
    on('approval.allowSession', answering('allowSession')),
    on('approval.allowAlways', answering('allowAlways')),
    on('approval.deny', answering('deny')),
    on('approval.denyWithFeedback', async target => {
      const id = await find(target);
      if (id !== undefined) {
        await review.denyWithFeedback(id);
      }
    }),
    on('approval.review', async target => {
      const id = await find(target);
      if (id !== undefined) {
        await review.open(id, target !== undefined && 'edit' in target && typeof target.edit === 'number' ? target.edit : undefined);
      }
    }),
    on('approval.answer', async target => {
      const id = await find(target);
      if (id !== undefined) {
        await review.ask(id);
      }
    }),
    on('showApprovals', async () => {
      await showView();
      const [first, ...others] = approvals.all;
      if (first !== undefined && others.length === 0) {
        await review.open(first.approval.id);
      }
    }),
  );
}

/** The only open approval, or the one that the user picks. */
async function pickOpen(approvals: OpenApprovals): Promise<string | undefined> {
  const open = approvals.all;
  if (open.length <= 1) {
    return open[0]?.approval.id;
  }
  const picked = await vscode.window.showQuickPick(
    open.map(({ approval }) => ({ label: plainLabel(approval.title), description: approval.risk, id: approval.id })),
    { title: 'Which call?' },
  );
  return picked?.id;
}
