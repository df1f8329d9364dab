// `agent-ls run` against models that another project wrote: aimock, as OpenAI and as Anthropic. Each fault happens once, and
// for ever. Once: the run recovers and finishes. For ever: it ends within its limits and says why. Nothing is said twice.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { LLMock } from '@copilotkit/aimock';

const answer = 'Both files were read: one has alpha, the other has beta.';
const reads = { toolCalls: [
  { name: 'read_file', arguments: '{"path":"a.txt"}' },
  { name: 'read_file', arguments: '{"path":"b.txt"}' },
] };

/** Runs the agent on fixtures; gives what it printed, its events, and the requests that the model got. */
async function run(provider, fixtures, limits = {}) {
  const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' });
  mock.addFixtures(fixtures);
  await mock.start();
  const base = mkdtempSync(join(tmpdir(), 'agent-ls-aimock-'));
  try {
    const root = join(base, 'project');
    mkdirSync(join(root, '.agent-ls'), { recursive: true });
    writeFileSync(join(root, 'a.txt'), 'alpha\n'.repeat(100));
    writeFileSync(join(root, 'b.txt'), 'beta\n');
    writeFileSync(join(root, '.agent-ls', 'agent.toml'), '[agent]\nmodel = "m"\n[limits]\nturns = 4\n');
    const { attempts = 3, total_wait = '8s', idle = '10s' } = limits;
    writeFileSync(join(base, 'config.toml'), `[models.m]
provider = "${provider}"
model = "some-model"
base_url = "${mock.url}${provider === 'openai' ? '/v1' : ''}"
limits = { attempts = ${attempts}, total_wait = "${total_wait}", idle = "${idle}" }
`);
    const began = Date.now();
    const child = spawn(process.env.AGENT_LS ?? 'agent-ls', ['run', '--json', '-C', root, '--config', join(base, 'config.toml'), 'read both'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env, OPENAI_API_KEY: 'mock', ANTHROPIC_API_KEY: 'mock', HOME: base,
        XDG_STATE_HOME: join(base, 'state'), XDG_CACHE_HOME: join(base, 'cache'), XDG_CONFIG_HOME: join(base, 'config'),
      },
    });
    const limit = setTimeout(() => child.kill('SIGKILL'), 45_000);
    let stdout = '', stderr = '';
    child.stdout.on('data', d => { stdout += d; });
    child.stderr.on('data', d => { stderr += d; });
    const status = await new Promise(resolve => child.on('close', resolve));
    clearTimeout(limit);
    const events = stdout.trim().split('\n').filter(Boolean).map(line => JSON.parse(line));
    const requests = mock.getRequests().map(r => r.body);
    const told = { status, stderr, events, requests, took: Date.now() - began, end: events.find(e => e.type === 'run_finished') ?? {} };
    requests.forEach(wellFormed);
    return told;
  } finally {
    await mock.stop();
    rmSync(base, { recursive: true, force: true });
  }
}

/** Each call has one result, right behind the message that makes it; each result has its call; no message is there twice. */
function wellFormed({ messages }) {
  let open = new Set();
  const seen = new Set();
  for (const m of messages) {
    if (m.role === 'tool') {
      assert.ok(open.delete(m.tool_call_id), `a result without a call: ${JSON.stringify(messages)}`);
      continue;
    }
    assert.equal(open.size, 0, `a call without a result: ${JSON.stringify(messages)}`);
    for (const c of m.tool_calls ?? []) {
      assert.ok(!seen.has(c.id), `the call ${c.id} is there twice`);
      seen.add(c.id);
      JSON.parse(c.function.arguments);
    }
    open = new Set((m.tool_calls ?? []).map(c => c.id));
  }
  assert.equal(open.size, 0, `a call without a result: ${JSON.stringify(messages)}`);
  const texts = messages.filter(m => m.role === 'assistant' && m.content).map(m => JSON.stringify(m.content));
  assert.equal(new Set(texts).size, texts.length, `a text is there twice: ${texts}`);
}

const said = told => told.events.filter(e => e.type === 'message').map(e => e.text);
const show = told => `${told.stderr}\n${told.events.map(e => JSON.stringify(e)).join('\n')}`;

// What goes wrong in the answer behind the tools' results. `says` is in the error of a fault that lasts; `requests` is how many of
// them there are then; `limits` are those of the model.
const refusal = (status, message, type, more = {}) => ({ response: { error: { message, type, ...more }, status } });
const text = { response: { content: answer } };
const faults = {
  '429 with retry-after': { fixture: { response: { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 1 } }, says: /429 .*slow down.*\(3 attempts\)/, atLeast: 2000 },
  '500': { fixture: refusal(500, 'oops', 'server_error'), says: /500 .*oops.*\(3 attempts\)/ },
  '529': { fixture: refusal(529, 'Overloaded', 'overloaded_error'), says: /529.*Overloaded.*\(3 attempts\)/ },
  'a rate limit of its chaos': { fixture: { ...text, chaos: { rateLimitRate: 1 } }, says: /429 .*rate limit exceeded/ },
  'a drop of its chaos': { fixture: { ...text, chaos: { dropRate: 1 } }, says: /500 .*request dropped/ },
  'an answer that is no JSON': { fixture: { ...text, chaos: { malformedRate: 1 } }, says: /malformed json/ },
  'a connection that is dropped': { fixture: { ...text, chaos: { disconnectRate: 1 } }, says: /EOF|reset|cut|reach/ },
  'a cut text': { fixture: { ...text, chunkSize: 10, latency: 20, truncateAfterChunks: 4 }, says: /was cut/ },
  'a cut call': { fixture: { response: reads, chunkSize: 6, latency: 20, truncateAfterChunks: 4 }, says: /was cut/ },
  'a cut after a while': { fixture: { ...text, chunkSize: 4, latency: 60, disconnectAfterMs: 300 }, says: /was cut/ },
  'no answer at all': { fixture: { ...text, streamingProfile: { ttft: 4_000 } }, limits: { idle: '1s' }, says: /nothing came for 1s/ },
  'a slow drip': { fixture: { ...text, chunkSize: 1, latency: 400 }, limits: { idle: '1s', total_wait: '2s', attempts: 2 }, requests: 2, says: /bytes of it came/ },
  'context overflow': {
    fixture: refusal(400, 'prompt is too long: 210000 tokens > 200000 maximum', 'invalid_request_error', { code: 'context_length_exceeded' }),
    requests: 2, says: /[Nn]othing more can be left out/,
  },
  'an unknown tool': { fixture: { response: { toolCalls: [{ name: 'raed_file', arguments: '{"path":"b.txt"}' }] } }, requests: 3, says: /limit of 4 turns/ },
  'bad arguments': { fixture: { response: { toolCalls: [{ name: 'read_file', arguments: '{"path":' }] } }, requests: 3, says: /limit of 4 turns/ },
};
const first = { match: { hasToolResult: false }, response: reads };
const last = { match: { hasToolResult: true }, ...text };

for (const provider of ['openai', 'anthropic']) {
  describe(provider, { concurrency: 4 }, () => {
    test('a plain answer', async () => {
      const told = await run(provider, [{ match: {}, response: { content: 'Hello there.' }, chunkSize: 3 }]);
      assert.equal(told.status, 0, show(told));
      assert.deepEqual(said(told), ['Hello there.']);
      // Pieces are joined, and what the whole message overtakes is not shown any more; nothing is shown twice.
      const pieces = told.events.filter(e => e.type === 'text_delta').map(e => e.text).join('');
      assert.ok('Hello there.'.startsWith(pieces), pieces);
      assert.equal(told.requests.length, 1);
    });

    test('two calls at once, then an answer, slowly', async () => {
      const told = await run(provider, [first, { ...last, chunkSize: 5, latency: 20 }]);
      assert.equal(told.status, 0, show(told));
      assert.deepEqual(said(told), [answer]);
      const results = told.requests[1].messages.filter(m => m.role === 'tool').map(m => JSON.stringify(m.content));
      assert.equal(results.length, 2);
      assert.match(results[0], /alpha/);
      assert.match(results[1], /beta/);
    });

    test('text and a call in one answer', async () => {
      const told = await run(provider, [{ ...first, response: { content: 'I look at them.', ...reads } }, last]);
      assert.equal(told.status, 0, show(told));
      assert.deepEqual(said(told), ['I look at them.', answer]);
    });

    for (const [name, fault] of Object.entries(faults)) {
      test(`${name}, once`, async () => {
        const told = await run(provider, [first, { match: { hasToolResult: true, sequenceIndex: 0 }, ...fault.fixture }, last], fault.limits);
        assert.equal(told.status, 0, show(told));
        assert.equal(told.requests.length, 3, show(told));
        assert.deepEqual(said(told), [answer], show(told));
        assert.ok(!JSON.stringify(told.requests).includes('Both files'), 'what was cut is in the history');
      });

      test(`${name}, for ever`, async () => {
        const told = await run(provider, [first, { match: { hasToolResult: true }, ...fault.fixture }], fault.limits);
        assert.equal(told.status, 1, show(told));
        assert.match(told.end.error ?? '', fault.says, show(told));
        assert.equal(told.requests.length - 1, fault.requests ?? 3, show(told));
        assert.deepEqual(said(told), [], show(told));
        assert.ok(told.took >= (fault.atLeast ?? 0), `it took only ${told.took} ms`);
      });
    }
  });
}
