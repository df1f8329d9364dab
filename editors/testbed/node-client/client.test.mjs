// The main job through Microsoft's protocol client: once as an editor that has never heard of agent-ls, once as one that has.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, test } from 'node:test';
import {
  createProtocolConnection, StreamMessageReader, StreamMessageWriter,
  InitializeRequest, InitializedNotification, ShutdownRequest, ExitNotification, ExecuteCommandRequest,
  DidOpenTextDocumentNotification, DidChangeTextDocumentNotification, CompletionRequest, HoverRequest,
  DocumentSymbolRequest, DefinitionRequest, CodeActionRequest, DocumentDiagnosticRequest,
  PublishDiagnosticsNotification, ShowMessageRequest, ApplyWorkspaceEditRequest, ShowDocumentRequest,
  WorkDoneProgressCreateRequest, ConfigurationRequest, RegistrationRequest, WorkspaceFoldersRequest,
} from 'vscode-languageserver-protocol/node';

const open = [];
afterEach(async () => {
  for (const editor of open.splice(0)) await editor.close();
});

/** Waits for a value that is true, at most 20 s. */
async function until(what, get) {
  const end = Date.now() + 20_000;
  for (;;) {
    const value = await get();
    if (value) return value;
    if (Date.now() > end) assert.fail(`waited in vain for ${what}`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

/** Starts the server in a copy of the workspace and says hello. */
async function start(capabilities, handlers = {}) {
  const base = mkdtempSync(join(tmpdir(), 'agent-ls-node-'));
  const root = join(base, 'a project [1]');
  mkdirSync(root);
  cpSync(process.env.WORKSPACE, root, { recursive: true });
  const home = join(base, 'home');
  const child = spawn('agent-ls', ['serve', '--stdio'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      ...process.env, HOME: home, XDG_STATE_HOME: join(home, 'state'),
      XDG_CONFIG_HOME: join(home, 'config'), XDG_CACHE_HOME: join(home, 'cache'),
    },
  });
  let stderr = '';
  child.stderr.on('data', data => { stderr += data; });
  const exited = new Promise(resolve => child.on('exit', resolve));
  const connection = createProtocolConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin));
  const diagnostics = new Map();
  connection.onNotification(PublishDiagnosticsNotification.type, p => { diagnostics.set(p.uri, p); });
  connection.onRequest(WorkDoneProgressCreateRequest.type, () => null);
  connection.onRequest(RegistrationRequest.type, () => null);
  connection.onRequest(WorkspaceFoldersRequest.type, () => null);
  connection.onRequest(ConfigurationRequest.type, p => p.items.map(() => null));
  connection.onRequest(ShowDocumentRequest.type, () => ({ success: true }));
  for (const [method, handler] of Object.entries(handlers)) connection.onRequest(method, handler);
  connection.listen();
  const uri = name => pathToFileURL(join(root, name)).href;
  const hello = await connection.sendRequest(InitializeRequest.type, {
    processId: process.pid, rootUri: pathToFileURL(root).href, capabilities,
    workspaceFolders: [{ uri: pathToFileURL(root).href, name: 'project' }],
  });
  await connection.sendNotification(InitializedNotification.type, {});
  const editor = {
    connection, root, uri, diagnostics, hello,
    read: name => readFileSync(join(root, name), 'utf8'),
    async openFile(name, languageId, text = readFileSync(join(root, name), 'utf8')) {
      await connection.sendNotification(DidOpenTextDocumentNotification.type, {
        textDocument: { uri: uri(name), languageId, version: 1, text },
      });
    },
    async close() {
      await connection.sendRequest(ShutdownRequest.type);
      await connection.sendNotification(ExitNotification.type);
      assert.equal(await exited, 0, `exit status; stderr: ${stderr}`);
      connection.dispose();
      rmSync(base, { recursive: true, force: true });
    },
  };
  open.push(editor);
  return editor;
}

const plain = { textDocument: { publishDiagnostics: { relatedInformation: true } }, workspace: { applyEdit: true } };
const faulty = '.agent-ls/hooks/faulty.risor';

test('a plain client sees a misspelt field, and the fix', async () => {
  const editor = await start(plain);
  await editor.openFile(faulty, 'risor');
  const found = await until('a diagnostic', () =>
    editor.diagnostics.get(editor.uri(faulty))?.diagnostics.find(d => d.code === 'unknown-field'));
  assert.deepEqual(found.range, { start: { line: 1, character: 15 }, end: { line: 1, character: 24 } });
  assert.equal(found.source, 'agent-ls');
  assert.equal(found.severity, 1);
  const actions = await editor.connection.sendRequest(CodeActionRequest.type, {
    textDocument: { uri: editor.uri(faulty) }, range: found.range, context: { diagnostics: [found] },
  });
  assert.ok(actions.some(a => JSON.stringify(a.edit ?? a).includes('tool_calls')), JSON.stringify(actions));
});

test('columns count UTF-16 after a character outside the BMP', async () => {
  const editor = await start(plain);
  await editor.openFile(faulty, 'risor', 'func on_tool_call(ctx) {\r\n    x := "😀"; return ctx.tool_cals == x\r\n}\r\n');
  const found = await until('a diagnostic', () =>
    editor.diagnostics.get(editor.uri(faulty))?.diagnostics.find(d => d.code === 'unknown-field'));
  assert.equal(found.range.start.character, 26);
});

test('completion, hover, symbols and definition', async () => {
  const editor = await start(plain);
  await editor.openFile(faulty, 'risor', 'func on_tool_call(ctx) {\n    return ctx.tool_calls == []\n}\n');
  const at = { textDocument: { uri: editor.uri(faulty) }, position: { line: 1, character: 20 } };
  const completion = await editor.connection.sendRequest(CompletionRequest.type, at);
  assert.ok((completion.items ?? completion).some(i => i.label === 'tool_calls'));
  const hover = await editor.connection.sendRequest(HoverRequest.type, at);
  assert.match(JSON.stringify(hover.contents), /tool_calls/);
  const symbols = await editor.connection.sendRequest(DocumentSymbolRequest.type, { textDocument: at.textDocument });
  assert.ok(symbols.some(s => s.name === 'on_tool_call'));
  await editor.openFile('.agent-ls/agent.toml', 'toml');
  const lines = editor.read('.agent-ls/agent.toml').split('\n');
  const line = lines.findIndex(l => l.includes('guard.risor'));
  const target = await editor.connection.sendRequest(DefinitionRequest.type, {
    textDocument: { uri: editor.uri('.agent-ls/agent.toml') },
    position: { line, character: lines[line].indexOf('guard') },
  });
  assert.match(JSON.stringify(target), /guard\.risor/);
});

test('a client that pulls is never pushed to', async () => {
  const editor = await start({ textDocument: { ...plain.textDocument, diagnostic: {} } });
  await editor.openFile(faulty, 'risor');
  const report = await editor.connection.sendRequest(DocumentDiagnosticRequest.type, { textDocument: { uri: editor.uri(faulty) } });
  assert.equal(report.kind, 'full');
  assert.ok(report.items.some(d => d.code === 'unknown-field'), JSON.stringify(report.items));
  assert.equal(editor.diagnostics.size, 0);
});

test('an edit is seen by the request after it', async () => {
  const editor = await start(plain);
  await editor.openFile(faulty, 'risor', '');
  const uri = editor.uri(faulty);
  for (let version = 2; version < 502; version++) {
    editor.connection.sendNotification(DidChangeTextDocumentNotification.type, {
      textDocument: { uri, version },
      contentChanges: [{ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }, text: `func f${version}() {}\n` }],
    });
  }
  const symbols = await editor.connection.sendRequest(DocumentSymbolRequest.type, { textDocument: { uri } });
  assert.equal(symbols.length, 500);
  assert.equal(symbols[0].name, 'f501');
});

test('the whole run through the standard requests alone', async () => {
  const asked = [];
  const editor = await start(plain, {
    'window/showMessageRequest': params => {
      asked.push(params);
      return params.actions.find(a => a.title === 'Allow once');
    },
  });
  assert.ok(ShowMessageRequest.type && ApplyWorkspaceEditRequest.type);
  const started = await editor.connection.sendRequest(ExecuteCommandRequest.type, {
    command: 'agent.run', arguments: ['make Add add'],
  });
  assert.ok(started.runId && started.sessionId);
  await until('the edit', () => editor.read('calc.go').includes('a + b'));
  assert.equal(asked.length, 1);
  assert.match(asked[0].message, /calc\.go/);
  assert.match(asked[0].message, /a \+ b/);
  assert.deepEqual(asked[0].actions.map(a => a.title).sort(),
    ['Allow for this session', 'Allow once', 'Always allow', 'Deny']);
  await until('the end', async () => {
    const found = await editor.connection.sendRequest('agent/sessions', {});
    return found.sessions[0].status === 'done';
  });
  await editor.connection.sendRequest(ExecuteCommandRequest.type, { command: 'agent.undo', arguments: [started.runId] });
  assert.ok(editor.read('calc.go').includes('a - b'));
});

test('one run after another, undone between them', async () => {
  const asked = [];
  const editor = await start(plain, {
    'window/showMessageRequest': params => {
      asked.push(params);
      return params.actions.find(a => a.title === (asked.length % 2 ? 'Allow once' : 'Deny'));
    },
  });
  for (let round = 1; round <= 5; round++) {
    const first = await editor.connection.sendRequest(ExecuteCommandRequest.type, { command: 'agent.run', arguments: ['x'] });
    await until('the end', async () => {
      const { sessions } = await editor.connection.sendRequest('agent/sessions', {});
      return sessions.find(s => s.sessionId === first.sessionId)?.status === 'done';
    });
    assert.ok(editor.read('calc.go').includes('a + b'));
    await editor.connection.sendRequest(ExecuteCommandRequest.type, { command: 'agent.undo', arguments: [first.runId] });
    await editor.connection.sendRequest(ExecuteCommandRequest.type, { command: 'agent.run', arguments: ['x'] });
    await until(`question ${2 * round}`, () => asked.length === 2 * round);
    assert.ok(editor.read('calc.go').includes('a - b'));
  }
});

test('a dismissed question is a denial', async () => {
  const editor = await start(plain, { 'window/showMessageRequest': () => null });
  const before = editor.read('calc.go');
  const started = await editor.connection.sendRequest(ExecuteCommandRequest.type, { command: 'agent.run', arguments: ['x'] });
  const end = await until('the end', async () => {
    const { events } = await editor.connection.sendRequest('agent/events', { sessionId: started.sessionId });
    return events.find(e => e.type === 'run_finished') && events;
  });
  assert.equal(editor.read('calc.go'), before);
  assert.ok(end.some(e => e.type === 'tool_finished' && e.outcome === 'denied' && /dismissed/.test(e.output)), JSON.stringify(end));
});

test('a client that can answer neither gets a denial with its reason', async () => {
  const editor = await start(plain);
  const started = await editor.connection.sendRequest(ExecuteCommandRequest.type, { command: 'agent.run', arguments: ['x'] });
  const events = await until('the end', async () => {
    const found = await editor.connection.sendRequest('agent/events', { sessionId: started.sessionId });
    return found.events.find(e => e.type === 'run_finished') && found.events;
  });
  assert.ok(events.some(e => e.outcome === 'denied' && /no approver/.test(e.output)), JSON.stringify(events));
  assert.ok(editor.read('calc.go').includes('a - b'));
});

test('a client that knows us gets events, decisions and approvals', async () => {
  const approvals = [];
  const editor = await start(
    { ...plain, experimental: { agent: { version: 1, approvals: true, events: true, decisions: true } } },
    { 'agent/approve': approval => { approvals.push(approval); return { outcome: 'allowOnce' }; } },
  );
  assert.equal(editor.hello.capabilities.experimental.agent.version, 1);
  const events = [], decisions = [], resolved = [];
  editor.connection.onNotification('agent/event', e => { events.push(e); });
  editor.connection.onNotification('agent/hookDecision', d => { decisions.push(d); });
  editor.connection.onNotification('agent/approvalResolved', r => { resolved.push(r); });
  const { agents } = await editor.connection.sendRequest('agent/list', {});
  assert.equal(agents[0].name, 'fixer');
  assert.equal(agents[0].stages[0].hooks[0].point, 'on_tool_call');
  const started = await editor.connection.sendRequest('agent/start', { prompt: 'make Add add' });
  await until('the end', () => events.some(e => e.type === 'run_finished'));
  assert.deepEqual(events.filter(e => e.seq).map(e => e.seq), events.filter(e => e.seq).map((_, i) => i + 1));
  assert.equal(events.at(-1).type, 'run_finished');
  assert.equal(events.at(-1).status, 'done');
  const denied = decisions.find(d => d.action === 'deny');
  assert.equal(denied.hook.uri, editor.uri('.agent-ls/hooks/guard.risor'));
  assert.equal(denied.hook.range.start.line, 3);
  assert.equal(denied.reason, 'no commands here');
  assert.equal(approvals.length, 1);
  assert.equal(approvals[0].tool, 'edit');
  assert.ok(approvals[0].edits[0].diff.includes('+func Add(a, b int) int { return a + b }'));
  assert.ok(approvals[0].covers.session && approvals[0].outcomes.includes('allowSession'));
  await until('the resolution', () => resolved.some(r => r.id === approvals[0].id && r.outcome === 'allowOnce'));
  const recorded = await editor.connection.sendRequest('agent/decisions', { runId: started.runId });
  assert.equal(recorded.decisions.length, decisions.length);
});
