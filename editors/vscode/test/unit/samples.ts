// Messages as a server sends them, to build tests from.

import type { AgentEvent, Approval, Decision, Hunk } from '../../src/protocol';

export function hunk(n: number, line: number, newText: string): Hunk {
  return { n, range: { start: { line, character: 0 }, end: { line: line + 1, character: 0 } }, newText };
}

export function decision(over: Partial<Decision> = {}): Decision {
  return {
    id: 'd1', runId: 'r1', sessionId: 's1', seq: 1, at: '2026-01-01T00:00:01.000Z', stage: 'fix', event: 'on_tool_call',
    function: 'on_tool_call', action: 'deny', reason: 'not here', durationUs: 85,
    hook: {
      uri: 'file:///ws/.agent-ls/hooks/guard.risor', digest: 'ab',
      range: { start: { line: 11, character: 15 }, end: { line: 11, character: 40 } },
    },
    ...over,
  };
}

export function approval(over: Partial<Approval> = {}): Approval {
  return {
    id: 'a1', outcomes: ['allowOnce', 'allowSession', 'allowAlways', 'deny'], runId: 'r1', sessionId: 's1', callId: 'c1',
    stage: 'fix', tool: 'edit', arguments: { path: 'calc.go' }, digest: 'x', title: 'edit calc.go', risk: 'write',
    why: ['write tools ask'], covers: { session: 'edit(calc.go)', always: 'edit(calc.go) in /ws' },
    edits: [{ uri: 'file:///ws/calc.go', diff: '@@ -1 +1 @@\n-a\n+b\n', hunks: [hunk(1, 0, 'b\n'), hunk(2, 5, 'c\n')] }],
    hooks: [decision()],
    ...over,
  };
}

/** Events of one session, numbered from 1, a second apart. */
export function events(...given: (Partial<AgentEvent> & { type: string })[]): AgentEvent[] {
  return given.map((event, n) => ({
    runId: 'r1', sessionId: 's1', seq: n + 1, at: `2026-01-01T00:00:${String(n).padStart(2, '0')}.000Z`, stage: 'fix', turn: 1, depth: 0, ...event,
  }));
}
