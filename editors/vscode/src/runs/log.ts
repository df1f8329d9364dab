// What the runs of this window look like, built from agent/event and
// agent/hookDecision. It knows nothing of the editor. Start at RunLog.apply.

import type { AgentEvent, Decision, RunStatus, Usage } from '../protocol';

/** Something that happened within a stage. */
export type Item =
  | { kind: 'message'; at: string; text: string }
  | ToolItem
  | { kind: 'decision'; at: string; decision: Decision }
  | { kind: 'file'; at: string; uri: string; diff: string; callId?: string }
  | { kind: 'notice'; at: string; level: string; text: string };

/** A tool call, from its start to its result. */
export interface ToolItem {
  kind: 'tool';
  at: string;
  callId: string;
  tool: string;
  title: string;
  arguments: unknown;
  /** Absent while it runs or waits. */
  outcome?: string;
  durationMs?: number;
  /** The result, or the tail of what a running tool printed. */
  output?: string;
}

export interface Stage {
  name: string;
  index: number;
  /** When it was entered; a stage can be visited more than once. */
  at: string;
  outcome?: string;
  items: Item[];
}

export interface Run {
  runId: string;
  sessionId: string;
  parentRunId?: string;
  prompt: string;
  agent: string;
  model: string;
  mode: string;
  sandbox: string;
  status: RunStatus;
  stopReason?: string;
  error?: string;
  output?: string;
  stages: Stage[];
  turn: number;
  total?: Usage;
  /** What the model is writing right now. */
  streaming: string;
  /** Open approvals, by id, with the call that each is about. */
  waiting: Map<string, string>;
}

/** What became of an event. A gap means that earlier ones are missing: it was not applied. */
export type Applied = 'applied' | 'known' | 'gap';

/** How much streamed text is kept for show. */
const streamingLimit = 4000;

/** The runs by id, in the order in which they were first heard of. */
export class RunLog {
  private readonly byId = new Map<string, Run>();
  private readonly lastSeq = new Map<string, number>();

  /** All runs, oldest first. */
  get runs(): Run[] {
    return [...this.byId.values()];
  }

  run(runId: string): Run | undefined {
    return this.byId.get(runId);
  }

  /** The number of the last event of a session that was applied, 0 if none was. */
  seqOf(sessionId: string): number {
    return this.lastSeq.get(sessionId) ?? 0;
  }

  /** Takes in an event. With `force`, missing earlier ones are done without. */
  apply(event: AgentEvent, force = false): Applied {
    if (event.seq !== undefined && event.seq > 0) {
      const last = this.seqOf(event.sessionId);
      if (event.seq <= last) {
        return 'known';
      }
      if (event.seq > last + 1 && !force) {
        return 'gap';
      }
      this.lastSeq.set(event.sessionId, event.seq);
    }
    this.enter(event);
    return 'applied';
  }

  /** Puts a decision where it was made. */
  decide(decision: Decision): void {
    const run = this.byId.get(decision.runId) ?? this.add(decision.runId, decision.sessionId);
    const stage = stageAt(run, decision.stage, decision.at);
    const known = stage.items.some(item => item.kind === 'decision' && item.decision.id === decision.id);
    if (!known) {
      insert(stage.items, { kind: 'decision', at: decision.at, decision });
    }
  }

  /** A call that waits for an answer; its start is only told once it was allowed. */
  expect(runId: string, call: { callId: string; tool: string; title: string; arguments: unknown; stage: string }): void {
    const run = this.byId.get(runId);
    if (run !== undefined && isLive(run) && toolCall(run, call.callId) === undefined) {
      const { stage, ...known } = call;
      const items = stageOf(run, stage).items;
      items.push({ kind: 'tool', at: items.at(-1)?.at ?? '', ...known });
    }
  }

  /** An approval is no longer open. */
  settle(approvalId: string): void {
    for (const run of this.byId.values()) {
      if (run.waiting.delete(approvalId) && run.waiting.size === 0 && run.status === 'waiting') {
        run.status = 'running';
      }
    }
  }

  /** The server is gone: what was running is not, as far as anybody here knows. */
  interrupt(): void {
    for (const run of this.byId.values()) {
      if (isLive(run)) {
        run.status = 'interrupted';
        run.streaming = '';
        run.waiting.clear();
      }
    }
  }

  private add(runId: string, sessionId: string): Run {
    const run: Run = {
      runId, sessionId, prompt: '', agent: '', model: '', mode: '', sandbox: '', status: 'running',
      stages: [], turn: 0, streaming: '', waiting: new Map(),
    };
    this.byId.set(runId, run);
    return run;
  }

  private enter(event: AgentEvent): void {
    const run = this.byId.get(event.runId) ?? this.add(event.runId, event.sessionId);
    if (event.parentRunId !== undefined && event.parentRunId !== '') {
      run.parentRunId = event.parentRunId;
    }
    if (event.turn !== undefined && event.turn > 0) {
      run.turn = event.turn;
    }
    if (run.status === 'interrupted' && event.type !== 'run_finished') {
      run.status = 'running';
    }
    const change = changes[event.type];
    if (change !== undefined) {
      change(run, event);
    }
  }
}

/** Whether a run still goes on. */
export function isLive(run: Run): boolean {
  return run.status === 'running' || run.status === 'waiting';
}

/** The tool call of a run, wherever it is. */
export function toolCall(run: Run, callId: string): ToolItem | undefined {
  for (const stage of run.stages) {
    for (const item of stage.items) {
      if (item.kind === 'tool' && item.callId === callId) {
        return item;
      }
    }
  }
  return undefined;
}

/** What each type of event does to its run. Other types are none of our business. */
const changes: Partial<Record<string, (run: Run, event: AgentEvent) => void>> = {
  run_started(run, event) {
    run.prompt = event.prompt ?? run.prompt;
    run.agent = event.agent ?? run.agent;
    run.model = event.model ?? run.model;
    run.mode = event.mode ?? run.mode;
    run.sandbox = event.sandbox ?? run.sandbox;
    run.status = 'running';
  },
  stage_entered(run, event) {
    const stage = run.stages.at(-1);
    // Decisions of on_stage_enter can come before the event itself.
    if (stage?.name === (event.stage ?? '') && stage.outcome === undefined) {
      stage.index = event.index ?? stage.index;
      return;
    }
    run.stages.push({ name: event.stage ?? '', index: event.index ?? run.stages.length, at: event.at ?? '', items: [] });
  },
  stage_left(run, event) {
    const stage = stageOf(run, event.stage);
    stage.outcome = event.outcome ?? 'finished';
  },
  message(run, event) {
    run.streaming = '';
    add(run, event, { kind: 'message', at: event.at ?? '', text: event.text ?? '' });
  },
  text_delta(run, event) {
    run.streaming = (run.streaming + (event.text ?? '')).slice(-streamingLimit);
  },
  tool_started(run, event) {
    const known = toolCall(run, event.callId ?? '');
    if (known !== undefined) {
      known.at = event.at ?? known.at;
      known.arguments = event.arguments ?? known.arguments;
      known.title = event.title ?? known.title;
      return;
    }
    run.streaming = '';
    add(run, event, {
      kind: 'tool', at: event.at ?? '', callId: event.callId ?? '', tool: event.tool ?? '',
      title: event.title ?? event.tool ?? '', arguments: event.arguments,
    });
  },
  tool_output(run, event) {
    const tool = toolCall(run, event.callId ?? '');
    if (tool?.outcome === undefined && tool !== undefined && event.output !== undefined) {
      tool.output = event.output;
    }
  },
  tool_finished(run, event) {
    let tool = toolCall(run, event.callId ?? '');
    if (tool === undefined) {
      // A call that was refused before it could start.
      tool = {
        kind: 'tool', at: event.at ?? '', callId: event.callId ?? '', tool: event.tool ?? '',
        title: event.title ?? event.tool ?? 'tool call', arguments: event.arguments,
      };
      add(run, event, tool);
    }
    tool.outcome = event.outcome ?? 'done';
    if (event.durationMs !== undefined) {
      tool.durationMs = event.durationMs;
    }
    if (event.output !== undefined) {
      tool.output = event.output;
    }
    for (const [id, callId] of run.waiting) {
      if (callId === tool.callId) {
        stopWaiting(run, id);
      }
    }
  },
  approval_requested(run, event) {
    run.waiting.set(event.id ?? '', event.callId ?? '');
    run.status = 'waiting';
  },
  approval_withdrawn(run, event) {
    stopWaiting(run, event.id ?? '');
  },
  file_changed(run, event) {
    add(run, event, {
      kind: 'file', at: event.at ?? '', uri: event.uri ?? '', diff: event.diff ?? '',
      ...(event.callId === undefined ? {} : { callId: event.callId }),
    });
  },
  usage(run, event) {
    const total = event.total ?? event.usage;
    if (total !== undefined) {
      run.total = total;
    }
  },
  retrying(run, event) {
    run.streaming = '';
    const wait = event.afterMs === undefined ? '' : ` in ${event.afterMs} ms`;
    add(run, event, {
      kind: 'notice', at: event.at ?? '', level: 'warning',
      text: `attempt ${event.attempt ?? '?'}${wait}: ${event.because ?? 'no reason given'}`,
    });
  },
  notice(run, event) {
    add(run, event, { kind: 'notice', at: event.at ?? '', level: event.level ?? 'info', text: event.text ?? '' });
  },
  run_finished(run, event) {
    run.status = event.status ?? 'done';
    run.streaming = '';
    run.waiting.clear();
    if (event.stopReason !== undefined) {
      run.stopReason = event.stopReason;
    }
    if (event.error !== undefined) {
      run.error = event.error;
    }
    if (event.output !== undefined) {
      run.output = event.output;
    }
  },
};

function stopWaiting(run: Run, approvalId: string): void {
  run.waiting.delete(approvalId);
  if (run.waiting.size === 0 && run.status === 'waiting') {
    run.status = 'running';
  }
}

function add(run: Run, event: AgentEvent, item: Item): void {
  insert(stageOf(run, event.stage).items, item);
}

/** The newest stage of that name; one is made when the event that opens it is missing. */
function stageOf(run: Run, name = ''): Stage {
  const known = run.stages.findLast(stage => stage.name === name) ?? (name === '' ? run.stages.at(-1) : undefined);
  if (known !== undefined) {
    return known;
  }
  const made: Stage = { name, index: run.stages.length, at: '', items: [] };
  run.stages.push(made);
  return made;
}

/** The visit of a stage during which something happened; its entry hooks decide just before it. */
function stageAt(run: Run, name: string, at: string): Stage {
  const visits = run.stages.filter(stage => stage.name === name);
  return visits.findLast(stage => stage.at <= at) ?? visits[0] ?? stageOf(run, name);
}

/** Inserts in the order of time; what happened at the same moment keeps the order in which it came. */
function insert(items: Item[], item: Item): void {
  let place = items.length;
  while (place > 0 && (items[place - 1]?.at ?? '') > item.at) {
    place--;
  }
  items.splice(place, 0, item);
}
