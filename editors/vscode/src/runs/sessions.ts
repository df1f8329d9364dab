/** Commands about a session as a whole: its mode, a fork of it, deleting it. */
import * as vscode from 'vscode';

import type { Mode, Session, StartResult } from '../protocol';
import type { Server } from '../server/server';
import { plainLabel } from '../visible';

/** What the commands can be called with, beside what the user chooses. */
export interface SessionArguments {
  sessionId?: string;
  mode?: Mode;
  prompt?: string;
  confirmed?: boolean;
}

const modes: { label: Mode; detail: string }[] = [
  { label: 'ask', detail: 'asks for what the rules do not decide' },
  { label: 'plan', detail: 'refuses whatever writes or executes' },
  { label: 'auto', detail: 'allows what would ask, but for what may only ever be asked' },
];

/** Sets the mode of a session, from its next turn on. */
export async function setMode(server: Server, given: SessionArguments): Promise<void> {
  const sessionId = given.sessionId ?? (await chooseSession(server, 'The mode of which session?'));
  if (sessionId === undefined) {
    return;
  }
  const mode = given.mode ?? (await vscode.window.showQuickPick(modes, { title: 'Which mode, from the next turn on?' }))?.label;
  if (mode !== undefined) {
    await server.request('agent/set', { sessionId, mode });
  }
}

/** Starts a run in a fork of a session, which itself stays as it is. */
export async function fork(server: Server, given: SessionArguments): Promise<StartResult | undefined> {
  const sessionId = given.sessionId ?? (await chooseSession(server, 'Go on from which session, in one of its own?'));
  if (sessionId === undefined) {
    return undefined;
  }
  const prompt = given.prompt ?? (await vscode.window.showInputBox({ title: 'Fork a session', prompt: 'What should the agent do there?', ignoreFocusOut: true }));
  if (prompt === undefined || prompt.trim() === '') {
    return undefined;
  }
  const forked = await server.request('agent/fork', { sessionId });
  return server.request('agent/start', { prompt, sessionId: forked.sessionId });
}

/** Deletes what was recorded of a session, once the user has confirmed it. */
export async function deleteSession(server: Server, given: SessionArguments): Promise<void> {
  const sessionId = given.sessionId ?? (await chooseSession(server, 'Delete which session?'));
  if (sessionId === undefined) {
    return;
  }
  if (given.confirmed !== true) {
    const yes = 'Delete';
    const detail = 'Everything that was recorded of it goes, what an undo needs included. Files stay as they are.';
    if ((await vscode.window.showWarningMessage('Delete this session?', { modal: true, detail }, yes)) !== yes) {
      return;
    }
  }
  await server.request('agent/deleteSession', { sessionId });
}

async function chooseSession(server: Server, title: string): Promise<string | undefined> {
  const { sessions } = await server.request('agent/sessions', { limit: 50 });
  if (sessions.length === 0) {
    void vscode.window.showInformationMessage('There is no session yet.');
    return undefined;
  }
  const picked = await vscode.window.showQuickPick(sessions.map(row), { title });
  return picked?.sessionId;
}

function row(session: Session): vscode.QuickPickItem & { sessionId: string } {
  return {
    label: plainLabel(session.title === '' ? session.sessionId : session.title),
    description: session.status,
    detail: new Date(session.startedAt).toLocaleString(),
    sessionId: session.sessionId,
  };
}
