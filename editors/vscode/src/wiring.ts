// Who hears of what: what the server sends goes into the logs and the open
// approvals, and the views are drawn from those.

import * as vscode from 'vscode';
import { clientDiagnostics } from './editing/diagnostics';
import { saveDocuments } from './editing/save';
import { catchUp, loadDecisions } from './missed';
import type { Parts } from './parts';
import { isLive } from './runs/log';
import { askQuestion } from './runs/question';
import { doing } from './runs/view';

/** Takes what the server sends. */
export function receive(parts: Parts): void {
  const { server, runs, approvals } = parts;
  server.onNotification('agent/event', event => {
    parts.runsTree.wake(event.sessionId);
    parts.feed.take(event);
  });
  server.onNotification('agent/hookDecision', decision => {
    parts.narration.decision(decision);
    parts.decisions.add(decision);
  });
  server.onNotification('agent/approvalResolved', ({ id }) => {
    runs.settle(id);
    approvals.settle(id);
    draw(parts);
  });
  server.onRequest('agent/approve', (approval, token) => {
    token.onCancellationRequested(() => { approvals.settle(approval.id); });
    return approvals.ask(approval);
  });
  server.onRequest('agent/ask', askQuestion);
  server.onRequest('agent/save', ({ uris }) => saveDocuments(uris));
  server.onRequest('agent/clientDiagnostics', ({ uris }, token) => clientDiagnostics(uris, token));
}

/** Redraws what changes show in. */
export function react(parts: Parts): vscode.Disposable {
  const { server, runs, approvals, decisions } = parts;
  server.onDidStart(() => {
    draw(parts);
    void catchUp(parts).then(() => { draw(parts); });
  });
  server.onDidStop(() => {
    approvals.forget();
    runs.interrupt();
    draw(parts);
  });
  const stopApprovals = approvals.onChange(arrived => {
    if (arrived !== undefined) {
      const { callId, tool, title, stage } = arrived;
      runs.expect(arrived.runId, { callId, tool, title, stage, arguments: arrived.arguments });
    }
    draw(parts);
    if (arrived === undefined) {
      void parts.review.closeTabs();
    } else {
      void parts.review.announce(arrived);
    }
  });
  const stopDecisions = decisions.onChange(decision => {
    if (decision !== undefined && runs.run(decision.runId) !== undefined) {
      runs.decide(decision);
      parts.transcripts.changed(decision.runId);
    }
    parts.runsTree.refresh();
  });
  return vscode.Disposable.from(
    { dispose: stopApprovals },
    { dispose: stopDecisions },
    parts.onDidProgress(runId => {
      if (runId !== undefined) {
        parts.transcripts.changed(runId);
      }
      draw(parts);
    }),
    parts.approvalsView.onDidChangeCheckboxState(change => {
      for (const [node, state] of change.items) {
        if (node.kind === 'hunk') {
          approvals.accept(node.approval.id, node.hunk.n, state === vscode.TreeItemCheckboxState.Checked);
        }
      }
    }),
    parts.decisionsView.onDidChangeVisibility(({ visible }) => {
      if (visible) {
        void loadDecisions(parts, {});
      }
    }),
    vscode.workspace.onDidCloseTextDocument(document => { parts.approvalDocuments.release(document.uri); }),
    vscode.workspace.onDidChangeConfiguration(async change => {
      if (change.affectsConfiguration('agent-ls.server.path')) {
        await server.restart();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => { draw(parts); }),
  );
}

/** Draws the status bar item, the badge and the Runs view as things stand. */
export function draw(parts: Parts): void {
  const { server, approvals, runs } = parts;
  const open = approvals.all.length;
  parts.status.draw({ ready: server.ready, approvals: open, live: runs.runs.filter(isLive).map(doing) });
  parts.approvalsView.badge =
    open === 0 ? undefined : { value: open, tooltip: open === 1 ? '1 call waits for you' : `${open} calls wait for you` };
  void vscode.commands.executeCommand('setContext', 'agent-ls.openApprovals', open);
  void vscode.commands.executeCommand('setContext', 'agent-ls.ready', server.ready);
  parts.runsTree.refresh();
}
