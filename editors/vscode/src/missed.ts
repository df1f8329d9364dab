// What this window missed: asked for when a server is ready, and when
// something of the past is looked at.

import * as vscode from 'vscode';
import type { DecisionFilter } from './decisions/view';
import type { Parts } from './parts';
import type { Question, Requests } from './protocol';
import { askQuestion } from './runs/question';
import { messageOf } from './server/server';

/** How many decisions one request asks for, and how many requests are made at most. */
const page = 1000;
const pages = 50;

/** Open approvals, sessions of before, and what the runs of this window did while the server was away. */
export async function catchUp(parts: Parts): Promise<void> {
  const pending = await asked(parts, 'agent/pending', {});
  parts.approvals.restore(pending?.approvals ?? []);
  for (const question of pending?.questions ?? []) {
    void askAgain(parts, question);
  }
  const before = await asked(parts, 'agent/sessions', { limit: 50 });
  const here = new Set(parts.runs.runs.map(run => run.sessionId));
  parts.runsTree.setPast((before?.sessions ?? []).filter(session => !here.has(session.sessionId)));
  for (const sessionId of here) {
    await loadSession(parts, sessionId);
  }
  if (parts.decisionsView.visible) {
    await loadDecisions(parts, {});
  }
}

/** Asks a question that was left open. Leaving it again leaves it open. */
async function askAgain(parts: Parts, question: Question): Promise<void> {
  const given = await askQuestion(question, new vscode.CancellationTokenSource().token);
  if ('answer' in given) {
    await asked(parts, 'agent/resolve', { id: question.id, answer: given.answer });
  }
}

/** The events of a session that are missing here, and the decisions of its runs. */
export async function loadSession(parts: Parts, sessionId: string): Promise<void> {
  await parts.feed.catchUp(sessionId);
  for (const run of parts.runs.runs) {
    if (run.sessionId === sessionId) {
      await loadDecisions(parts, { runId: run.runId });
    }
  }
  parts.placeDecisions(sessionId);
}

/** The recorded decisions that a filter takes. */
export async function loadDecisions(parts: Parts, filter: DecisionFilter): Promise<void> {
  let cursor: string | undefined;
  for (let n = 0; n < pages; n++) {
    const found = await asked(parts, 'agent/decisions', { ...filter, limit: page, ...(cursor === undefined ? {} : { cursor }) });
    parts.decisions.addAll(found?.decisions ?? []);
    cursor = found?.cursor;
    if (cursor === undefined || cursor === '') {
      return;
    }
  }
}

/** The answer to a request, or nothing: a server that cannot tell is no reason to stop. */
async function asked<M extends keyof Requests>(parts: Parts, method: M, params: Requests[M][0]): Promise<Requests[M][1] | undefined> {
  try {
    return parts.server.supports(method) ? await parts.server.request(method, params) : undefined;
  } catch (error) {
    parts.output.warn(`${method}: ${messageOf(error)}`);
    return undefined;
  }
}
