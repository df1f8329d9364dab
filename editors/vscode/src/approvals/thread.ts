// What stands beside the diff of an approval: a review thread on the first
// changed line that says who asked and what hooks said, and takes the answer.
// What is typed into it goes along with a denial.

import * as vscode from 'vscode';
import { duration, placeOf, type Place } from '../decisions/place';
import { markdownText, visibleLine } from '../visible';
import { changeLines, choicesOf, trailLine } from './describe';
import { hunksOf, type OpenApproval, type OpenApprovals } from './open';

/** The threads of the approvals that were opened for review. */
export class ReviewThreads implements vscode.Disposable {
  private readonly controller: vscode.CommentController;
  private readonly threads = new Map<string, vscode.CommentThread>();
  private readonly unsubscribe: () => void;

  constructor(private readonly approvals: OpenApprovals) {
    this.controller = vscode.comments.createCommentController('agent-ls.approvals', 'Agent approvals');
    this.controller.options = {
      prompt: 'Say why, and deny',
      placeHolder: 'Optional: what the agent is told with a denial',
    };
    this.unsubscribe = approvals.onChange(() => { this.refresh(); });
  }

  dispose(): void {
    this.unsubscribe();
    this.controller.dispose();
  }

  /** Puts the thread of an approval on a document, in place of the one that it had. */
  show(open: OpenApproval, uri: vscode.Uri, line: number): void {
    this.remove(open.approval.id);
    const thread = this.controller.createCommentThread(uri, new vscode.Range(line, 0, line, 0), [comment(open)]);
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    thread.canReply = true;
    thread.label = `May this ${visibleLine(open.approval.tool, 60)} call run?`;
    thread.contextValue = contextOf(open);
    this.threads.set(open.approval.id, thread);
  }

  /** The approval that a thread is about. */
  approvalOf(thread: vscode.CommentThread): string | undefined {
    for (const [id, known] of this.threads) {
      if (known === thread) {
        return id;
      }
    }
    return undefined;
  }

  private refresh(): void {
    for (const [id, thread] of this.threads) {
      const open = this.approvals.get(id);
      if (open === undefined) {
        this.remove(id);
      } else if (thread.contextValue !== contextOf(open)) {
        thread.comments = [comment(open)];
        thread.contextValue = contextOf(open);
      }
    }
  }

  private remove(id: string): void {
    this.threads.get(id)?.dispose();
    this.threads.delete(id);
  }
}

/** Which buttons the thread has; also changes when a hunk is taken in or out. */
function contextOf(open: OpenApproval): string {
  const outcomes = choicesOf(open).map(choice => choice.outcome);
  return `:${outcomes.join(':')}: ${[...open.refused].sort((a, b) => a - b).join(',')}`;
}

function comment(open: OpenApproval): vscode.Comment {
  return {
    author: { name: 'agent-ls' },
    label: `${open.approval.risk} · ${visibleLine(open.approval.stage)}`,
    mode: vscode.CommentMode.Preview,
    body: reviewText(open),
  };
}

/** The trail as markdown in which only our own words are markup. */
function reviewText(open: OpenApproval): vscode.MarkdownString {
  const { approval } = open;
  const out = new vscode.MarkdownString();
  out.isTrusted = false;
  out.supportHtml = false;
  const row = (label: string, text: string): void => {
    out.appendMarkdown(`- **${label}** ${markdownText(text)}\n`);
  };
  for (const why of approval.why ?? []) {
    row('Asks because', why);
  }
  for (const decision of approval.hooks ?? []) {
    out.appendMarkdown(`- **Hook** ${markdownText(trailLine(decision))} (${placeLink(placeOf(decision))}, ${duration(decision.durationUs)})\n`);
    for (const line of changeLines(decision)) {
      out.appendMarkdown(`  - ${markdownText(line)}\n`);
    }
  }
  if ((approval.hooks ?? []).length === 0) {
    row('Hooks', 'none saw this call');
  }
  if (open.refused.size > 0) {
    row('Hunks', `${hunksOf(approval).length - open.refused.size} of ${hunksOf(approval).length} taken in`);
  }
  for (const choice of choicesOf(open)) {
    if (choice.outcome === 'allowSession' || choice.outcome === 'allowAlways') {
      row(choice.label, `covers ${choice.covers}`);
    }
  }
  return out;
}

/** A link to the line that decided, when it is in a file: the only link there is. */
function placeLink(place: Place): string {
  const uri = place.uri === undefined ? undefined : vscode.Uri.parse(place.uri);
  if (uri?.scheme !== 'file') {
    return markdownText(place.label);
  }
  const target = uri.with({ fragment: `L${(place.line ?? 0) + 1},${(place.character ?? 0) + 1}` });
  return `[${markdownText(place.label)}](<${target.toString()}>)`;
}
