import * as assert from 'node:assert/strict';
import { choicesOf, detailsOf } from '../../src/approvals/describe';
import { edited, lineCounts } from '../../src/approvals/edited';
import { NotAnswered, OpenApprovals } from '../../src/approvals/open';
import type { ApprovalAnswer } from '../../src/protocol';
import { approval, decision, hunk } from './samples';

suite('open approvals', () => {
  const make = (): { approvals: OpenApprovals; resolved: [string, ApprovalAnswer][] } => {
    const resolved: [string, ApprovalAnswer][] = [];
    return { resolved, approvals: new OpenApprovals((id, answer) => { resolved.push([id, answer]); return Promise.resolve(); }) };
  };
  /** What a promise came to within this turn of the event loop. */
  const state = async (promise: Promise<unknown>): Promise<string> => {
    const later = new Promise(resolve => setImmediate(() => { resolve('pending'); }));
    return await Promise.race([promise.then(() => 'answered', () => 'withdrawn'), later]) as string;
  };

  test('an answer goes to the request that the server holds', async () => {
    const { approvals, resolved } = make();
    const asked = approvals.ask(approval());
    await approvals.answer('a1', 'allowOnce');
    assert.deepEqual(await asked, { outcome: 'allowOnce' });
    assert.deepEqual(resolved, []);
    assert.equal(approvals.all.length, 0);
  });

  test('nothing answers by itself', async () => {
    const { approvals } = make();
    const asked = approvals.ask(approval());
    assert.equal(await state(asked), 'pending');
    assert.equal(approvals.all.length, 1);
  });

  test('a lost connection answers nothing, not even a denial', async () => {
    const { approvals } = make();
    const asked = approvals.ask(approval());
    approvals.forget();
    assert.equal(await state(asked), 'pending');
    assert.equal(approvals.all.length, 0);
  });

  test('what agent/pending brings back is answered through agent/resolve', async () => {
    const { approvals, resolved } = make();
    approvals.restore([approval()]);
    await approvals.answer('a1', 'deny', '  not today ');
    assert.deepEqual(resolved, [['a1', { outcome: 'deny', feedback: 'not today' }]]);
  });

  test('one that is asked and pending is shown once, and the request gets the answer', async () => {
    const { approvals, resolved } = make();
    const arrivals: string[] = [];
    approvals.onChange(arrived => { if (arrived !== undefined) { arrivals.push(arrived.id); } });
    approvals.restore([approval()]);
    const asked = approvals.ask(approval());
    approvals.restore([approval()]);
    await approvals.answer('a1', 'allowOnce');
    assert.deepEqual(await asked, { outcome: 'allowOnce' });
    assert.deepEqual(arrivals, ['a1']);
    assert.deepEqual(resolved, []);
  });

  test('one that was settled elsewhere is taken down', async () => {
    const { approvals } = make();
    const asked = approvals.ask(approval());
    approvals.settle('a1');
    assert.equal(await state(asked), 'withdrawn');
    await assert.rejects(approvals.answer('a1', 'allowOnce'), NotAnswered);
  });

  test('an answer that could not be delivered leaves the approval open', async () => {
    const approvals = new OpenApprovals(() => Promise.reject(new Error('gone')));
    approvals.restore([approval()]);
    await assert.rejects(approvals.answer('a1', 'allowOnce'), /gone/);
    assert.equal(approvals.all.length, 1);
  });

  test('only what the server offers can be answered', async () => {
    const { approvals } = make();
    void approvals.ask(approval({ outcomes: ['allowOnce', 'deny'] }));
    await assert.rejects(approvals.answer('a1', 'allowAlways'), /does not offer allowAlways/);
    assert.equal(approvals.all.length, 1);
  });

  test('a refused hunk leaves the others', async () => {
    const { approvals } = make();
    const asked = approvals.ask(approval());
    approvals.accept('a1', 1, false);
    await approvals.answer('a1', 'allowOnce');
    assert.deepEqual(await asked, { outcome: 'allowOnce', hunks: [2] });
  });

  test('a part of an edit is not allowed for longer than once', async () => {
    const { approvals } = make();
    void approvals.ask(approval());
    approvals.accept('a1', 1, false);
    await assert.rejects(approvals.answer('a1', 'allowSession'), /only be allowed once/);
    approvals.accept('a1', 1, true);
    await approvals.answer('a1', 'allowSession');
  });

  test('no hunk is no permission', async () => {
    const { approvals } = make();
    void approvals.ask(approval());
    approvals.accept('a1', 1, false);
    approvals.accept('a1', 2, false);
    await assert.rejects(approvals.answer('a1', 'allowOnce'), /no hunk/);
  });
});

suite('the text after an edit', () => {
  const all = (): boolean => true;
  const cases: [name: string, before: string, hunks: Parameters<typeof edited>[1], want: string][] = [
    ['a line', 'a\nb\nc\n', [hunk(1, 1, 'B\n')], 'a\nB\nc\n'],
    ['two hunks, in any order', 'a\nb\nc\n', [hunk(2, 2, 'C\n'), hunk(1, 0, 'A\n')], 'A\nb\nC\n'],
    ['the last line without a line end', 'a\nb', [hunk(1, 1, 'B')], 'a\nB'],
    ['a new file', '', [hunk(1, 0, 'x\n')], 'x\n'],
    ['CRLF', 'a\r\nb\r\n', [hunk(1, 0, 'A\r\n')], 'A\r\nb\r\n'],
    ['a lone CR ends a line', 'a\rb\rc', [hunk(1, 1, 'B\r')], 'a\rB\rc'],
    ['characters count UTF-16', '👍x', [{ n: 1, range: { start: { line: 0, character: 2 }, end: { line: 0, character: 3 } }, newText: 'y' }], '👍y'],
    ['past the end of a line stays on it', 'a\nb\n', [{ n: 1, range: { start: { line: 0, character: 1 }, end: { line: 0, character: 99 } }, newText: '!\n' }], 'a!\nb\n'],
    ['past the end of the text is its end', 'a\n', [hunk(1, 7, 'b\n')], 'a\nb\n'],
    ['an insertion', 'a\nb\n', [{ n: 1, range: { start: { line: 1, character: 0 }, end: { line: 1, character: 0 } }, newText: 'x\n' }], 'a\nx\nb\n'],
  ];
  for (const [name, before, hunks, want] of cases) {
    test(name, () => { assert.equal(edited(before, hunks, all), want); });
  }

  test('a refused hunk is left out', () => {
    assert.equal(edited('a\nb\n', [hunk(1, 0, 'A\n'), hunk(2, 1, 'B\n')], n => n === 2), 'a\nB\n');
  });

  test('lines of a diff are counted without its head', () => {
    assert.deepEqual(lineCounts('--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n'), { added: 2, removed: 1 });
  });
});

suite('what an approval says', () => {
  const open = { approval: approval(), refused: new Set<number>() };

  test('each answer with what it covers', () => {
    assert.deepEqual(choicesOf(open).map(choice => [choice.label, choice.covers]), [
      ['Allow once', 'exactly this call'],
      ['Allow for this session', 'edit(calc.go)'],
      ['Always allow', 'edit(calc.go) in /ws'],
      ['Deny', 'the call does not run; the run goes on'],
    ]);
  });

  test('with a hunk refused, once or not at all', () => {
    assert.deepEqual(
      choicesOf({ ...open, refused: new Set([2]) }).map(choice => [choice.outcome, choice.covers]),
      [['allowOnce', 'this call, with 1 of 2 hunks'], ['deny', 'the call does not run; the run goes on']],
    );
  });

  test('the details show command, rule, trail and changes, and hide nothing', () => {
    const text = detailsOf({
      refused: new Set(),
      approval: approval({
        edits: [], command: { line: 'go test && \u202erm x', cwd: '/ws', commands: ['go test', 'rm x'] },
        hooks: [decision({ action: 'modify', reason: 'shorter', changes: [{ path: '/0/arguments/timeout_ms', before: null, after: 5 }] })],
      }),
    });
    for (const want of ['go test && <U+202E>rm x', 'in /ws', 'write tools ask', 'on_tool_call modify: shorter', 'guard.risor:12, 85 µs', '/0/arguments/timeout_ms: null → 5', 'Always allow: edit(calc.go) in /ws']) {
      assert.ok(text.includes(want), `no "${want}" in:\n${text}`);
    }
  });
});
