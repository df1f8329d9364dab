// The parts of this extension and what they share. Each owns one thing; who
// talks to whom is in wiring.ts.

import * as vscode from 'vscode';
import { ApprovalDocuments } from './approvals/documents';
import { OpenApprovals } from './approvals/open';
import { Review } from './approvals/review';
import { ReviewThreads } from './approvals/thread';
import { ApprovalsTree, type ApprovalNode } from './approvals/view';
import { DecisionLog } from './decisions/log';
import { DecisionsTree, type DecisionNode } from './decisions/view';
import { loadSession } from './missed';
import { TranscriptDocuments } from './runs/documents';
import { EventFeed } from './runs/feed';
import { RunLog } from './runs/log';
import { Narration } from './runs/narration';
import { RunsTree, type RunNode } from './runs/view';
import { Server } from './server/server';
import { StatusItem } from './status';

/** Everything that lives as long as the extension does. */
export class Parts implements vscode.Disposable {
  readonly output = vscode.window.createOutputChannel('agent-ls', { log: true });
  readonly story = vscode.window.createOutputChannel('agent-ls runs');
  readonly status = new StatusItem();
  readonly server: Server;

  readonly runs = new RunLog();
  readonly feed: EventFeed;
  readonly narration: Narration;
  readonly transcripts: TranscriptDocuments;
  readonly runsTree: RunsTree;
  readonly runsView: vscode.TreeView<RunNode>;

  readonly decisions = new DecisionLog();
  readonly decisionsTree: DecisionsTree;
  readonly decisionsView: vscode.TreeView<DecisionNode>;

  readonly approvals: OpenApprovals;
  readonly approvalDocuments: ApprovalDocuments;
  readonly threads: ReviewThreads;
  readonly review: Review;
  readonly approvalsTree: ApprovalsTree;
  readonly approvalsView: vscode.TreeView<ApprovalNode>;

  /** Fires after an event was taken in, with its run's id, or when more than one run may have changed. */
  private readonly progress = new vscode.EventEmitter<string | undefined>();
  readonly onDidProgress = this.progress.event;

  constructor(extension: string) {
    this.server = new Server(extension, this.output);

    this.narration = new Narration(this.story);
    this.transcripts = new TranscriptDocuments(this.runs);
    this.feed = new EventFeed(
      this.runs,
      (sessionId, afterSeq) => this.server.request('agent/events', { sessionId, afterSeq }),
      event => {
        this.narration.event(event);
        this.progress.fire(event.runId);
      },
      sessionId => {
        this.placeDecisions(sessionId);
        this.progress.fire(undefined);
      },
    );
    this.runsTree = new RunsTree(this.runs, sessionId => loadSession(this, sessionId));
    this.runsView = vscode.window.createTreeView('agent-ls.runs', { treeDataProvider: this.runsTree, showCollapseAll: true });

    this.decisionsTree = new DecisionsTree(this.decisions, this.runs);
    this.decisionsView = vscode.window.createTreeView('agent-ls.decisions', {
      treeDataProvider: this.decisionsTree, showCollapseAll: true,
    });

    this.approvals = new OpenApprovals(async (id, answer) => {
      await this.server.request('agent/resolve', { id, ...answer });
    });
    this.approvalDocuments = new ApprovalDocuments(this.approvals);
    this.threads = new ReviewThreads(this.approvals);
    this.review = new Review(this.approvals, this.approvalDocuments, this.threads);
    this.approvalsTree = new ApprovalsTree(this.approvals);
    this.approvalsView = vscode.window.createTreeView('agent-ls.approvals', { treeDataProvider: this.approvalsTree });
  }

  /** Puts the decisions of a session into its runs, once those are known. */
  placeDecisions(sessionId: string): void {
    for (const decision of this.decisions.all) {
      if (decision.sessionId === sessionId && this.runs.run(decision.runId) !== undefined) {
        this.runs.decide(decision);
      }
    }
  }

  dispose(): void {
    vscode.Disposable.from(
      this.approvalsView, this.approvalsTree, this.threads, this.approvalDocuments,
      this.decisionsView, this.decisionsTree, this.runsView, this.runsTree, this.transcripts,
      this.progress, this.status, this.server, this.story, this.output,
    ).dispose();
  }
}
