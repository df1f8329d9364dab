import * as assert from 'node:assert/strict';
import { DecisionLog } from '../../src/decisions/log';
import { duration, fileName, placeOf } from '../../src/decisions/place';
import { decision } from './samples';

suite('the place of a decision', () => {
  test('is the line that decided', () => {
    assert.deepEqual(placeOf(decision()), {
      label: 'guard.risor:12', uri: 'file:///ws/.agent-ls/hooks/guard.risor', line: 11, character: 15,
    });
  });

  test('is the line that broke, of a broken hook', () => {
    const range = { start: { line: 3, character: 4 }, end: { line: 3, character: 9 } };
    const broken = decision({ action: 'error', error: { message: 'no', kind: 'script', uri: 'file:///ws/lib%20x.risor', range } });
    assert.equal(placeOf(broken).label, 'lib x.risor:4');
  });

  test('is a command with its exit status', () => {
    assert.equal(placeOf(decision({ hook: { command: 'guard --fast', exitStatus: 2 } })).label, 'guard --fast (exit 2)');
  });

  test('is Go code', () => {
    assert.equal(placeOf(decision({ hook: { go: 'redact' } })).label, 'redact');
  });

  test('a name that is no valid escape stays as it is', () => {
    assert.equal(fileName('file:///ws/100%.risor'), '100%.risor');
  });

  test('durations have three sizes', () => {
    assert.deepEqual([85, 1234, 2_000_000].map(duration), ['85 µs', '1.2 ms', '2.0 s']);
  });
});

suite('the decisions of this window', () => {
  const at = (second: number, id: string, runId = 'r1') => decision({ id, runId, at: `2026-01-01T00:00:0${second}.000Z` });

  test('each is there once, in the order of time', () => {
    const log = new DecisionLog();
    log.add(at(2, 'b'));
    log.addAll([at(1, 'a'), at(2, 'b'), at(3, 'c')]);
    assert.deepEqual(log.all.map(one => one.id), ['a', 'b', 'c']);
  });

  test('the run that decided last comes first', () => {
    const log = new DecisionLog();
    log.addAll([at(1, 'a', 'old'), at(2, 'b', 'new'), at(3, 'c', 'new')]);
    assert.deepEqual(log.byRun(() => true).map(run => [run.runId, run.decisions.map(one => one.id)]), [
      ['new', ['b', 'c']], ['old', ['a']],
    ]);
  });

  test('listeners hear of what is new only', () => {
    const log = new DecisionLog();
    let heard = 0;
    const stop = log.onChange(() => { heard++; });
    log.add(at(1, 'a'));
    log.add(at(1, 'a'));
    stop();
    log.add(at(2, 'b'));
    assert.equal(heard, 1);
  });
});
