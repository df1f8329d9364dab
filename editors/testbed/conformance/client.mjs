// An MCP client for the conformance scenarios: the real binary as a language server, with a run whose rehearsed model calls
// the scenario's tool, and an editor that opens the pages which the server shows. Called with the address of the scenario's server.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
// Which tool each scenario wants to see called; "" only connects.
const calls = {
  initialize: '',
  tools_call: ['add_numbers', { a: 5, b: 3 }],
  'elicitation-sep1034-client-defaults': ['test_client_elicitation_defaults', {}],
  'sse-retry': ['test_reconnection', {}],
};
const call = calls[scenario] ?? ['test-tool', {}];

const base = mkdtempSync(join(tmpdir(), 'agent-ls-conformance-'));
const root = join(base, 'project');
mkdirSync(join(root, '.agent-ls', 'rehearsal'), { recursive: true });
const config = join(base, 'config.toml');
writeFileSync(config, `[policy]
allow = ["mcp__server__*"]
[mcp.server]
url = ${JSON.stringify(url)}
start_timeout = "20s"
timeout = "10s"
`);
writeFileSync(join(root, '.agent-ls', 'agent.toml'), `[agent]
model = "rehearsal"
[models.rehearsal]
provider = "rehearsal"
script = "rehearsal/run.yaml"
`);
writeFileSync(join(root, '.agent-ls', 'rehearsal', 'run.yaml'), JSON.stringify({
  turns: [
    { tool_calls: [{ name: 'find_tools', arguments: {} }] },
    ...(call ? [{ tool_calls: [{ name: 'mcp__server__' + call[0], arguments: call[1] }] }] : []),
    { text: 'done' },
  ],
}));

const child = spawn(process.env.AGENT_LS ?? 'agent-ls', ['serve', '--stdio', '--config', config], {
  stdio: ['pipe', 'pipe', 'inherit'],
  env: { ...process.env, XDG_STATE_HOME: join(base, 'state'), XDG_CACHE_HOME: join(base, 'cache'), XDG_CONFIG_HOME: join(base, 'config') },
});
const exited = new Promise(resolve => child.on('exit', resolve));
const limit = setTimeout(() => {
  console.log('the client took too long');
  child.kill('SIGKILL');
  process.exit(1);
}, 40_000);

const waiting = new Map();
let serial = 0;
function send(message) {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
function ask(method, params) {
  const id = ++serial;
  send({ id, method, params });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

// The person's browser: it follows where the pages lead.
function browse(page) {
  console.log('the browser opens', page);
  fetch(page).then(async r => console.log('the browser shows', r.status, await r.text()), e => console.log('the browser fails:', e));
}

let finished;
const end = new Promise(resolve => { finished = resolve; });
const events = [];
function receive(m) {
  if (m.method === 'agent/event') {
    events.push(m.params);
    if (m.params.type === 'run_finished') finished(m.params);
  } else if (m.method === 'window/showDocument') {
    if (m.params.external) browse(m.params.uri);
    send({ id: m.id, result: { success: true } });
  } else if (m.method && m.id !== undefined) {
    send({ id: m.id, result: null });
  } else if (waiting.has(m.id)) {
    const { resolve, reject } = waiting.get(m.id);
    waiting.delete(m.id);
    m.error ? reject(new Error(m.error.message)) : resolve(m.result);
  }
}
let read = Buffer.alloc(0);
child.stdout.on('data', data => {
  read = Buffer.concat([read, data]);
  for (;;) {
    const head = read.indexOf('\r\n\r\n');
    if (head < 0) return;
    const length = Number(/content-length: *(\d+)/i.exec(read.subarray(0, head).toString())[1]);
    if (read.length < head + 4 + length) return;
    const text = read.subarray(head + 4, head + 4 + length).toString();
    read = read.subarray(head + 4 + length);
    receive(JSON.parse(text));
  }
});

const uri = pathToFileURL(root).href;
await ask('initialize', {
  processId: process.pid, rootUri: uri, workspaceFolders: [{ uri, name: 'project' }],
  capabilities: {
    window: { showDocument: { support: true } },
    experimental: { agent: { version: 1, approvals: true, events: true, decisions: true } },
  },
});
send({ method: 'initialized', params: {} });
await ask('agent/start', { prompt: 'call it' });
const over = await end;
await ask('shutdown');
send({ method: 'exit' });
await exited;
clearTimeout(limit);
rmSync(base, { recursive: true, force: true });

for (const e of events) console.log(JSON.stringify(e));
const called = events.find(e => e.type === 'tool_started' && e.tool.startsWith('mcp__'));
const good = over.status === 'done' && (!call || events.some(e => e.callId === called?.callId && e.outcome === 'ok'));
console.log(good ? 'the call works' : 'the call fails');
process.exitCode = good ? 0 : 1;
