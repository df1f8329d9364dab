import * as assert from 'node:assert/strict';
import type { AgentEvent } from '../../src/protocol';
import { EventFeed } from '../../src/runs/feed';
import { RunLog, toolCall } from '../../src/runs/log';
import { Narration } from '../../src/runs/narration';
import { transcriptOf } from '../../src/runs/transcript';
import { statusOf } from '../../src/standing';
import { decision, events } from './samples';

const whole = events(
  { type: 'run_started', prompt: 'Fix it', agent: 'coder', model: 'rehearsal', mode: 'ask', sandbox: 'bubblewrap' },
  { type: 'stage_entered', index: 0 },
  { type: 'message', text: 'I look.' },
  { type: 'tool_started', callId: 'c1', tool: 'edit', title: 'edit calc.go', arguments: { path: 'calc.go' } },
  { type: 'approval_requested', id: 'a1', callId: 'c1' },
  { type: 'tool_finished', callId: 'c1', outcome: 'ok', durationMs: 3, output: 'done' },
  { type: 'file_changed', uri: 'file:///ws/calc.go', callId: 'c1', diff: '@@ -1 +1 @@\n-a\n+b' },
  { type: 'stage_left', outcome: 'finished' },
  { type: 'run_finished', status: 'done', stopReason: 'end', output: 'Fixed' },
);

function nth(n: number): AgentEvent {
  const event = whole[n];
  assert.ok(event);
  return event;
}

function played(upTo: number): RunLog {
  const log = new RunLog();
  for (const event of whole.slice(0, upTo)) {
    assert.equal(log.apply(event), 'applied');
  }
  return log;
}

suite('the log of runs', () => {
  test('a run from its start to its end', () => {
    const run = played(whole.length).run('r1');
    assert.ok(run);
    assert.equal(run.status, 'done');
    assert.equal(run.prompt, 'Fix it');
    assert.deepEqual(run.stages.map(stage => [stage.name, stage.outcome, stage.items.map(item => item.kind)]), [
      ['fix', 'finished', ['message', 'tool', 'file']],
    ]);
    assert.equal(toolCall(run, 'c1')?.outcome, 'ok');
  });

  test('it waits while an approval is open, and goes on after', () => {
    const log = played(5);
    assert.equal(log.run('r1')?.status, 'waiting');
    log.settle('a1');
    assert.equal(log.run('r1')?.status, 'running');
    assert.equal(played(6).run('r1')?.status, 'running');
  });

  test('a call that waits is shown before it started, and once', () => {
    const log = played(3);
    log.expect('r1', { callId: 'c1', tool: 'edit', title: 'edit calc.go', arguments: {}, stage: 'fix' });
    log.apply(nth(3));
    assert.deepEqual(log.run('r1')?.stages[0]?.items.map(item => item.kind), ['message', 'tool']);
  });

  test('an event that is known changes nothing, a later one is a gap', () => {
    const log = played(3);
    assert.equal(log.apply(nth(1)), 'known');
    assert.equal(log.apply(nth(5)), 'gap');
    assert.equal(log.seqOf('s1'), 3);
  });

  test('streamed text is there until the message is', () => {
    const log = played(2);
    log.apply({ runId: 'r1', sessionId: 's1', type: 'text_delta', text: 'I lo' });
    assert.equal(log.run('r1')?.streaming, 'I lo');
    log.apply(nth(2));
    assert.equal(log.run('r1')?.streaming, '');
  });

  test('types that are not known are passed over', () => {
    const log = played(2);
    assert.equal(log.apply({ runId: 'r1', sessionId: 's1', seq: 3, type: 'invented_later' }), 'applied');
  });

  test('a decision stands where it was made, once', () => {
    const log = played(whole.length);
    const made = decision({ callId: 'c1', at: '2026-01-01T00:00:03.500Z' });
    log.decide(made);
    log.decide(made);
    assert.deepEqual(log.run('r1')?.stages[0]?.items.map(item => item.kind), ['message', 'tool', 'decision', 'file']);
  });

  test('of a stage that is visited twice, the decision goes to the right visit', () => {
    const log = new RunLog();
    for (const event of events(
      { type: 'run_started', prompt: 'x' },
      { type: 'stage_entered', index: 0 }, { type: 'stage_left' },
      { type: 'stage_entered', index: 1, stage: 'check' }, { type: 'stage_left', stage: 'check' },
      { type: 'stage_entered', index: 0 },
    )) {
      log.apply(event);
    }
    log.decide(decision({ id: 'first', at: '2026-01-01T00:00:01.500Z' }));
    log.decide(decision({ id: 'second', at: '2026-01-01T00:00:05.500Z' }));
    assert.deepEqual(log.run('r1')?.stages.map(stage => stage.items.length), [1, 0, 1]);
  });

  test('when the server is gone, what ran is interrupted', () => {
    const log = played(5);
    log.interrupt();
    assert.equal(log.run('r1')?.status, 'interrupted');
    assert.equal(played(whole.length).run('r1')?.status, 'done');
  });
});

suite('the feed of events', () => {
  const feedOf = (fetch: (after: number) => AgentEvent[] | Error) => {
    const log = new RunLog();
    const asked: number[] = [];
    const closed: string[] = [];
    const feed = new EventFeed(log, (_session, after) => {
      asked.push(after);
      const found = fetch(after);
      return found instanceof Error ? Promise.reject(found) : Promise.resolve({ events: found, lastSeq: whole.length });
    }, () => undefined, session => { closed.push(session); });
    return { log, feed, asked, closed };
  };
  const turn = (): Promise<void> => new Promise(resolve => { setImmediate(resolve); });

  test('what was missed is fetched, and what came meanwhile is kept', async () => {
    const { log, feed, asked, closed } = feedOf(after => whole.slice(after, 6));
    feed.take(nth(0));
    feed.take(nth(6));
    feed.take(nth(7));
    assert.equal(log.seqOf('s1'), 1);
    await turn();
    assert.equal(log.seqOf('s1'), 8);
    assert.equal(asked[0], 1);
    assert.deepEqual(closed, ['s1']);
  });

  test('long histories come in pages', async () => {
    const { log, feed, asked } = feedOf(after => whole.slice(after, after + 4));
    await feed.catchUp('s1');
    assert.equal(log.run('r1')?.status, 'done');
    assert.deepEqual(asked, [0, 4, 8]);
  });

  test('a server that cannot tell does not stop what comes', async () => {
    const { log, feed } = feedOf(() => new Error('no such method'));
    feed.take(nth(3));
    await turn();
    assert.equal(log.seqOf('s1'), 4);
  });
});

suite('a run in words', () => {
  test('the transcript says everything, with the place of each item', () => {
    const log = played(whole.length);
    log.decide(decision({ callId: 'c1', at: '2026-01-01T00:00:03.500Z', reason: 'no\u202e' }));
    const run = log.run('r1');
    assert.ok(run);
    const { text, lines } = transcriptOf(run);
    for (const want of ['> Fix it', 'I look.', '[edit] edit calc.go  (ok, 3 ms)', 'hook on_tool_call: deny  guard.risor:12', 'no<U+202E>', '── done ──']) {
      assert.ok(text.includes(want), `no "${want}" in:\n${text}`);
    }
    for (const [item, line] of lines) {
      const start = { message: 'I look.', tool: '[edit]', decision: 'hook ', file: 'changed ', notice: 'info' }[item.kind];
      assert.ok(text.split('\n')[line]?.startsWith(start), `line ${line} does not start with ${start}`);
    }
  });

  test('the narration writes streamed text once', () => {
    let text = '';
    const narration = new Narration({ append: more => { text += more; } });
    narration.event({ runId: 'r1', sessionId: 's1', type: 'text_delta', text: 'I ' });
    narration.event({ runId: 'r1', sessionId: 's1', type: 'text_delta', text: 'look.' });
    narration.event(nth(2));
    narration.event(nth(3));
    narration.decision(decision());
    assert.equal(text, 'I look.\n  → edit calc.go  {"path":"calc.go"}\n  hook on_tool_call deny: not here (guard.risor:12, 85 µs)\n');
  });
});

suite('the status bar item', () => {
  const cases: [name: string, standing: Parameters<typeof statusOf>[0], text: string][] = [
    ['no server', { ready: false, approvals: 1, live: [] }, '$(warning) Agent'],
    ['approvals before all else', { ready: true, approvals: 2, live: ['fix'] }, '$(bell-dot) Agent: 2 to approve'],
    ['one run', { ready: true, approvals: 0, live: ['fix · $(x)'] }, '$(loading~spin) Agent: fix · $ (x)'],
    ['more runs', { ready: true, approvals: 0, live: ['a', 'b'] }, '$(loading~spin) Agent: 2 runs'],
    ['nothing', { ready: true, approvals: 0, live: [] }, '$(hubot) Agent'],
  ];
  for (const [name, standing, text] of cases) {
    test(name, () => { assert.equal(statusOf(standing).text, text); });
  }
});
