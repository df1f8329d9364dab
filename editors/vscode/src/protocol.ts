// The agent/* messages, as docs/protocol.md defines them. Fields that a
// server may leave out are optional here, so that the views have to cope.

import type { Diagnostic, Range } from 'vscode-languageserver-protocol';

/** The flags of capabilities.experimental.agent: exactly what this extension answers. */
export const agentCapabilities = {
  version: 1,
  approvals: true,
  questions: true,
  events: true,
  decisions: true,
  save: true,
  diagnostics: true,
} as const;

/** What the server says about itself in its answer to initialize. */
export interface ServerAgent {
  version: number;
  methods?: string[];
}

export type Outcome = 'allowOnce' | 'allowSession' | 'allowAlways' | 'deny';
export type Risk = 'read' | 'write' | 'execute' | 'network';
export type Mode = 'ask' | 'plan' | 'auto';
export type RunStatus = 'running' | 'waiting' | 'done' | 'failed' | 'cancelled' | 'interrupted';

export interface Change {
  path: string;
  before?: unknown;
  after?: unknown;
}

export interface HookFailure {
  message: string;
  uri?: string;
  range?: Range;
  stack?: string[];
  kind: 'script' | 'limit' | 'malformed' | 'infrastructure';
}

/** Where a decision came from: the line of a script, a command, or Go code. */
export interface HookSource {
  uri?: string;
  range?: Range;
  digest?: string;
  command?: string;
  exitStatus?: number;
  go?: string;
}

export interface Decision {
  id: string;
  runId: string;
  sessionId: string;
  seq: number;
  at: string;
  stage: string;
  event: string;
  function?: string;
  hook: HookSource;
  action: string;
  reason?: string;
  changes?: Change[];
  callId?: string;
  durationUs: number;
  operations?: number;
  printed?: string;
  error?: HookFailure;
}

export interface Hunk {
  /** From 1. */
  n: number;
  /** In the text before the edit. */
  range: Range;
  newText: string;
}

export interface Edit {
  uri: string;
  diff: string;
  hunks?: Hunk[];
}

export interface Approval {
  id: string;
  outcomes: Outcome[];
  runId: string;
  sessionId: string;
  callId: string;
  stage: string;
  tool: string;
  arguments: unknown;
  digest: string;
  title: string;
  risk: Risk;
  why?: string[];
  command?: { line: string; cwd: string; commands?: string[] };
  edits?: Edit[];
  hooks?: Decision[];
  covers?: { session?: string; always?: string };
  parentRunId?: string;
  expiresAt?: string;
  elsewhere?: boolean;
}

export interface ApprovalAnswer {
  outcome: Outcome;
  feedback?: string;
  hunks?: number[];
}

export interface ApprovalResolved {
  id: string;
  outcome: string;
  by: 'here' | 'elsewhere' | 'cancel' | 'timeout' | 'policy';
}

export interface Question {
  id: string;
  runId: string;
  header: string;
  prompt: string;
  options?: { label: string; description?: string }[];
  freeText?: boolean;
}

export type QuestionAnswer = { answer: string } | { dismissed: true };

export interface Usage {
  input: number;
  output: number;
  cacheRead?: number;
  cacheWrite?: number;
  cost?: { amount: number; currency: string };
}

/** One thing that happened in a run. Which fields are there depends on `type`. */
export interface AgentEvent {
  runId: string;
  sessionId: string;
  /** Counts from 1 without a gap in a session; absent on transient events. */
  seq?: number;
  at?: string;
  type: string;
  stage?: string;
  turn?: number;
  depth?: number;
  parentRunId?: string;

  prompt?: string;
  agent?: string;
  model?: string;
  mode?: Mode;
  sandbox?: string;
  index?: number;
  outcome?: string;
  text?: string;
  callId?: string;
  tool?: string;
  arguments?: unknown;
  title?: string;
  durationMs?: number;
  output?: string;
  truncated?: boolean;
  id?: string;
  by?: string;
  uri?: string;
  diff?: string;
  usage?: Usage;
  total?: Usage;
  attempt?: number;
  afterMs?: number;
  because?: string;
  level?: string;
  status?: RunStatus;
  stopReason?: string;
  error?: string;
}

export interface Session {
  sessionId: string;
  title: string;
  startedAt: string;
  status: RunStatus;
  turns?: number;
  usage?: Usage;
}

export interface StartResult {
  runId: string;
  sessionId: string;
}

export interface ResumeResult {
  runId: string | null;
  reason?: string;
  resuming?: string[];
  done?: string[];
}

export interface UndoResult {
  edits: { uri: string; diff: string }[];
  conflicts: string[];
}

export interface CannotStart {
  diagnostics?: { uri: string; diagnostics: Diagnostic[] }[];
}

/** What this extension asks of the server: method → params and result. */
export interface Requests {
  'agent/list': [params: { folder?: string }, result: { agents: { name: string; model: string }[] }];
  'agent/start': [
    params: {
      prompt: string;
      folder?: string;
      agent?: string;
      sessionId?: string;
      model?: string;
      mode?: Mode;
      context?: { uri: string; range?: Range }[];
    },
    result: StartResult,
  ];
  'agent/steer': [params: { runId: string; text: string; when?: 'now' | 'followUp' }, result: { id: string }];
  'agent/cancel': [params: { runId: string; callId?: string }, result: { cancelled: boolean }];
  'agent/resume': [params: { sessionId: string }, result: ResumeResult];
  'agent/set': [params: { sessionId: string; mode?: Mode; model?: string }, result: { ok: boolean }];
  'agent/fork': [params: { sessionId: string; atSeq?: number }, result: { sessionId: string }];
  'agent/deleteSession': [params: { sessionId: string }, result: { ok: boolean }];
  'agent/sessions': [params: { limit?: number; cursor?: string; query?: string }, result: { sessions: Session[]; cursor?: string }];
  'agent/events': [params: { sessionId: string; afterSeq?: number }, result: { events: AgentEvent[]; lastSeq: number }];
  'agent/pending': [params: Record<string, never>, result: { approvals: Approval[]; questions?: Question[] }];
  'agent/resolve': [params: (ApprovalAnswer & { id: string }) | { id: string; answer: string }, result: { ok: boolean }];
  'agent/decisions': [params: { uri?: string; runId?: string; limit?: number; cursor?: string }, result: { decisions: Decision[]; cursor?: string }];
  'agent/undo': [params: { runId: string; callId?: string; dryRun?: boolean }, result: UndoResult];
}

/** What the server asks of this extension: method → params and result. */
export interface ServerRequests {
  'agent/approve': [params: Approval, result: ApprovalAnswer];
  'agent/ask': [params: Question, result: QuestionAnswer];
  'agent/save': [params: { uris: string[] }, result: { saved: string[] }];
  'agent/clientDiagnostics': [
    params: { uris: string[] },
    result: { items: { uri: string; version?: number; diagnostics: Diagnostic[] }[] },
  ];
}

/** What the server tells this extension. */
export interface ServerNotifications {
  'agent/event': AgentEvent;
  'agent/hookDecision': Decision;
  'agent/approvalResolved': ApprovalResolved;
}

/** Error codes of agent/* requests. */
export const errorCodes = {
  methodNotFound: -32601,
  cannotStart: -32010,
  alreadyResolved: -32011,
  sessionBusy: -32012,
  unknownId: -32013,
  notTrusted: -32014,
} as const;
