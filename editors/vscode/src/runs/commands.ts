// Starting, steering, cancelling, resuming and undoing runs. Each command can
// be given what it would ask for, so that keys and tasks can use it.

import * as vscode from 'vscode';
import type { Range } from 'vscode-languageserver-protocol';
import { fileName } from '../decisions/place';
import {
  errorCodes, type CannotStart, type Mode, type ResumeResult, type Session, type StartResult, type UndoResult,
} from '../protocol';
import { messageOf, type Server } from '../server/server';
import { plainLabel, visible } from '../visible';
import { deleteSession, fork, setMode } from './sessions';
import type { TranscriptDocuments } from './documents';
import { isLive, type Run, type RunLog } from './log';
import { doing, type RunNode } from './view';

/** What agent-ls.run can be called with. */
export interface RunArguments {
  prompt?: string;
  agent?: string;
  sessionId?: string;
  mode?: Mode;
}

/** What the other commands can be called with: a row of the view, or ids. */
type Target = RunNode | { runId?: string; sessionId?: string; text?: string; confirmed?: boolean };

/** Registers the commands. */
export function registerRunCommands(server: Server, log: RunLog, transcripts: TranscriptDocuments): vscode.Disposable {
  const on = (command: string, failing: string, work: (target: Target & RunArguments) => Promise<unknown>): vscode.Disposable =>
    vscode.commands.registerCommand(`agent-ls.${command}`, async (target?: Target & RunArguments) => {
      try {
        return await work(target ?? {});
      } catch (error) {
        // Not waited for: a command is over when its work is, not when its message was read.
        void showFailure(failing, error);
        return undefined;
      }
    });
  return vscode.Disposable.from(
    on('run', 'The run did not start', given => start(server, given)),
    on('steer', 'Not steered', target => steer(server, log, target)),
    on('cancel', 'Not cancelled', target => cancel(server, log, target)),
    on('resume', 'Not resumed', target => resume(server, log, target)),
    on('setMode', 'The mode was not set', given => setMode(server, given)),
    on('fork', 'Not forked', async given => ((await trusted()) ? fork(server, given) : undefined)),
    on('deleteSession', 'Not deleted', given => deleteSession(server, given)),
    on('undo', 'Not undone', target => undo(server, log, target)),
    on('showTranscript', 'No transcript', async target => {
      const runId = runIdOf(target) ?? log.runs.at(-1)?.runId;
      if (runId !== undefined) {
        await transcripts.open(runId, 'kind' in target && target.kind === 'item' ? target.item : undefined);
      }
    }),
  );
}

async function start(server: Server, given: RunArguments): Promise<StartResult | undefined> {
  if (!(await trusted())) {
    return undefined;
  }
  const folder = await chooseFolder();
  if (folder === undefined) {
    return undefined;
  }
  const selection = selectedContext();
  const prompt = given.prompt ?? (await vscode.window.showInputBox({
    title: 'Start a run',
    prompt: selection === undefined ? 'What should the agent do?' : `What should the agent do? It is pointed at ${selection.label}.`,
    placeHolder: 'Fix the failing test',
    ignoreFocusOut: true,
  }));
  if (prompt === undefined || prompt.trim() === '') {
    return undefined;
  }
  const agent = given.agent ?? (await chooseAgent(server, folder));
  if (agent === false) {
    return undefined;
  }
  const settings = vscode.workspace.getConfiguration('agent-ls');
  const model = settings.get<string>('model', '').trim();
  return await server.request('agent/start', {
    prompt: prompt.trim(),
    folder,
    mode: given.mode ?? settings.get<Mode>('mode', 'ask'),
    ...(agent === undefined ? {} : { agent }),
    ...(model === '' ? {} : { model }),
    ...(given.sessionId === undefined ? {} : { sessionId: given.sessionId }),
    ...(selection === undefined ? {} : { context: [{ uri: selection.uri, range: selection.range }] }),
  });
}

/** The folder that the run is for: the active editor's, the only one, or the one that the user picks. */
async function chooseFolder(): Promise<string | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const active = vscode.window.activeTextEditor?.document.uri;
  if (folders.length === 0) {
    void vscode.window.showInformationMessage('Open a folder first: the agent works in one.');
    return undefined;
  }
  if (folders.length === 1) {
    return folders[0]?.uri.toString();
  }
  const nearest = active === undefined ? undefined : vscode.workspace.getWorkspaceFolder(active);
  const found = nearest ?? (await vscode.window.showWorkspaceFolderPick({ placeHolder: 'In which folder is the agent to work?' }));
  return found?.uri.toString();
}

/** Asks which agent when there are several; false when the user left the list. */
async function chooseAgent(server: Server, folder: string): Promise<string | undefined | false> {
  if (!server.supports('agent/list')) {
    return undefined;
  }
  const { agents } = await server.request('agent/list', { folder });
  if (agents.length <= 1) {
    return undefined;
  }
  const picked = await vscode.window.showQuickPick(
    agents.map(agent => ({ label: plainLabel(agent.name), description: plainLabel(agent.model), name: agent.name })),
    { title: 'Which agent?' },
  );
  return picked?.name ?? false;
}

/** What is selected in the editor, to point the agent at. */
function selectedContext(): { uri: string; range: Range; label: string } | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme !== 'file' || editor.selection.isEmpty) {
    return undefined;
  }
  const { start: from, end: to } = editor.selection;
  const lines = from.line === to.line ? `line ${from.line + 1}` : `lines ${from.line + 1} to ${to.line + 1}`;
  const uri = editor.document.uri.toString();
  // Plain objects: the editor's own ranges turn into arrays on the wire.
  const range = { start: { line: from.line, character: from.character }, end: { line: to.line, character: to.character } };
  return { uri, range, label: `${lines} of ${fileName(uri)}` };
}

async function steer(server: Server, log: RunLog, target: Target): Promise<void> {
  const run = await liveRun(log, target, 'Which run is to be steered?');
  if (run === undefined) {
    return;
  }
  const given = 'text' in target && typeof target.text === 'string' ? target.text : undefined;
  const text = given ?? (await vscode.window.showInputBox({
    title: plainLabel(run.prompt, 80), prompt: 'What should the agent know or do differently?', ignoreFocusOut: true,
  }));
  if (text !== undefined && text.trim() !== '') {
    await server.request('agent/steer', { runId: run.runId, text: text.trim(), when: 'now' });
  }
}

async function cancel(server: Server, log: RunLog, target: Target): Promise<void> {
  const run = await liveRun(log, target, 'Which run is to be cancelled?');
  if (run !== undefined) {
    await server.request('agent/cancel', { runId: run.runId });
  }
}

async function resume(server: Server, log: RunLog, target: Target): Promise<ResumeResult | undefined> {
  if (!(await trusted())) {
    return undefined;
  }
  const sessionId = sessionIdOf(target) ?? (await chooseSession(server, log));
  if (sessionId === undefined) {
    return undefined;
  }
  const result = await server.request('agent/resume', { sessionId });
  if (result.runId === null) {
    void vscode.window.showInformationMessage(`Nothing to resume: ${plainLabel(result.reason ?? 'the session is finished')}`);
  }
  return result;
}

async function chooseSession(server: Server, log: RunLog): Promise<string | undefined> {
  const known = server.supports('agent/sessions')
    ? (await server.request('agent/sessions', { limit: 50 })).sessions
    : log.runs.map((run): Session => ({ sessionId: run.sessionId, title: run.prompt, startedAt: '', status: run.status })).reverse();
  const open = known.filter(session => session.status !== 'done' && session.status !== 'running');
  if (open.length === 0) {
    void vscode.window.showInformationMessage('There is no session to resume.');
    return undefined;
  }
  const picked = await vscode.window.showQuickPick(
    open.map(session => ({
      label: plainLabel(session.title === '' ? session.sessionId : session.title),
      description: session.status,
      detail: session.startedAt === '' ? '' : new Date(session.startedAt).toLocaleString(),
      sessionId: session.sessionId,
    })),
    { title: 'Which session is to go on?' },
  );
  return picked?.sessionId;
}

async function undo(server: Server, log: RunLog, target: Target): Promise<UndoResult | undefined> {
  const runId = runIdOf(target) ?? (await chooseRun(log.runs.filter(run => !isLive(run)), 'Undo the edits of which run?'))?.runId;
  if (runId === undefined) {
    return undefined;
  }
  const plan = await server.request('agent/undo', { runId, dryRun: true });
  const named = (uris: readonly string[]): string => uris.map(fileName).join(', ');
  const stay = plan.conflicts.length === 0 ? '' : `\n\nChanged since, so they stay: ${named(plan.conflicts)}`;
  if (plan.edits.length === 0) {
    void vscode.window.showInformationMessage(`There is nothing to undo.${stay}`);
    return plan;
  }
  if (!('confirmed' in target && target.confirmed)) {
    const yes = 'Undo';
    const diff = 'Show Diff';
    const detail = `These files are put back: ${named(plan.edits.map(edit => edit.uri))}${stay}`;
    const choice = await vscode.window.showWarningMessage('Undo what this run changed?', { modal: true, detail }, yes, diff);
    if (choice === diff) {
      const content = plan.edits.map(edit => visible(edit.diff)).join('\n');
      await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: 'diff', content }), { preview: true });
      return undefined;
    }
    if (choice !== yes) {
      return undefined;
    }
  }
  const done = await server.request('agent/undo', { runId });
  const left = done.conflicts.length === 0 ? '' : `; left as they are: ${named(done.conflicts)}`;
  void vscode.window.showInformationMessage(`Put back: ${named(done.edits.map(edit => edit.uri))}${left}`);
  return done;
}

/** The run that is meant, if it still goes on: the one given, the only one, or the one that the user picks. */
async function liveRun(log: RunLog, target: Target, title: string): Promise<Run | undefined> {
  const given = runIdOf(target);
  if (given !== undefined) {
    return log.run(given);
  }
  const live = log.runs.filter(isLive);
  if (live.length === 0) {
    void vscode.window.showInformationMessage('No run is going on.');
    return undefined;
  }
  return live.length === 1 ? live[0] : await chooseRun(live, title);
}

async function chooseRun(runs: Run[], title: string): Promise<Run | undefined> {
  if (runs.length === 0) {
    void vscode.window.showInformationMessage('There is no such run in this window.');
    return undefined;
  }
  const picked = await vscode.window.showQuickPick(
    [...runs].reverse().map(run => ({ label: plainLabel(run.prompt === '' ? run.runId : run.prompt), description: plainLabel(doing(run)), run })),
    { title },
  );
  return picked?.run;
}

function runIdOf(target: Target): string | undefined {
  return 'run' in target ? target.run.runId : 'runId' in target ? target.runId : undefined;
}

function sessionIdOf(target: Target): string | undefined {
  if ('session' in target) {
    return target.session.sessionId;
  }
  return 'run' in target ? target.run.sessionId : 'sessionId' in target ? target.sessionId : undefined;
}

async function trusted(): Promise<boolean> {
  if (vscode.workspace.isTrusted) {
    return true;
  }
  const manage = 'Manage Workspace Trust';
  const choice = await vscode.window.showWarningMessage('The agent does not run in a workspace that is not trusted.', manage);
  if (choice === manage) {
    await vscode.commands.executeCommand('workbench.trust.manage');
  }
  return false;
}

/** Shows why a request failed; for a hook or manifest that cannot run, with the way to what is wrong. */
async function showFailure(failing: string, error: unknown): Promise<void> {
  const { code, data } = error as { code?: number; data?: CannotStart };
  if (code !== errorCodes.cannotStart) {
    void vscode.window.showErrorMessage(`${failing}: ${plainLabel(messageOf(error), 400)}`);
    return;
  }
  const where = data?.diagnostics?.find(file => file.diagnostics.length > 0);
  const first = where?.diagnostics[0];
  const go = 'Go There';
  const problems = 'Show Problems';
  const place = where === undefined || first === undefined ? '' : ` (${fileName(where.uri)}:${first.range.start.line + 1})`;
  const message = `${failing}: ${plainLabel(messageOf(error), 400)}${place}`;
  const choice = await vscode.window.showErrorMessage(message, ...(place === '' ? [] : [go]), problems);
  if (choice === problems) {
    await vscode.commands.executeCommand('workbench.actions.view.problems');
  } else if (choice === go && where !== undefined && first !== undefined) {
    const { start: from, end: to } = first.range;
    await vscode.window.showTextDocument(vscode.Uri.parse(where.uri), {
      selection: new vscode.Range(from.line, from.character, to.line, to.character),
    });
  }
}
